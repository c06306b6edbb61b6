// Asks Spark's HDFS-backed state store which versions it loads, and what is in
// them. judge.py compiles this for each version of Spark and calls it from a
// session of that version.
//
// It stands in a package of Spark's own because the provider is private to one.

package org.apache.spark.sql.judge

import java.io.PrintWriter
import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path, Paths}
import java.security.MessageDigest
import java.util.UUID
import scala.collection.JavaConverters._
import scala.util.Try

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.hadoop.conf.Configuration

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{DataType, StructType}

object Judge {
  private val json = new ObjectMapper

  /** Reads questions, one JSON object a line, and writes an answer for each cell and version. */
  def ask(questions: String, answers: String): Unit = {
    val out = new PrintWriter(Files.newBufferedWriter(Paths.get(answers), UTF_8))
    try Files.lines(Paths.get(questions)).iterator.asScala.foreach { line =>
      val q = json.readTree(line)
      val root = Paths.get(questions).resolveSibling(q.get("dir").asText)
      val conf = confOf(q.get("conf"))
      val asked = q.get("sparks").elements.asScala.exists(_.asText == SPARK_VERSION)
      for (cell <- q.get("cells").elements.asScala if asked && known(cell); version <- cell.get("versions").elements.asScala) {
        val a = json.createObjectNode
        a.set[JsonNode]("case", q.get("case"))
        for (name <- Seq("operator", "store", "partition")) a.set[JsonNode](name, cell.get(name))
        a.set[JsonNode]("version", version)
        try {
          val (rows, digest) = load(root, cell, conf, version.asLong)
          a.put("answer", f"$rows $digest%016x")
        } catch {
          case e: Throwable => a.put("refusal", refusal(e))
        }
        out.println(a)
      }
    } finally out.close()
  }

  private def schemas(cell: JsonNode): Seq[StructType] =
    Seq("key", "value").map(side => DataType.fromJson(cell.get(side).toString).asInstanceOf[StructType])

  /** Whether this Spark has all types of the rows; if not, it cannot be asked. */
  private def known(cell: JsonNode): Boolean = Try(schemas(cell)).isSuccess

  /** The settings of a restarted query: those of the session, and over them those of the offset log. */
  private def confOf(pinned: JsonNode): StateStoreConf = {
    val conf = SparkSession.active.sessionState.conf.clone()
    pinned.fields.asScala.foreach(e => conf.setConfString(e.getKey, e.getValue.asText))
    new StateStoreConf(conf, Map.empty[String, String])
  }

  /** How many rows a version has, and a digest that knows no order: of each row
    * the first 64 bits of the SHA-256 of the key's length in 32 bits, the key and
    * the value, added up. */
  private def load(root: Path, cell: JsonNode, conf: StateStoreConf, version: Long): (Long, Long) = {
    val provider = open(root, cell, conf) // a new one each time: it caches what it has loaded
    try {
      var rows, digest = 0L
      val store = provider.getReadStore(version)
      try for (row <- store.iterator()) {
        val sha = MessageDigest.getInstance("SHA-256")
        val key = row.key.getBytes
        sha.update(ByteBuffer.allocate(4).putInt(key.length).array)
        sha.update(key)
        digest += ByteBuffer.wrap(sha.digest(row.value.getBytes)).getLong
        rows += 1
      } finally store.abort()
      (rows, digest)
    } finally provider.close()
  }

  /** init takes other parameters in every line of Spark; they are told apart by type. */
  private def open(root: Path, cell: JsonNode, conf: StateStoreConf): HDFSBackedStateStoreProvider = {
    val operator = cell.get("operator").asLong
    val id = new StateStoreId(root.resolve("state").toUri.toString, operator, cell.get("partition").asInt, cell.get("store").asText)
    val types = schemas(cell)
    val rest = types.iterator
    val provider = new HDFSBackedStateStoreProvider
    val init = provider.getClass.getMethods.find(_.getName == "init").get
    val parameters = init.getParameterTypes.map {
      case c if c == classOf[StateStoreId] => id
      case c if c == classOf[StructType] => rest.next()
      case c if c == classOf[StateStoreConf] => conf
      case c if c == classOf[Configuration] =>
        val hadoop = SparkSession.active.sessionState.newHadoopConf()
        hadoop.set("sql.streaming.runId", UUID.randomUUID.toString)
        hadoop
      case c if c == classOf[Int] => Int.box(0) // no prefix columns: they change nothing in what is loaded
      case c if c == classOf[Boolean] => Boolean.box(false) // no column families, no lists of values
      case c if c == classOf[Option[_]] => None
      case c if c.getSimpleName == "KeyStateEncoderSpec" =>
        Class.forName(c.getPackage.getName + ".NoPrefixKeyStateEncoderSpec").getConstructor(classOf[StructType]).newInstance(types.head).asInstanceOf[AnyRef]
    }
    init.invoke(provider, parameters: _*)
    provider
  }

  /** The condition that Spark names, or the class of the exception, and what it was caused by. */
  private def refusal(e: Throwable): String = {
    val chain = Iterator.iterate(e)(_.getCause).takeWhile(_ != null).take(20).toSeq
      .filterNot(_.isInstanceOf[java.lang.reflect.InvocationTargetException])
    chain.map {
      case s: org.apache.spark.SparkThrowable if s.getErrorClass != null => s.getErrorClass
      case other => other.getClass.getSimpleName
    }.distinct.mkString(" < ")
  }
}

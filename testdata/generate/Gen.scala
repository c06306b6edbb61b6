// Checkpoints of operators that only the Scala API has. make.py compiles this
// with the scala-compiler among PySpark's own jars and runs it:
//
//   Gen OUT CASE...
//
// As with gen.py a case lands in OUT/CASE: checkpoint/, input/ and case.json.

import java.nio.file.{Files, Paths}
import java.sql.Timestamp
import java.time.Instant
import scala.util.Random

import org.apache.spark.sql.{DataFrame, Dataset, SparkSession}
import org.apache.spark.sql.functions._
import org.apache.spark.sql.streaming._

/** One row of input. */
case class Event(k: String, n: Long, t: Timestamp)

/** What flatMapGroupsWithState keeps: flat, text, sequence, map and optional fields. */
case class Seen(count: Long, last: String, numbers: Seq[Long], byRest: Map[String, Long], even: Option[Int])

case class Counted(k: String, count: Long)

object Gen {
  val spark: SparkSession = SparkSession.builder
    .master("local[2]")
    .config("spark.ui.enabled", "false")
    .config("spark.sql.session.timeZone", "UTC")
    .config("spark.sql.shuffle.partitions", "2")
    .config("spark.sql.streaming.stateStore.maintenanceInterval", "200ms")
    .config("spark.sql.streaming.stateStore.minDeltasForSnapshot", "2")
    .config("spark.sql.streaming.minBatchesToRetain", "100")
    .getOrCreate()
  spark.sparkContext.setLogLevel("ERROR")
  import spark.implicits._

  val stateFormat = "spark.sql.streaming.flatMapGroupsWithState.stateFormatVersion"

  /** A case: what it is about, what must be set for it, and its query with the output mode. */
  case class Case(about: String, conf: Map[String, String], mode: String, query: Dataset[Event] => DataFrame)

  val cases: Map[String, Case] = Map(
    "fmgws_v1" -> Case("flatMapGroupsWithState in format 1: the state in columns of their own, the timeout last",
      Map(stateFormat -> "1"), "update", flatMapGroups),
    "fmgws_v2" -> Case("flatMapGroupsWithState in format 2: the state in one struct, then the timeout",
      Map(stateFormat -> "2"), "update", flatMapGroups),
    "mapgroups_primitive" -> Case("mapGroupsWithState with a number for state and no timeout",
      Map.empty, "update", mapGroups),
    "dedupe_of_rows" -> Case("Deduplication by one column of several: Spark before 3.3.1 records as value schema the columns of the input",
      Map.empty, "append", _.dropDuplicates("k").toDF))

  def flatMapGroups(events: Dataset[Event]): DataFrame =
    events.withWatermark("t", "1 minute").groupByKey(_.k)
      .flatMapGroupsWithState(OutputMode.Update, GroupStateTimeout.EventTimeTimeout)(keepSeen _).toDF

  def keepSeen(k: String, events: Iterator[Event], state: GroupState[Seen]): Iterator[Counted] =
    if (state.hasTimedOut) {
      state.remove()
      Iterator(Counted(k, -1))
    } else {
      val xs = events.toSeq
      val old = state.getOption.getOrElse(Seen(0, "", Nil, Map.empty, None))
      val now = Seen(
        count = old.count + xs.size,
        last = xs.last.k,
        numbers = (old.numbers ++ xs.map(_.n)).takeRight(5),
        byRest = old.byRest ++ xs.map(x => (x.n % 3).toString -> x.n),
        even = if (xs.size % 2 == 0) Some(xs.size) else None)
      state.update(now)
      state.setTimeoutTimestamp(xs.map(_.t.getTime).max + 30000L)
      Iterator(Counted(k, now.count))
    }

  def mapGroups(events: Dataset[Event]): DataFrame =
    events.groupByKey(_.n % 7).mapGroupsWithState(GroupStateTimeout.NoTimeout) {
      (k: Long, xs: Iterator[Event], state: GroupState[Long]) =>
        val count = state.getOption.getOrElse(0L) + xs.size
        state.update(count)
        Counted(k.toString, count)
    }.toDF

  /** Five files of events, one minute each, streamed one a batch. */
  def stream(root: String): Dataset[Event] = {
    val r = new Random(7)
    val start = Instant.parse("2026-01-05T09:00:00Z").toEpochMilli
    for (minute <- 0 until 5)
      Seq.fill(24)(Event(s"k${r.nextInt(40)}", r.nextInt(1000).toLong, new Timestamp(start + minute * 60000L + r.nextInt(60000))))
        .toDS.coalesce(1).write.mode("append").parquet(s"$root/input")
    spark.readStream.schema(Seq.empty[Event].toDF.schema).option("maxFilesPerTrigger", 1).parquet(s"$root/input").as[Event]
  }

  def make(root: String, name: String, c: Case): Unit = {
    c.conf.foreach { case (key, value) => spark.conf.set(key, value) }
    c.query(stream(root)).writeStream.outputMode(c.mode).format("noop")
      .option("checkpointLocation", s"$root/checkpoint").trigger(Trigger.AvailableNow).start().awaitTermination()
    Thread.sleep(2000) // the maintenance thread writes snapshots in the background
    c.conf.keys.foreach(spark.conf.unset)
    val conf = (c.conf + ("spark.sql.shuffle.partitions" -> "2")).map { case (key, value) => s""""$key": "$value"""" }
    Files.writeString(Paths.get(root, "case.json"),
      s"""{
         | "case": "$name",
         | "about": "${c.about}",
         | "spark": "${spark.version}",
         | "conf": {${conf.mkString(", ")}}
         |}
         |""".stripMargin)
    println(s"made   $name")
  }

  def main(args: Array[String]): Unit = {
    for (name <- args.tail) make(s"${args.head}/$name", name, cases(name))
    spark.stop()
  }
}

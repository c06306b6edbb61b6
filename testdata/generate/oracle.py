"""Ask Spark's own state reader what checkpoints hold, and write down its answers.

usage: oracle.py CASE_DIR...

Run it with the newest Spark. Each folder holds checkpoint/; its answers land
beside it in spark/ (what is there of an older run goes):

  index.json      what was asked (options) and how it was answered: rows and the
                  file that holds them, or Spark's error
  *.jsonl         the rows, one JSON object a line, sorted as text
  *.schema.json   the schema of the DataFrame beside them

Asked for: the rows of the state-metadata source; every store of every operator,
and both sides of a join, at the first, the middle and the last committed batch;
and every store's change feed over all of them.
"""
import argparse
import json
import os
import re
import shutil
import sys
from pathlib import Path

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)

from pyspark.sql import SparkSession, functions as F

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
VALIDATION = "spark.sql.streaming.stateStore.formatValidation.enabled"
# What the reader needs to be told, or it turns away types that it could write.
READER = {
    "spark.sql.timeType.enabled": "true",
    "spark.sql.geospatial.enabled": "true",
    "spark.sql.timestampNanosTypes.enabled": "true",
    # Its plan breaks where it pads a char(n), which is padded already (4.1 to 4.3).
    "spark.sql.readSideCharPadding": "false",
}
TOO_SHORT = "Row total length invalid"
SECONDS = "yyyy-MM-dd HH:mm:ss."


def numbered(folder: Path):
    """The entries of a folder whose names are numbers, as numbers, in order."""
    return sorted(int(e.name) for e in folder.iterdir() if re.fullmatch(r"\d+", e.name)) if folder.is_dir() else []


class Oracle:
    """Spark's answers about one checkpoint."""

    def __init__(self, spark: SparkSession, case: Path):
        self.spark = spark
        self.checkpoint = case / "checkpoint"
        self.out = case / "spark"
        self.reads = []

    def answer(self):
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir()
        commits = numbered(self.checkpoint / "commits")
        self._use_provider_of(commits[-1])
        index = {"readBy": self.spark.version, "reads": self.reads}
        try:
            metadata = self.spark.read.format("state-metadata").load(str(self.checkpoint))
            index["metadata"] = [json.loads(row) for row in metadata.selectExpr("*", "_numColsPrefixKey").toJSON().collect()]
        except Exception as e:
            index["metadataError"] = self._message(e)
        for operator in numbered(self.checkpoint / "state"):
            self._ask_about(operator, commits)
        (self.out / "index.json").write_text(json.dumps(index, indent=1) + "\n")

    def _use_provider_of(self, batch):
        """The reader takes the provider from the session, not from the checkpoint."""
        log = (self.checkpoint / "offsets" / str(batch)).read_text()
        provider = re.search(rf'"{re.escape(PROVIDER)}":"([^"]+)"', log)
        self.spark.conf.set(PROVIDER, provider.group(1))

    def _ask_about(self, operator, commits):
        folder = self.checkpoint / "state" / str(operator)
        stores = sorted(e.name for e in (folder / "0").iterdir()
                        if e.is_dir() and e.name.startswith(("left-", "right-"))) or ["default"]
        joins = stores != ["default"]
        for batch in sorted({commits[0], commits[len(commits) // 2], commits[-1]}):
            for store in stores:
                self._ask(f"{operator}.{store}.b{batch}", operatorId=operator, batchId=batch, **named(store))
            for side in ("left", "right") if joins else ():
                self._ask(f"{operator}.{side}.side.b{batch}", operatorId=operator, batchId=batch, joinSide=side)
        # A change feed is read without checks: where rows are too short it would be memory, too.
        for store in stores if len(commits) > 1 and not self._too_short() else ():
            self._ask(f"{operator}.{store}.changes", operatorId=operator, **named(store), readChangeFeed="true",
                      changeStartBatchId=commits[0], changeEndBatchId=commits[-1])

    def _ask(self, file, **options):
        options = {key: str(value) for key, value in options.items()}
        read = {"options": options}
        self.reads.append(read)
        try:
            try:
                schema, rows = self._read(options)
            except Exception as e:
                if "ROW_FORMAT_VALIDATION_FAILURE" not in str(e) or TOO_SHORT in str(e):
                    raise
                # Spark's own check of a row against its schema said no: note
                # that, and take what it reads without the check. Not so where the
                # row is too short: what Spark then reads is other memory.
                read["refused"] = self._message(e)
                self.spark.conf.set(VALIDATION, "false")
                try:
                    schema, rows = self._read(options)
                finally:
                    self.spark.conf.unset(VALIDATION)
        except Exception as e:
            read["error"] = self._message(e)
            return
        (self.out / f"{file}.schema.json").write_text(schema)
        (self.out / f"{file}.jsonl").write_text("".join(row + "\n" for row in rows))
        read.update(rows=len(rows), file=f"{file}.jsonl")

    def _too_short(self):
        return TOO_SHORT in self.reads[-1].get("error", "")

    def _read(self, options):
        df = self.spark.read.format("statestore").options(**options).load(str(self.checkpoint))
        schema = df._jdf.schema().json()  # Python cannot parse every schema that Spark has
        if "joinSide" in options or re.search(r'"(geometry|geography)\(', schema):
            # A join side's value still holds a column `matched` that its schema
            # hides, and to_json trips over it (4.0 to 4.3); and it knows nothing
            # of geometries. Put such values together anew.
            df = df.withColumn("value", writable(F.col("value"), df.schema["value"].dataType))
        nanos = re.search(r'"timestamp_(ntz|ltz)\(', schema)
        format = SECONDS + "S" * (9 if nanos else 6)
        options = {"ignoreNullFields": "false", "timestampFormat": format, "timestampNTZFormat": format}
        rows = df.select(F.to_json(F.struct("*"), options).alias("json")).collect()
        return schema, sorted(row.json for row in rows)

    def _message(self, e):
        """Spark's message on one line, without the stack and the place where it was read."""
        text = str(e).split("\n\tat ")[0]
        text = re.sub(r"^An error occurred while calling \S+\n: (\w+\.)+\w+: ", "", text)
        return " ".join(text.split()).replace(str(self.checkpoint), "CHECKPOINT")[:1000]


def writable(column, datatype):
    """The column as to_json can write it: structs built anew, geometries as SRID and WKB."""
    match datatype.typeName():
        case "struct":
            fields = [writable(column.getField(f.name), f.dataType).alias(f.name) for f in datatype.fields]
        case "geometry" | "geography":
            fields = [F.st_srid(column).alias("srid"), F.st_asbinary(column).alias("wkb")]
        case _:
            return column
    return F.when(column.isNotNull(), F.struct(*fields))


def named(store):
    return {} if store == "default" else {"storeName": store}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", nargs="+", type=Path)
    args = parser.parse_args()
    builder = (SparkSession.builder.master("local[2]").appName("oracle")
               .config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
               .config("spark.driver.memory", "2g")
               .config("spark.sql.session.timeZone", "UTC").config("spark.sql.shuffle.partitions", "2"))
    for key, value in READER.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    # In a fresh session that never ran a query the reader of 4.1 misses its
    # coordinator; asking for the streams starts one.
    spark._jsparkSession.streams()
    for case in args.case:
        oracle = Oracle(spark, case.resolve())
        oracle.answer()
        errors = [read["error"] for read in oracle.reads if "error" in read]
        print(f"asked  {case.name}: {len(oracle.reads)} reads, {len(errors)} errors {errors[0][:200] if errors else ''}", flush=True)
    spark.stop()


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Have Spark judge the checkpoints that statestore/statetest writes.

usage: readback.py [--work DIR] [VERSION...]

Needs what make.py needs, and Go. For each version of Spark the tests of
statetest write a checkpoint for every operator of the HDFS-backed provider, as
after two batches, and the files that these read and a third one. Spark then

  layout    runs the same query over the three files from the start: the offset
            log, commit log, schema files and operator metadata that it wrote
            of these two batches must say the same
  read      (4.0 and later) reads both with its statestore and state-metadata
            sources as they were after the second batch: the same rows
  restart   starts the query on the checkpoint of statetest: what it hands out
            from the third batch on, and the state it leaves, must be those of
            the query that ran from the start, as this library reads it and, from
            4.0 on, as Spark does

and once, with the newest version, answers for fixtures that statetest wrote anew
what testdata has as its answers for those that Spark wrote itself.

It prints a table for testdata/README.md, and ends with 1 if anything differs.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import make

VERSIONS = ["3.5.9", "4.1.4", "4.3.0"]
REPOSITORY = make.HERE.parents[1]


def test(name, work: Path, version):
    make.run("go", "test", "-count=1", "-run", name, "./statestore/statetest", "-args", "-write", work, "-spark", version)


# --- within Spark -------------------------------------------------------------------


def queries(spark):
    """The query of each case, as (DataFrame of its sources, output mode)."""
    from pyspark.sql import functions as F

    def counted(words, *by):
        return words.groupBy(*by).agg(F.count("*").alias("c"), F.sum("n").alias("s"))

    def pandas_with_state(words):
        import pandas as pd
        from pyspark.sql.streaming.state import GroupStateTimeout

        def count(key, frames, group):
            seen = sum(len(frame) for frame in frames)
            total, _ = group.get if group.exists else (0, 0)
            group.update((total + seen, seen))
            yield pd.DataFrame({"w": [key[0]], "c": [total + seen]})

        return words.groupBy("w").applyInPandasWithState(count, "w STRING, c LONG", "c LONG, last LONG", "update",
                                                         GroupStateTimeout.NoTimeout)

    def joined(how):
        def query(shown, clicked):
            return shown.withWatermark("shown", "2 minutes").join(clicked.withWatermark("clicked", "3 minutes"), F.expr(
                "ad = clicked_ad AND clicked >= shown AND clicked <= shown + interval 2 minutes"), how)
        return query

    words, clicks = "w STRING, n LONG", "t TIMESTAMP, who STRING"
    ads = "ad STRING, shown TIMESTAMP", "clicked_ad STRING, clicked TIMESTAMP, who STRING"
    by_word = (lambda s: counted(s, "w")), "update", words
    return {
        "aggregation": by_word,
        "aggregation_v1": by_word,
        "aggregation_checksums": by_word,
        "aggregation_offsets_v2": by_word,
        "aggregation_global": (counted, "complete", words),
        "aggregation_windows": (lambda s: s.withWatermark("t", "1 minute").groupBy(F.window("t", "5 minutes"), "who").count(), "append", clicks),
        "dedupe": (lambda s: s.dropDuplicates(["w"]), "append", words),
        "dedupe_within_watermark": (lambda s: s.withWatermark("t", "5 minutes").dropDuplicatesWithinWatermark(["who"]), "append", clicks),
        "session_window": (lambda s: s.withWatermark("t", "5 minutes").groupBy(F.session_window("t", "2 minutes"), "who").count(), "append", clicks),
        "limit": (lambda s: s.limit(7), "append", words),
        "pandas_with_state": (pandas_with_state, "update", words),
        "join_leftOuter": (joined("leftOuter"), "append", *ads),
        "join_v1": (joined("inner"), "append", *ads),
    }


class Judge:
    """One case and what Spark makes of it."""

    def __init__(self, spark, folder: Path, query, mode, *schemas):
        self.spark, self.folder, self.query, self.mode, self.schemas = spark, folder, query, mode, schemas
        self.ours, self.own = folder / "checkpoint", folder / "from_start"

    def run(self, checkpoint: Path):
        """Run the query until it has read all; what it hands out, by batch."""
        sources = [self.spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).json(str(self.folder / "input" / str(i)))
                   for i, schema in enumerate(self.schemas)]
        out = {}
        query = (self.query(*sources).writeStream.outputMode(self.mode).option("checkpointLocation", str(checkpoint))
                 .foreachBatch(lambda df, batch: out.update({batch: as_json(df)})).trigger(availableNow=True).start())
        query.awaitTermination()
        return out

    def verdicts(self):
        """The three parts, each as the list of what differs; None where Spark cannot tell."""
        conf = json.loads((self.folder / "case.json").read_text())["conf"]
        for key, value in conf.items():
            self.spark.conf.set(key, value)
        try:
            from_start = self.run(self.own)
            layout = list(self.layout())
            read = list(self.read(1)) if self.spark.version >= "4" else None
            on = self.run(self.ours)
            restart = [f"batch {b}: {on.get(b)} instead of {rows}" for b, rows in from_start.items() if b > 1 and rows != on.get(b)]
            restart += [f"there is no batch {b}" for b in on if b not in from_start]
            if min(on) != 2:
                restart.append(f"it started with batch {min(on)}")
            restart += self.read(max(on)) if self.spark.version >= "4" else ()
            return layout, read, restart
        finally:
            for key in conf:
                self.spark.conf.unset(key)

    def layout(self):
        def parsed(log: Path):
            version, fields, *sources = log.read_text().split("\n")
            fields = json.loads(fields)
            fields.pop("batchTimestampMs", None)
            return version, fields, sources

        for name in ("offsets/0", "offsets/1", "commits/0", "commits/1"):
            if (want := parsed(self.own / name)) != (got := parsed(self.ours / name)):
                yield f"{name}: {got} instead of {want}"
        files = sorted(f.relative_to(self.own) for part in ("_metadata/metadata", "_metadata/schema") for f in self.own.glob(f"state/**/{part}"))
        if files != sorted(f.relative_to(self.ours) for part in ("_metadata/metadata", "_metadata/schema") for f in self.ours.glob(f"state/**/{part}")):
            yield "other schema or metadata files"
        for name in files:
            want, got = (self.own / name).read_bytes(), (self.ours / name).read_bytes()
            if name.parts[-1] == "schema":  # as text: nullability and the order of notes depend on the plan
                want, got = plain(want), plain(got)
            if want != got:
                yield f"{name}: {got} instead of {want}"

    def read(self, batch):
        """What the two sources for state say otherwise of the two checkpoints."""
        metadata = [as_json(self.spark.read.format("state-metadata").load(str(c)).selectExpr("* EXCEPT (minBatchId, maxBatchId)", "_numColsPrefixKey"))
                    for c in (self.own, self.ours)]
        if metadata[0] != metadata[1]:
            yield f"state-metadata: {metadata[1]} instead of {metadata[0]}"
        for store in [json.loads(row) for row in metadata[0]]:
            asked = [{"storeName": store["stateStoreName"]}]
            if store["stateStoreName"].endswith("keyToNumValues"):
                asked.append({"joinSide": store["stateStoreName"].split("-")[0]})
            for options in asked:
                options |= {"operatorId": str(store["operatorId"]), "batchId": str(batch)}
                want, got = (self.rows(c, options) for c in (self.own, self.ours))
                if want != got:
                    yield f"{options}: {got} instead of {want}"

    def rows(self, checkpoint, options):
        df = self.spark.read.format("statestore").options(**options).load(str(checkpoint))
        if "joinSide" in options:  # to_json fails on the whole of its value
            df = df.selectExpr("key", "value.*", "partition_id")
        return as_json(df)


def as_json(df):
    """The rows, as text and in order."""
    return sorted(row[0] for row in df.selectExpr("to_json(struct(*), map('ignoreNullFields', 'false'))").collect())


def plain(schema: bytes):
    """A schema file without what varies from plan to plan."""
    text = re.sub(rb'"(nullable)":(true|false)', rb'"\1":?', schema)
    return sorted(re.findall(rb'"name":"[^"]*"|"type":"[^"]*"|"spark\.\w+":\w+', text))


def session(version):
    from pyspark.sql import SparkSession
    spark = (SparkSession.builder.master("local[2]").appName("readback").config("spark.ui.enabled", "false")
             .config("spark.ui.showConsoleProgress", "false").config("spark.driver.memory", "2g")
             .config("spark.sql.session.timeZone", "UTC").getOrCreate())
    spark.sparkContext.setLogLevel("OFF")
    spark._jsparkSession.streams()  # see oracle.py
    return spark


def judge(work: Path, version):
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = session(version)
    known, results = queries(spark), {}
    for case in sorted(p.name for p in (work / version).iterdir()):
        try:
            results[case] = Judge(spark, work / version / case, *known[case]).verdicts()
        except Exception as e:
            results[case] = [[str(e)[:500] + " … " + str(e)[-1500:]]] * 3
        print(version, case, *("-" if v is None else v[:2] or "same" for v in results[case]), flush=True)
    spark.stop()
    (work / version / "results.json").write_text(json.dumps(results, indent=1))


# --- around it ----------------------------------------------------------------------


def twins(work: Path, interpreter):
    """Ask about the fixtures that statetest wrote anew; which answers differ."""
    cases = sorted((work / "twins").glob("*/*"))
    make.run(interpreter, make.HERE / "oracle.py", *cases)
    differ, reads = [], 0
    for case in cases:
        name = f"{case.parent.name}/{case.name}"
        with zipfile.ZipFile(make.TESTDATA / f"{name}.zip") as z:
            want, got = (json.loads(re.sub(r"partitionId=\d+", "", text))  # whichever it refused first
                         for text in (z.read("spark/index.json").decode(), (case / "spark/index.json").read_text()))
            reads += len(want["reads"])
            if want != got:
                differ.append(f"{name}/index.json")
            for file in (r["file"] for r in want["reads"] if "file" in r):
                if not (case / "spark" / file).exists() or z.read(f"spark/{file}") != (case / "spark" / file).read_bytes():
                    differ.append(f"{name}/{file}")
    print(f"\nrewritten fixtures: {len(cases)}, reads by Spark {make.READER}: {reads}, other answers: {differ or 'none'}")
    return differ


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "fixtures")
    parser.add_argument("--within", help=argparse.SUPPRESS)  # the part that runs within Spark
    parser.add_argument("version", nargs="*", default=VERSIONS)
    args = parser.parse_args()
    work = args.work.resolve() / "readback"
    if args.within:
        return judge(work, args.within)
    os.chdir(REPOSITORY)
    make.shutil.rmtree(work, ignore_errors=True)
    results = {}
    for version in args.version:
        test("ForSpark", work, version)
        make.run(make.python(args.work.resolve(), version), __file__, "--work", args.work, "--within", version)
        test("AfterSpark", work, version)
        results[version] = json.loads((work / version / "results.json").read_text())
    print("\n| case | " + " | ".join(args.version) + " |\n|---|" + "---|" * len(args.version))
    failed = False
    for case in sorted({c for r in results.values() for c in r}):
        cells = []
        for version in args.version:
            parts = results[version].get(case)
            failed |= bool(parts and any(parts))
            cells.append("–" if parts is None else ", ".join(
                f"{part} {'differs' if said else 'same'}" for part, said in zip(("layout", "read", "restart"), parts) if said is not None))
        print(f"| `{case}` | " + " | ".join(cells) + " |")
    failed |= bool(twins(work, make.python(args.work.resolve(), make.READER)))
    sys.exit(failed)


if __name__ == "__main__":
    main()

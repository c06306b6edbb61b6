"""Write Structured Streaming checkpoints with PySpark, one for each case named.

usage: gen.py [--seed N] [--partitions N] OUT CASE...

Run it with the Python of an environment that holds the Spark wanted. A case
lands in OUT/CASE: the checkpoint in checkpoint/, what it read in input/, and
what made it special in case.json. Without cases it lists those it knows.
"""
import argparse
import decimal
import json
import os
import random
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
os.environ["TZ"] = "UTC"  # PySpark takes a datetime without a zone for one of this machine's
time.tzset()

import pyspark
from pyspark.sql import DataFrame, SparkSession, functions as F, types as T

import rows

PARTITIONS = "spark.sql.shuffle.partitions"
STREAMING = "spark.sql.streaming"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

# Snapshots come early and soon: with Spark's own settings (a snapshot after ten
# deltas, looked for once a minute) no small checkpoint would ever hold one.
SESSION = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "2g",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.streaming.stateStore.maintenanceInterval": "200ms",
    "spark.sql.streaming.stateStore.minDeltasForSnapshot": "2",
    "spark.sql.streaming.minBatchesToRetain": "100",
}


# --- how a case is run ---------------------------------------------------------


@dataclass
class Case:
    name: str
    about: str
    write: Callable
    conf: dict


CASES: dict[str, Case] = {}


def case(name=None, partitions=2, conf=None):
    """Register a case; its docstring says what it is about."""
    def register(write):
        c = Case(name or write.__name__, " ".join(write.__doc__.split()), write, {PARTITIONS: str(partitions), **(conf or {})})
        CASES[c.name] = c
        return write
    return register


def variants(name, key, values, partitions=2):
    """Register one case for each value of a setting, its name ending in the value."""
    def register(write):
        for v in values:
            case(f"{name}{v}", partitions, {key: v})(write)
        return write
    return register


class Bench:
    """One case at work: its folder, its random numbers, its streams and its query."""

    def __init__(self, spark: SparkSession, folder: Path, seed: int):
        self.spark = spark
        self.folder = folder
        self.seed = seed

    def rng(self, salt):
        return random.Random(salt + 1000 * self.seed)

    def stream(self, name, batches, schema) -> DataFrame:
        """Write each batch down as one file, and stream them one file a batch."""
        target = self.folder / "input" / name
        target.mkdir(parents=True)
        scratch = self.folder / "scratch"
        an_hour_ago = time.time() - 3600
        for i, batch in enumerate(batches):
            self.spark.createDataFrame(batch, schema).coalesce(1).write.parquet(str(scratch))
            file = target / f"b{i:04d}.parquet"
            next(scratch.glob("*.parquet")).rename(file)
            os.utime(file, (an_hour_ago + i, an_hour_ago + i))  # files are read by age
            shutil.rmtree(scratch)
        return self.spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(target))

    def run(self, df: DataFrame, mode):
        """Read all there is, then stop; and give the maintenance thread, which
        writes the snapshots in the background, a moment more."""
        query = self._writer(df, mode).trigger(availableNow=True).start()
        query.awaitTermination()
        time.sleep(2)

    def run_until(self, df: DataFrame, mode, batch):
        """Stop once this batch is committed: an operator with processing-time
        timeouts never runs out of batches by itself."""
        query = self._writer(df, mode).trigger(processingTime="1 second").start()
        deadline = time.time() + 180
        while not (self.folder / "checkpoint" / "commits" / str(batch)).exists():
            if query.exception() or time.time() > deadline:
                raise RuntimeError(str(query.exception() or f"batch {batch} never came"))
            time.sleep(.1)
        query.stop()
        time.sleep(2)

    def _writer(self, df: DataFrame, mode):
        return (df.writeStream.outputMode(mode).format("noop")
                .option("checkpointLocation", str(self.folder / "checkpoint")))


def make(spark: SparkSession, c: Case, folder: Path, seed: int, partitions):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    settings = c.conf | ({PARTITIONS: partitions} if partitions else {})
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        c.write(Bench(spark, folder, seed))
    finally:
        for key in settings:
            spark.conf.unset(key)
    made = {"case": c.name, "about": c.about, "spark": pyspark.__version__, "seed": seed, "conf": settings}
    (folder / "case.json").write_text(json.dumps(made, indent=1) + "\n")


# --- the cases: ad billing, the project's main example ---------------------------


@case(partitions=4)
def ad_billing(b: Bench):
    """Clicks, deduplicated by profile and adviser, counted per adviser in windows of
    5 minutes; 30 % of them go to one hot adviser."""
    clicks = b.stream("clicks", rows.clicks(b.rng(1), 6, 120, hot=.3, seconds=120), rows.CLICK)
    billed = (clicks.withWatermark("timestamp", "1 minute")
              .dropDuplicates(["profile_id", "adviser_id"])
              .groupBy(F.window("timestamp", "5 minutes"), "adviser_id").agg(F.count("*").alias("clicks")))
    b.run(billed, "append")


# --- the cases: operators ----------------------------------------------------------


def words(b: Bench, salt, batches=4, per_batch=40, vocabulary=30):
    return b.stream("words", rows.words(b.rng(salt), batches, per_batch, vocabulary), rows.WORD)


@variants("agg_v", f"{STREAMING}.aggregation.stateFormatVersion", ["1", "2"])
def aggregation(b: Bench):
    """An aggregation; in format 1 the value repeats the key, in format 2 it does not."""
    b.run(words(b, 4).groupBy("w").agg(F.count("*").alias("c"), F.avg("n").alias("a")), "update")


@case()
def agg_global(b: Bench):
    """An aggregation without a key: one row, keyed by a row of no columns."""
    b.run(words(b, 5).agg(F.count("*").alias("c"), F.sum("n").alias("s")), "complete")


@case()
def agg_functions(b: Bench):
    """Aggregate functions with buffers of many kinds: numbers, structs, serialized objects."""
    r = b.rng(30)
    schema = rows.fields(k=T.StringType(), x=T.DoubleType(), y=T.DecimalType(20, 4), t=T.TimestampType(), s=T.StringType())
    batches = [[(r.choice([None, "", "a", "b"]), r.random(), decimal.Decimal(r.randrange(10**8)).scaleb(-4),
                 rows.at(r.randrange(10000)), f"s{r.randrange(9)}") for _ in range(20)] for _ in range(3)]
    b.run(b.stream("rows", batches, schema).groupBy("k").agg(
        F.count("*"), F.sum("x"), F.sum("y"), F.avg("y"), F.min("t"), F.max("s"), F.stddev("x"), F.collect_list("s"),
        F.collect_set("s"), F.corr("x", "x"), F.skewness("x"), F.max_by("s", "x"), F.first("s", True),
        F.percentile_approx("x", F.lit(0.5)), F.max(F.struct("t", "x", "s")), F.approx_count_distinct("s", 0.2)), "update")


@case()
def null_keys(b: Bench):
    """Groups whose key is null, and an empty one."""
    r = b.rng(71)
    batches = [[(r.choice([None, None, "", "a", "b"]), r.randrange(5)) for _ in range(20)] for _ in range(3)]
    b.run(b.stream("words", batches, rows.WORD).groupBy("w").count(), "update")


@case()
def sliding_window(b: Bench):
    """An aggregation in windows that overlap: each click counts in four of them."""
    clicks = b.stream("clicks", rows.clicks(b.rng(43), 4, 40, advisers=6), rows.CLICK)
    b.run(clicks.withWatermark("timestamp", "2 minutes").groupBy(F.window("timestamp", "4 minutes", "1 minute"), "adviser_id")
          .agg(F.count("*").alias("n"), F.min("profile_id").alias("p")), "append")


@case()
def chained_windows(b: Bench):
    """Two aggregations, one on the results of the other."""
    clicks = b.stream("clicks", rows.clicks(b.rng(61), 6, 40, advisers=8), rows.CLICK)
    minutes = (clicks.withWatermark("timestamp", "1 minute").groupBy(F.window("timestamp", "1 minute").alias("w"), "adviser_id")
               .agg(F.count("*").alias("c")))
    b.run(minutes.groupBy(F.window(F.window_time("w"), "5 minutes"), "adviser_id").agg(F.sum("c").alias("c")), "append")


@case(partitions=20)
def evicted(b: Bench):
    """A watermark that removes most of what came: tombstones, and partitions left empty."""
    clicks = b.stream("clicks", rows.clicks(b.rng(73), 4, 30, advisers=5), rows.CLICK)
    b.run(clicks.withWatermark("timestamp", "30 seconds").groupBy(F.window("timestamp", "1 minute"), "adviser_id").count(), "append")


@case()
def session_window(b: Bench):
    """Sessions: several rows for one key, told apart by when they start."""
    clicks = b.stream("clicks", rows.clicks(b.rng(42), 5, 50, advisers=8), rows.CLICK)
    b.run(clicks.withWatermark("timestamp", "3 minutes").groupBy(F.session_window("timestamp", "20 seconds"), "adviser_id")
          .agg(F.count("*").alias("n"), F.max("profile_id").alias("p")), "append")


@case()
def dedupe_plain(b: Bench):
    """Deduplication without a watermark: keys, and no values to speak of."""
    b.run(words(b, 40, per_batch=60, vocabulary=150).dropDuplicates(["w"]), "append")


@case()
def dedupe_within_watermark(b: Bench):
    """Deduplication that forgets: the value is the time when a key expires."""
    clicks = b.stream("clicks", rows.clicks(b.rng(41), 5, 40), rows.CLICK)
    b.run(clicks.withWatermark("timestamp", "2 minutes").dropDuplicatesWithinWatermark(["profile_id"]), "append")


@case()
def global_limit(b: Bench):
    """A limit over the whole stream: one row that counts, in partition 0."""
    b.run(words(b, 60, per_batch=20).limit(50), "append")


@case()
def pandas_with_state(b: Bench):
    """applyInPandasWithState with a processing-time timeout."""
    import pandas as pd
    from pyspark.sql.streaming.state import GroupStateTimeout

    result = rows.fields(w=T.StringType(), c=T.LongType())
    state = rows.fields(c=T.LongType(), last=T.StringType(), history=T.ArrayType(T.LongType()))

    def count(key, frames, group):
        if group.hasTimedOut:
            group.remove()
            return
        seen = sum(len(frame) for frame in frames)
        total, _, history = group.get if group.exists else (0, "", [])
        group.update((total + seen, key[0], list(history) + [seen]))
        group.setTimeoutDuration(3600 * 1000)
        yield pd.DataFrame({"w": [key[0]], "c": [total + seen]})

    counted = words(b, 70, per_batch=25, vocabulary=20).groupBy("w").applyInPandasWithState(
        count, result, state, "update", GroupStateTimeout.ProcessingTimeTimeout)
    b.run_until(counted, "update", batch=3)


# --- the cases: joins ----------------------------------------------------------------


def joined(b: Bench, how, salt, batches=4, per_batch=16, **shares):
    """Impressions with the clicks on them within two minutes."""
    shown, clicked = rows.impressions_and_clicks(b.rng(salt), batches, per_batch, **shares)
    shown = b.stream("shown", shown, rows.IMPRESSION).withWatermark("shown", "2 minutes")
    clicked = b.stream("clicked", clicked, rows.AD_CLICK).withWatermark("clicked", "3 minutes")
    same_ad_soon = F.expr("ad = clicked_ad AND clicked >= shown AND clicked <= shown + interval 2 minutes")
    b.run(shown.join(clicked, same_ad_soon, how), "append")


def join(how):
    def write(b: Bench):
        joined(b, how, 50, nulls=.1)
    write.__doc__ = f"A stream-stream join, {how}; some rows have no key."
    case(f"join_{how}")(write)


for how in ("inner", "leftOuter", "rightOuter", "fullOuter", "leftSemi"):
    join(how)


@case(conf={f"{STREAMING}.join.stateFormatVersion": "1"})
def join_v1(b: Bench):
    """A stream-stream join in format 1, whose rows do not say whether they matched."""
    joined(b, "inner", 51)


@case(partitions=4)
def join_hot(b: Bench):
    """A stream-stream join, leftOuter, with half the rows of one hot ad."""
    joined(b, "leftOuter", 52, per_batch=24, hot=.5)


@case(partitions=24)
def join_skewed(b: Bench):
    """A stream-stream join over 24 partitions in which one ad has most rows: every rule calls its partition hot."""
    joined(b, "inner", 53, batches=2, per_batch=180, hot=.6)


# --- the cases: types ------------------------------------------------------------------


def last_of_each(b: Bench, df: DataFrame, names):
    b.run(df.groupBy("k").agg(*[F.last(name).alias(name) for name in names]), "update")


@case()
def value_types(b: Bench):
    """A value column of every type that a file of rows can bring along."""
    types = rows.FLAT | rows.NESTS | rows.MAPS
    schema = rows.fields(**types)
    batches = [[(key, *row) for key, row in enumerate(batch)] for batch in rows.every_type(b.rng(10), 3, 12, schema)]
    last_of_each(b, b.stream("rows", batches, T.StructType([T.StructField("k", T.IntegerType()), *schema.fields])), types)


@case()
def key_types(b: Bench):
    """A key column of every type that may be one."""
    schema = rows.fields(**rows.FLAT, **rows.NESTS)
    s = b.stream("rows", rows.every_type(b.rng(20), 3, 12, schema), schema)
    b.run(s.withColumn("ymint", F.expr("make_ym_interval(0, int % 1000)")).dropDuplicates(), "append")


def computed(b: Bench, salt, keys=("k",), **columns):
    """The last value of columns that SQL makes of a word w and a number n."""
    s = words(b, salt, batches=3, per_batch=12, vocabulary=8)
    s = s.select(F.col("w").alias("k"), *[F.expr(sql).alias(name) for name, sql in columns.items()])
    values = [name for name in columns if name not in keys]
    b.run(s.groupBy(*keys).agg(*[F.last(name).alias(name) for name in values]), "update")


@case()
def interval_types(b: Bench):
    """Intervals of all three kinds, nested too, and a column that can only be null."""
    computed(
        b, 10, keys=("k", "by_years", "by_days"),
        by_years="make_ym_interval(0, n % 3)",
        by_days="make_dt_interval(n % 2, 0, 0, 1.5)",
        calendar="if(n % 5 = 0, null, make_interval(n % 7, -n, 3, n, -5, 6, n + 0.000001))",
        years="make_ym_interval(n, -5)",
        days="make_dt_interval(-n, 4, 3, 2.000001)",
        nothing="cast(null as void)",
        calendars="array(make_interval(0, n), null, make_interval(0, 0, 0, -n))",
        nested="named_struct('c', make_interval(0, 0, 0, 0, n), 'y', make_ym_interval(0, n), 'v', null)",
        by_name="map(k, make_interval(n), 'other', null)")


@case()
def variant_types(b: Bench):
    """Variants: parsed from JSON and cast from SQL values, nested too."""
    computed(
        b, 11,
        parsed="""parse_json(concat('{"n":', n, ',"w":"', w, '","list":[1,', n * 1000000, ',1.25,true,null],"deep":{"x":-1e3}}'))""",
        scalar="""case n % 10 when 0 then parse_json('null') when 1 then null when 2 then w::variant when 3 then n::variant
                  when 4 then (n * 1.125BD)::variant when 5 then double(n / 7)::variant when 6 then (n > 500)::variant
                  when 7 then date_add(date'2026-01-05', int(n))::variant when 8 then timestamp_millis(n)::variant
                  else encode(w, 'utf-8')::variant end""",
        object="to_variant_object(named_struct('n', int(n), 'ws', array(w, null)))",
        inside="array(parse_json(concat('[', n, ']')), null)")


@case(conf={"spark.sql.timeType.enabled": "true"})
def time_types(b: Bench):
    """Times of day, in keys and values, nested too."""
    time_of = "cast(concat(lpad(n % 24, 2, '0'), ':07:', lpad(n % 60, 2, '0'), '.', lpad(n * 1001, 6, '0')) as time({}))"
    computed(b, 12, keys=("k", "at"), at="cast(concat(lpad(n % 3, 2, '0'), ':00:00') as time(0))",
             micros=time_of.format(6), millis=time_of.format(3), times=f"array({time_of.format(6)}, null)")


@case(conf={"spark.sql.preserveCharVarcharTypeInfo": "true"})
def char_types(b: Bench):
    """char and varchar kept as such."""
    computed(b, 13, keys=("k", "c"), c="cast(k as char(5))", fixed="cast(k as char(5))", bounded="cast(k as varchar(9))",
             inside="array(cast(k as varchar(9)))")


@case()
def collated_types(b: Bench):
    """Strings with collations in values, nested too."""
    computed(b, 14, lower="collate(upper(k), 'UTF8_LCASE')", unicode="collate(k, 'UNICODE_CI')",
             inside="array(collate(k, 'UNICODE'))", deep="named_struct('s', collate(k, 'de_AI'), 't', k)")


@case()
def udt_types(b: Bench):
    """User-defined types: Spark's own vectors, dense and sparse, and one of Python."""
    from pyspark.ml.linalg import Vectors, VectorUDT

    r = b.rng(15)
    schema = rows.fields(k=T.IntegerType(), vector=VectorUDT(), point=rows.PointType())
    vectors = [None, Vectors.dense(1.25, -1), Vectors.sparse(9, {2: 1.5, 7: -0.5})]
    batches = [[(k, r.choice(vectors), rows.Point(r.random(), k)) for k in range(6)] for _ in range(3)]
    last_of_each(b, b.stream("rows", batches, schema), ["vector", "point"])


@case(conf={"spark.sql.timestampNanosTypes.enabled": "true"})
def nanosecond_types(b: Bench):
    """Timestamps finer than a microsecond."""
    text = "concat('2026-01-05 09:00:', lpad(n % 60, 2, '0'), '.', lpad(n * 1001001 % 1000000000, 9, '0'))"
    computed(b, 16, ntz=f"cast({text} as timestamp_ntz(9))", ltz=f"cast({text} as timestamp_ltz(9))")


@case()
def geo_types(b: Bench):
    """Geometry, of one reference system and of any, and geography."""
    one, two = "000000000000F03F", "0000000000000040"  # the doubles 1 and 2, little-endian
    point, line = f"unhex('0101000000{one}{two}')", f"unhex('010200000002000000{one}{two}{two}{one}')"
    shape = f"if(n % 2 = 0, {point}, {line})"
    computed(b, 17, shapes=f"""named_struct(
        'flat', st_geomfromwkb({shape}), 'web', if(n % 3 = 0, null, st_geomfromwkb({shape}, 3857)),
        'any', if(n % 5 < 2, cast(st_geomfromwkb({shape}, 3857) as geometry(any)), cast(st_geomfromwkb({shape}, 4326) as geometry(any))),
        'round', st_geogfromwkb({shape}))""")


@case(conf={"spark.sql.timeType.enabled": "true", "spark.sql.timestampNanosTypes.enabled": "true"}, partitions=4)
def rare_key_types(b: Bench):
    """Keys of types that hardly anyone groups by, but may."""
    keys = dict(
        calendar="if(n % 7 = 0, null, make_interval(n % 3, n % 5, 0, -n % 4, 5, 0, n / 8))",
        years="make_ym_interval(0, -n % 5)",
        at="cast(concat('12:00:', lpad(n % 3, 2, '0'), '.5') as time(6))",
        ntz="cast(concat('2026-01-05 09:00:00.12345678', n % 10) as timestamp_ntz(9))",
        ltz="cast(concat('1969-12-31 23:59:59.98765432', n % 10) as timestamp_ltz(9))",
        nothing="cast(null as void)",
        inside="array(named_struct('i', make_interval(0, n % 2), 'v', null), null)")
    s = words(b, 18, batches=3, per_batch=12)
    b.run(s.selectExpr(*[f"{sql} as {name}" for name, sql in keys.items()]).groupBy(*keys).count(), "update")


@case(partitions=4)
def map_keys(b: Bench):
    """Keys that are maps, or hold some; Spark groups by them since 4.0, their entries sorted."""
    keys = dict(m="if(n % 5 = 0, null, map(w, n % 3, 'a', n % 2))", ms="array(map(n % 2, w, 1 - n % 2, 'x'))")
    s = words(b, 19, batches=3, per_batch=12, vocabulary=4)
    b.run(s.selectExpr(*[f"{sql} as {name}" for name, sql in keys.items()]).groupBy(*keys).count(), "update")


# --- the cases: files ------------------------------------------------------------------


@variants("codec_", f"{STREAMING}.stateStore.compression.codec", ["lz4", "lzf", "snappy", "zstd"])
def codec(b: Bench):
    """One codec, with short rows and rows longer than its blocks."""
    s = b.stream("texts", rows.texts(b.rng(3), 4, 10, [5, 3000, 40000]), rows.TEXT)
    b.run(s.groupBy("k").agg(F.count("*").alias("c"), F.last("s").alias("s")), "update")


@case()
def wide_values(b: Bench):
    """Values far longer than the 32 KiB block of LZ4, and state that shrinks."""
    s = b.stream("texts", rows.texts(b.rng(72), 3, 6, [10, 1000, 40000, 150000]), rows.TEXT)
    b.run(s.groupBy("k").agg(F.last("s").alias("s"), F.collect_list(F.length("s")).alias("all")), "update")


@case(conf={f"{STREAMING}.stateStore.rowChecksum.enabled": "true"})
def row_checksum(b: Bench):
    """Every row with a checksum of its own, removed ones too."""
    clicks = b.stream("clicks", rows.clicks(b.rng(91), 5, 40, advisers=8), rows.CLICK)
    b.run(clicks.withWatermark("timestamp", "1 minute").groupBy(F.window("timestamp", "1 minute"), "adviser_id").count(), "append")


@case(conf={f"{STREAMING}.stateStore.providerClass": ROCKSDB})
def rocksdb_agg(b: Bench):
    """An aggregation kept in RocksDB."""
    b.run(words(b, 80, batches=2).groupBy("w").agg(F.count("*").alias("c"), F.sum("n").alias("s")), "update")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0, help="other data for the same queries")
    parser.add_argument("--partitions", help="another number of state partitions than the case's own")
    parser.add_argument("out", type=Path)
    parser.add_argument("case", nargs="*")
    args = parser.parse_args()
    if not args.case:
        print("\n".join(f"{c.name:24} {c.about}" for c in CASES.values()))
        return
    builder = SparkSession.builder.master("local[2]").appName("fixtures")
    for key, value in SESSION.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    failed = 0
    for name in args.case:
        start = time.time()
        try:
            make(spark, CASES[name], args.out.resolve() / name, args.seed, args.partitions)
            print(f"made   {name} {time.time() - start:.0f}s", flush=True)
        except Exception as e:  # one case that this Spark refuses must not cost the others
            failed += 1
            print(f"FAILED {name}: {' '.join(str(e).split())[:400]}", flush=True)
    spark.stop()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

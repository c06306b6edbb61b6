"""Times Spark's own state reader on a checkpoint, warm: in a session that is
open and has run the query once. The whole process is timed from outside.

usage: spark.py CHECKPOINT REPEATS PARQUET_DIRECTORY
"""

import json
import sys
import time

begun = time.time()
from pyspark.sql import SparkSession  # noqa: E402


def seconds(work):
    start = time.time()
    work()
    return time.time() - start


def main(checkpoint, repeats, parquet):
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "12g")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    spark._jsparkSession.streams()  # has the session's state made before it is timed
    session = time.time() - begun
    rows = []

    def count():
        state = spark.read.format("statestore").load(checkpoint)
        rows.append(sum(r["count"] for r in state.groupBy("partition_id").count().collect()))

    def write():
        spark.read.format("statestore").load(checkpoint).write.mode("overwrite").parquet(parquet)

    counts = [seconds(count) for _ in range(repeats + 1)]
    out = {"session": session, "first": counts[0], "count": counts[1:], "rows": rows[-1]}
    if parquet:
        out["parquet"] = [seconds(write) for _ in range(repeats)]
    out["peak"] = peak(spark.sparkContext._gateway.proc.pid)
    print(json.dumps(out))


def peak(pid):
    """The most memory that the JVM has held, in bytes; 0 where that is not told."""
    try:
        with open(f"/proc/{pid}/status") as status:
            for line in status:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])

"""Compare exported files with the rows that Spark gave, as pyarrow, DuckDB,
Polars and pandas read them; JSON Lines as Python's json does.

usage: compare_export.py JOBS.json

JOBS.json is a list of objects: dir (a folder of exported files), format (parquet,
arrow, csv or jsonl), schema (Spark's schema of its answer, as JSON), rows (its answer, one
JSON object a line) and keys_only (compare no values). Rows are multisets, and
columns are compared by position, since names may repeat in Spark's answer.
Prints one line for each difference, and a last one with what was compared.
"""
import base64
import datetime as dt
import decimal
import glob
import json
import math
import re
import sys

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset

decimal.getcontext().prec = 60  # or normalize would round
EPOCH = dt.datetime(1970, 1, 1)
UNITS = {"years": (12, 0, 0), "months": (1, 0, 0), "days": (0, 1, 0), "hours": (0, 0, 3600 * 10**6),
         "minutes": (0, 0, 60 * 10**6), "seconds": (0, 0, 10**6)}


def micros(t: dt.datetime):
    if t.tzinfo is not None:
        t = t.astimezone(dt.timezone.utc).replace(tzinfo=None)
    return (t - EPOCH) // dt.timedelta(microseconds=1)


def number(v, kind):
    """A float so that NaN equals NaN, and -0.0 is not 0.0."""
    v = float(np.float32(v)) if kind == "float" else float(v)
    return "NaN" if math.isnan(v) else repr(v)


# --- Spark's JSON --------------------------------------------------------------


def seconds(text):
    """hh:mm:ss.ffffff as microseconds."""
    h, m, s = text.split(":")
    return (int(h) * 3600 + int(m) * 60) * 10**6 + int(decimal.Decimal(s) * 10**6)


def ansi_interval(text, kind):
    """INTERVAL '…' UNIT TO UNIT as months or microseconds."""
    body = re.search(r"'(.*)'", text).group(1)
    sign, body = (-1, body[1:]) if body.startswith("-") else (1, body)
    if "year" in kind or "month" in kind:
        if "-" in body:
            years, months = body.split("-")
            return sign * (int(years) * 12 + int(months))
        return sign * int(body) * (12 if "year" in kind else 1)
    first = kind.split()[1]
    if first == "day":
        days, _, clock = body.partition(" ")
        clock = clock or "0"
    else:
        days, clock = "0", body
    parts = clock.split(":")
    names = ["hour", "minute", "second"]
    at = names.index(first) if first in names else 0
    parts = ["0"] * at + parts + ["0"] * (3 - at - len(parts))
    return sign * (int(days) * 86400 * 10**6 + seconds(":".join(parts)))


def from_json(v, t):
    if v is None or t == "void":
        return None
    if isinstance(t, dict):
        match t["type"]:
            case "struct":
                return [from_json(x, f["type"]) for (_, x), f in zip(v, t["fields"], strict=True)]
            case "array":
                return [from_json(x, t["elementType"]) for x in v]
            case "map":
                return sorted(([map_key(k, t["keyType"]), from_json(x, t["valueType"])] for k, x in v), key=repr)
            case "udt":
                return from_json(v, t["sqlType"])
    if t.startswith(("char", "varchar", "string")):
        return v
    if t.startswith("decimal"):
        return str(decimal.Decimal(v).normalize())
    if t.startswith("time("):
        return seconds(v)
    if re.match(r"timestamp_(ntz|ltz)\(", t):
        main, nanos = v[:-4 if v.endswith("Z") else -3], v.rstrip("Z")[-3:]
        return [micros(dt.datetime.fromisoformat(main)), int(nanos)]
    if t.startswith(("geometry", "geography")):
        return [x for _, x in v]
    if t == "interval":
        out = [0, 0, 0]
        for n, unit in re.findall(r"(-?[\d.]+) (\w+)", v):
            for i, size in enumerate(UNITS[unit]):
                out[i] += int(decimal.Decimal(n) * size)
        return out
    if t.startswith("interval"):
        return ansi_interval(v, t)
    match t:
        case "timestamp" | "timestamp_ntz":
            return micros(dt.datetime.fromisoformat(v.rstrip("Z")))
        case "date":
            return (dt.date.fromisoformat(v) - EPOCH.date()).days
        case "float" | "double":
            return number(v, t)
        case "variant":
            return "variant"
    return v


def map_key(text, t):
    """Names in JSON are strings; Spark puts into them what it keeps inside."""
    if t in ("integer", "long", "short", "byte", "date", "timestamp", "timestamp_ntz"):
        return int(text)
    if t in ("float", "double"):
        return number(text, t)
    if t == "boolean":
        return text == "true"
    if isinstance(t, str) and t.startswith("decimal"):
        return str(decimal.Decimal(text).normalize())
    if isinstance(t, str) and t.startswith("time("):
        return int(text) // 1000
    if isinstance(t, str) and re.match(r"timestamp_(ntz|ltz)\(", t):
        return [int(n) for n in re.findall(r"-?\d+", text)]
    if isinstance(t, str) and t.startswith("interval "):
        return ansi_interval(text, t)
    return text


# --- what the readers of files give ----------------------------------------------


def from_file(v, t):
    if v is None or t == "void":
        return None
    if isinstance(t, dict):
        match t["type"]:
            case "struct":
                values = list(v.values())
                if not t["fields"]:
                    return []
                return [from_file(x, f["type"]) for x, f in zip(values, t["fields"], strict=True)]
            case "array":
                return [from_file(x, t["elementType"]) for x in v]
            case "map":
                pairs = v.items() if isinstance(v, dict) else v
                return sorted(([from_file(k, t["keyType"]), from_file(x, t["valueType"])] for k, x in pairs), key=repr)
            case "udt":
                return from_file(v, t["sqlType"])
    if t.startswith("decimal"):
        return str(decimal.Decimal(v).normalize())
    if re.match(r"timestamp_(ntz|ltz)\(", t):
        return [micros(v["timestamp"]), v["nanoseconds"]]
    if t.startswith(("geometry", "geography")):
        return [v["srid"], base64.b64encode(v["wkb"]).decode()]
    if t == "interval":
        return [v["months"], v["days"], v["microseconds"]]
    if t == "variant":
        return "variant" if isinstance(v["value"], bytes) and isinstance(v["metadata"], bytes) else v
    if isinstance(v, dt.datetime):
        return micros(v)
    if isinstance(v, dt.date):
        return (v - EPOCH.date()).days
    if isinstance(v, dt.time):
        return (v.hour * 3600 + v.minute * 60 + v.second) * 10**6 + v.microsecond
    if isinstance(v, bytes):
        return base64.b64encode(v).decode()
    if t in ("float", "double"):
        return number(v, t)
    return v


def pyarrow_rows(job):
    table = pa.dataset.dataset(glob.glob(job["dir"] + "/part-*"), format=job["format"]).to_table()
    return table.to_pylist()


def duckdb_rows(job):
    db = duckdb.connect()
    db.execute("SET TimeZone = 'UTC'")
    if job["format"] == "parquet":
        rows = db.execute(f"SELECT * FROM read_parquet('{job['dir']}/*.parquet')")
    else:
        table = pa.dataset.dataset(glob.glob(job["dir"] + "/part-*"), format="arrow")
        rows = db.from_arrow(table)
    names = [d[0] for d in rows.description]
    return [dict(zip(names, row)) for row in rows.fetchall()]


# --- text: one column for each field of key and value ----------------------------


def in_order(line):
    """An object as its names and values, since names may repeat."""
    return json.loads(line, object_pairs_hook=list, parse_float=decimal.Decimal)


def jsonl_rows(job):
    for name in glob.glob(job["dir"] + "/*.jsonl"):
        with open(name) as f:
            yield from (from_json(in_order(line), job["schema"]) for line in f)


def csv_value(text, t):
    if text is None:
        return None
    if isinstance(t, dict) and t["type"] == "udt":
        return csv_value(text, t["sqlType"])
    nested = isinstance(t, dict) or t.startswith(("geometry", "geography"))
    return from_json(in_order(text) if nested else text == "true" if t == "boolean" else
                     int(text) if t in ("byte", "short", "integer", "long") else text, t)


def csv_types(schema):
    """The types of the columns, of a struct one for each of its fields."""
    for f in schema["fields"]:
        if isinstance(f["type"], dict) and f["type"]["type"] == "struct":
            yield [x["type"] for x in f["type"]["fields"]]
        else:
            yield f["type"]


def csv_row(values, schema):
    """The columns put together. A struct of nulls, or of nothing, may as well be null."""
    values, row = iter(values), []
    for t in csv_types(schema):
        if not isinstance(t, list):
            row.append(csv_value(next(values), t))
        else:  # of no field there is no column
            row.append(null_struct([csv_value(next(values), x) for x in t]))
    if rest := list(values):
        raise ValueError(f"{len(rest)} columns too many")
    return row


def null_struct(v):
    return None if isinstance(v, list) and all(x is None for x in v) else v


def duckdb_csv_rows(job):
    rows = duckdb.execute(f"""SELECT * FROM read_csv('{job['dir']}/*.csv', header = true, all_varchar = true, delim = ',',
        quote = '"', escape = '"', allow_quoted_nulls = false, max_line_size = 100000000)""").fetchall()
    return (csv_row(row, job["schema"]) for row in rows)


def polars_csv_rows(job):
    for name in glob.glob(job["dir"] + "/*.csv"):
        for row in pl.read_csv(name, infer_schema=False).rows():
            yield csv_row(row, job["schema"])


# --- which of them read which format ---------------------------------------------


def typed(read):
    return lambda job: (from_file(row, job["schema"]) for row in read(job))


READERS = {
    "parquet": {"pyarrow": typed(pyarrow_rows), "DuckDB": typed(duckdb_rows)},
    "arrow": {"pyarrow": typed(pyarrow_rows), "DuckDB": typed(duckdb_rows)},
    "csv": {"DuckDB": duckdb_csv_rows, "Polars": polars_csv_rows},
    "jsonl": {"json": jsonl_rows},
}


def files(job):
    return glob.glob(job["dir"] + "/*." + job["format"])


COUNTERS = {
    "parquet": {"Polars": lambda job: pl.read_parquet(files(job)).height,
                "pandas": lambda job: len(pd.read_parquet(job["dir"]))},
    "arrow": {"Polars": lambda job: pl.read_ipc(files(job)).height,
              "pandas": lambda job: sum(len(pa.ipc.open_file(f).read_pandas()) for f in files(job))},
    "csv": {"pandas": lambda job: sum(len(pd.read_csv(f, dtype=str)) for f in files(job))},
    "jsonl": {"DuckDB": lambda job: duckdb.execute(f"SELECT count(*) FROM read_json_objects('{job['dir']}/*.jsonl')").fetchone()[0]},
}


def check(job):
    with open(job["schema"]) as f:
        schema = job["schema"] = json.load(f)
    with open(job["rows"]) as f:
        spark = [trim(from_json(in_order(line), schema), job) for line in f]
    if job["format"] == "csv":
        spark = [[null_struct(v) for v in row] for row in spark]
    want = sorted(map(repr, spark))
    problems = []
    for name, read in READERS[job["format"]].items():
        got = sorted(repr(trim(row, job)) for row in read(job))
        if len(got) != len(want):
            problems.append(f"{name} sees {len(got)} rows, Spark {len(want)}")
        for g, w in zip(got, want):
            if g != w:
                at = next((i for i, (a, b) in enumerate(zip(g, w)) if a != b), min(len(g), len(w)))
                problems.append(f"{name} has …{g[max(0, at - 60):at + 60]}… where Spark has …{w[max(0, at - 60):at + 60]}…")
                break
    for name, count in COUNTERS[job["format"]].items():
        if (n := count(job)) != len(want):
            problems.append(f"{name} sees {n} rows, Spark {len(want)}")
    return len(want), problems


def trim(row, job):
    return [row[0], row[2]] if job.get("keys_only") else row


def main():
    rows = 0
    jobs = json.load(open(sys.argv[1]))
    for job in jobs:
        try:
            n, problems = check(job)
        except Exception as e:  # whatever a reader throws is a difference
            n, problems = 0, [repr(e)]
        rows += n
        for p in problems:
            print(f"{job['dir']}: {p}")
    print(f"compared {len(jobs)} answers of {rows} rows")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Ask real Sparks which damaged checkpoints they restore, and write down their answers.

usage: judge.py [--work DIR] [VERSION...]

Needs what make.py needs, and Go: the damage is done by the tests of package
checkpoint (spark_cases_test.go), which lay the damaged checkpoints down in the
work folder. For every state that damage touches each Spark is asked whether
its state store loads it, and which rows it then has; and some of the queries
are started on what is left of their checkpoints. With versions named only
those are asked, and the answers of the others are taken from the work folder.

All answers land in testdata/damaged/answers.tsv; see the README there.
"""
import argparse
import json
import re
import shutil
import subprocess
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import make

VERSIONS = ["3.5.9", "4.1.4", "4.2.1", "4.3.0"]
ANSWERS = make.TESTDATA / "damaged" / "answers.tsv"
REPOSITORY = make.TESTDATA.parent
WHOLE = "whole"


# --- in the session of one Spark ---------------------------------------------------


def ask(work: Path, jar):
    """Answer all questions of the work folder by the Spark that this Python has."""
    from pyspark.sql import SparkSession
    import pyspark
    out = work / pyspark.__version__
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    spark = (SparkSession.builder.master("local[2]").appName("judge")
             .config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
             .config("spark.driver.memory", "2g").config("spark.driver.extraClassPath", jar)
             .config("spark.sql.session.timeZone", "UTC")
             .config("spark.sql.streaming.noDataMicroBatches.enabled", "false")  # one batch is proof enough
             .getOrCreate())
    spark.sparkContext.setLogLevel("OFF")
    # Without a query the provider of 4.1 misses its coordinator; asking for the
    # streams starts one.
    spark._jsparkSession.streams()
    start = time.time()
    spark._jvm.org.apache.spark.sql.judge.Judge.ask(str(work / "questions.jsonl"), str(out / "answers.jsonl"))
    print(f"asked  {pyspark.__version__} in {time.time() - start:.0f}s", flush=True)
    restart_all(spark, work, out)
    spark.stop()


def restart_all(spark, work: Path, out: Path):
    """Start the queries on what is left of their checkpoints, each on a copy."""
    questions = [q for q in read(work / "restarts.jsonl") if spark.version in q["sparks"]]
    if not questions:
        (out / "restarts.jsonl").touch()
        return
    import gen
    import rows

    class Restart(gen.Bench):
        """Runs a query of gen.py on a checkpoint that is there, with one more file of input."""

        def stream(self, name, batches, schema):
            return self.spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(out / "input" / name))

        def run(self, df, mode):
            commits = self.folder / "checkpoint" / "commits"
            was = newest(commits)
            try:
                self._writer(df, mode).trigger(availableNow=True).start().awaitTermination()
                self.outcome = "starts" if newest(commits) > was else "does nothing"
            except Exception as e:
                self.outcome = " ".join(str(e).split())[:1000]

    bench = gen.Bench(spark, out, 0)
    bench.stream("clicks", rows.clicks(bench.rng(1), 7, 120, hot=.3, seconds=120), rows.CLICK)  # as ad_billing, and then some
    start = time.time()
    with open(out / "restarts.jsonl", "w") as answers:
        for question in questions:
            folder = out / "restart"
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(work / question["dir"], folder / "checkpoint")
            for log in (folder / "checkpoint" / "sources").glob("*/[0-9]*"):
                # The input was elsewhere when the checkpoint was made.
                log.write_text(re.sub(r'"path":"[^"]*/(\w+/\w+\.parquet)"', rf'"path":"file://{out}/input/\1"', log.read_text()))
                log.with_name(f".{log.name}.crc").unlink(missing_ok=True)
            again = Restart(spark, folder, 0)
            getattr(gen, question["query"])(again)
            answers.write(json.dumps({"case": question["case"], "answer": again.outcome}) + "\n")
            answers.flush()
    print(f"started {len(questions)} queries of {spark.version} in {time.time() - start:.0f}s", flush=True)


def newest(log: Path):
    return max((int(e.name) for e in log.iterdir() if e.name.isdecimal()), default=-1) if log.is_dir() else -1


# --- the answers, made small --------------------------------------------------------


def place(a):
    return f"{a['operator']}/{a['store']}/{a['partition']}"


def answer_of(a):
    return a["answer"] if "answer" in a else "- " + a["refusal"].replace("CANNOT_LOAD_STATE_STORE.", "")


def compact(work: Path, versions):
    """One line for all that is answered alike; nothing where damage changes no answer."""
    lines = defaultdict(lambda: defaultdict(set))  # case, fixture, place, versions, answer -> sidecars -> Sparks
    for spark in versions:
        loads = defaultdict(dict)  # case, fixture, sidecars -> place, version -> answer
        for a in read(work / spark / "answers.jsonl"):
            loads[tuple(a["case"])][place(a), a["version"]] = answer_of(a)
        for (case, fixture, sidecars), answers in loads.items():
            if case == WHOLE:
                found = whole(answers)
            else:
                before = loads[WHOLE, fixture, sidecars]
                found = runs({at: a for at, a in answers.items() if a != before.get(at)})
            for at, numbers, a in found:
                lines[case, fixture, at, numbers, a][sidecars].add(spark)
        for a in read(work / spark / "restarts.jsonl"):
            case, fixture, sidecars = a["case"]
            lines[case, fixture, "query", "-", condition(a["answer"])][sidecars].add(spark)
    alike = defaultdict(list)
    for (case, fixture, at, numbers, a), by_sidecars in lines.items():
        same = defaultdict(list)
        for sidecars, sparks in by_sidecars.items():
            same[tuple(sorted(sparks))].append(sidecars)
        for sparks, s in same.items():
            alike[case, ",".join(sorted(s)), ",".join(sparks), at, numbers, a].append(fixture)
    out, last = [], None
    for case, fixtures, *rest in sorted((case, ",".join(sorted(fixtures)), *rest) for (case, *rest), fixtures in alike.items()):
        out.append("\t".join(["" if case == last else case, fixtures, *rest]) + "\n")
        last = case
    ANSWERS.parent.mkdir(exist_ok=True)
    ANSWERS.write_text("".join(out))


def read(file: Path):
    with open(file) as f:
        return [json.loads(line) for line in f]


def whole(answers):
    """Of a checkpoint that is whole: what is refused, and one sum of the rest."""
    yield from runs({at: a for at, a in answers.items() if a.startswith("- ")})
    rows = digest = 0
    for a in answers.values():
        if not a.startswith("- "):
            n, d = a.split()
            rows, digest = rows + int(n), (digest + int(d, 16)) % 2**64
    yield "*", "*", f"{rows} {digest:016x}"


def runs(answers):
    """Versions in a row with the same answer, together."""
    last = None
    for (at, version), a in sorted(answers.items()):
        if last and last[0] == at and last[3] == a and last[2] == version - 1:
            last[2] = version
            continue
        if last:
            yield last[0], span(*last[1:3]), last[3]
        last = [at, version, version, a]
    if last:
        yield last[0], span(*last[1:3]), last[3]


def span(first, end):
    return str(first) if first == end else f"{first}-{end}"


def condition(outcome):
    """Of the message of a query that failed the condition that it names, or the exception, or its first words."""
    if outcome in ("starts", "does nothing"):
        return outcome
    reason = outcome.rpartition("terminated with exception: ")[2]
    for named in (r"^\[(\w+(?:\.\w+)?)\]", r"\(\S+ executor \w+\): (?:\w+\.)*(\w+)", r"^An error occurred while calling \S+ : (?:\w+\.)*(\w+)"):
        if found := re.search(named, reason):
            return "- " + found[1].replace("CANNOT_LOAD_STATE_STORE.", "")
    return "- " + (re.split(r"SQLSTATE|===|\t", reason)[0].strip() or "no reason given")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "judge")
    parser.add_argument("--ask", metavar="JAR", help=argparse.SUPPRESS)  # this very session is to answer
    parser.add_argument("version", nargs="*", help="; ".join(VERSIONS))
    args = parser.parse_args()
    work = args.work.resolve()
    if args.ask:
        ask(work, args.ask)
        return
    work.mkdir(exist_ok=True, parents=True)
    subprocess.run(["go", "test", "./checkpoint", "-run", "^TestSparkAgrees$", "-count=1", "-damaged", str(work)], check=True, cwd=REPOSITORY)
    for version in args.version or VERSIONS:
        interpreter = make.python(work, version)
        jar = make.compile(make.HERE / "Judge.scala", make.jars_of(work, version), work / f"judge-{version}.jar")
        make.run(interpreter, Path(__file__).resolve(), "--work", work, "--ask", jar)
    compact(work, [v for v in VERSIONS if (work / v / "restarts.jsonl").exists()])
    make.write_manifest()


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Make every fixture in testdata again: run real Spark, ask it what it wrote, pack.

usage: make.py [--work DIR] [--pack] [VERSION/CASE...]

Needs Python 3.10 or later, Java 17 and a package index for PySpark; nothing
else. It makes one virtual environment for each version of Spark, a checkpoint
for each case of PLAN, and Spark's answers about each; all of that stays in the
work folder. Then it puts the results in place of those in testdata and writes
MANIFEST.sha256. With cases named, only those are made; with --pack none is made, only packed.
"""
import argparse
import hashlib
import os
import shutil
import subprocess
import tempfile
import venv
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
TESTDATA = HERE.parent

# Which Spark makes which case.
PLAN = {
    "3.3.0": ["dedupe_of_rows"],
    "3.5.9": ["ad_billing", "agg_v1", "codec_zstd", "dedupe_plain", "evicted", "join_leftOuter", "join_v1", "session_window",
              "sliding_window", "value_types"],
    "4.1.4": ["ad_billing", "agg_functions", "agg_global", "agg_v2", "char_types", "codec_lz4", "codec_lzf", "codec_snappy",
              "collated_types", "dedupe_of_rows", "dedupe_within_watermark", "fmgws_v1", "fmgws_v2", "global_limit", "interval_types",
              "join_leftOuter", "key_types", "mapgroups_primitive", "null_keys", "pandas_with_state", "rocksdb_agg",
              "session_window", "udt_types", "value_types", "variant_types"],
    "4.3.0": ["chained_windows", "geo_types", "join_fullOuter", "join_hot", "join_inner", "join_leftSemi", "join_rightOuter",
              "join_skewed", "map_keys", "nanosecond_types", "rare_key_types", "row_checksum", "time_types", "wide_values"],
}
SCALA = {"dedupe_of_rows", "fmgws_v1", "fmgws_v2", "mapgroups_primitive"}  # in Gen.scala; all others in gen.py
PLAIN = {"ad_billing"}  # laid down as folders, to be looked at; all others as zip files
READER = "4.3.0"        # the Spark that answers
NEEDS = {
    "3.3.0": [],
    "3.5.9": ["pandas<3", "pyarrow>=4,<20", "numpy<2", "setuptools"],
    "4.1.4": ["pandas<3", "pyarrow>=15", "numpy"],
    "4.2.1": [],
    "4.3.0": ["pandas<3", "pyarrow>=18", "numpy"],
}


def python(work: Path, version) -> Path:
    """The Python of the environment that holds this version of Spark."""
    home = work / f"venv-{version}"
    if not (home / "bin" / "python").exists():
        venv.create(home, with_pip=True)
        run(home / "bin" / "python", "-m", "pip", "install", "-q", f"pyspark=={version}", *NEEDS[version])
    return home / "bin" / "python"


def run(*command):
    subprocess.run([str(part) for part in command], check=True, env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"})


def jars_of(work: Path, version) -> Path:
    """The folder of jars that comes with this version of PySpark."""
    return next((work / f"venv-{version}").glob("lib/python*/site-packages/pyspark/jars"))


def compile(source: Path, jars: Path, to: Path) -> Path:
    """Compile Scala with the compiler among PySpark's own jars."""
    run("java", "-cp", f"{jars}/*", "scala.tools.nsc.Main", "-usejavacp", "-nowarn", "-d", to, source)
    return to


def generate(work: Path, version, cases):
    interpreter = python(work, version)
    out = work / version
    if in_python := [c for c in cases if c not in SCALA]:
        run(interpreter, HERE / "gen.py", out, *in_python)
    if in_scala := [c for c in cases if c in SCALA]:
        for case in in_scala:
            shutil.rmtree(out / case, ignore_errors=True)
        jars = jars_of(work, version)
        compiled = compile(HERE / "Gen.scala", jars, work / f"gen-{version}.jar")
        run("java", f"@{HERE / 'jvm-options'}", "-cp", f"{compiled}:{jars}/*", "Gen", out, *in_scala)


def pack(case_dir: Path, target: Path):
    """Put one finished case into testdata, as a folder or as a zip file."""
    target.parent.mkdir(exist_ok=True)
    if target.name in PLAIN:
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        for file in kept(case_dir):
            to = target / file.relative_to(case_dir)
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, to)
        return
    with zipfile.ZipFile(target.with_suffix(target.suffix + ".zip"), "w", zipfile.ZIP_DEFLATED, compresslevel=9) as z:
        for file in kept(case_dir):
            # The same files give the same zip: fixed order, times and modes.
            entry = zipfile.ZipInfo(file.relative_to(case_dir).as_posix(), (1980, 1, 1, 0, 0, 0))
            entry.external_attr = 0o100644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            z.writestr(entry, file.read_bytes())


def kept(case_dir: Path):
    """The files of a case that testdata keeps: all but the input."""
    files = [case_dir / "case.json"]
    for part in ("checkpoint", "spark"):
        files += (f for f in (case_dir / part).rglob("*") if f.is_file())
    return sorted(files)


def write_manifest():
    """sha256sum's own format: `sha256sum -c MANIFEST.sha256` checks it."""
    files = sorted(f.relative_to(TESTDATA).as_posix() for d in TESTDATA.iterdir() if d.is_dir() and d != HERE
                   for f in d.rglob("*") if f.is_file())
    lines = (f"{hashlib.sha256((TESTDATA / f).read_bytes()).hexdigest()}  {f}\n" for f in files)
    (TESTDATA / "MANIFEST.sha256").write_text("".join(lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "fixtures")
    parser.add_argument("--pack", action="store_true", help="only pack what the work folder holds")
    parser.add_argument("case", nargs="*", metavar="VERSION/CASE")
    args = parser.parse_args()
    work = args.work.resolve()
    planned = [(version, case) for version, cases in PLAN.items() for case in cases]
    wanted = [tuple(name.split("/")) for name in args.case] or planned
    if unknown := set(wanted) - set(planned):
        parser.error(f"not in the plan: {', '.join(map('/'.join, sorted(unknown)))}")
    if not args.pack:
        for version in PLAN:
            if cases := [case for v, case in wanted if v == version]:
                generate(work, version, cases)
        run(python(work, READER), HERE / "oracle.py", *(work / version / case for version, case in wanted))
    for version, case in wanted:
        pack(work / version / case, TESTDATA / version / case)
    write_manifest()


if __name__ == "__main__":
    main()

package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/statestore/statetest"
)

// pythonWith returns a Python that has the modules: that of SPARKSTATE_PYTHON,
// or the one on the path. Without one the test is skipped.
func pythonWith(t *testing.T, modules ...string) string {
	t.Helper()
	python := os.Getenv("SPARKSTATE_PYTHON")
	if python == "" {
		python = "python3"
	}
	if out, err := exec.Command(python, "-c", "import "+strings.Join(modules, ", ")).CombinedOutput(); err != nil {
		t.Skipf("SPARKSTATE_PYTHON names no Python with %s, nor is there one on the path: %v\n%s", strings.Join(modules, ", "), err, out)
	}
	return python
}

// job is one comparison of compare_export.py.
type job struct {
	Dir      string `json:"dir"`
	Format   string `json:"format"`
	Schema   string `json:"schema"`
	Rows     string `json:"rows"`
	KeysOnly bool   `json:"keys_only"`
}

// exportJobs exports what Spark was asked of every fixture, once in each format,
// and lays Spark's answers beside it.
func exportJobs(t *testing.T, formats ...string) []job {
	t.Helper()
	var jobs []job
	tmp := t.TempDir()
	for _, c := range sparkCases(t) {
		if strings.Contains(c.name, "rocksdb") || exception(c.name) != nil {
			continue // not read yet; Spark shows half of a number
		}
		if !strings.HasPrefix(c.ckpt, root+"/testdata/") {
			continue // more of the same kinds
		}
		for i, r := range c.index(t).Reads {
			if r.Error != "" || r.Rows == 0 {
				continue
			}
			beside := filepath.Join(tmp, strings.ReplaceAll(c.name, "/", "_"), fmt.Sprint(i))
			require.NoError(t, os.MkdirAll(beside, 0o777))
			j := job{Schema: beside + "/schema.json", Rows: beside + "/rows.jsonl",
				KeysOnly: strings.Contains(c.name, "3.2.0-deduplication") || strings.Contains(c.name, "dedupe_of_rows")}
			for to, from := range map[string]string{j.Rows: r.File, j.Schema: strings.TrimSuffix(r.File, ".jsonl") + ".schema.json"} {
				b, err := fs.ReadFile(c.answers, from)
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(to, b, 0o666))
			}
			for _, f := range formats {
				j.Format, j.Dir = f, filepath.Join(beside, f)
				args := arguments(c.ckpt, r.Options)
				if args[0] == "changes" {
					args = append(args, "--changes")
				}
				args[0] = "export"
				for at, a := range args {
					if a == "--format" {
						args[at+1] = f
					}
				}
				code, _, errs := sparkstate(append(args, "-o", j.Dir)...)
				require.Zero(t, code, "%v\n%s", args, errs)
				found, err := filepath.Glob(filepath.Join(j.Dir, "*", "*"))
				require.NoError(t, err)
				require.Len(t, found, 1)
				j.Dir = found[0]
				jobs = append(jobs, j)
			}
		}
	}
	return jobs
}

// What other programs read in the exported files is what Spark says of the
// checkpoint, value for value.
func TestElsewhereEqualsSpark(t *testing.T) {
	python := pythonWith(t, "pyarrow", "duckdb", "polars", "pandas", "pytz")
	jobs := exportJobs(t, "parquet", "arrow", "csv", "jsonl")
	b, err := json.Marshal(jobs)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "jobs.json")
	require.NoError(t, os.WriteFile(file, b, 0o666))
	out, err := exec.Command(python, "testdata/compare_export.py", file).CombinedOutput()
	require.NoError(t, err, string(out))
	last := strings.TrimSpace(string(out))
	last = last[strings.LastIndexByte(last, '\n')+1:]
	assert.Regexp(t, fmt.Sprintf(`^compared %d answers of [1-9]\d* rows$`, len(jobs)), last)
	assert.Equal(t, last, strings.TrimSpace(string(out)), "differences")
	t.Log(last)
}

// The recipes of the README, as they stand there.
func TestRecipes(t *testing.T) {
	dir := t.TempDir()
	code, _, errs := sparkstate("export", adBilling, "-o", filepath.Join(dir, "out"))
	require.Zero(t, code, errs)
	code, stream, errs := sparkstate("export", adBilling, "--operator", "0", "--format", "arrow", "-o", "-")
	require.Zero(t, code, errs)
	for _, c := range []struct {
		module, python string
		want           []string
	}{
		{"duckdb", `import duckdb
print(duckdb.sql("SELECT key.adviser_id, count(*) AS profiles FROM 'out/dedupe_1/default/*.parquet' GROUP BY ALL ORDER BY profiles DESC LIMIT 1"))`,
			[]string{"adviser_hot", "195"}},
		{"polars", `import polars as pl
print(pl.scan_parquet("out/stateStoreSave_0/default/*.parquet").unnest("key", "value").group_by("adviser_id").agg(pl.col("count").sum()).sort("count", descending=True).head(1).collect())`,
			[]string{"adviser_hot", "32"}},
		{"pandas", `import pandas as pd
df = pd.read_parquet("out/dedupe_1/default")
print(pd.json_normalize(df["key"]).groupby("adviser_id").size().nlargest(1))`,
			[]string{"adviser_hot", "195"}},
		{"pyarrow", `import sys, pyarrow.ipc
print(pyarrow.ipc.open_stream(sys.stdin.buffer).read_pandas().shape)`,
			[]string{"(39, 3)"}},
	} {
		t.Run(c.module, func(t *testing.T) {
			cmd := exec.Command(pythonWith(t, c.module), "-c", c.python)
			cmd.Dir, cmd.Stdin = dir, strings.NewReader(stream)
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, string(out))
			for _, w := range c.want {
				assert.Contains(t, string(out), w)
			}
			t.Log(string(out))
		})
	}
}

// oddExport reads the folders of one state in the formats parquet, arrow and csv,
// and prints each way's rows, sorted, in the words of Python. (Polars leaves the
// quotes in the names of a CSV file as they are.)
const oddExport = `import glob, sys, duckdb, polars as pl, pyarrow.dataset as ds
def say(rows): print(repr(sorted(rows, key=repr)))
top = sys.argv[1]
files = {f: glob.glob(f"{top}/{f}/*/*/part-*") for f in ("parquet", "arrow", "csv")}
nested = [ds.dataset(files[f], format=f).to_table().to_pylist() for f in ("parquet", "arrow")]
nested += [pl.read_parquet(files["parquet"]).to_dicts(), pl.concat(pl.read_ipc(f) for f in files["arrow"]).to_dicts()]
q = duckdb.sql(f"SELECT * FROM read_parquet({files['parquet']})")
nested.append([dict(zip(q.columns, row)) for row in q.fetchall()])
for rows in nested:
    say([[*r["key"].items(), *r["value"].items()] for r in rows])
q = duckdb.sql(f"SELECT * FROM read_csv({files['csv']}, header = true, all_varchar = true, allow_quoted_nulls = false, delim = ',', quote = '\"', escape = '\"')")
say([[*zip(q.columns, row)][:-1] for row in q.fetchall()])
`

// States that no fixture has are read elsewhere as well: one without a row, one
// of nulls, and names that need quotes wherever they are written.
func TestElsewhereOdd(t *testing.T) {
	python := pythonWith(t, "pyarrow", "duckdb", "polars")
	for _, c := range []struct {
		name         string
		op           statetest.Operator
		key, value   []any
		nested, flat string
	}{
		{name: "empty", op: statetest.Aggregation("k STRING", "a ARRAY<STRING>, s STRUCT<>"), nested: "[]", flat: "[]"},
		{name: "nulls", op: statetest.Aggregation("k STRING", "d DECIMAL(38,10), v VOID"), key: []any{nil}, value: []any{nil, nil},
			nested: "[[('k', None), ('d', None), ('v', None)]]", flat: "[[('key.k', None), ('value.d', None), ('value.v', None)]]"},
		{name: "names", op: statetest.Aggregation("`a.b` STRING, `c d` STRING", "`q\"` STRING, `x,y` STRING, `new\nline` STRING, `` STRING"),
			key: []any{"", " "}, value: []any{`"`, ",", "\r\n", "ü"},
			nested: `[[('a.b', ''), ('c d', ' '), ('q"', '"'), ('x,y', ','), ('new\nline', '\r\n'), ('_4', 'ü')]]`,
			flat:   `[[('key.a.b', ''), ('key.c d', ' '), ('value.q"', '"'), ('value.x,y', ','), ('value.new\nline', '\r\n'), ('value.', 'ü')]]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			ckpt, dir := t.TempDir(), t.TempDir()
			w := statetest.NewWriter(statetest.Query{Spark: "4.1", Partitions: 3, Operators: []statetest.Operator{c.op}}, statetest.Dir(ckpt))
			if c.key != nil {
				w.Put(0, "", c.key, c.value)
			}
			require.NoError(t, w.Commit())
			for _, f := range []string{"parquet", "arrow", "csv"} {
				code, _, errs := sparkstate("export", ckpt, "--format", f, "-o", filepath.Join(dir, f))
				require.Zero(t, code, errs)
			}
			out, err := exec.Command(python, "-c", oddExport, dir).CombinedOutput()
			require.NoError(t, err, string(out))
			assert.Equal(t, strings.Repeat(c.nested+"\n", 5)+c.flat+"\n", string(out))
		})
	}
}

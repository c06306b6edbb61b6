package statebeam

import (
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/pqarrow"
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/skew"
)

type collectFiles struct{ Into string }

func (f *collectFiles) ProcessElement(x File) error { return collect(f.Into, x) }

func init() { register.DoFn1x1[File, error](&collectFiles{}) }

// clicks adds up the clicks of each adviser in records of the ad-billing query.
func clicks(rec arrow.Record, into map[string]int64) {
	names := rec.Column(0).(*array.Struct).Field(1).(*array.String)
	counts := rec.Column(1).(*array.Struct).Field(0).(*array.Int64)
	for i := range names.Len() {
		into[string([]byte(names.Value(i)))] += counts.Value(i)
	}
}

// readParquet calls visit with all records of a file and returns the number of
// their rows.
func readParquet(t *testing.T, name string, visit func(arrow.Record)) (rows int64) {
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	tbl, err := pqarrow.ReadTable(t.Context(), f, parquet.NewReaderProperties(memory.DefaultAllocator), pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	require.NoError(t, err)
	defer tbl.Release()
	r := array.NewTableReader(tbl, 0)
	defer r.Release()
	for r.Next() {
		visit(r.Record())
	}
	return tbl.NumRows()
}

// TestExport: a file for each partition, with its rows; a second run writes the
// same again; and nothing else is there, temporary files for one.
func TestExport(t *testing.T) {
	names := fixtures(t)
	dir := filepath.Join(t.TempDir(), "new", "export")
	export := func(into string) []File {
		ptest.BuildAndRun(t, func(s beam.Scope) {
			beam.ParDo0(s, &collectFiles{into}, Export(s, dir, Tasks(s, Latest, names...)))
		})
		var out []File
		for _, l := range lines(into) {
			var f File
			require.NoError(t, json.Unmarshal([]byte(l), &f))
			out = append(out, f)
		}
		return out
	}
	files := export(t.Name())
	want := map[Task]int64{}
	counts, _ := alone(t, skew.Options{}, names...)
	for _, l := range counts {
		var c Count
		require.NoError(t, json.Unmarshal([]byte(l), &c))
		if c.Present {
			want[c.Task] = c.Rows
		}
	}
	got := map[Task]int64{}
	hot := map[string]int64{}
	listed := map[string]bool{}
	for _, f := range files {
		rows := readParquet(t, filepath.Join(dir, filepath.FromSlash(f.Path)), func(rec arrow.Record) {
			if f.Checkpoint == names[0] && f.Operator == 0 {
				clicks(rec, hot)
			}
		})
		require.Equal(t, f.Rows, rows, f.Path)
		got[f.Task] = rows
		listed[f.Path] = true
	}
	require.Equal(t, want, got)
	require.Len(t, listed, len(files), "a path of its own for each")

	cp, err := checkpoint.Open(names[0])
	require.NoError(t, err)
	defer cp.Close()
	s, err := cp.Store(0, "default")
	require.NoError(t, err)
	wantHot := map[string]int64{}
	for rec, err := range s.Records(t.Context()) {
		require.NoError(t, err)
		clicks(rec, wantHot)
		rec.Release()
	}
	require.Equal(t, wantHot, hot)

	require.Equal(t, files, export(t.Name()+" again"))
	there := map[string]bool{}
	require.NoError(t, fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			there[name] = true
		}
		return err
	}))
	require.Equal(t, listed, there)
}

// TestExportURL: to the URL of a bucket, below a directory in it.
func TestExportURL(t *testing.T) {
	dir := t.TempDir()
	ptest.BuildAndRun(t, func(s beam.Scope) {
		beam.ParDo0(s, &collectFiles{t.Name()}, Export(s, "file://"+dir+"?no_tmp_dir=true&metadata=skip", Tasks(s, 3, fixtures(t)[0])))
	})
	require.Len(t, lines(t.Name()), 8)
	for _, l := range lines(t.Name()) {
		var f File
		require.NoError(t, json.Unmarshal([]byte(l), &f))
		require.FileExists(t, filepath.Join(dir, f.Path))
		require.Equal(t, "batch=3", path.Base(path.Dir(f.Path)))
	}
}

// TestExportFailure: of damage no file is left behind, and nothing is written
// into a checkpoint.
func TestExportFailure(t *testing.T) {
	damaged := filepath.Join(t.TempDir(), "damaged")
	require.NoError(t, os.CopyFS(damaged, os.DirFS(fixtures(t)[0])))
	require.NoError(t, os.Truncate(filepath.Join(damaged, "state/1/2/6.snapshot"), 60))
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(damaged, link))
	for _, dir := range []string{t.TempDir(), damaged, filepath.Join(damaged, "new"), filepath.Join(link, "state", "x", "y")} {
		p, s := beam.NewPipelineWithRoot()
		beam.ParDo0(s, &collectFiles{t.Name()}, Export(s, dir, Tasks(s, Latest, damaged)))
		_, err := ptest.RunWithMetrics(p)
		require.Error(t, err)
		bad, err := filepath.Glob(filepath.Join(dir, "*/dedupe_1/default/*/*00002*"))
		require.NoError(t, err)
		require.Empty(t, bad)
	}
	after, err := filepath.Glob(filepath.Join(damaged, "*"))
	require.NoError(t, err)
	before, err := filepath.Glob(filepath.Join(fixtures(t)[0], "*"))
	require.NoError(t, err)
	require.Len(t, after, len(before))
}

func TestFolder(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range []string{"/a/checkpoint", "/b/checkpoint", "gs://lake/x/checkpoint", "..", "", "/", "a b/<c>", "/very/long/" + string(make([]byte, 300))} {
		got := folder(name)
		require.Regexp(t, `^[A-Za-z0-9_.-]+$`, got)
		require.NotRegexp(t, `^\.`, got)
		require.LessOrEqual(t, len(got), 53)
		require.False(t, seen[got])
		seen[got] = true
	}
}

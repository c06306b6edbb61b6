package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/parquet/file"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/statestore/sqltype"
	"github.com/sparkstate/sparkstate/statestore/statetest"
)

// filesBelow returns the files below a folder, hidden ones too, with what is in
// them.
func filesBelow(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := make(map[string]string)
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(name)
		rel, relErr := filepath.Rel(dir, name)
		require.NoError(t, relErr)
		out[filepath.ToSlash(rel)] = string(b)
		return err
	})
	if !os.IsNotExist(err) {
		require.NoError(t, err)
	}
	return out
}

func keysOf(files map[string]string) []string {
	var out []string
	for n := range files {
		out = append(out, n)
	}
	return out
}

// Each partition becomes a file, of what read prints of it; again makes the same
// files again.
func TestExportFiles(t *testing.T) {
	for _, format := range []string{"parquet", "arrow", "csv", "jsonl"} {
		dir := filepath.Join(t.TempDir(), "out")
		args := []string{"export", adBilling, "--format", format, "-o", dir}
		code, out, errs := sparkstate(args...)
		require.Zero(t, code, errs)
		assert.Contains(t, out, "dedupe_1")
		var want []string
		for _, d := range []string{"stateStoreSave_0", "dedupe_1"} {
			want = append(want, d+"/default/_sparkstate.json", d+"/default/_SUCCESS")
			for p := range 4 {
				want = append(want, fmt.Sprintf("%s/default/part-%05d.%s", d, p, format))
			}
		}
		first := filesBelow(t, dir)
		assert.ElementsMatch(t, want, keysOf(first))
		code, again, errs := sparkstate(args...)
		require.Zero(t, code, errs)
		assert.Equal(t, out, again)
		assert.Equal(t, first, filesBelow(t, dir))
		if format != "csv" && format != "jsonl" {
			continue
		}
		for p := range 4 {
			code, rows, errs := sparkstate("read", adBilling, "--operator", "1", "--format", format, "--partition", fmt.Sprint(p))
			require.Zero(t, code, errs)
			assert.Equal(t, rows, first[fmt.Sprintf("dedupe_1/default/part-%05d.%s", p, format)])
		}
	}
}

// To stdout goes one store as a whole.
func TestExportStdout(t *testing.T) {
	_, table, _ := sparkstate("metadata", adBilling, "--operator", "1", "--format", "jsonl")
	rows := 0
	for line := range strings.Lines(table) {
		var m struct{ NumRows int }
		require.NoError(t, json.Unmarshal([]byte(line), &m))
		rows += m.NumRows
	}
	code, out, errs := sparkstate("export", adBilling, "--operator", "1", "--format", "arrow", "-o", "-")
	require.Zero(t, code, errs)
	r, err := ipc.NewReader(strings.NewReader(out))
	require.NoError(t, err)
	defer r.Release()
	n := 0
	for r.Next() {
		n += int(r.Record().NumRows())
	}
	require.NoError(t, r.Err())
	assert.Equal(t, rows, n)
	meta := r.Schema().Metadata()
	assert.Equal(t, "6", meta.Values()[meta.FindKey("sparkstate.batch")])

	code, out, errs = sparkstate("export", adBilling, "--operator", "1", "-o", "-")
	require.Zero(t, code, errs)
	p, err := file.NewParquetReader(bytes.NewReader([]byte(out)))
	require.NoError(t, err)
	defer p.Close()
	assert.EqualValues(t, rows, p.NumRows())

	for _, format := range []string{"csv", "jsonl"} {
		_, want, _ := sparkstate("read", adBilling, "--operator", "1", "--format", format)
		code, out, errs = sparkstate("export", adBilling, "--operator", "1", "--format", format, "-o", "-")
		require.Zero(t, code, errs)
		assert.Equal(t, want, out)
		_, want, _ = sparkstate("changes", adBilling, "--operator", "1", "--from", "2", "--to", "4", "--format", format)
		code, out, errs = sparkstate("export", adBilling, "--operator", "1", "--changes", "--from", "2", "--to", "4", "--format", format, "-o", "-")
		require.Zero(t, code, errs)
		assert.Equal(t, want, out)
		join := root + "/testdata/4.3.0/join_hot.zip"
		_, want, _ = sparkstate("read", join, "--join-side", "left", "--format", format)
		code, out, errs = sparkstate("export", join, "--join-side", "left", "--format", format, "-o", "-")
		require.Zero(t, code, errs)
		assert.Equal(t, want, out)
	}
	code, out, errs = sparkstate("export", adBilling, "--operator", "1", "--format", "jsonl", "-o", "-", "--shard", "5/9")
	require.Zero(t, code, errs)
	assert.Empty(t, out, "a shard without partitions")
}

// Shards together are the whole.
func TestExportShards(t *testing.T) {
	whole, parts := t.TempDir(), t.TempDir()
	args := func(dir string, more ...string) []string {
		return append([]string{"export", adBilling, "--operator", "dedupe", "-o", dir}, more...)
	}
	code, _, errs := sparkstate(args(whole)...)
	require.Zero(t, code, errs)
	var running sync.WaitGroup
	for i := range 3 {
		running.Go(func() {
			code, _, errs := sparkstate(args(parts, "--shard", fmt.Sprintf("%d/3", i))...)
			assert.Zero(t, code, errs)
		})
	}
	running.Wait()
	of := func(dir string) map[string]string {
		files := filesBelow(t, dir)
		maps.DeleteFunc(files, func(name, _ string) bool { return strings.Contains(name, exportMark) })
		return files
	}
	assert.Equal(t, of(whole), of(parts))

	for text, want := range map[string]string{
		"0/1": "", "7/8": "", "8/8": "count from 0 to 7", "-1/8": "count from 0", "1": "is not i/n", "1/0": "count from", "1/2/3": "is not i/n", "a/2": "is not i/n", "1/2x": "is not i/n", "": "is not i/n", " 1/2": "is not i/n", "+1/2": "is not i/n",
	} {
		var s shard
		if err := s.Set(text); want == "" {
			assert.NoError(t, err, text)
			assert.Equal(t, text, s.String())
		} else {
			assert.ErrorContains(t, err, want, text)
		}
	}
}

// Files of two states never come together by accident.
func TestExportKeepsStatesApart(t *testing.T) {
	dir := t.TempDir()
	args := []string{"export", adBilling, "--operator", "1", "-o", dir}
	code, _, errs := sparkstate(args...)
	require.Zero(t, code, errs)
	before := filesBelow(t, dir)
	for _, other := range [][]string{
		{"--batch", "3"}, {"--format", "csv"}, {"--shard", "0/2", "--batch", "5"}, {"--key-schema", "a STRING, b STRING"},
	} {
		code, _, errs := sparkstate(append(args, other...)...)
		assert.Equal(t, exitUsage, code)
		assert.Contains(t, errs, "--overwrite")
		assert.Equal(t, before, filesBelow(t, dir))
	}
	code, _, errs = sparkstate(append(args, "--batch", "3", "--shard", "0/2", "--overwrite")...)
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, errs, "other shards")
	require.NoError(t, os.WriteFile(dir+"/dedupe_1/default/mine.txt", nil, 0o600))
	code, _, errs = sparkstate(append(args, "--batch", "3", "--format", "csv", "--overwrite")...)
	require.Zero(t, code, errs)
	assert.ElementsMatch(t, []string{
		"dedupe_1/default/_sparkstate.json", "dedupe_1/default/mine.txt", "dedupe_1/default/part-00000.csv", "dedupe_1/default/part-00001.csv",
		"dedupe_1/default/part-00002.csv", "dedupe_1/default/part-00003.csv", "dedupe_1/default/_SUCCESS",
	}, keysOf(filesBelow(t, dir)))
	// Without its note a folder of files is of a state that nobody knows.
	require.NoError(t, os.Remove(dir+"/dedupe_1/default/_sparkstate.json"))
	code, _, errs = sparkstate(append(args, "--batch", "3", "--format", "csv")...)
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, errs, "tells of which state")
	require.NoError(t, os.WriteFile(dir+"/dedupe_1/default/_sparkstate.json", []byte("{"), 0o600))
	code, _, errs = sparkstate(append(args, "--batch", "3", "--format", "csv")...)
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, errs, "_sparkstate.json")
	code, _, errs = sparkstate(append(args, "--batch", "3", "--format", "csv", "--overwrite")...)
	assert.Zero(t, code, errs)
	// The changes of a batch lie beside its rows.
	code, out, errs := sparkstate("export", adBilling, "--operator", "1", "-o", dir, "--changes")
	assert.Zero(t, code, errs)
	assert.Contains(t, out, "default-changes")
}

// Two that begin at once with different batches: one wins, the other is told.
func TestExportClaims(t *testing.T) {
	dir := t.TempDir()
	var running sync.WaitGroup
	codes := make([]int, 6)
	for i := range codes {
		running.Go(func() {
			codes[i], _, _ = sparkstate("export", adBilling, "--operator", "0", "-o", dir, "--batch", fmt.Sprint(4+i%2), "--shard", fmt.Sprintf("%d/6", i))
		})
	}
	running.Wait()
	assert.NotEqual(t, codes[0], codes[1])
	for i, c := range codes {
		assert.Equal(t, codes[i%2], c)
	}
}

// Nothing is ever written into a checkpoint, whichever way leads there.
func TestExportNeverInside(t *testing.T) {
	ckpt := copyOf(t, adBilling)
	before := filesBelow(t, ckpt)
	beside := t.TempDir()
	require.NoError(t, os.Symlink(ckpt, beside+"/link"))
	require.NoError(t, os.Symlink(ckpt+"/state", beside+"/dedupe_1"))
	require.NoError(t, os.MkdirAll(beside+"/deep", 0o700))
	for _, c := range [][2]string{
		{ckpt, ckpt}, {ckpt, ckpt + "/out"}, {ckpt, ckpt + "/state/1/new/deep"}, {ckpt, beside + "/link/out"}, {ckpt, beside + "/deep/../link"},
		{ckpt, beside}, {filepath.Dir(ckpt), ckpt + "/out"}, {ckpt + "/state/1", ckpt + "/out"}, {ckpt + "/state/1/2", ckpt + "/state/1/3"},
	} {
		code, _, errs := sparkstate("export", c[0], "--operator", "1", "-o", c[1])
		assert.Equal(t, exitUsage, code, c)
		assert.Contains(t, errs, "nothing is ever written there", c)
	}
	assert.Equal(t, before, filesBelow(t, ckpt))
	assert.Empty(t, filesBelow(t, beside+"/deep"))
	code, _, errs := sparkstate("export", filepath.Dir(ckpt), "--operator", "1", "-o", filepath.Join(filepath.Dir(ckpt), "out"))
	assert.Zero(t, code, errs)
	require.NoError(t, os.Symlink(beside+"/nowhere", beside+"/dangling"))
	code, _, errs = sparkstate("export", ckpt, "--operator", "1", "-o", beside+"/dangling")
	assert.Equal(t, exitOutput, code)
	assert.Contains(t, errs, "link to nowhere")
}

// Files appear whole or not at all.
func TestExportWholeOrNot(t *testing.T) {
	ckpt := copyOf(t, adBilling)
	edit(t, filepath.Join(ckpt, "state/1/2/7.delta"), func(b []byte) []byte { return b[:len(b)/2] })
	require.NoError(t, os.Remove(filepath.Join(ckpt, "state/1/2/.7.delta.crc")))
	for _, format := range []string{"parquet", "arrow", "csv", "jsonl"} {
		dir := t.TempDir()
		stale := filepath.Join(dir, "dedupe_1/default/.part-00002."+format+".12.tmp")
		require.NoError(t, os.MkdirAll(filepath.Dir(stale), 0o700))
		require.NoError(t, os.WriteFile(stale, []byte("of a run that was killed"), 0o600))
		code, out, errs := sparkstate("export", ckpt, "--operator", "1", "-o", dir, "--format", format)
		assert.Equal(t, exitInput, code)
		assert.Empty(t, out)
		assert.Contains(t, errs, "7.delta")
		for name := range filesBelow(t, dir) {
			assert.NotContains(t, name, "00002")
			assert.NotContains(t, name, ".tmp")
		}
		// The other partitions can be had.
		code, _, errs = sparkstate("export", ckpt, "--operator", "1", "-o", dir, "--format", format, "--partition", "0,1,3")
		assert.Zero(t, code, errs)
	}
	// An interrupt.
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	dir := t.TempDir()
	var out, errs bytes.Buffer
	assert.NotZero(t, run(ctx, []string{"export", adBilling, "-o", dir}, &out, &errs))
	for name := range filesBelow(t, dir) {
		assert.Equal(t, exportNote, filepath.Base(name))
	}
	// A file is in the way.
	require.NoError(t, os.WriteFile(dir+"/file", nil, 0o600))
	code, _, text := sparkstate("export", adBilling, "-o", dir+"/file")
	assert.Equal(t, exitOutput, code)
	assert.Contains(t, text, "writing the output")
}

// A folder says that it is complete, once it is.
func TestExportSuccess(t *testing.T) {
	ckpt := copyOf(t, adBilling)
	dir := t.TempDir()
	folder := filepath.Join(dir, "dedupe_1/default")
	marks := func() []string {
		found, err := filepath.Glob(filepath.Join(folder, "_SUCCESS*"))
		require.NoError(t, err)
		for i, name := range found {
			found[i] = filepath.Base(name)
		}
		return found
	}
	export := func(args ...string) int {
		code, _, _ := sparkstate(append([]string{"export", ckpt, "--operator", "1", "-o", dir}, args...)...)
		return code
	}
	require.Zero(t, export("--partition", "0,1"))
	assert.Empty(t, marks(), "it has some partitions only")
	require.Zero(t, export("--shard", "1/2"))
	assert.Equal(t, []string{"_SUCCESS-1-of-2"}, marks())
	require.Zero(t, export("--shard", "0/2"))
	assert.Equal(t, []string{"_SUCCESS-0-of-2", "_SUCCESS-1-of-2"}, marks())
	require.Zero(t, export())
	assert.Contains(t, marks(), "_SUCCESS")
	// A run that fails takes back its own word, one of another state all.
	edit(t, filepath.Join(ckpt, "state/1/2/7.delta"), func(b []byte) []byte { return b[:len(b)/2] })
	require.Equal(t, exitInput, export())
	assert.Equal(t, []string{"_SUCCESS-0-of-2", "_SUCCESS-1-of-2"}, marks())
	require.Zero(t, export("--overwrite", "--batch", "5"))
	assert.Equal(t, []string{"_SUCCESS"}, marks())
}

// Of a partition without a directory there is no file: it is not known to be
// empty. One that is empty has a file.
func TestExportAbsentAndEmpty(t *testing.T) {
	ckpt := copyOf(t, adBilling)
	require.NoError(t, os.RemoveAll(filepath.Join(ckpt, "state/1/3")))
	dir := t.TempDir()
	code, _, errs := sparkstate("export", ckpt, "--operator", "1", "-o", dir)
	require.Zero(t, code, errs)
	assert.Contains(t, errs, "no directory for partition 3")
	assert.Len(t, filesBelow(t, dir), 5)
	code, _, errs = sparkstate("export", ckpt, "--operator", "1", "-o", dir, "--partition", "9")
	assert.Equal(t, exitUsage, code, errs)

	dir = t.TempDir()
	code, out, errs := sparkstate("export", root+"/testdata/3.5.9/evicted.zip", "-o", dir)
	require.Zero(t, code, errs)
	assert.Contains(t, out, " 20 ")
	assert.Len(t, filesBelow(t, dir), 22)

	require.NoError(t, os.RemoveAll(filepath.Join(ckpt, "state/1/0/_metadata")))
	code, _, errs = sparkstate("export", ckpt, "--operator", "1", "-o", t.TempDir())
	assert.Equal(t, exitInput, code)
	assert.Contains(t, errs, "--key-schema")
	code, _, errs = sparkstate("export", ckpt, "--operator", "1", "-o", t.TempDir(), "--key-schema", "p STRING, a STRING", "--value-schema", "d VOID")
	assert.Zero(t, code, errs)
}

func TestExportUsage(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{adBilling}, "where to?"},
		{[]string{adBilling, "-o", "-"}, "pick one"},
		{[]string{adBilling, "-o", dir, "--format", "xlsx"}, "parquet, arrow, csv, jsonl"},
		{[]string{adBilling, "-o", dir, "--from", "3"}, "--changes"},
		{[]string{adBilling, "-o", dir, "--changes", "--batch", "3"}, "--from and --to"},
		{[]string{adBilling, "-o", dir, "--changes", "--to", "-3"}, "count from 0"},
		{[]string{adBilling, "-o", dir, "--changes", "--join-side", "left"}, "--join-side"},
		{[]string{adBilling, "-o", dir, "--store", "default", "--join-side", "left"}, "two stores"},
		{[]string{adBilling, "-o", dir, "--join-side", "left"}, "join"},
		{[]string{adBilling, "-o", "-", "--operator", "1", "--overwrite"}, "-o DIR"},
		{[]string{adBilling, "-o", dir, "--batch", "-3"}, "count from 0"},
		{[]string{adBilling, "-o", dir, "--batch", "9"}, "not committed"},
		{[]string{adBilling, "-o", dir, "--shard", "3/2"}, "count from 0 to 1"},
		{[]string{adBilling, "-o", dir, "--limit", "2"}, "unknown flag"},
	} {
		code, out, errs := sparkstate(append([]string{"export"}, c.args...)...)
		assert.Equal(t, exitUsage, code, c.args)
		assert.Empty(t, out)
		assert.Contains(t, errs, c.says)
	}
	assert.Empty(t, filesBelow(t, dir))
}

// In CSV a null is nothing, and an empty text is quoted; what is nested is JSON.
func TestExportCSVNulls(t *testing.T) {
	dir := t.TempDir()
	text := &sqltype.Type{Kind: sqltype.String}
	list := &sqltype.Type{Kind: sqltype.Array, Element: text, ContainsNull: true}
	w := statetest.NewWriter(statetest.Query{Spark: "4.1", Partitions: 1, Operators: []statetest.Operator{{Name: "a/../../b", Stores: []statetest.Store{{
		Key:   &sqltype.Type{Kind: sqltype.Struct, Fields: []sqltype.Field{{Name: "n", Type: &sqltype.Type{Kind: sqltype.Integer}}}},
		Value: &sqltype.Type{Kind: sqltype.Struct, Fields: []sqltype.Field{{Name: "t", Type: text, Nullable: true}, {Name: "l", Type: list, Nullable: true}}},
	}}}}}, statetest.Dir(dir))
	for i, v := range [][]any{{nil, nil}, {"", []any{"", nil}}, {"null", []any{}}, {`say "a, b"` + "\n", nil}, {" x", nil}} {
		w.Put(0, "default", []any{int32(i)}, v)
	}
	require.NoError(t, w.Commit())
	code, out, errs := sparkstate("export", dir, "--format", "csv", "-o", "-")
	require.Zero(t, code, errs)
	assert.ElementsMatch(t, []string{
		"key.n,value.t,value.l,partition_id", `0,,,0`, `1,"","["""",null]",0`, `2,null,[],0`, `3,"say ""a, b""`, `",,0`, `4," x",,0`,
	}, strings.Split(strings.TrimSuffix(out, "\n"), "\n"))

	// A name out of a checkpoint leads nowhere.
	to := t.TempDir()
	code, _, errs = sparkstate("export", dir, "-o", to)
	require.Zero(t, code, errs)
	assert.Contains(t, keysOf(filesBelow(t, to)), "a%2F..%2F..%2Fb_0/default/part-00000.parquet")
	for name, want := range map[string]string{"..": "%2E.", ".x": "%2Ex", "left-keyToNumValues": "left-keyToNumValues", "ä b": "%C3%A4%20b", "": ""} {
		assert.Equal(t, want, fileName(name))
	}
}

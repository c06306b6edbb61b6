package statetest_test

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore/codec"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
	"github.com/sparkstate/sparkstate/statestore/statetest"
)

func ddl(t testing.TB, s string) *sqltype.Type {
	t.Helper()
	typ, err := sqltype.ParseDDL(s)
	require.NoError(t, err)
	return typ
}

func counting(t testing.TB) statetest.Operator {
	return statetest.Operator{Name: "stateStoreSave", Stores: []statetest.Store{{Key: ddl(t, "word STRING"), Value: ddl(t, "count BIGINT")}}}
}

// read returns the rows of a batch, as word=count.
func read(t testing.TB, cp *checkpoint.Checkpoint, batch int64) map[string]int64 {
	t.Helper()
	s, err := cp.Store(0, "default")
	require.NoError(t, err)
	out := map[string]int64{}
	for rec, err := range s.Records(t.Context(), checkpoint.AtBatch(batch)) {
		require.NoError(t, err)
		key := rec.Column(0).(*array.Struct).Field(0).(*array.String)
		value := rec.Column(1).(*array.Struct).Field(0).(*array.Int64)
		for i := range int(rec.NumRows()) {
			out[key.Value(i)] = value.Value(i)
		}
		rec.Release()
	}
	return out
}

// What is written is read back: in every codec, whatever Spark is imitated, in
// a directory as in a map, from deltas as from snapshots, with sidecars that
// match.
func TestWrittenIsReadBack(t *testing.T) {
	for _, c := range codec.Compressions() {
		for _, spark := range []string{"3.5", "4.0", "4.1", "4.3"} {
			t.Run(c.String()+" "+spark, func(t *testing.T) {
				dir := t.TempDir()
				w := statetest.NewWriter(statetest.Query{Spark: spark, Partitions: 3, Codec: c, Sidecars: true, Operators: []statetest.Operator{counting(t)}}, statetest.Dir(dir))
				want := []map[string]int64{{}, {}, {}}
				for b := range 3 {
					for i := range 50 {
						word := fmt.Sprint("word ", i*(b+1))
						w.Put(0, "default", []any{word}, []any{b})
						for later := b; later < 3; later++ {
							want[later][word] = int64(b)
						}
					}
					w.Remove(0, "default", []any{"word 0"})
					for later := b; later < 3; later++ {
						delete(want[later], "word 0")
					}
					require.NoError(t, w.Commit())
					if b == 1 {
						require.NoError(t, w.Snapshot(0, "default", 0, 2))
					}
				}
				cp, err := checkpoint.Open(dir, checkpoint.OnWarning(func(err error) { t.Errorf("warning: %v", err) }))
				require.NoError(t, err)
				defer cp.Close()
				for b := range want {
					assert.Equal(t, want[b], read(t, cp, int64(b)))
				}
				name, from := cp.Operators()[0].Name()
				assert.Equal(t, "stateStoreSave", name)
				recorded := checkpoint.Recorded
				if spark == "3.5" {
					recorded = checkpoint.Inferred
				}
				assert.Equal(t, recorded, from)
			})
		}
	}
}

// The files are those that Spark leaves.
func TestLayout(t *testing.T) {
	m := fstest.MapFS{}
	w := statetest.NewWriter(statetest.Query{Spark: "4.1", Partitions: 2, Sidecars: true, Operators: []statetest.Operator{counting(t)}}, statetest.Map(m, "ck"))
	w.Put(0, "default", []any{"a"}, []any{1})
	require.NoError(t, w.Commit())
	var names []string
	require.NoError(t, fs.WalkDir(m, "ck", func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.HasPrefix(path.Base(p), ".") {
			names = append(names, strings.TrimPrefix(p, "ck/"))
		}
		return err
	}))
	assert.Equal(t, []string{"commits/0", "metadata", "offsets/0", "state/0/0/1.delta", "state/0/0/1.delta.crc", "state/0/0/_metadata/schema",
		"state/0/1/1.delta", "state/0/1/1.delta.crc", "state/0/_metadata/metadata"}, names)
	for _, n := range names {
		assert.Contains(t, m, path.Join("ck", path.Dir(n), "."+path.Base(n)+".crc"))
	}
}

// Schemas of any length and alphabet come back.
func TestLongSchemas(t *testing.T) {
	for _, name := range []string{strings.Repeat("x", 70_000), strings.Repeat("日本😀", 20_000), "a\x00b"} {
		m := fstest.MapFS{}
		key := &sqltype.Type{Kind: sqltype.Struct, Fields: []sqltype.Field{{Name: name, Type: &sqltype.Type{Kind: sqltype.String}, Nullable: true}}}
		w := statetest.NewWriter(statetest.Query{Partitions: 1, Operators: []statetest.Operator{{Stores: []statetest.Store{{Key: key, Value: ddl(t, "n BIGINT")}}}}}, statetest.Map(m, "ck"))
		w.Put(0, "default", []any{"a"}, []any{1})
		require.NoError(t, w.Commit())
		cp, err := checkpoint.OpenFS(m, "ck")
		require.NoError(t, err)
		s, err := cp.Store(0, "default")
		require.NoError(t, err)
		got, _ := s.Key()
		require.NotNil(t, got)
		assert.Equal(t, name, got.Fields[0].Name)
	}
}

// Mistakes stick, and Commit tells the first.
func TestErrors(t *testing.T) {
	for name, do := range map[string]func(w *statetest.Writer){
		"no such store":  func(w *statetest.Writer) { w.Put(0, "left", nil, nil) },
		"too few values": func(w *statetest.Writer) { w.Put(0, "default", nil, []any{1}) },
		"wrong type":     func(w *statetest.Writer) { w.Put(0, "default", []any{"a"}, []any{"not a number"}) },
		"early snapshot": func(w *statetest.Writer) { _ = w.Snapshot(0, "default") },
	} {
		m := fstest.MapFS{}
		w := statetest.NewWriter(statetest.Query{Partitions: 1, Operators: []statetest.Operator{counting(t)}}, statetest.Map(m, "ck"))
		do(w)
		w.Put(0, "default", []any{"a"}, []any{1})
		assert.Error(t, w.Commit(), name)
	}
	w := statetest.NewWriter(statetest.Query{Operators: []statetest.Operator{{Stores: []statetest.Store{{Key: ddl(t, "m MAP<INT, INT>"), Value: ddl(t, "n INT")}}}}}, statetest.Map(fstest.MapFS{}, "ck"))
	require.NoError(t, w.Commit(), "keys that cannot be placed need not be")
	w.Put(0, "", []any{[][2]any{}}, []any{1})
	assert.Error(t, w.Commit(), "keys that cannot be placed")
}

package statetest_test

import (
	"archive/zip"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore"
	"github.com/sparkstate/sparkstate/statestore/codec"
	"github.com/sparkstate/sparkstate/statestore/statetest"
	"github.com/sparkstate/sparkstate/statestore/unsaferow"
)

const fixtures = "../../testdata"

// fixture is a checkpoint that Spark wrote.
type fixture struct {
	name, spark string
	fsys        fs.FS
	root        string
	cp          *checkpoint.Checkpoint
}

// everyFixture calls fn for each checkpoint of this provider in testdata.
func everyFixture(t *testing.T, fn func(t *testing.T, f fixture)) {
	paths, err := filepath.Glob(fixtures + "/*.*.*/*")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, p := range paths {
		f := fixture{name: strings.TrimSuffix(filepath.Base(p), ".zip"), spark: filepath.Base(filepath.Dir(p)), root: "checkpoint"}
		if strings.Contains(f.name, "rocksdb") {
			continue
		}
		t.Run(f.spark+"/"+f.name, func(t *testing.T) {
			if f.fsys = os.DirFS(p); strings.HasSuffix(p, ".zip") {
				z, err := zip.OpenReader(p)
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, z.Close()) })
				f.fsys = z
			}
			var err error
			f.cp, err = checkpoint.OpenFS(f.fsys, f.root)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, f.cp.Close()) })
			fn(t, f)
		})
	}
}

func (f fixture) read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := fs.ReadFile(f.fsys, path.Join(f.root, name))
	require.NoError(t, err)
	return b
}

// schema returns the types that a store's schema file records.
func (f fixture) schema(t *testing.T, s *checkpoint.Store) *checkpoint.SchemaFile {
	t.Helper()
	sf, err := checkpoint.ParseSchemaFile(f.read(t, statetest.SchemaFile(s.Operator().ID(), s.Name()).String()))
	require.NoError(t, err)
	return sf
}

// query describes the query of a fixture.
func (f fixture) query(t *testing.T) statetest.Query {
	t.Helper()
	id, err := f.cp.ID()
	require.NoError(t, err)
	conf, _ := f.cp.Conf()
	q := statetest.Query{ID: id, Spark: f.spark, Sidecars: true, RowChecksums: conf[checkpoint.ConfRowChecksum] == "true"}
	q.Codec, err = codec.Parse(conf[checkpoint.ConfCodec])
	require.NoError(t, err)
	for _, key := range []string{checkpoint.ConfAggregationFormat, checkpoint.ConfFlatMapGroupsFormat, checkpoint.ConfJoinFormat} {
		if v := conf[key]; v == "1" {
			q.Conf = map[string]string{key: v}
		}
	}
	for _, op := range f.cp.Operators() {
		q.Partitions, _ = op.Partitions()
		name, _ := op.Name()
		o := statetest.Operator{Name: name}
		if m := op.Metadata(); m != nil {
			q.Partitions, o.PrefixColumns = m.Stores[0].Partitions, m.Stores[0].PrefixColumns
		}
		for _, s := range op.Stores() {
			st := statetest.Store{Name: s.Name(), RecordedValue: f.schema(t, s).Value}
			st.Key, _ = s.Key()
			st.Value, _ = s.Value()
			o.OneTask = name == "globalLimit" || len(st.Key.Fields) == 0
			if n := len(s.GroupingKey().Fields); n < len(st.Key.Fields) {
				st.Hashed = make([]int, n)
				for i := range st.Hashed {
					st.Hashed[i] = i
				}
			}
			o.Stores = append(o.Stores, st)
		}
		q.Operators = append(q.Operators, o)
	}
	return q
}

// rewrite has statetest write what Spark wrote: every batch with all its
// changes, which come as Arrow records, and the logs.
func (f fixture) rewrite(t *testing.T, sink statetest.Sink) {
	t.Helper()
	w := statetest.NewWriter(f.query(t), sink)
	_, batches := f.cp.Batches()
	for _, b := range batches {
		log, err := f.cp.Batch(b)
		require.NoError(t, err)
		l := statetest.Log{TimestampMs: log.Offsets.TimestampMs, WatermarkMs: log.Offsets.WatermarkMs, NextWatermarkMs: log.Commit.NextWatermarkMs, Offsets: []string{}}
		for _, s := range log.Offsets.Sources {
			l.Offsets = append(l.Offsets, s.JSON)
		}
		w.SetLog(l)
		for _, op := range f.cp.Operators() {
			for _, s := range op.Stores() {
				for rec, err := range s.Changes(t.Context(), b, b) {
					require.NoError(t, err)
					replay(t, w, s, rec)
					rec.Release()
				}
			}
		}
		require.NoError(t, w.Commit())
	}
}

// replay writes the changes of a record {batch_id, change_type, key, value,
// partition_id} in their order, where they were.
func replay(t *testing.T, w *statetest.Writer, s *checkpoint.Store, rec arrow.Record) {
	t.Helper()
	op, key := s.Operator().ID(), rec.Column(2).(*array.Struct)
	keyType, _ := s.Key()
	valueType, _ := s.Value()
	for i := range int(rec.NumRows()) {
		partition := int(rec.Column(4).(*array.Int32).Value(i))
		k, err := unsaferow.AppendArrow(nil, keyType, key, i)
		require.NoError(t, err)
		if rec.Column(1).(*array.String).Value(i) == "delete" {
			w.RemoveAt(op, s.Name(), partition, k)
			continue
		}
		v, err := unsaferow.AppendArrow(nil, valueType, rec.Column(3).(*array.Struct), i)
		require.NoError(t, err)
		w.PutAt(op, s.Name(), partition, k, v)
	}
}

// notCleared are the fixtures with keys or values whose nulls keep bytes of what
// was there before: no writer could know those.
var notCleared = map[string]bool{"interval_types": true, "rare_key_types": true, "nanosecond_types": true}

// What Spark wrote, read as Arrow records and written by statetest, is what
// Spark wrote: the records of every delta, the schema files, the operator
// metadata, the logs with what they pin.
func TestWritesWhatSparkWrites(t *testing.T) {
	everyFixture(t, func(t *testing.T, f fixture) {
		m := fstest.MapFS{}
		f.rewrite(t, statetest.Map(m, "."))
		cp, err := checkpoint.OpenFS(m, ".", checkpoint.OnWarning(func(err error) { t.Error(err) }))
		require.NoError(t, err)
		defer cp.Close()

		same := func(name string) {
			require.Contains(t, m, name)
			assert.Equal(t, string(f.read(t, name)), string(m[name].Data), name)
		}
		same("metadata")
		_, batches := f.cp.Batches()
		for _, b := range batches {
			same(statetest.CommitLog(b).String())
			want, err := f.cp.OffsetLog(b)
			require.NoError(t, err)
			got, err := cp.OffsetLog(b)
			require.NoError(t, err)
			assert.Equal(t, want, got)
		}
		for _, op := range f.cp.Operators() {
			if op.Metadata() != nil {
				same(statetest.OperatorMetadata(op.ID()).String())
			}
			for _, s := range op.Stores() {
				f.sameSchema(t, m, s)
				twin, err := cp.Store(op.ID(), s.Name())
				require.NoError(t, err)
				assert.Equal(t, s.Present(), twin.Present())
				for _, p := range s.Present() {
					for _, b := range batches {
						want, got := changes(t, s, p, b), changes(t, twin, p, b)
						if !notCleared[f.name] {
							require.Equal(t, want, got)
						}
						require.Len(t, got, len(want))
					}
				}
			}
		}
		statetest.RequireWhole(t, cp)
		if !notCleared[f.name] {
			statetest.RequireSame(t, f.cp, cp)
		}
	})
}

// sameSchema compares a schema file but for the order in which Spark notes the
// metadata of a column.
func (f fixture) sameSchema(t *testing.T, m fstest.MapFS, s *checkpoint.Store) {
	t.Helper()
	name := statetest.SchemaFile(s.Operator().ID(), s.Name()).String()
	require.Contains(t, m, name)
	want, err := checkpoint.ParseSchemaFile(f.read(t, name))
	require.NoError(t, err)
	got, err := checkpoint.ParseSchemaFile(m[name].Data)
	require.NoError(t, err)
	assert.Equal(t, want, got)
	assert.Len(t, m[name].Data, len(f.read(t, name)))
}

func changes(t *testing.T, s *checkpoint.Store, partition int, batch int64) (out []statestore.Change) {
	t.Helper()
	for c, err := range s.ChangeEntries(t.Context(), partition, batch) {
		require.NoError(t, err)
		c.Key, c.Value = append([]byte{}, c.Key...), append([]byte{}, c.Value...)
		out = append(out, c)
	}
	return out
}

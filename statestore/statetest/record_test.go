package statetest_test

import (
	"testing"
	"testing/fstest"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/statestore/statetest"
)

// The records of a store are a description of the store: what is written by it
// has the same schemas and rows. And what a record puts another removes.
func TestRecordsDescribeTheirStore(t *testing.T) {
	everyFixture(t, func(t *testing.T, f fixture) {
		if f.name == "map_keys" || f.name == "geo_types" || notCleared[f.name] || f.cp.Operators()[0].Stores()[0].Name() != "default" {
			t.Skip("keys that are not placed by their hash, or not the default store")
		}
		s, err := f.cp.Store(0, "default")
		require.NoError(t, err)
		schema, err := s.Schema()
		require.NoError(t, err)
		store, err := statetest.StoreOf(schema)
		require.NoError(t, err)
		name, _ := s.Operator().Name()
		if name == "sessionWindowStateStoreSaveExec" {
			store.Hashed = []int{0}
		}
		n, _ := s.Operator().Partitions()
		q := statetest.Query{Spark: "4.1", Partitions: n, Operators: []statetest.Operator{{Name: name, Stores: []statetest.Store{store}}}}
		cp := statetest.Open(t, q, func(w *statetest.Writer) {
			for rec, err := range s.Records(t.Context()) {
				require.NoError(t, err)
				w.PutRecord(0, "", rec)
				rec.Release()
			}
			require.NoError(t, w.Commit())
			for rec, err := range s.Records(t.Context()) {
				require.NoError(t, err)
				w.RemoveRecord(0, "", rec)
				rec.Release()
			}
			require.NoError(t, w.Commit())
		})
		twin, err := cp.Store(0, "default")
		require.NoError(t, err)
		again, err := twin.Schema()
		require.NoError(t, err)
		assert.Equal(t, schema.String(), again.String())
		rows, err := statetest.Rows(t.Context(), f.cp, 0, "")
		require.NoError(t, err)
		statetest.RequireRows(t, cp, 0, "", rows, atBatch(0))
		statetest.RequireRows(t, cp, 0, "", nil)
	})
}

// Records that are not a store's are errors that stick.
func TestRecordErrors(t *testing.T) {
	number := arrow.PrimitiveTypes.Int64
	row := func(name string, typ arrow.DataType) arrow.Field {
		return arrow.Field{Name: name, Type: arrow.StructOf(arrow.Field{Name: "n", Type: typ, Nullable: true}), Nullable: true}
	}
	record := func(fields ...arrow.Field) arrow.Record {
		b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(fields, nil))
		defer b.Release()
		for i, f := range fields {
			b.Field(i).AppendEmptyValue()
			if f.Name == "null" {
				b.Field(i).AppendNull()
			}
		}
		rec := b.NewRecord()
		t.Cleanup(rec.Release)
		return rec
	}
	put := func(do func(w *statetest.Writer)) error {
		w := statetest.NewWriter(statetest.Query{Partitions: 1, Operators: []statetest.Operator{statetest.Aggregation("k BIGINT", "n BIGINT")}}, statetest.Map(fstest.MapFS{}, "."))
		do(w)
		return w.Commit()
	}
	assert.NoError(t, put(func(w *statetest.Writer) { w.PutRecord(0, "", record(row("key", number), row("value", number))) }))
	assert.ErrorContains(t, put(func(w *statetest.Writer) { w.PutRecord(0, "", record(row("key", number))) }), "no column value")
	assert.ErrorContains(t, put(func(w *statetest.Writer) { w.RemoveRecord(0, "", record(arrow.Field{Name: "key", Type: number})) }), "no column key that is a struct")
	assert.ErrorContains(t, put(func(w *statetest.Writer) {
		w.PutRecord(0, "", record(row("key", arrow.BinaryTypes.String), row("value", number)))
	}), "column k: cannot write a string as BIGINT")
	assert.ErrorContains(t, put(func(w *statetest.Writer) { w.RemoveRecord(0, "left", record(row("key", number))) }), "no store left")

	_, err := statetest.StoreOf(arrow.NewSchema([]arrow.Field{row("key", number)}, nil))
	assert.ErrorContains(t, err, "no column value")
	_, err = statetest.StoreOf(arrow.NewSchema([]arrow.Field{row("key", arrow.FixedWidthTypes.Float16)}, nil))
	assert.ErrorContains(t, err, "column key: sqltype: no type of Spark")
}

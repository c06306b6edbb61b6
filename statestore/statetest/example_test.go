package statetest_test

import (
	"context"
	"fmt"
	"io/fs"
	"testing/fstest"
	"time"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore/statetest"
)

// A checkpoint of two batches, in memory; statetest.Dir writes to a directory.
func Example() {
	m := fstest.MapFS{}
	w := statetest.NewWriter(statetest.Query{
		Spark:      "4.1",
		Partitions: 2,
		Operators:  []statetest.Operator{statetest.Aggregation("word STRING", "count BIGINT NOT NULL")},
	}, statetest.Map(m, "checkpoint"))
	w.Put(0, "", []any{"a"}, []any{1})
	w.Put(0, "", []any{"b"}, []any{1})
	w.Commit() // errors stick, so the last one is enough to look at
	w.Put(0, "", []any{"a"}, []any{2})
	w.Remove(0, "", []any{"b"})
	if err := w.Commit(); err != nil {
		fmt.Println(err)
		return
	}

	cp, err := checkpoint.OpenFS(m, "checkpoint")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer cp.Close()
	rows, err := statetest.Rows(context.Background(), cp, 0, "")
	fmt.Println(rows[0].Key, rows[0].Value, len(rows), err)
	// Output:
	// [a] [2] 1 <nil>
}

// Rows of a join are input rows; which store has what is the writer's affair.
func ExampleWriter_PutJoin() {
	m := fstest.MapFS{}
	w := statetest.NewWriter(statetest.Query{
		Partitions: 1,
		Operators: []statetest.Operator{
			statetest.Join("ad STRING", "ad STRING, shown TIMESTAMP", "ad STRING, clicked TIMESTAMP, profile STRING").
				WithWatermark("shown", 2*time.Minute).WithWatermark("clicked", 3*time.Minute)},
	}, statetest.Map(m, "."))
	nine := time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)
	ad := []any{"ad 7"}
	w.PutJoin(0, checkpoint.Left, ad, []any{"ad 7", nine}, true)
	w.PutJoin(0, checkpoint.Left, ad, []any{"ad 7", nine.Add(time.Minute)}, false)
	w.PutJoin(0, checkpoint.Right, ad, []any{"ad 7", nine.Add(time.Second), "somebody"}, true)
	w.SetLog(statetest.Log{NextWatermarkMs: nine.Add(-3 * time.Minute).UnixMilli()})
	if err := w.Commit(); err != nil {
		fmt.Println(err)
		return
	}
	names, err := fs.Glob(m, "state/0/0/*/*.delta")
	fmt.Println(len(names), names[0], err)
	// Output:
	// 4 state/0/0/left-keyToNumValues/1.delta <nil>
}

// A session is put as it is thought of, and kept as Spark does.
func ExampleSessionWindow() {
	m := fstest.MapFS{}
	w := statetest.NewWriter(statetest.Query{
		Partitions: 4,
		Operators:  []statetest.Operator{statetest.SessionWindow("person STRING", "count BIGINT NOT NULL").WithWatermark("session_window", time.Minute)},
	}, statetest.Map(m, "."))
	nine := time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)
	w.Put(0, "", []any{"ann", nine}, []any{nine.Add(5 * time.Minute), 3})
	w.Put(0, "", []any{"ann", nine.Add(time.Hour)}, []any{nine.Add(65 * time.Minute), 1})
	if err := w.Commit(); err != nil {
		fmt.Println(err)
		return
	}
	cp, err := checkpoint.OpenFS(m, ".")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer cp.Close()
	s, err := cp.Store(0, "default")
	if err != nil {
		fmt.Println(err)
		return
	}
	key, _ := s.Key()
	value, _ := s.Value()
	fmt.Println(key.DDL())
	fmt.Println(value.DDL())
	// Output:
	// person STRING, sessionStartTime TIMESTAMP NOT NULL
	// session_window STRUCT<start: TIMESTAMP, end: TIMESTAMP> NOT NULL, person STRING, count BIGINT NOT NULL
}

// Arrow records describe a store and hold its rows.
func ExampleWriter_PutRecord() {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "key", Type: arrow.StructOf(arrow.Field{Name: "word", Type: arrow.BinaryTypes.String, Nullable: true})},
		{Name: "value", Type: arrow.StructOf(arrow.Field{Name: "count", Type: arrow.PrimitiveTypes.Int64})},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for i, word := range []string{"a", "b", "c"} {
		key, value := b.Field(0).(*array.StructBuilder), b.Field(1).(*array.StructBuilder)
		key.Append(true)
		key.FieldBuilder(0).(*array.StringBuilder).Append(word)
		value.Append(true)
		value.FieldBuilder(0).(*array.Int64Builder).Append(int64(i))
	}
	rec := b.NewRecord()
	defer rec.Release()

	store, err := statetest.StoreOf(schema)
	if err != nil {
		fmt.Println(err)
		return
	}
	m := fstest.MapFS{}
	w := statetest.NewWriter(statetest.Query{Partitions: 2, Operators: []statetest.Operator{{Name: "stateStoreSave", Stores: []statetest.Store{store}}}},
		statetest.Map(m, "."))
	w.PutRecord(0, "", rec)
	if err := w.Commit(); err != nil {
		fmt.Println(err)
		return
	}
	cp, err := checkpoint.OpenFS(m, ".")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer cp.Close()
	rows, err := statetest.Rows(context.Background(), cp, 0, "")
	fmt.Println(len(rows), err)
	// Output:
	// 3 <nil>
}

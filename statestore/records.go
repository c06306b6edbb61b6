package statestore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"github.com/sparkstate/sparkstate/statestore/sqltype"
	"github.com/sparkstate/sparkstate/statestore/unsaferow"
)

// View is another reading of a store's rows than the store's own: what an
// operator means by them.
type View struct {
	// Key and Value are the types that the bytes of Entries have.
	Key, Value *sqltype.Type
	// Shown is the value as it is shown: the first columns of Value. nil shows
	// all of them.
	Shown *sqltype.Type
	// Batches yields the rows of one partition, as [Store.Batches] does.
	Batches func(ctx context.Context, partition int, opts []Option) iter.Seq2[[]Entry, error]
}

// Schema returns the schema of the store's records: key: struct, value:
// struct, partition_id: int32, none of them null. It fails with ErrNoSchema
// where no schema is recorded.
func (s *Store) Schema() (*arrow.Schema, error) {
	if s.cfg.Key == nil || s.cfg.Value == nil {
		return nil, s.noSchema()
	}
	return s.own().Schema(), nil
}

// own is the view that shows the store as it is.
func (s *Store) own() View {
	return View{Key: s.cfg.Key, Value: s.cfg.Value,
		Batches: func(ctx context.Context, partition int, opts []Option) iter.Seq2[[]Entry, error] {
			return s.Batches(ctx, partition, opts...)
		}}
}

func (v View) shown() *sqltype.Type {
	if v.Shown != nil {
		return v.Shown
	}
	return v.Value
}

// Schema returns the schema of the records of [Store.RecordsOf]: that of
// [Store.Schema] with the view's columns.
func (v View) Schema() *arrow.Schema {
	return arrow.NewSchema([]arrow.Field{
		{Name: "key", Type: v.Key.Arrow()},
		{Name: "value", Type: v.shown().Arrow()},
		{Name: "partition_id", Type: arrow.PrimitiveTypes.Int32},
	}, nil)
}

// Records yields the rows as Arrow records, partition by partition in
// ascending order, within a partition in the order of [Store.Entries]. A
// record never mixes partitions; its size is bounded by [BatchSize]. Every row
// is checked against the schema before it is believed; one that does not fit
// ends the sequence with an error of kind ErrRow. The caller releases the
// records.
func (s *Store) Records(ctx context.Context, opts ...Option) iter.Seq2[arrow.Record, error] {
	if _, err := s.Schema(); err != nil {
		return func(yield func(arrow.Record, error) bool) { yield(nil, err) }
	}
	return s.RecordsOf(ctx, s.own(), opts...)
}

// RecordsOf is Records for another view of the rows.
func (s *Store) RecordsOf(ctx context.Context, v View, opts ...Option) iter.Seq2[arrow.Record, error] {
	r := s.read(opts)
	if err := r.check(s); err != nil {
		return func(yield func(arrow.Record, error) bool) { yield(nil, err) }
	}
	ids := r.present(s)
	return aheadOf(ctx, s, r, ids, func(ctx context.Context, i int, lane Option, emit func(arrow.Record) bool) error {
		b, err := newBuilder(v, r, ids[i])
		if err != nil {
			return err
		}
		defer b.close()
		for rows, err := range v.Batches(ctx, ids[i], append(slices.Clip(opts), lane)) {
			if err != nil {
				return err
			}
			for len(rows) > 0 {
				n := b.fitting(rows)
				if n == 0 {
					if err := s.send(ctx, ids[i], emit, b.record); err != nil {
						return err
					}
					continue
				}
				if err := b.add(rows[:n]); err != nil {
					return s.inPartition(ids[i], err)
				}
				rows = rows[n:]
			}
		}
		if b.rows == 0 {
			return nil
		}
		return s.send(ctx, ids[i], emit, b.record)
	}, r.handling())
}

// handling is that of records: a worker that is ahead of its turn goes on, so
// that few large partitions are decoded side by side too, as long as not too
// much waits.
func (r *read) handling() handling[arrow.Record] {
	return handling[arrow.Record]{
		drop: arrow.Record.Release,
		size: func(rec arrow.Record) (n int64) {
			for _, c := range rec.Columns() {
				n += int64(c.Data().SizeInBytes())
			}
			return n
		},
		ahead: bytesAhead * int64(r.workers),
	}
}

// send makes a record and hands it on.
func (s *Store) send(ctx context.Context, partition int, emit func(arrow.Record) bool, record func() (arrow.Record, error)) error {
	rec, err := record()
	if err != nil {
		return s.inPartition(partition, err)
	}
	if !emit(rec) {
		rec.Release()
		return context.Cause(ctx)
	}
	return nil
}

// inPartition says where a row was met that does not fit.
func (s *Store) inPartition(id int, err error) error {
	var fe *FileError
	if errors.As(err, &fe) && fe.Path != "" {
		return err
	}
	return &FileError{Path: s.cfg.Dirs[id], Offset: -1, Kind: ErrRow, Err: fmt.Errorf("store %s: %w", s.cfg.Name, err)}
}

// builder turns the rows of one partition into records.
type builder struct {
	schema     *arrow.Schema
	shown      int // columns of the value
	key, value *unsaferow.Decoder
	mem        memory.Allocator
	partition  int
	ids        *memory.Buffer // the partition, as often as any record needs it
	maxRows    int
	maxBytes   int
	stats      *Stats
	before     int // rows of the record before
	rows       int // of the record so far
	bytes      int
	begun      bool
	batches    // scratch
}

// batches are the keys and values of a batch of entries.
type batches struct{ keys, values [][]byte }

func newBuilder(v View, r *read, partition int) (*builder, error) {
	key, err := unsaferow.NewDecoder(v.Key, r.mem)
	if err != nil {
		return nil, err
	}
	value, err := unsaferow.NewDecoder(v.Value, r.mem)
	if err != nil {
		return nil, err
	}
	return &builder{schema: v.Schema(), shown: len(v.shown().Fields), key: key, value: value, mem: r.mem,
		partition: partition, maxRows: r.rows, maxBytes: r.bytes, stats: r.stats}, nil
}

// fitting returns how many of the rows the record that is being made still
// takes.
func (b *builder) fitting(rows []Entry) int {
	n := min(len(rows), b.maxRows-b.rows)
	size := b.bytes
	for i := range n {
		size += len(rows[i].Key) + len(rows[i].Value)
		// A row that is too long by itself makes a record of its own.
		if size > b.maxBytes && b.rows+i > 0 {
			return i
		}
	}
	return n
}

// add takes in rows that fit.
func (b *builder) add(rows []Entry) error {
	if !b.begun {
		// As many as in the record before; the first one grows with its rows.
		b.key.Begin(b.before, 0)
		b.value.Begin(b.before, 0)
		b.begun = true
	}
	if len(b.keys) < len(rows) {
		b.batches = batches{make([][]byte, len(rows)), make([][]byte, len(rows))}
	}
	keys, values := b.keys[:len(rows)], b.values[:len(rows)]
	for i := range rows {
		b.bytes += len(rows[i].Key) + len(rows[i].Value)
		keys[i], values[i] = rows[i].Key, rows[i].Value
	}
	b.rows += len(rows)
	if err := b.key.Add(keys); err != nil {
		b.value.Discard()
		b.begun = false
		return fmt.Errorf("key: %w", err)
	}
	if err := b.value.Add(values); err != nil {
		b.key.Discard()
		b.begun = false
		return fmt.Errorf("value: %w", err)
	}
	return nil
}

// finish returns what was added and starts anew.
func (b *builder) finish() (keys, values *array.Struct, n int) {
	keys, inKeys := b.key.Finish()
	values, inValues := b.value.Finish()
	if b.stats != nil {
		b.stats.InvalidUTF8.Add(inKeys.InvalidUTF8 + inValues.InvalidUTF8)
	}
	n = b.rows
	b.before, b.rows, b.bytes, b.begun = n, 0, 0, false
	return keys, values, n
}

// record makes a record of what was added and starts anew.
func (b *builder) record() (arrow.Record, error) {
	keys, values, n := b.finish()
	defer keys.Release()
	defer values.Release()
	var shown arrow.Array = values
	if b.shown < values.NumField() {
		shown = structOf(b.schema.Field(1).Type, values, b.shown, nil, 0)
		defer shown.Release()
	}
	ids := b.partitionIDs(n)
	defer ids.Release()
	return array.NewRecord(b.schema, []arrow.Array{keys, shown, ids}, int64(n)), nil
}

// partitionIDs returns n times the partition. The records share the numbers.
func (b *builder) partitionIDs(n int) arrow.Array {
	if b.ids == nil || b.ids.Len() < 4*n {
		if b.ids != nil {
			b.ids.Release()
		}
		b.ids = numbers(b.mem, arrow.Int32SizeBytes, arrow.Int32Traits.CastFromBytes, int32(b.partition), n)
	}
	data := array.NewData(arrow.PrimitiveTypes.Int32, n, []*memory.Buffer{nil, b.ids}, nil, 0, 0)
	defer data.Release()
	return array.NewInt32Data(data)
}

// close gives back what is left of a read that was stopped.
func (b *builder) close() {
	if b.begun {
		b.key.Discard()
		b.value.Discard()
	}
	if b.ids != nil {
		b.ids.Release()
	}
}

// numbers returns a buffer of n times the same number of so many bytes.
func numbers[T any](mem memory.Allocator, width int, cast func([]byte) []T, v T, n int) *memory.Buffer {
	buf := memory.NewResizableBuffer(mem)
	buf.Resize(n * width)
	out := cast(buf.Bytes())
	for i := range out {
		out[i] = v
	}
	return buf
}

// structOf returns a struct array of the first columns of another, with a
// validity bitmap of its own where valid is not nil.
func structOf(t arrow.DataType, a *array.Struct, columns int, valid *memory.Buffer, nulls int) arrow.Array {
	children := make([]arrow.ArrayData, columns)
	for i := range children {
		children[i] = a.Field(i).Data()
	}
	data := array.NewData(t, a.Len(), []*memory.Buffer{valid}, children, nulls, 0)
	defer data.Release()
	return array.NewStructData(data)
}

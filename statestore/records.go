package statestore

import (
	"context"
	"errors"
	"fmt"
	"iter"

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
	// Entries yields the rows of one partition.
	Entries func(ctx context.Context, partition int, opts []Option) iter.Seq2[Entry, error]
}

// Schema returns the schema of the store's records: key: struct, value:
// struct, partition_id: int32, none of them null. It fails with ErrNoSchema
// where no schema is recorded.
func (s *Store) Schema() (*arrow.Schema, error) {
	if s.cfg.Key == nil || s.cfg.Value == nil {
		return nil, s.noSchema()
	}
	return s.own().schema(), nil
}

// own is the view that shows the store as it is.
func (s *Store) own() View {
	return View{Key: s.cfg.Key, Value: s.cfg.Value,
		Entries: func(ctx context.Context, partition int, opts []Option) iter.Seq2[Entry, error] {
			return s.Entries(ctx, partition, opts...)
		}}
}

func (v View) shown() *sqltype.Type {
	if v.Shown != nil {
		return v.Shown
	}
	return v.Value
}

func (v View) schema() *arrow.Schema {
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
	return ordered(ctx, r.workers, len(ids), func(ctx context.Context, i int, emit func(arrow.Record) bool) error {
		b, err := newBatch(v, r)
		if err != nil {
			return err
		}
		send := func() error {
			return s.send(ctx, ids[i], emit, func() (arrow.Record, error) { return b.record(ids[i]) })
		}
		for e, err := range v.Entries(ctx, ids[i], opts) {
			if err != nil {
				return err
			}
			if b.full(e) {
				if err := send(); err != nil {
					return err
				}
			}
			b.add(e)
		}
		if b.rows() == 0 {
			return nil
		}
		return send()
	})
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

// batch collects rows until they make a record.
type batch struct {
	schema     *arrow.Schema
	shown      int // columns of the value
	key, value *unsaferow.Decoder
	maxRows    int
	maxBytes   int
	stats      *Stats
	arena      []byte
	ends       []int // two a row: where its key and its value end in the arena
	keys       [][]byte
	values     [][]byte
}

func newBatch(v View, r *read) (*batch, error) {
	key, err := unsaferow.NewDecoder(v.Key, memory.DefaultAllocator)
	if err != nil {
		return nil, err
	}
	value, err := unsaferow.NewDecoder(v.Value, memory.DefaultAllocator)
	if err != nil {
		return nil, err
	}
	return &batch{schema: v.schema(), shown: len(v.shown().Fields), key: key, value: value, maxRows: r.rows, maxBytes: r.bytes, stats: r.stats}, nil
}

func (b *batch) rows() int { return len(b.ends) / 2 }

// full says whether a record is due before the entry can be added.
func (b *batch) full(e Entry) bool {
	n := b.rows()
	return n >= b.maxRows || n > 0 && len(b.arena)+len(e.Key)+len(e.Value) > b.maxBytes
}

func (b *batch) add(e Entry) {
	b.arena = append(b.arena, e.Key...)
	b.ends = append(b.ends, len(b.arena))
	b.arena = append(b.arena, e.Value...)
	b.ends = append(b.ends, len(b.arena))
}

// record makes a record of what has been collected and starts anew.
func (b *batch) record(partition int) (arrow.Record, error) {
	n := b.rows()
	keys, values, err := b.decode()
	if err != nil {
		return nil, err
	}
	defer keys.Release()
	defer values.Release()
	var shown arrow.Array = values
	if b.shown < values.NumField() {
		shown = structOf(b.schema.Field(1).Type, values, b.shown, nil, 0)
		defer shown.Release()
	}
	ids := constant(int32(partition), n)
	defer ids.Release()
	return array.NewRecord(b.schema, []arrow.Array{keys, shown, ids}, int64(n)), nil
}

// decode decodes what has been collected and starts anew.
func (b *batch) decode() (keys, values *array.Struct, err error) {
	b.keys, b.values = b.keys[:0], b.values[:0]
	start := 0
	for i := 0; i < len(b.ends); i += 2 {
		k, v := b.ends[i], b.ends[i+1]
		b.keys = append(b.keys, b.arena[start:k:k])
		b.values = append(b.values, b.arena[k:v:v])
		start = v
	}
	keys, inKeys, err := b.key.Decode(b.keys)
	if err != nil {
		return nil, nil, fmt.Errorf("key: %w", err)
	}
	values, inValues, err := b.value.Decode(b.values)
	if err != nil {
		keys.Release()
		return nil, nil, fmt.Errorf("value: %w", err)
	}
	if b.stats != nil {
		b.stats.InvalidUTF8.Add(inKeys.InvalidUTF8 + inValues.InvalidUTF8)
	}
	b.arena, b.ends = b.arena[:0], b.ends[:0]
	return keys, values, nil
}

// structOf returns a struct array of the first columns of another, with a
// validity bitmap of its own where valid is not nil.
func structOf(t arrow.DataType, a *array.Struct, columns int, valid []byte, nulls int) arrow.Array {
	children := make([]arrow.ArrayData, columns)
	for i := range children {
		children[i] = a.Field(i).Data()
	}
	var bitmap *memory.Buffer
	if valid != nil {
		bitmap = memory.NewBufferBytes(valid)
	}
	data := array.NewData(t, a.Len(), []*memory.Buffer{bitmap}, children, nulls, 0)
	defer data.Release()
	return array.NewStructData(data)
}

// constant returns n times the same number.
func constant(v int32, n int) arrow.Array {
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = v
	}
	data := array.NewData(arrow.PrimitiveTypes.Int32, n,
		[]*memory.Buffer{nil, memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(ids))}, nil, 0, 0)
	defer data.Release()
	return array.NewInt32Data(data)
}

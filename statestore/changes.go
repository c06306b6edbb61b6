package statestore

import (
	"context"
	"iter"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/bitutil"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"github.com/sparkstate/sparkstate/statestore/provider"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
	"github.com/sparkstate/sparkstate/statestore/unsaferow"
)

// ChangeEntries yields the changes that made version v of one partition out of
// the version before, as bytes, in the order in which they were written. A
// partition without a directory has none.
func (s *Store) ChangeEntries(ctx context.Context, partition int, v int64) iter.Seq2[Change, error] {
	p, err := s.Partition(partition)
	switch {
	case err != nil:
		return func(yield func(Change, error) bool) { yield(Change{}, err) }
	case p == nil:
		return func(func(Change, error) bool) {}
	}
	return p.Changes(ctx, provider.Version{Number: v})
}

// ChangeSchema returns the schema of the records of [Store.Changes]: batch_id:
// int64, change_type: string, key: struct, value: struct, partition_id: int32.
// The names and their order are those of Spark's own change feed.
func (s *Store) ChangeSchema() (*arrow.Schema, error) {
	schema, err := s.Schema()
	if err != nil {
		return nil, err
	}
	value := schema.Field(1)
	value.Nullable = true
	return arrow.NewSchema([]arrow.Field{
		{Name: "batch_id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "change_type", Type: arrow.BinaryTypes.String},
		schema.Field(0), value, schema.Field(2),
	}, nil), nil
}

// Changes yields what versions from to to, both included, changed, as Arrow
// records: by version, then by partition, within it in the order written.
// batch_id is the version less one, as in Spark's change feed; change_type is
// update or delete; value is null for a delete. The caller releases the
// records.
func (s *Store) Changes(ctx context.Context, from, to int64, opts ...Option) iter.Seq2[arrow.Record, error] {
	r := s.read(opts)
	schema, err := s.ChangeSchema()
	if err == nil {
		err = r.check(s)
	}
	if err != nil {
		return func(yield func(arrow.Record, error) bool) { yield(nil, err) }
	}
	ids := r.present(s)
	if to < from || len(ids) == 0 {
		return func(func(arrow.Record, error) bool) {}
	}
	n := int(to-from+1) * len(ids)
	return ordered(ctx, r.workers, n, func(ctx context.Context, i int, emit func(arrow.Record) bool) error {
		v, id := from+int64(i/len(ids)), ids[i%len(ids)]
		b, err := newBatch(s.own(), r)
		if err != nil {
			return err
		}
		feed := &changeBatch{batch: b, schema: schema, none: nullRow(s.cfg.Value)}
		send := func() error { return s.send(ctx, id, emit, func() (arrow.Record, error) { return feed.record(v, id) }) }
		for c, err := range s.ChangeEntries(ctx, id, v) {
			if err != nil {
				return err
			}
			if feed.batch.full(Entry{Key: c.Key, Value: c.Value}) {
				if err := send(); err != nil {
					return err
				}
			}
			feed.add(c)
		}
		if feed.batch.rows() == 0 {
			return nil
		}
		return send()
	})
}

// changeBatch collects changes until they make a record.
type changeBatch struct {
	*batch
	schema *arrow.Schema
	types  []ChangeType
	none   []byte // stands in for the value of a delete
}

func (b *changeBatch) add(c Change) {
	e := Entry{Key: c.Key, Value: c.Value}
	if c.Type == provider.Delete {
		e.Value = b.none
	}
	b.batch.add(e)
	b.types = append(b.types, c.Type)
}

func (b *changeBatch) record(version int64, partition int) (arrow.Record, error) {
	keys, values, err := b.decode()
	if err != nil {
		return nil, err
	}
	defer keys.Release()
	defer values.Release()
	n := len(b.types)
	valid := make([]byte, bitutil.BytesForBits(int64(n)))
	deletes := 0
	names := array.NewStringBuilder(memory.DefaultAllocator)
	defer names.Release()
	for i, t := range b.types {
		names.Append(t.String())
		if t == provider.Delete {
			deletes++
		} else {
			bitutil.SetBit(valid, i)
		}
	}
	b.types = b.types[:0]
	nullable := structOf(values.DataType(), values, values.NumField(), valid, deletes)
	defer nullable.Release()
	batches := make([]int64, n)
	for i := range batches {
		batches[i] = version - 1
	}
	ids := constant(int32(partition), n)
	defer ids.Release()
	kinds := names.NewArray()
	defer kinds.Release()
	numbers := int64s(batches)
	defer numbers.Release()
	return array.NewRecord(b.schema, []arrow.Array{numbers, kinds, keys, nullable, ids}, int64(n)), nil
}

func int64s(ns []int64) arrow.Array {
	data := array.NewData(arrow.PrimitiveTypes.Int64, len(ns),
		[]*memory.Buffer{nil, memory.NewBufferBytes(arrow.Int64Traits.CastToBytes(ns))}, nil, 0, 0)
	defer data.Release()
	return array.NewInt64Data(data)
}

// nullRow returns a row of the type in which every column is null.
func nullRow(t *sqltype.Type) []byte {
	n := len(t.Fields)
	row := make([]byte, unsaferow.FixedSize(n))
	for i := range n {
		row[i/8] |= 1 << (i % 8)
	}
	return row
}

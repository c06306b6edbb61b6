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
	return provider.Rows(s.changeBatches(ctx, partition, v))
}

func (s *Store) changeBatches(ctx context.Context, partition int, v int64) iter.Seq2[[]Change, error] {
	p, err := s.Partition(partition)
	switch {
	case err != nil:
		return func(yield func([]Change, error) bool) { yield(nil, err) }
	case p == nil:
		return func(func([]Change, error) bool) {}
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
		b, err := newBuilder(s.own(), r, id)
		if err != nil {
			return err
		}
		defer b.close()
		feed := &changeBuilder{builder: b, version: v, schema: schema, none: nullRow(s.cfg.Value)}
		for changes, err := range s.changeBatches(ctx, id, v) {
			if err != nil {
				return err
			}
			for rows := feed.rowsOf(changes); len(rows) > 0; {
				n := b.fitting(rows)
				if n == 0 {
					if err := s.send(ctx, id, emit, feed.record); err != nil {
						return err
					}
					continue
				}
				if err := b.add(rows[:n]); err != nil {
					return s.inPartition(id, err)
				}
				for i := range n {
					feed.types = append(feed.types, changes[i].Type)
				}
				rows, changes = rows[n:], changes[n:]
			}
		}
		if b.rows == 0 {
			return nil
		}
		return s.send(ctx, id, emit, feed.record)
	}, r.handling())
}

// changeBuilder turns the changes of one version of one partition into records.
type changeBuilder struct {
	*builder
	version int64
	schema  *arrow.Schema
	types   []ChangeType
	none    []byte  // stands in for the value of a delete
	entries []Entry // scratch
}

// rowsOf returns the rows of changes.
func (b *changeBuilder) rowsOf(changes []Change) []Entry {
	b.entries = b.entries[:0]
	for _, c := range changes {
		e := Entry{Key: c.Key, Value: c.Value}
		if c.Type == provider.Delete {
			e.Value = b.none
		}
		b.entries = append(b.entries, e)
	}
	return b.entries
}

func (b *changeBuilder) record() (arrow.Record, error) {
	keys, values, n := b.finish()
	defer keys.Release()
	defer values.Release()
	valid := memory.NewResizableBuffer(b.mem)
	defer valid.Release()
	valid.Resize(int(bitutil.BytesForBits(int64(n))))
	clear(valid.Bytes())
	deletes := 0
	names := array.NewStringBuilder(b.mem)
	defer names.Release()
	names.Reserve(n)
	for i, t := range b.types {
		names.Append(t.String())
		if t == provider.Delete {
			deletes++
		} else {
			bitutil.SetBit(valid.Bytes(), i)
		}
	}
	b.types = b.types[:0]
	nullable := structOf(values.DataType(), values, values.NumField(), valid, deletes)
	defer nullable.Release()
	ids := b.partitionIDs(n)
	defer ids.Release()
	kinds := names.NewArray()
	defer kinds.Release()
	batches := int64s(b.mem, b.version-1, n)
	defer batches.Release()
	return array.NewRecord(b.schema, []arrow.Array{batches, kinds, keys, nullable, ids}, int64(n)), nil
}

// int64s returns n times the same number.
func int64s(mem memory.Allocator, v int64, n int) arrow.Array {
	buf := numbers(mem, arrow.Int64SizeBytes, arrow.Int64Traits.CastFromBytes, v, n)
	defer buf.Release()
	data := array.NewData(arrow.PrimitiveTypes.Int64, n, []*memory.Buffer{nil, buf}, nil, 0, 0)
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

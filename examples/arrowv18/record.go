package arrowv18

import (
	"iter"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	v17 "github.com/apache/arrow/go/v17/arrow"
	v17memory "github.com/apache/arrow/go/v17/arrow/memory"
)

// Records converts a sequence of records, such as that of
// checkpoint.Store.Records. It releases those that it is given; the caller
// releases what it gets.
func Records(in iter.Seq2[v17.Record, error]) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		// The schema is converted once for a run of records that share it.
		var from *v17.Schema
		var to *arrow.Schema
		for rec, err := range in {
			if err == nil && rec.Schema() != from {
				from = rec.Schema()
				to, err = Schema(from)
			}
			if err != nil {
				if rec != nil {
					rec.Release()
				}
				yield(nil, err)
				return
			}
			out := wrap(rec, to)
			rec.Release()
			if !yield(out, nil) {
				return
			}
		}
	}
}

// Record converts a record. Both stay valid whichever is released first; the
// caller releases both.
func Record(rec v17.Record) (arrow.RecordBatch, error) {
	s, err := Schema(rec.Schema())
	if err != nil {
		return nil, err
	}
	return wrap(rec, s), nil
}

// wrap makes a record of the buffers of another. The schema is the converted
// one.
func wrap(rec v17.Record, s *arrow.Schema) arrow.RecordBatch {
	columns := make([]arrow.Array, rec.NumCols())
	for i, c := range rec.Columns() {
		d := data(c.Data(), s.Field(i).Type)
		columns[i] = array.MakeFromData(d)
		d.Release()
		defer columns[i].Release()
	}
	return array.NewRecordBatch(s, columns, rec.NumRows())
}

// data wraps the data of an array and of all arrays within.
func data(d v17.ArrayData, t arrow.DataType) arrow.ArrayData {
	buffers := make([]*memory.Buffer, len(d.Buffers()))
	for i, b := range d.Buffers() {
		if b != nil {
			buffers[i] = buffer(b)
			defer buffers[i].Release()
		}
	}
	var inner []arrow.DataType
	switch t := t.(type) {
	case *arrow.MapType:
		inner = []arrow.DataType{t.Elem()}
	case *arrow.ListType:
		inner = []arrow.DataType{t.Elem()}
	case *arrow.StructType:
		for i := range t.NumFields() {
			inner = append(inner, t.Field(i).Type)
		}
	}
	children := make([]arrow.ArrayData, len(inner))
	for i, c := range d.Children() {
		children[i] = data(c, inner[i])
		defer children[i].Release()
	}
	return array.NewData(t, d.Len(), buffers, children, d.NullN(), d.Offset())
}

// buffer wraps the bytes of a v17 buffer and keeps it alive until the v18 one
// is released.
func buffer(b *v17memory.Buffer) *memory.Buffer {
	b.Retain()
	return memory.NewBufferWithAllocator(b.Bytes(), &owner{Allocator: memory.DefaultAllocator, buf: b})
}

// owner gives memory back to the v17 buffer that it is of.
type owner struct {
	memory.Allocator
	buf  *v17memory.Buffer
	once sync.Once
}

// Free is told that the v18 buffer is no longer in use.
func (o *owner) Free([]byte) { o.once.Do(o.buf.Release) }

// Reallocate copies, since the old memory is not v18's to change.
func (o *owner) Reallocate(size int, b []byte) []byte {
	out := o.Allocate(size)
	copy(out, b)
	return out
}

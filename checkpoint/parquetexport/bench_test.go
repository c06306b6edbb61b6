package parquetexport_test

import (
	"fmt"
	"io"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/apache/arrow/go/v17/parquet/pqarrow"

	"github.com/sparkstate/sparkstate/checkpoint/parquetexport"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

// windows returns records of an aggregation by window and adviser, as many rows
// in all, some at a time.
func windows(b *testing.B, rows, each int) []arrow.Record {
	b.Helper()
	key, err := sqltype.ParseDDL("window STRUCT<start: TIMESTAMP, end: TIMESTAMP>, adviser_id STRING")
	if err != nil {
		b.Fatal(err)
	}
	value, err := sqltype.ParseDDL("count BIGINT, sum DOUBLE")
	if err != nil {
		b.Fatal(err)
	}
	schema := arrow.NewSchema([]arrow.Field{{Name: "key", Type: key.Arrow()}, {Name: "value", Type: value.Arrow()}, {Name: "partition_id", Type: arrow.PrimitiveTypes.Int32}}, nil)
	rb := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer rb.Release()
	k, v := rb.Field(0).(*array.StructBuilder), rb.Field(1).(*array.StructBuilder)
	w := k.FieldBuilder(0).(*array.StructBuilder)
	var out []arrow.Record
	for i := range rows {
		k.Append(true)
		w.Append(true)
		start := arrow.Timestamp(1767600000000000 + int64(i*2654435761%1000)*300e6)
		w.FieldBuilder(0).(*array.TimestampBuilder).Append(start)
		w.FieldBuilder(1).(*array.TimestampBuilder).Append(start + 300e6)
		k.FieldBuilder(1).(*array.StringBuilder).Append(fmt.Sprintf("adviser_%05d", i*40503%2000))
		v.Append(true)
		v.FieldBuilder(0).(*array.Int64Builder).Append(int64(i % 97))
		v.FieldBuilder(1).(*array.Float64Builder).Append(float64(i) / 7)
		rb.Field(2).(*array.Int32Builder).Append(3)
		if (i+1)%each == 0 || i+1 == rows {
			out = append(out, rb.NewRecord())
		}
	}
	return out
}

type recordWriter interface {
	Write(arrow.Record) error
	Close() error
}

// BenchmarkWriter compares with pqarrow's defaults: a dictionary for every
// column, and records of the library's usual size.
func BenchmarkWriter(b *testing.B) {
	const rows = 1 << 19
	for _, c := range []struct {
		name string
		each int
		open func(io.Writer, *arrow.Schema) (recordWriter, error)
	}{
		{"here", parquetexport.BatchRows, func(w io.Writer, s *arrow.Schema) (recordWriter, error) { return parquetexport.NewWriter(w, s) }},
		{"defaults", 8192, func(w io.Writer, s *arrow.Schema) (recordWriter, error) {
			return pqarrow.NewFileWriter(s, w, nil, pqarrow.DefaultWriterProps())
		}},
		{"defaults-64k", parquetexport.BatchRows, func(w io.Writer, s *arrow.Schema) (recordWriter, error) {
			return pqarrow.NewFileWriter(s, w, nil, pqarrow.DefaultWriterProps())
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			recs := windows(b, rows, c.each)
			var size int64
			for b.Loop() {
				n := &counter{}
				w, err := c.open(n, recs[0].Schema())
				if err != nil {
					b.Fatal(err)
				}
				for _, r := range recs {
					if err := w.Write(r); err != nil {
						b.Fatal(err)
					}
				}
				if err := w.Close(); err != nil {
					b.Fatal(err)
				}
				size = n.n
			}
			b.ReportMetric(float64(rows*b.N)/b.Elapsed().Seconds(), "rows/s")
			b.ReportMetric(float64(size)/rows, "B/row")
		})
	}
}

type counter struct{ n int64 }

func (c *counter) Write(b []byte) (int, error) {
	c.n += int64(len(b))
	return len(b), nil
}

package parquetexport

import (
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/compress"
	"github.com/apache/arrow/go/v17/parquet/pqarrow"

	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

const (
	// BatchRows and BatchBytes are the size of records that make good row
	// groups: for checkpoint.BatchSize. At most so much is held at a time, and
	// about as much again while it is written.
	BatchRows  = 64 << 10
	BatchBytes = 32 << 20
)

// Keys of the file's metadata.
const (
	schemaKey = "sparkstate.schema"
	sparkKey  = "org.apache.spark.sql.parquet.row.metadata"
)

// Writer writes records of one schema into one file. It is for one goroutine.
type Writer struct {
	out    *latch
	pq     *pqarrow.FileWriter
	schema *arrow.Schema
	shapes []shape
	rows   int64
	err    error // the first
}

// NewWriter begins a file. The schema is that of the records: of
// statestore.Store.Schema, ChangeSchema or checkpoint.JoinSide.Schema, with or
// without metadata of its own, which goes into the file. A schema of other
// makers must say in the metadata of its columns which Spark type they are of,
// as sqltype.Field.Arrow does.
func NewWriter(w io.Writer, schema *arrow.Schema) (*Writer, error) {
	columns, err := sparkFields(schema.Fields())
	if err != nil {
		return nil, err
	}
	names := uniqueNames(columns)
	out := &Writer{out: &latch{w: w}, shapes: make([]shape, len(columns))}
	fields := make([]arrow.Field, len(columns))
	read := &sqltype.Type{Kind: sqltype.Struct}
	for i, c := range columns {
		s := shapeOf(c.Type)
		out.shapes[i] = s
		fields[i] = arrow.Field{Name: names[i], Type: s.arrow, Nullable: schema.Field(i).Nullable}
		read.Fields = append(read.Fields, sqltype.Field{Name: names[i], Type: s.spark, Nullable: fields[i].Nullable})
	}
	meta := schema.Metadata()
	recorded := &sqltype.Type{Kind: sqltype.Struct, Fields: columns}
	all := arrow.NewMetadata(append(meta.Keys(), schemaKey, sparkKey), append(meta.Values(), recorded.JSON(), read.JSON()))
	out.schema = arrow.NewSchema(fields, &all)
	props := []parquet.WriterProperty{
		parquet.WithRootName("spark_schema"), parquet.WithRootRepetition(parquet.Repetitions.Required),
		parquet.WithCompression(compress.Codecs.Snappy), parquet.WithStoreDecimalAsInteger(true),
		parquet.WithDictionaryDefault(false), parquet.WithMaxRowGroupLength(BatchRows),
	}
	for _, f := range fields {
		eachString(f.Type, f.Name, func(path string) { props = append(props, parquet.WithDictionaryFor(path, true)) })
	}
	err = guard(func() (err error) {
		out.pq, err = pqarrow.NewFileWriter(out.schema, out.out, parquet.NewWriterProperties(props...), pqarrow.DefaultWriterProps())
		return err
	})
	if err = errors.Join(out.out.err, err); err != nil {
		return nil, fmt.Errorf("parquetexport: %w", err)
	}
	return out, nil
}

// eachString calls visit with the path of every column of strings, as Parquet
// names it.
func eachString(t arrow.DataType, path string, visit func(path string)) {
	switch t := t.(type) {
	case *arrow.StringType:
		visit(path)
	case *arrow.StructType:
		for _, f := range t.Fields() {
			eachString(f.Type, path+"."+f.Name, visit)
		}
	case *arrow.MapType:
		eachString(t.KeyType(), path+".key_value.key", visit)
		eachString(t.ItemType(), path+".key_value.value", visit)
	case *arrow.ListType:
		eachString(t.Elem(), path+".list.element", visit)
	}
}

// Write writes a record as a row group, or as several if it is longer than
// BatchRows; one without rows is nothing. The record stays the caller's. After
// an error the file cannot be finished.
func (w *Writer) Write(rec arrow.Record) error {
	if w.err != nil {
		return w.err
	}
	if rec.NumRows() == 0 {
		return nil
	}
	w.err = w.write(rec)
	return w.err
}

func (w *Writer) write(rec arrow.Record) error {
	if int(rec.NumCols()) != len(w.shapes) {
		return fmt.Errorf("parquetexport: a record of %d columns for a file of %d", rec.NumCols(), len(w.shapes))
	}
	columns := make([]arrow.Array, len(w.shapes))
	for i, s := range w.shapes {
		data := s.convert(rec.Column(i).Data())
		defer data.Release()
		columns[i] = array.MakeFromData(data)
		defer columns[i].Release()
	}
	converted := array.NewRecord(w.schema, columns, rec.NumRows())
	defer converted.Release()
	for from := int64(0); from < rec.NumRows(); from += BatchRows {
		group := converted.NewSlice(from, min(from+BatchRows, rec.NumRows()))
		err := w.group(group)
		group.Release()
		if err = errors.Join(w.out.err, err); err != nil {
			return fmt.Errorf("parquetexport: %w", err)
		}
	}
	w.rows += rec.NumRows()
	return nil
}

// group writes one row group. pqarrow skips a column that it cannot take apart,
// and drops what some of its writes return: so it looks at what was written.
func (w *Writer) group(rec arrow.Record) error {
	return guard(func() error {
		if err := w.pq.Write(rec); err != nil {
			return err
		}
		n, err := w.pq.RowGroupNumRows()
		if err == nil && int64(n) != rec.NumRows() {
			err = fmt.Errorf("pqarrow wrote %d rows of %d", n, rec.NumRows())
		}
		return err
	})
}

// Rows returns the number of rows written so far.
func (w *Writer) Rows() int64 { return w.rows }

// Close finishes the file. What it was written to stays open. Without Close, or
// after an error, the file is no Parquet file.
func (w *Writer) Close() error {
	if w.err != nil {
		return w.err
	}
	err := errors.Join(guard(w.pq.Close), w.out.err)
	if err == nil && string(w.out.tail) != "PAR1" { // pqarrow keeps to itself why
		err = errors.New("the end of the file could not be written")
	}
	if err != nil {
		err = fmt.Errorf("parquetexport: %w", err)
	}
	w.err = errors.Join(err, errClosed)
	return err
}

var errClosed = errors.New("parquetexport: the file is finished")

// latch remembers the first error of a writer, since pqarrow does not always
// hand it on, and the last bytes written.
type latch struct {
	w    io.Writer
	err  error
	tail []byte // no more than four
}

func (l *latch) Write(b []byte) (int, error) {
	if l.err != nil {
		return 0, l.err
	}
	n, err := l.w.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	l.err = err
	l.tail = append(l.tail, b[max(0, n-4):n]...)
	l.tail = l.tail[max(0, len(l.tail)-4):]
	return n, err
}

// guard makes an error of a panic: pqarrow panics on failures to write.
func guard(fn func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("pqarrow: %v", r)
		}
	}()
	return fn()
}

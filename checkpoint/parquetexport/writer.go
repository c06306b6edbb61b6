package parquetexport

import (
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/compress"
	"github.com/apache/arrow/go/v17/parquet/pqarrow"

	"github.com/sparkstate/sparkstate/checkpoint/portable"
)

const (
	// BatchRows and BatchBytes are the size of records that make good row
	// groups: for checkpoint.BatchSize. At most so much is held at a time, and
	// about as much again while it is written.
	BatchRows  = 64 << 10
	BatchBytes = 32 << 20
)

// sparkKey is where Spark looks for the schema of a file.
const sparkKey = "org.apache.spark.sql.parquet.row.metadata"

// Writer writes records of one schema into one file. It is for one goroutine.
type Writer struct {
	out   *latch
	pq    *pqarrow.FileWriter // nil before the first record
	shape *portable.Shape
	rows  int64
	err   error // the first
}

// NewWriter returns a writer for records of a schema that portable.New takes.
// The schema's metadata goes into the file, which begins with the first record.
func NewWriter(w io.Writer, schema *arrow.Schema) (*Writer, error) {
	s, err := portable.New(schema)
	if err != nil {
		return nil, err
	}
	return &Writer{out: &latch{w: w}, shape: s}, nil
}

// begin begins the file. The record is the first one, as it is written, or nil
// if there will be none.
func (w *Writer) begin(first arrow.Record) error {
	schema := w.shape.Schema()
	meta := schema.Metadata()
	meta = arrow.NewMetadata(append(meta.Keys(), sparkKey), append(meta.Values(), w.shape.Spark().JSON()))
	props := []parquet.WriterProperty{
		parquet.WithRootName("spark_schema"), parquet.WithRootRepetition(parquet.Repetitions.Required),
		parquet.WithCompression(compress.Codecs.Snappy), parquet.WithStoreDecimalAsInteger(true),
		parquet.WithDictionaryDefault(false), parquet.WithMaxRowGroupLength(BatchRows),
	}
	if first != nil {
		repeated(first, func(path string) { props = append(props, parquet.WithDictionaryFor(path, true)) })
	}
	err := guard(func() (err error) {
		w.pq, err = pqarrow.NewFileWriter(arrow.NewSchema(schema.Fields(), &meta), w.out, parquet.NewWriterProperties(props...), pqarrow.DefaultWriterProps())
		return err
	})
	if err = errors.Join(w.out.err, err); err != nil {
		return fmt.Errorf("parquetexport: %w", err)
	}
	return nil
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
	converted, err := w.shape.Record(rec)
	if err != nil {
		return err
	}
	defer converted.Release()
	if w.pq == nil {
		if err := w.begin(converted); err != nil {
			return err
		}
	}
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
	if w.pq == nil {
		if w.err = w.begin(nil); w.err != nil {
			return w.err
		}
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

package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/ipc"

	"github.com/sparkstate/sparkstate/checkpoint/parquetexport"
	"github.com/sparkstate/sparkstate/checkpoint/portable"
)

// exportFormat is a format of files.
type exportFormat string

const (
	asParquet exportFormat = "parquet"
	asArrow   exportFormat = "arrow"
)

// String, Set and Type make it a flag.
func (f *exportFormat) String() string { return string(*f) }

// Set is described at String.
func (f *exportFormat) Set(s string) error {
	switch v := exportFormat(strings.ToLower(s)); v {
	case asParquet, asArrow, exportFormat(asCSV), exportFormat(asJSONL):
		*f = v
		return nil
	}
	return fmt.Errorf("%q is none of parquet, arrow, csv, jsonl", s)
}

// Type is described at String.
func (f *exportFormat) Type() string { return "format" }

func (f exportFormat) binary() bool { return f == asParquet || f == asArrow }

// batch returns the size of the records that the format wants; 0 for the
// library's own.
func (f exportFormat) batch() (rows, bytes int) {
	if f.binary() {
		return parquetexport.BatchRows, parquetexport.BatchBytes
	}
	return 0, 0
}

// exportWriter writes records to one file or stream.
type exportWriter interface {
	record(arrow.Record) error
	end() error
}

// begin begins a file or, where seek is nil, a stream. Both are the same place.
// What goes wrong is an outputError.
func (f exportFormat) begin(w io.Writer, seek io.WriteSeeker, t *table) (exportWriter, error) {
	switch f {
	case asParquet:
		p, err := parquetexport.NewWriter(w, t.schema)
		if err != nil {
			return nil, output(err)
		}
		return parquetFile{p}, nil
	case asArrow:
		return beginArrow(w, seek, t.schema)
	}
	r := &rowSheet{sheet: sheet{format: format(f)}, key: t.key, value: t.value, limit: -1}
	r.columns = r.rowColumns()
	write := r.record
	if t.origin.From >= 0 {
		r.columns, write = r.changeColumns(), r.changes
	}
	return lines{r, write}, r.sheet.begin(w)
}

// parquetFile is a file in Parquet.
type parquetFile struct{ *parquetexport.Writer }

func (p parquetFile) record(rec arrow.Record) error { return output(p.Write(rec)) }
func (p parquetFile) end() error                    { return output(p.Close()) }

// arrowFile is a file or stream in Arrow's own format.
type arrowFile struct {
	shape *portable.Shape
	w     interface {
		Write(arrow.Record) error
		Close() error
	}
}

func beginArrow(w io.Writer, seek io.WriteSeeker, schema *arrow.Schema) (exportWriter, error) {
	s, err := portable.New(schema)
	if err != nil {
		return nil, err
	}
	if seek == nil {
		return arrowFile{s, ipc.NewWriter(w, ipc.WithSchema(s.Schema()))}, nil
	}
	f, err := ipc.NewFileWriter(seek, ipc.WithSchema(s.Schema()))
	return arrowFile{s, f}, output(err)
}

func (a arrowFile) record(rec arrow.Record) error {
	r, err := a.shape.Record(rec)
	if err != nil {
		return err
	}
	defer r.Release()
	return output(a.w.Write(r))
}

func (a arrowFile) end() error { return output(a.w.Close()) }

// lines is CSV or JSON Lines, as read and changes print them.
type lines struct {
	rows  *rowSheet
	write func(arrow.Record) error
}

func (l lines) record(rec arrow.Record) error { return l.write(rec) }
func (l lines) end() error                    { return l.rows.end() }

package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/ipc"

	"github.com/sparkstate/sparkstate/checkpoint/parquetexport"
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
		return columnar{p}, nil
	case asArrow:
		if seek == nil {
			return columnar{ipc.NewWriter(w, ipc.WithSchema(t.schema))}, nil
		}
		a, err := ipc.NewFileWriter(seek, ipc.WithSchema(t.schema))
		if err != nil {
			return nil, output(err)
		}
		return columnar{a}, nil
	}
	r := &rowSheet{sheet: sheet{format: format(f)}, key: t.key, value: t.value, limit: -1}
	r.columns = r.rowColumns()
	write := r.record
	if t.origin.From >= 0 {
		r.columns, write = r.changeColumns(), r.changes
	}
	return lines{r, write}, r.sheet.begin(w)
}

// columnar is Parquet or Arrow.
type columnar struct {
	w interface {
		Write(arrow.Record) error
		Close() error
	}
}

func (c columnar) record(rec arrow.Record) error { return output(c.w.Write(rec)) }
func (c columnar) end() error                    { return output(c.w.Close()) }

// lines is CSV or JSON Lines, as read and changes print them.
type lines struct {
	rows  *rowSheet
	write func(arrow.Record) error
}

func (l lines) record(rec arrow.Record) error { return l.write(rec) }
func (l lines) end() error                    { return l.rows.end() }

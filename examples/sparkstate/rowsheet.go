package main

import (
	"encoding/hex"
	"fmt"
	"iter"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/spf13/cobra"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/examples/sparkstate/internal/sparkjson"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

// rowSheet writes rows of state.
type rowSheet struct {
	sheet
	key, value *sqltype.Type
	limit      int64 // -1: none
	cut        bool  // the limit is ours, not the caller's
	more       bool  // there are rows beyond the limit
}

// rowSheet returns a sheet for the rows of a store.
func (a *app) rowSheet(cmd *cobra.Command, header []field, s *checkpoint.Store) *rowSheet {
	key, _ := s.Key()
	value, _ := s.Value()
	return a.sheetOf(cmd, withAbsent(header, s), key, value)
}

// withAbsent adds the partitions that have no directory to a document's head,
// where there are any: their rows are not in it.
func withAbsent(header []field, s *checkpoint.Store) []field {
	if absent := s.Absent(); len(absent) > 0 {
		return append(header, field{"absentPartitions", absent})
	}
	return header
}

func (a *app) sheetOf(cmd *cobra.Command, header []field, key, value *sqltype.Type) *rowSheet {
	r := &rowSheet{sheet: sheet{format: a.format, camel: a.camel, header: header}, key: key, value: value, limit: a.limit}
	if a.format == asTable && !cmd.Flags().Changed("limit") {
		r.limit, r.cut = peopleRows, true
	}
	return r
}

func (a *app) endRows(rows *rowSheet) error {
	if err := rows.end(); err != nil {
		return err
	}
	a.noteInvalidUTF8()
	if rows.more && rows.cut {
		a.note(fmt.Sprintf("these are the first %d rows; --limit shows more, the other formats all", rows.limit))
	}
	return nil
}

func (a *app) noteInvalidUTF8() {
	if n := a.stats.InvalidUTF8.Load(); n > 0 {
		a.note(fmt.Sprintf("%d strings are not UTF-8; what is malformed in them is shown as U+FFFD", n))
	}
}

func (r *rowSheet) full() bool { return r.limit >= 0 && r.rows >= r.limit }

// nested says whether key and value are one column each, or one for each of
// their fields.
func (r *rowSheet) nested() bool { return r.format == asJSON || r.format == asJSONL }

// rowColumns returns the columns of a row of state.
func (r *rowSheet) rowColumns() []column {
	out := append(r.sideColumns("key", r.key), r.sideColumns("value", r.value)...)
	return append(out, column{"partition_id", true})
}

// sideColumns returns the columns of a key or a value.
func (r *rowSheet) sideColumns(name string, t *sqltype.Type) []column {
	if r.nested() {
		return []column{{name: name}}
	}
	var out []column
	for _, f := range t.Fields {
		out = append(out, column{name: name + "." + f.Name})
	}
	return out
}

func hexColumns() []column {
	return []column{{name: "keyHex"}, {name: "valueHex"}, {"partition_id", true}}
}

func (a *app) readRecords(rows *rowSheet, what string, records iter.Seq2[arrow.Record, error]) error {
	defer a.progress("reading " + what)()
	begun := false
	begin := func() error {
		if begun {
			return nil
		}
		begun = true
		if rows.key != nil && rows.value != nil {
			rows.columns = rows.rowColumns()
		}
		return rows.begin(a.out)
	}
	for rec, err := range records {
		if err != nil {
			return err
		}
		if err := begin(); err != nil {
			return err
		}
		err = rows.record(rec)
		rec.Release()
		if err != nil {
			return err
		}
		if rows.more {
			break
		}
	}
	return begin()
}

// record writes the rows of one record.
func (r *rowSheet) record(rec arrow.Record) error {
	writers, err := r.writers(rec.Column(0), rec.Column(1))
	if err != nil {
		return err
	}
	return r.each(int(rec.NumRows()), writers, rec.Column(2).(*array.Int32))
}

// each writes n rows: what the writers give, and then the partition.
func (r *rowSheet) each(n int, writers []sparkjson.Writer, ids *array.Int32) error {
	cells := make([]cell, len(writers)+1)
	for i := range n {
		if r.full() {
			r.more = true
			return nil
		}
		for c, w := range writers {
			cells[c] = w(cells[c][:0], i)
		}
		cells[len(writers)] = jsonCell(ids.Value(i))
		if err := r.row(cells...); err != nil {
			return err
		}
	}
	return nil
}

// writers returns the writers of the columns of key and value.
func (r *rowSheet) writers(key, value arrow.Array) ([]sparkjson.Writer, error) {
	out, err := r.sideWriters(r.key, key)
	if err != nil {
		return nil, err
	}
	values, err := r.sideWriters(r.value, value)
	return append(out, values...), err
}

// sideWriters returns the writers of the columns that sideColumns names.
func (r *rowSheet) sideWriters(t *sqltype.Type, a arrow.Array) ([]sparkjson.Writer, error) {
	if r.nested() {
		w, err := sparkjson.For(t, a)
		return []sparkjson.Writer{w}, err
	}
	var out []sparkjson.Writer
	st := a.(*array.Struct)
	for f := range t.Fields {
		w, err := sparkjson.For(t.Fields[f].Type, st.Field(f))
		if err != nil {
			return nil, err
		}
		out = append(out, func(b []byte, i int) []byte {
			if st.IsNull(i) { // the value of a delete
				return append(b, "null"...)
			}
			return w(b, i)
		})
	}
	return out, nil
}

// readBytes writes rows of which no schema is known.
func (a *app) readBytes(cmd *cobra.Command, s *checkpoint.Store, rows *rowSheet, opts []checkpoint.Option) error {
	rows.columns = hexColumns()
	if err := rows.begin(a.out); err != nil {
		return err
	}
	for _, p := range a.partitions(s) {
		for e, err := range s.Entries(cmd.Context(), p, opts...) {
			if err != nil {
				return err
			}
			if rows.full() {
				rows.more = true
				return nil
			}
			if err := rows.row(textCell(hex.EncodeToString(e.Key)), textCell(hex.EncodeToString(e.Value)), jsonCell(p)); err != nil {
				return err
			}
		}
	}
	return nil
}

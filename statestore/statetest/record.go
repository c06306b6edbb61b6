package statetest

import (
	"fmt"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"

	"github.com/sparkstate/sparkstate/statestore/sqltype"
	"github.com/sparkstate/sparkstate/statestore/unsaferow"
)

// PutRecord inserts or replaces the rows of an Arrow record with the columns key
// and value, both structs, as the stores of packages statestore and checkpoint
// yield them. Other columns are left alone. The structs hold the columns of the
// store, by position and as unsaferow.Value takes them; no operator's function
// changes anything.
func (w *Writer) PutRecord(operator int, store string, rec arrow.Record) {
	s := w.store(operator, store)
	keys, values := w.column(rec, "key"), w.column(rec, "value")
	if w.err != nil {
		return
	}
	for i := range int(rec.NumRows()) {
		w.PutRow(operator, store, w.arrowRow(s.Key, keys, i), w.arrowRow(s.Value, values, i))
	}
}

// RemoveRecord removes the rows whose keys are in the column key of an Arrow
// record.
func (w *Writer) RemoveRecord(operator int, store string, rec arrow.Record) {
	s := w.store(operator, store)
	keys := w.column(rec, "key")
	if w.err != nil {
		return
	}
	for i := range int(rec.NumRows()) {
		w.RemoveRow(operator, store, w.arrowRow(s.Key, keys, i))
	}
}

func (w *Writer) column(rec arrow.Record, name string) *array.Struct {
	for _, i := range rec.Schema().FieldIndices(name) {
		if c, ok := rec.Column(i).(*array.Struct); ok {
			return c
		}
	}
	w.fail(fmt.Errorf("statetest: the record has no column %s that is a struct", name))
	return nil
}

func (w *Writer) arrowRow(t *sqltype.Type, a *array.Struct, i int) []byte {
	b, err := unsaferow.AppendArrow(nil, t, a, i)
	if err != nil {
		w.fail(err)
	}
	return b
}

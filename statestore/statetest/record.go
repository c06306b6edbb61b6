package statetest

import (
	"fmt"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"

	"github.com/sparkstate/sparkstate/statestore/sqltype"
	"github.com/sparkstate/sparkstate/statestore/unsaferow"
)

// StoreOf describes the default store of records: of their schema with the
// columns key and value, both structs. Types are those that sqltype.FromArrow
// makes of Arrow's; records that a store yields describe the store itself.
func StoreOf(schema *arrow.Schema) (Store, error) {
	var s Store
	for _, c := range []struct {
		name string
		to   **sqltype.Type
	}{{"key", &s.Key}, {"value", &s.Value}} {
		f, ok := schema.FieldsByName(c.name)
		if !ok || f[0].Type.ID() != arrow.STRUCT {
			return s, fmt.Errorf("statetest: the records have no column %s that is a struct", c.name)
		}
		var err error
		if *c.to, err = sqltype.FromArrow(f[0].Type); err != nil {
			return s, fmt.Errorf("statetest: column %s: %w", c.name, err)
		}
	}
	return s, nil
}

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

package checkpoint

import (
	"fmt"
	"slices"

	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

// CompareSchema has the check compare the rows of a store with those that a
// changed query would have, by the rules by which Spark does when it starts:
// columns by position and type, and nothing that may be null where null was
// excluded; names do not count. The values of a deduplication it does not compare at
// all. Either type may be nil.
func CompareSchema(operator int, store string, key, value *sqltype.Type) CheckOption {
	return func(x *examination) { x.proposed = append(x.proposed, givenSchema{operator, store, key, value}) }
}

// schemaDifference is a sort of difference between a recorded and a proposed
// type.
type schemaDifference uint8

const (
	incompatible schemaDifference = iota // Spark refuses
	mayBeNull                            // Spark refuses, if the column really may be null
	swapped                              // Spark accepts, and mixes the columns up
	renamed                              // Spark accepts
)

// differ calls found with every difference between the recorded and the
// proposed type.
func differ(at string, recorded, proposed *sqltype.Type, found func(schemaDifference, string)) {
	a, b := recorded, proposed
	if a.Kind != b.Kind {
		found(incompatible, fmt.Sprintf("%s was %s and would be %s", at, a.DDL(), b.DDL()))
		return
	}
	null := func(what string, was, is bool) {
		if is && !was {
			found(mayBeNull, what+" was NOT NULL and would be nullable")
		}
	}
	switch a.Kind {
	case sqltype.Struct:
		differFields(at, a.Fields, b.Fields, found)
		if len(a.Fields) == len(b.Fields) {
			for i, f := range a.Fields {
				column := fmt.Sprintf("column %d (%s) of %s", i+1, f.Name, at)
				null(column, f.Nullable, b.Fields[i].Nullable)
				differ(column, f.Type, b.Fields[i].Type, found)
			}
		}
	case sqltype.Array:
		null("the element of "+at, a.ContainsNull, b.ContainsNull)
		differ("the element of "+at, a.Element, b.Element, found)
	case sqltype.Map:
		null("the value of "+at, a.ValueContainsNull, b.ValueContainsNull)
		differ("the key of "+at, a.Key, b.Key, found)
		differ("the value of "+at, a.Value, b.Value, found)
	default:
		same := a.Precision == b.Precision && a.Scale == b.Scale && a.Start == b.Start && a.End == b.End &&
			a.Collation == b.Collation && a.Text == b.Text && a.Class == b.Class && a.PyClass == b.PyClass
		if !same {
			found(incompatible, fmt.Sprintf("%s was %s and would be %s", at, a.DDL(), b.DDL()))
		}
	}
}

// differFields compares the number and the names of columns.
func differFields(at string, a, b []sqltype.Field, found func(schemaDifference, string)) {
	names := func(fs []sqltype.Field) []string {
		out := make([]string, len(fs))
		for i, f := range fs {
			out[i] = f.Name
		}
		return out
	}
	was, is := names(a), names(b)
	switch {
	case len(a) != len(b):
		found(incompatible, fmt.Sprintf("%s had %d columns %v and would have %d %v", at, len(a), was, len(b), is))
	case slices.Equal(was, is):
	case slices.Equal(slices.Sorted(slices.Values(was)), slices.Sorted(slices.Values(is))):
		found(swapped, fmt.Sprintf("the columns of %s were in the order %v and would be in the order %v", at, was, is))
	default:
		found(renamed, fmt.Sprintf("the columns of %s were named %v and would be %v", at, was, is))
	}
}

// compared calls add with what the proposed schemas differ in, of one sort.
func (x *examination) compared(add func(Finding), sort schemaDifference) {
	for _, g := range x.proposed {
		s, err := x.cp.Store(g.operator, g.store)
		if err != nil {
			continue // Check has refused it
		}
		for _, side := range []struct {
			what               string
			recorded, proposed *sqltype.Type
		}{{"key", s.types.key, g.key}, {"value", s.types.value, g.value}} {
			if side.recorded == nil || side.proposed == nil || side.what == "value" && s.op.kind != nil && s.op.kind.valuesUnchecked {
				continue
			}
			differ("the "+side.what, side.recorded, side.proposed, func(d schemaDifference, what string) {
				if d != sort {
					return
				}
				f := anywhere("%s", what)
				f.Operator, f.Store = g.operator, g.store
				if d == incompatible || d == mayBeNull {
					f.Condition = map[string]string{"key": "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE", "value": "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE"}[side.what]
				}
				add(f)
			})
		}
	}
}

func findIncompatible(x *examination, add func(Finding)) { x.compared(add, incompatible) }
func findMayBeNull(x *examination, add func(Finding))    { x.compared(add, mayBeNull) }
func findSwapped(x *examination, add func(Finding))      { x.compared(add, swapped) }
func findRenamed(x *examination, add func(Finding))      { x.compared(add, renamed) }

package checkpoint

import (
	"bytes"
	"slices"

	"github.com/sparkstate/sparkstate/statestore"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

// kind is what is known of one kind of stateful operator: how it is
// recognised, what its stores mean, and where what Spark records of it is not
// to be believed. Each kind has a file of its own.
type kind struct {
	// names are the operatorName values of Spark's metadata, the usual one
	// first.
	names []string
	// stores names the stores that it always has; nil where it has the default
	// one alone, or nobody knows.
	stores []string
	// valuesUnchecked: Spark compares neither the schema of its values nor its
	// values with their schema.
	valuesUnchecked bool
	// placedStrictly: in every version of Spark all rows of a grouping key are
	// in the partition that its hash names.
	placedStrictly bool
	// valuesExpire: a row goes once the watermark has reached an event time in
	// its value, not only one in its key.
	valuesExpire bool
	// infer recognises the operator where there is no metadata (before Spark
	// 4.0).
	infer func(*Operator) bool
	// weakSigns: what infer recognises it by does not prove metadata wrong that
	// says otherwise.
	weakSigns bool
	// oneTask says whether the operator runs as a single task, so that it has
	// partition 0 only; nil means never.
	oneTask func(*Operator) bool
	// keyShape says what of a store's key is the grouping key; nil means all
	// of it.
	keyShape func(store string) statestore.KeyShape
	// keysIn names the store that has a row for each grouping key of the given
	// store, where that is another one; nil means none.
	keysIn func(store string) string
	// prefixColumns returns the number of leading key columns that the
	// operator scans by; nil means none.
	prefixColumns func(key *sqltype.Type) int
	// adapt corrects recorded types that are known to be wrong, and completes
	// those that are the same in every query; nil where there are none.
	adapt func(s *Store)
	// neverExpires says why no row of the store can be removed by the watermark
	// that the query has, and the cure; empty where rows can be. nil where rows
	// always can.
	neverExpires func(s *Store) (why, cure string)
	// roles finds the columns that play a part in the operator; nil where
	// there are none beyond the event time.
	roles func(s *Store) []Column
}

// kinds lists all kinds; those that are recognised by the most specific signs
// come first, aggregation last, since it is what remains.
var kinds = []*kind{
	&symmetricHashJoin,
	&transformWithState,
	&globalLimit,
	&dedupe,
	&dedupeWithinWatermark,
	&sessionWindow,
	&flatMapGroupsWithState,
	&aggregation,
}

// kindNamed returns the kind that Spark's metadata names, nil for none that is
// known.
func kindNamed(name string) *kind {
	for _, k := range kinds {
		if slices.Contains(k.names, name) {
			return k
		}
	}
	return nil
}

// infer recognises an operator by its stores, schemas and first rows; nil
// where they fit no kind, or more than one.
func infer(o *Operator) *kind {
	if len(o.stores) == 0 {
		return nil
	}
	for _, k := range kinds {
		if k.infer != nil && k.infer(o) {
			return k
		}
	}
	return nil
}

// oneNull is the row of a single null column, with which Spark fills values
// that mean nothing.
var oneNull = []byte{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

func isOneNull(row []byte) bool { return bytes.Equal(row, oneNull) }

// onlyStore returns the operator's store if it is the default one alone.
func (o *Operator) onlyStore() *Store {
	if len(o.stores) == 1 && o.stores[0].name == defaultStore {
		return o.stores[0]
	}
	return nil
}

// lastField returns the last column of a struct.
func lastField(t *sqltype.Type) (sqltype.Field, bool) {
	if t == nil || len(t.Fields) == 0 {
		return sqltype.Field{}, false
	}
	return t.Fields[len(t.Fields)-1], true
}

// columns returns a struct of one column.
func columns(name string, kind sqltype.Kind) *sqltype.Type {
	return &sqltype.Type{Kind: sqltype.Struct, Fields: []sqltype.Field{
		{Name: name, Type: &sqltype.Type{Kind: kind}, Nullable: kind == sqltype.Void},
	}}
}

// retype returns the struct with the type of one column replaced.
func retype(t *sqltype.Type, column int, to *sqltype.Type) *sqltype.Type {
	c := *t
	c.Fields = slices.Clone(t.Fields)
	c.Fields[column].Type = to
	return &c
}

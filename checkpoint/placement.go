package checkpoint

import (
	"strings"

	"github.com/sparkstate/sparkstate/statestore"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

// Placement says which partition the keys of a store belong in, as far as
// Spark promises it.
type Placement struct {
	// Single: the operator runs as one task, and all rows are in partition 0.
	Single bool
	// Columns is the number of leading key columns that are hashed; the rest,
	// at most one, only numbers the rows of a key. -1 where it is not known.
	Columns int
	// Strict: every key is in the partition that the hash of those columns
	// names. Otherwise the rows may have been partitioned by some of the
	// columns alone (after a repartition, or by an aggregation before).
	Strict bool
}

// Placement returns the rule of the store. Joins have been placed strictly in
// every version; other operators are where the checkpoint pins
// spark.sql.streaming.statefulOperator.useStrictDistribution, which it does
// for queries that were started on Spark 3.3 or later.
func (s *Store) Placement() Placement {
	k := s.op.kind
	p := Placement{Columns: -1}
	if s.op.oneTask {
		p.Single, p.Strict, p.Columns = true, true, 0
		return p
	}
	p.Strict = k != nil && k.placedStrictly || strings.EqualFold(s.op.cp.conf[ConfStrictDistribution], "true")
	if s.types.key == nil {
		return p
	}
	switch s.keyShape() {
	case statestore.WholeKey:
		p.Columns = len(s.types.key.Fields)
	case statestore.LastColumnApart:
		p.Columns = len(s.types.key.Fields) - 1
	}
	return p
}

// GroupingKey returns the type of the columns that are hashed: the grouping
// key; nil where it is not known.
func (s *Store) GroupingKey() *sqltype.Type {
	if s.types.key == nil {
		return nil
	}
	switch s.keyShape() {
	case statestore.WholeKey:
		return s.types.key
	case statestore.LastColumnApart:
		return &sqltype.Type{Kind: sqltype.Struct, Fields: s.types.key.Fields[:len(s.types.key.Fields)-1]}
	}
	return nil
}

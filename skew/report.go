package skew

import (
	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

// Report is the answer about one store at one batch. See [Analyze].
type Report struct {
	checkpoint.At
	// Measure names what Values count.
	Measure string
	// Values is the measure for each partition, absent ones as 0; Rows and
	// Bytes are always there too.
	Values, Rows, Bytes []float64
	// Keys is the number of distinct partition keys of each partition, nil
	// where it cannot be known.
	Keys []float64

	Summary   Summary
	Imbalance Imbalance
	// Chance tests Keys; nil where they are not known.
	Chance *ChanceTest
	// SkewRate is the Hoover index less that of as many keys, all alike, hashed
	// evenly: the part of the state that would have to move beyond chance.
	// Undefined where Keys are not known.
	SkewRate Float
	// UnexplainedRate is the Hoover index less that of these very keys, with
	// the sizes they have, hashed evenly: 0 for a hot key, which no placement
	// can help, and above 0 where keys are not where they belong.
	UnexplainedRate Float
	Verdict         Verdict
	Severity        Severity
	// Floor is what the fullest partition must exceed before the verdict
	// matters.
	Floor float64

	// TopKeys are the largest keys in the unit of the measure; empty where all
	// keys are alike.
	TopKeys []TopKey
	// TopError bounds by how much any of them is overestimated.
	TopError float64
	// Columns looks at each key column alone.
	Columns []ColumnReport
	// NullKeys is the measure of the key whose columns are all null.
	NullKeys float64
	// RowsPerKey is the mean number of rows of a key.
	RowsPerKey Float

	// Placement says where keys are in relation to their hash.
	Placement PlacementReport
	// WhatIf has the measures at other numbers of partitions, in ascending
	// order; empty where keys cannot be hashed.
	WhatIf []WhatIf
	// Salting has the measures with the largest keys salted.
	Salting []Salting
	// Advice says what would help and what would not, a sentence each.
	Advice []string
	// Notes say what could not be looked at, and why.
	Notes []string
}

// TopKey is a large key, or value of a key column.
type TopKey struct {
	// Row is the key as a row of the type below.
	Row  []byte
	Type *sqltype.Type
	// Value is what it has of the measure, and Error by how much that may be
	// too high.
	Value, Error float64
	// Partition is where it is; -1 for the value of a column, which can be in
	// many.
	Partition int
	// OfPartition and OfAll are its shares of its partition and of everything.
	OfPartition, OfAll Float
}

// ColumnReport looks at one column of the key.
type ColumnReport struct {
	Name string
	// Distinct is the number of values, Exact whether it is more than a lower
	// bound.
	Distinct int64
	Exact    bool
	// Null is the share of the measure where the column is null.
	Null Float
	// Top are the most frequent values.
	Top []TopKey
}

// PlacementReport compares where keys are with where their hash says.
type PlacementReport struct {
	// Checked is the number of rows that were hashed, Misplaced how many of
	// them are elsewhere.
	Checked, Misplaced int64
	// Strict says whether Spark promises that none is.
	Strict bool
	// PartitionedBy names the key columns whose hash does explain where the
	// rows are; empty where all do, or none.
	PartitionedBy []string
	// Examples are some of the misplaced keys.
	Examples []MisplacedKey
}

// MisplacedKey is a key that is not where its hash says.
type MisplacedKey struct {
	// Row is the grouping key as a row of the type below.
	Row  []byte
	Type *sqltype.Type
	// Partition is where it is, Belongs where its hash says.
	Partition, Belongs int
}

// WhatIf is the state spread over another number of partitions.
type WhatIf struct {
	Partitions int `json:"partitions"`
	Summary
	Hoover Float `json:"hoover"`
	Empty  int   `json:"empty"`
	// Floor is the max/mean that no hashing gets below: the largest key alone.
	Floor Float `json:"floor"`
}

// Salting is the state with its largest keys spread over several salts.
type Salting struct {
	// Keys are how many of the largest keys are salted.
	Keys int
	// Salts is over how many.
	Salts         int
	MaxOverMedian Float
}

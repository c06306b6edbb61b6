package report

import "time"

// Level says how bad something is; it is the name of a style as well.
type Level string

// The levels, from the best to the worst.
const (
	Good     Level = "good"
	Info     Level = "info"
	Warning  Level = "warning"
	Critical Level = "critical"
)

// Word names the level for people.
func (l Level) Word() string {
	if l == Good {
		return "fine"
	}
	return string(l)
}

// Page is what the report shows. Numbers that are not known are NaN.
type Page struct {
	// Name names the checkpoint in a word, Path in full.
	Name, Path Text
	Written    time.Time
	// Level and Headline are the answer in a sentence.
	Level    Level
	Headline Text
	// About says what the checkpoint is.
	About []Fact
	Whole Whole
	// Stores are the stores of all operators, in order.
	Stores []Store
	// Missing says what could not be looked at, and why; Notes what else a
	// reader should know.
	Missing, Notes []Text
}

// Fact is a line of a table of facts.
type Fact struct {
	Name  string
	Value Text
	// From says how it is known, such as recorded or inferred; it may be empty.
	From string
}

// Whole answers whether the checkpoint is whole.
type Whole struct {
	// Checked says how thoroughly was looked.
	Checked string
	Answers []Answer
	// Reasons say what is in the way of a restart, Ways what it takes to go
	// back.
	Reasons, Ways []Said
	Map           LoadMap
	// Findings are sorted, the worst first.
	Findings []Finding
}

// Answer is what one judge says.
type Answer struct {
	Judge string
	Good  bool
	// Restarts is yes, no, or another word for it; Newest a batch, or none.
	Restarts, Newest string
}

// Said is a text and whom it is about.
type Said struct {
	Who  string
	Text Text
}

// Mark is what can be said of loading a partition after a batch.
type Mark uint8

// The marks, from the best to the worst.
const (
	Loads Mark = iota
	// LoadsInSome: some versions of Spark load it.
	LoadsInSome
	LoadsHere
	CleanedUp
	Lost
	// Unjudged: nothing says that the partition should be there.
	Unjudged
	marks
)

// Worse returns the worse of two marks; Unjudged is none.
func (m Mark) Worse(other Mark) Mark {
	if m == Unjudged || other != Unjudged && other > m {
		return other
	}
	return m
}

// LoadMap is the map of partitions and batches, of all stores together: each
// cell is that of the worst of them.
type LoadMap struct {
	Batches []int64
	// Cells has a line for each partition, with a mark for each batch.
	Cells [][]Mark
	// Left is the number of older batches that are not in the map.
	Left int64
	// Trouble lists what does not load everywhere, in words.
	Trouble []Trouble
	// More is the number of those that are left out of Trouble.
	More int
}

// Trouble is a run of batches that partitions of a store cannot load.
type Trouble struct {
	Store      Text
	Partitions string
	Batches    string
	Mark       Mark
	Why        Text
}

// Finding is what was found once or several times, with one thing to do.
type Finding struct {
	Level Level
	ID    string
	Title string
	Items []Text
	// More is the number of items that are left out.
	More int
	Do   Text
}

// Store is a store of an operator.
type Store struct {
	// Operator and Name name it, Schema says what its rows are made of.
	Operator, Name Text
	Schema         []Fact
	// Partitions is how many there are.
	Partitions int
	// Missing says what could not be computed and why.
	Missing []Text
	// Size is nil where nothing could be counted.
	Size *Size
	// Skew is nil where it could not be computed.
	Skew   *Skew
	Series Series
	// Lifetime says what the rows have to do with time.
	Lifetime []Text
	Notes    []Text
}

// Size is how large a store is after a batch.
type Size struct {
	Batch                  int64
	Rows, Keys             float64
	KeyBytes, ValueBytes   float64
	Files, FileBytes, Load float64
	// Partition has the same for each partition.
	Partition []PartitionSize
}

// PartitionSize is how large a partition is.
type PartitionSize struct {
	Rows, Keys, Bytes, FileBytes float64
	Absent                       bool
}

// Skew is how unevenly the rows are spread after a batch.
type Skew struct {
	Batch int64
	// Verdict is a word, Meaning the same in a sentence.
	Verdict, Meaning string
	Level            Level
	Values           []float64 // rows of each partition
	Hot              []int
	// Line is the value above which a partition is hot by the rule of the name,
	// Condition the rule in words, and Inconclusive why no hot partition may
	// mean nothing.
	Line                          float64
	Rule, Condition, Inconclusive string
	Mean, Std, Median, P99, Max   float64
	MaxOverMedian                 float64
	Fullest                       int
	// Rate is the skew rate, PValue the probability that even hashing is as
	// uneven.
	Rate, PValue float64
	// TopKeys are the largest keys, each too high by at most TopError. Alike
	// says that there are none because each key has one row.
	TopKeys  []TopKey
	TopError float64
	Alike    bool
	Columns  []Column
	WhatIf   []WhatIf
	Advice   []Text
	Notes    []Text
}

// TopKey is a large key or a frequent value.
type TopKey struct {
	Key         Key
	Value       float64
	Share       float64
	Partition   int // -1 for the value of a column
	OfPartition float64
}

// Column is a column of the key.
type Column struct {
	Name     Text
	Distinct float64
	Exact    bool
	Null     float64
	Top      []TopKey
}

// WhatIf is the state over another number of partitions.
type WhatIf struct {
	Partitions         int
	Max, MaxOverMedian float64
	// Rate is the skew rate, NaN where it is not known.
	Rate  float64
	Empty int
}

// Series follows a store through the batches.
type Series struct {
	Batches []int64
	// Rows has a line for each partition, with its rows after each batch.
	Rows   [][]float64
	Points []Point
}

// Point is a store after a batch; NaN where a partition cannot be read.
type Point struct {
	Rows, Bytes float64
	// What the batch changed is NaN also where the state is read from a snapshot.
	Inserted, Updated, Deleted float64
	MaxOverMedian              float64
}

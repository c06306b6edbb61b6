package skew

import "math"

// Verdict is the shape that a state has, and what made it so.
type Verdict string

const (
	// Even: the fullest partition has less than a quarter of the mean above it.
	Even Verdict = "even"
	// ByChance: uneven, but no more than even hashing of so many keys is.
	ByChance Verdict = "chance"
	// FewKeys: there are fewer keys than partitions, so some must be empty.
	FewKeys Verdict = "few-keys"
	// SinglePartition: one partition by design (a global aggregation, a limit).
	SinglePartition Verdict = "single-partition"
	// WrongPartitioning: keys are not where their hash says.
	WrongPartitioning Verdict = "wrong-partitioning"
	// NullKey: the key of which every column is null fills a partition.
	NullKey Verdict = "null-key"
	// HotKey: one key fills a partition.
	HotKey Verdict = "hot-key"
	// FatValues: bytes are uneven, rows are not.
	FatValues Verdict = "fat-values"
	// Structural: uneven beyond chance, without a single cause.
	Structural Verdict = "structural"
)

// Verdicts returns all that [Judge] and [Analyze] reach.
func Verdicts() []Verdict {
	return []Verdict{Even, ByChance, FewKeys, SinglePartition, WrongPartitioning, NullKey, HotKey, FatValues, Structural}
}

// Severity says whether a verdict matters to anybody.
type Severity string

const (
	Info     Severity = "info"
	Warning  Severity = "warning"
	Critical Severity = "critical"
)

// The lines between verdicts.
const (
	// EvenExcess is the part of the mean that the fullest partition must have
	// above it before anything is at fault.
	EvenExcess = 0.25
	// ChancePValue is the probability below which chance is no explanation.
	// With a key or more to a partition, even hashing comes below it in fewer
	// than 1 of 1,000 states.
	ChancePValue = 1e-4
	// CauseShare is the part of the fullest partition's excess that one key
	// must hold to be its cause.
	CauseShare = 0.5
	// MisplacedShare is the part of the rows that must be elsewhere before
	// their placement is the cause.
	MisplacedShare = 0.05
)

// Evidence is what a verdict is reached from: numbers for each partition, and
// what a walk over the keys has found.
type Evidence struct {
	// Values is what is measured, for each partition.
	Values []float64
	// Keys is the number of distinct partition keys in each partition; nil
	// where it is not known, and then chance cannot be told.
	Keys []float64
	// Sizes are the sizes of the keys in the unit of Values; nil where all keys
	// are alike, as where each has one row.
	Sizes *KeySizes
	// Single says that the operator runs as one task.
	Single bool
	// Top is the largest key in the unit of Values, 0 where it is not known;
	// TopPartition the partition that it is in; TopNull whether all of its
	// columns are null.
	Top float64
	// TopPartition is -1 where it is not known.
	TopPartition int
	TopNull      bool
	// Misplaced is the part of the rows that are not where the hash of their
	// key says.
	Misplaced float64
}

// Judge reaches the verdict, in this order:
//
//  1. single-partition, where the operator runs as one task;
//  2. even, where the fullest partition exceeds the mean by less than a
//     quarter of it ([EvenExcess]);
//  3. the chance test: few-keys, where there are fewer keys than partitions,
//     and chance, where keys of such sizes, hashed evenly, are as uneven with a
//     probability of at least [ChancePValue]. The largest key's own size is not
//     taken for chance: where it stands out from all others and meets the
//     condition of 5, that is the verdict;
//  4. wrong-partitioning, where more than [MisplacedShare] of the rows are not
//     where the hash of their key says;
//  5. null-key and hot-key, where one key holds at least half of what the
//     fullest partition has above the mean ([CauseShare]);
//  6. structural.
//
// fat-values is a verdict over two measures; see [Report].
func Judge(e Evidence) Verdict {
	s := Measure(e.Values)
	switch {
	case e.Single:
		return SinglePartition
	case s.Count < 2 || !(s.Total > 0):
		return Even
	}
	excess := float64(s.Max - s.Mean)
	if excess < EvenExcess*float64(s.Mean) {
		return Even
	}
	cause := e.Top >= CauseShare*excess && e.TopPartition == s.Fullest
	if e.byChance() {
		if cause && e.topStandsOut() {
			return e.hot()
		}
		if k := Measure(e.Keys); float64(k.Total) < float64(k.Count) {
			return FewKeys
		}
		return ByChance
	}
	switch {
	case e.Misplaced > MisplacedShare:
		return WrongPartitioning
	case cause:
		return e.hot()
	}
	return Structural
}

// hot is the verdict where the largest key is the cause.
func (e Evidence) hot() Verdict {
	if e.TopNull {
		return NullKey
	}
	return HotKey
}

// byChance tests whether even hashing of the keys explains both how they and
// how the values are spread.
func (e Evidence) byChance() bool {
	if e.Keys == nil || !(Chance(e.Keys).PValue >= ChancePValue) {
		return false
	}
	return e.valuesByChance()
}

// valuesByChance tests whether even hashing of keys of these sizes explains how
// the values are spread; the size of the largest is left out of account.
func (e Evidence) valuesByChance() bool {
	unit := e.unit()
	if math.IsNaN(unit) {
		return true // all keys alike: their numbers have said it
	}
	// Divided by the size at which a key weighs in, values vary as numbers of
	// keys do.
	scaled := make([]float64, len(e.Values))
	for i, v := range e.Values {
		scaled[i] = v / unit
	}
	return Chance(scaled).PValue >= ChancePValue
}

// minSizes is how many keys it takes to say that one of them stands out.
const minSizes = 10

// topStandsOut says whether the largest key is far from the sizes of all
// others: more than six of their standard deviations above their mean.
func (e Evidence) topStandsOut() bool {
	if e.Sizes == nil || e.Sizes.Count() < minSizes {
		return false
	}
	rest := float64(e.Sizes.Count() - 1)
	top, total := e.Sizes.Max(), e.Sizes.Total()
	squares := total / e.Sizes.Effective() * total
	mean := (total - top) / rest
	deviation := math.Sqrt(max(0, (squares-top*top)/rest-mean*mean))
	return top > mean+6*deviation && top >= 2*mean
}

// unit returns Σw²/Σw over all keys but the largest: the variance that hashing
// them gives to the partitions is the mean times this. NaN where all keys are
// alike.
func (e Evidence) unit() float64 {
	if e.Sizes == nil || e.Sizes.Count() < 2 {
		return math.NaN()
	}
	total, top := e.Sizes.Total(), e.Sizes.Max()
	squares := total / e.Sizes.Effective() * total
	if rest := total - top; rest > 0 {
		if u := (squares - top*top) / rest; u > 0 {
			return u
		}
	}
	return math.NaN()
}

// Grade returns the severity of a verdict: what is even, by chance or by
// design is info; anything else is a warning where the fullest partition is
// above the floor, and critical where it is also more than five times the
// median, the line of Spark's own adaptive execution.
func Grade(v Verdict, s Summary, floor float64) Severity {
	switch v {
	case Even, ByChance, FewKeys, SinglePartition:
		return Info
	}
	switch {
	case !(float64(s.Max) > floor):
		return Info
	case s.MaxOverMedian > 5:
		return Critical
	}
	return Warning
}

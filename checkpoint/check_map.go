package checkpoint

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sparkstate/sparkstate/statestore"
)

// Judge is somebody who may or may not be able to load a state. What is said
// of each Spark is what 3.5.9, 4.1.4, 4.2.1 and 4.3.0 do with the damaged
// checkpoints of testdata/damaged. None of them verifies the hidden sidecars of
// Hadoop: Spark opens the files of a checkpoint in a way that passes them by.
//
// A judge is taken to know the format: whether it is older than the writer is
// not looked at.
type Judge uint8

const (
	// SparkBefore41 stops at a snapshot that is damaged.
	SparkBefore41 Judge = iota
	// Spark41 is Spark 4.1: as those before it, and it verifies the JSON
	// sidecars of state files.
	Spark41
	// Spark42 is Spark 4.2 and later: it replaces a damaged snapshot by an older
	// one, if that is not more than 500 versions back. It no longer looks at the
	// JSON sidecars, and lists the snapshots instead of opening them by name, so
	// that it stumbles over names that are none.
	Spark42
	// Library is this library.
	Library
	// Judges is how many there are.
	Judges
)

// String names the judge for people.
func (j Judge) String() string {
	switch j {
	case SparkBefore41:
		return "Spark before 4.1"
	case Spark41:
		return "Spark 4.1"
	case Spark42:
		return "Spark 4.2 and later"
	case Library:
		return "this library"
	}
	return fmt.Sprintf("Judge(%d)", j)
}

// repairReach is how many deltas Spark 4.2 replays at most to do without a
// damaged snapshot.
const repairReach = 500

// Loading says whether a state can be loaded.
type Loading uint8

const (
	// Loads: as it is.
	Loads Loading = iota
	// ByFallback: not from the files that come first, but there is a way
	// around. Spark 4.2 takes an older snapshot by itself. This library does in
	// [Store.Salvage], which loses nothing here and needs no schema, and it reads
	// a file that does not match its sidecar if it is told to [IgnoreSidecars].
	ByFallback
	// CleanedUp: no longer there, because retention has removed it. That is no
	// damage.
	CleanedUp
	// Lost: it should be there and cannot be loaded.
	Lost
)

// String returns a word in lower case.
func (l Loading) String() string {
	switch l {
	case Loads:
		return "loads"
	case ByFallback:
		return "fallback"
	case CleanedUp:
		return "cleanedUp"
	case Lost:
		return "lost"
	}
	return fmt.Sprintf("Loading(%d)", l)
}

// MarshalText makes JSON use the words.
func (l Loading) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// Map says of the batches First to Last, both included, what can be loaded.
// First > Last if there are none.
type Map struct {
	First, Last int64
	Stores      []StoreMap
}

// StoreMap is the map of one store.
type StoreMap struct {
	Operator   int
	Store      string
	Partitions []PartitionMap
}

// PartitionMap is the map of one partition: its spans cover the batches of the
// map in ascending order.
type PartitionMap struct {
	Partition int
	Spans     []Span
}

// Span is a run of batches of which the same can be said.
type Span struct {
	First, Last int64
	// Loading holds the verdict of each [Judge].
	Loading [Judges]Loading
	// Why is what keeps the strictest judge from loading the files as they
	// are: mostly a *statestore.FileError. nil if nothing does.
	Why error
}

// restorable makes the map.
func (x *examination) restorable() Map {
	m := Map{First: x.first, Last: x.end}
	for _, s := range x.stores {
		sm := StoreMap{Operator: s.store.op.id, Store: s.store.name}
		for _, p := range s.parts {
			if p.unjudged {
				continue
			}
			p.spans = p.judge(x.first, x.end)
			sm.Partitions = append(sm.Partitions, PartitionMap{Partition: p.id, Spans: p.spans})
		}
		m.Stores = append(m.Stores, sm)
	}
	return m
}

// judge makes the spans of a partition. Verdicts change only where a file
// begins or ends to count, so only those batches are looked at.
func (p *partFacts) judge(first, last int64) []Span {
	if first > last {
		return nil
	}
	points := []int64{first + 1}
	add := func(v int64) {
		if v > first+1 && v <= last+1 {
			points = append(points, v)
		}
	}
	for _, v := range slices.Concat(p.deltas, p.snapshots, p.named) {
		add(v)
		add(v + 1)
	}
	for _, s := range p.snapshots {
		add(s + repairReach + 1)
	}
	add(repairReach + 1)
	slices.Sort(points)
	points = slices.Compact(points)
	var out []Span
	for i, v := range points {
		s := Span{First: v - 1, Last: last}
		if i+1 < len(points) {
			s.Last = points[i+1] - 2
		}
		for j := range Judges {
			var why error
			if s.Loading[j], why = p.load(j, v); s.Why == nil {
				s.Why = why
			}
		}
		if n := len(out); n > 0 && out[n-1].Loading == s.Loading && sameFile(out[n-1].Why, s.Why) {
			out[n-1].Last = s.Last
			continue
		}
		out = append(out, s)
	}
	return out
}

func sameFile(a, b error) bool {
	var x, y *statestore.FileError
	if errors.As(a, &x) && errors.As(b, &y) {
		return x.Path == y.Path
	}
	return a == nil && b == nil
}

package skew

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore/placement"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

// ErrMeasure is returned for a measure that a store does not have.
var ErrMeasure = errors.New("skew: no such measure")

// Options change what [Analyze] looks at; the zero value is a good start.
type Options struct {
	// Measure is rows, bytes, changes, or a numeric column such as value.count;
	// "" is rows.
	Measure string
	// WhatIf are the numbers of partitions to try; nil tries a quarter, half,
	// twice and four times the present number.
	WhatIf []int
	// Top is how many keys and values are reported; 0 stands for 5.
	Top int
	// Floor is what the fullest partition must exceed before a verdict is more
	// than info; 0 stands for the custom of the measure ([FloorRows],
	// [FloorBytes], none for a column), a negative one for none.
	Floor float64
	// ExactKeys bounds how many keys are counted exactly; 0 stands for
	// [ExactKeys].
	ExactKeys int
	// Workers is how many partitions are walked at once; 0 means one for each
	// processor.
	Workers int
}

// Analyze walks the rows of a store once, as of a batch, and says how unevenly
// they are spread, whether that is chance, what causes it, and what would help.
//
// Memory holds up to ExactKeys values of each key column, some 70 bytes for each;
// where there are more, the heaviest are estimated, with the error reported. Where
// keys have several rows it holds as many keys, and those of as many partitions
// as there are workers.
func Analyze(ctx context.Context, s *checkpoint.Store, o Options, opts ...checkpoint.Option) (*Report, error) {
	a, err := newAnalysis(ctx, s, o, opts)
	if err != nil {
		return nil, err
	}
	if err := a.walk(ctx, s.Present()); err != nil {
		return nil, err
	}
	return a.report(), nil
}

// analysis is one run of Analyze.
type analysis struct {
	store  *checkpoint.Store
	o      Options
	opts   []checkpoint.Option
	at     checkpoint.At
	n      int // partitions
	weigh  weigher
	alike  bool // every key has one row and rows are measured
	key    *sqltype.Type
	place  checkpoint.Placement
	hasher *placement.Hasher // nil where keys cannot be hashed
	subset []subset          // other columns that rows may be partitioned by
	counts []int             // of partitions, for the what-if
	notes  []string
	// batches are those whose changes are counted, if those are measured.
	batches []int64

	gathered
}

// subset is some of the key columns, in order.
type subset struct {
	columns []int
	hasher  *placement.Hasher
}

func newAnalysis(ctx context.Context, s *checkpoint.Store, o Options, opts []checkpoint.Option) (*analysis, error) {
	o.Measure = cmp.Or(o.Measure, ByRows)
	o.Top = cmp.Or(o.Top, 5)
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	a := &analysis{store: s, o: o, opts: opts, place: s.Placement(), key: s.GroupingKey()}
	var err error
	if a.at, err = s.At(ctx, opts...); err != nil {
		return nil, err
	}
	if a.weigh, err = weigh(s, o.Measure); err != nil {
		return nil, err
	}
	if o.Measure == ByChanges {
		if err := a.findChanges(ctx); err != nil {
			return nil, err
		}
	}
	a.n, _ = s.Operator().Partitions()
	whole, _ := s.Key()
	a.alike = o.Measure == ByRows && a.key != nil && whole != nil && len(a.key.Fields) == len(whole.Fields)
	if a.key == nil {
		a.notes = append(a.notes, "the schema of the keys is not known, so they cannot be looked into or hashed")
		return a, nil
	}
	if a.place.Single {
		return a, nil
	}
	if a.hasher, err = placement.NewHasher(a.key, nil); err != nil {
		a.hasher = nil
		a.notes = append(a.notes, fmt.Sprintf("keys cannot be hashed, so there is no what-if: %v", err))
		return a, nil
	}
	a.subset = subsets(a.key)
	a.counts = o.WhatIf
	if a.counts == nil {
		a.counts = []int{a.n / 4, a.n / 2, a.n, a.n * 2, a.n * 4}
	}
	a.counts = append(a.counts, a.n)
	a.counts = slices.DeleteFunc(a.counts, func(n int) bool { return n < 1 })
	slices.Sort(a.counts)
	a.counts = slices.Compact(a.counts)
	return a, nil
}

// findChanges finds the batches whose deltas are there in every partition.
func (a *analysis) findChanges(ctx context.Context) error {
	readable, err := a.store.Readable(ctx)
	if err != nil {
		return err
	}
	// A batch that follows a readable one is read from its delta; the first of
	// a run may be there as a snapshot only.
	for i, b := range readable {
		if b <= a.at.Batch && (b == 0 || i > 0 && readable[i-1] == b-1) {
			a.batches = append(a.batches, b)
		}
	}
	a.notes = append(a.notes, fmt.Sprintf("changes of batches %s", checkpoint.Ranges(a.batches)))
	return nil
}

// subsets returns the proper subsets of the key columns, and the fields of
// structs among them count as one; of more than five columns, single ones and
// all but one.
func subsets(key *sqltype.Type) []subset {
	n := len(key.Fields)
	var out []subset
	for mask := 1; mask < 1<<min(n, 16)-1; mask++ {
		var columns []int
		for i := range n {
			if mask>>i&1 == 1 {
				columns = append(columns, i)
			}
		}
		if n > 5 && len(columns) != 1 && len(columns) != n-1 {
			continue
		}
		if h, err := placement.NewHasher(key, columns); err == nil {
			out = append(out, subset{columns, h})
		}
	}
	// Fewer columns first: they explain more.
	slices.SortStableFunc(out, func(a, b subset) int { return cmp.Compare(len(a.columns), len(b.columns)) })
	return out
}

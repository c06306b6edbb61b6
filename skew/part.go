package skew

import (
	"context"
	"errors"
	"fmt"

	"github.com/sparkstate/sparkstate/checkpoint"
)

// ErrPart is returned where parts do not belong together, or to the analysis
// that they are to conclude, and for bytes that are no part.
var ErrPart = errors.New("skew: not a part of this analysis")

// Part is what a walk over some partitions of a store has found: numbers for
// each partition and sketches of the keys, some 60 bytes for each key up to
// [Options].ExactKeys, however many rows there are. Parts travel: a store can
// be analysed by many machines, each of which gathers some partitions, and their
// parts be merged by any, in any order.
//
//	part, err := skew.Gather(ctx, store, options, []int{0, 1, 2}, checkpoint.AtBatch(b))
//	…                             // on another machine, for partitions 3, 4, 5
//	err = part.Merge(other)
//	report, err := skew.Conclude(ctx, store, options, part, checkpoint.AtBatch(b))
//
// All of them are given the same options, and a batch: without one, each
// machine would take what is the latest when it looks. The report is that of
// [Analyze], but for the last digits of sums of fractions, and for keys of which
// there are more than are counted exactly: what is estimated of those depends on
// the order of merging, within the error that the report has.
//
// The zero value is a part of nothing yet, to merge others into. It is not for
// concurrent use.
type Part struct {
	of *origin // nil: of nothing yet
	gathered
}

// origin is what parts of one analysis have in common.
type origin struct {
	operator int
	store    string
	batch    int64
	measure  string
	exact    int
	counts   []int
	columns  int
	subsets  int
	n        int
}

func (a *analysis) origin() *origin {
	return &origin{operator: a.store.Operator().ID(), store: a.store.Name(), batch: a.at.Batch, measure: a.o.Measure,
		exact: a.o.ExactKeys, counts: a.counts, columns: len(a.columnsOf()), subsets: len(a.subset), n: a.n}
}

func (o *origin) String() string {
	return fmt.Sprintf("%s of operator %d, store %s after batch %d: %d partitions, %d key columns, what if %v, up to %d keys exactly",
		o.measure, o.operator, o.store, o.batch, o.n, o.columns, o.counts, o.exact)
}

// same returns an error where two parts are not of one analysis.
func (o *origin) same(p *origin) error {
	if a, b := o.String(), p.String(); a != b || o.subsets != p.subsets {
		return fmt.Errorf("%w: %s; and not %s", ErrPart, a, b)
	}
	return nil
}

// Gather walks some partitions of a store as [Analyze] walks all. Those that
// have no directory may be named, and add nothing.
func Gather(ctx context.Context, s *checkpoint.Store, o Options, partitions []int, opts ...checkpoint.Option) (*Part, error) {
	a, err := newAnalysis(ctx, s, o, opts)
	if err != nil {
		return nil, err
	}
	present := make(map[int]bool)
	for _, p := range s.Present() {
		present[p] = true
	}
	var there []int
	for _, p := range partitions {
		if p < 0 || p >= a.n {
			return nil, fmt.Errorf("%w: partition %d of %d", ErrPart, p, a.n)
		}
		if present[p] {
			there = append(there, p)
			present[p] = false // once is enough
		}
	}
	if err := a.walk(ctx, there); err != nil {
		return nil, err
	}
	return &Part{of: a.origin(), gathered: a.gathered}, nil
}

// Merge adds what another part has found, which may share memory with this one
// from then on and is not to be used any more. Parts that are not of one analysis
// or have a partition in common are ErrPart; nothing is added then.
func (p *Part) Merge(other *Part) error {
	switch {
	case other.of == nil:
		return nil
	case p.of == nil:
		*p = *other
		return nil
	}
	if err := p.of.same(other.of); err != nil {
		return err
	}
	for i := range p.parts {
		if p.parts[i].walked && other.parts[i].walked {
			return fmt.Errorf("%w: both have partition %d", ErrPart, i)
		}
	}
	for i, part := range other.parts {
		if part.walked {
			p.parts[i] = part
		}
	}
	p.keys.Merge(other.keys)
	for i, c := range other.cols {
		p.cols[i].Merge(c)
	}
	p.sizes.Merge(&other.sizes)
	p.sized.Merge(&other.sized)
	p.spill = p.spill || other.spill
	addValues(p.values, other.values)
	return nil
}

// Missing returns the partitions of those that the part has not.
func (p *Part) Missing(partitions []int) []int {
	var out []int
	for _, i := range partitions {
		if i < 0 || i >= len(p.parts) || !p.parts[i].walked {
			out = append(out, i)
		}
	}
	return out
}

// Conclude makes the report of what parts have found together. The store and the
// options are those that the parts were gathered of; no state is read. Where a
// partition that has a directory is missing among the parts, it is ErrPart: what
// is missing is not counted as empty.
func Conclude(ctx context.Context, s *checkpoint.Store, o Options, p *Part, opts ...checkpoint.Option) (*Report, error) {
	a, err := newAnalysis(ctx, s, o, opts)
	if err != nil {
		return nil, err
	}
	if p.of == nil {
		if len(s.Present()) > 0 {
			return nil, fmt.Errorf("%w: it is of nothing yet", ErrPart)
		}
		a.gathered = a.newGathered()
		return a.report(), nil
	}
	if err := a.origin().same(p.of); err != nil {
		return nil, err
	}
	if missing := p.Missing(s.Present()); len(missing) > 0 {
		return nil, fmt.Errorf("%w: partition %d was not walked, and %d in all", ErrPart, missing[0], len(missing))
	}
	a.gathered = p.gathered
	for i := range a.parts {
		for k := range a.parts[i].examples {
			a.parts[i].examples[k].Type = a.key // which does not travel
		}
	}
	return a.report(), nil
}

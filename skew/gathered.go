package skew

import (
	"context"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

// gathered is what walks over partitions have found, of one or of many: all that
// a report is made of.
type gathered struct {
	parts []partial // by partition
	keys  *HeavyHitters
	cols  []*HeavyHitters
	sizes KeySizes // of the keys, in the unit of the measure
	sized KeySizes // of the rows, in bytes
	spill bool     // a partition had too many keys to know each one's size
	// values is the measure by partition at each number of partitions tried.
	values [][]float64
}

// partial is what the walk of one partition has found. The zero value is one
// that was not walked, or that is absent.
type partial struct {
	walked             bool
	rows, bytes, value float64
	distinct           int64
	lossy              bool      // distinct is a lower bound only
	counted            int64     // the keys as Counts has them, -1 for unknown; 0 where they were not asked for
	nulls              []float64 // by column
	nullKey            float64
	checked, misplaced int64
	examples           []MisplacedKey
	missing            []int64 // batches whose changes are gone
	sampled            int64
	fits               []int64 // by subset, of the rows sampled
}

// newGathered returns what is known before any walk.
func (a *analysis) newGathered() gathered {
	g := gathered{parts: make([]partial, a.n), keys: NewHeavyHitters(a.o.ExactKeys, 0), values: newValues(a.counts)}
	for range a.columnsOf() {
		g.cols = append(g.cols, NewHeavyHitters(a.o.ExactKeys, 0))
	}
	return g
}

// columnsOf returns the key columns, none where they are not known.
func (a *analysis) columnsOf() []sqltype.Field {
	if a.key == nil {
		return nil
	}
	return a.key.Fields
}

// merge takes what one partition has found into the whole.
func (a *analysis) merge(w *walker) {
	part := &a.parts[w.partition]
	*part = w.part
	part.walked = true
	w.trials.addTo(a.values)
	distinct, exact := w.keys.Distinct()
	part.distinct, part.lossy = distinct, !exact
	switch {
	case a.alike:
		// Each row is a key of its own.
		part.distinct, part.lossy = int64(part.rows), false
	case exact:
		w.keys.each(func(_ []byte, weight float64, _ int) { a.sizes.Add(weight) })
	default:
		a.spill = true
	}
	a.sized.Merge(&w.sized)
	a.keys.Merge(w.keys)
	for i, c := range w.cols {
		a.cols[i].Merge(c)
	}
}

// count counts the keys of partitions where the walk has not: there were too
// many, or keys without weight were left out.
func (a *analysis) count(ctx context.Context, partitions []int) error {
	if a.key == nil || a.alike {
		return nil
	}
	needed := a.o.Measure != ByRows && a.o.Measure != ByBytes && a.o.Measure != ByChanges
	for _, p := range partitions {
		needed = needed || a.parts[p].lossy
	}
	if !needed {
		return nil
	}
	counts, err := a.store.Counts(ctx, append(a.opts[:len(a.opts):len(a.opts)], checkpoint.Partitions(partitions...))...)
	if err != nil {
		return err
	}
	for _, c := range counts.Partitions {
		a.parts[c.Partition].counted = c.Keys
	}
	return nil
}

// keysOf returns the number of distinct keys of each partition; nil where it
// is not known.
func (a *analysis) keysOf() []float64 {
	if a.key == nil {
		return nil
	}
	out := make([]float64, a.n)
	for p, part := range a.parts {
		n := part.distinct
		switch {
		case a.alike:
		case a.o.Measure == ByChanges && !part.lossy:
			// The keys that were changed, not those that are there.
		case part.lossy, a.o.Measure != ByRows && a.o.Measure != ByBytes:
			n = part.counted
		}
		if n < 0 {
			return nil
		}
		out[p] = float64(n)
	}
	return out
}

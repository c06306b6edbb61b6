package skew

import (
	"math"
	"slices"

	"github.com/sparkstate/sparkstate/statestore/placement"
)

// whatIf measures the state at other numbers of partitions.
func (a *analysis) whatIf(r *Report) {
	if a.hasher == nil {
		return
	}
	largest := 0.0
	switch {
	case a.alike && r.Summary.Total > 0:
		largest = 1
	case len(r.TopKeys) > 0:
		largest = r.TopKeys[0].Value
	}
	for i, n := range a.counts {
		values := a.values[i]
		w := WhatIf{Partitions: n, Summary: Measure(values), Hoover: Float(Hoover(values)), Empty: Empty(values), Floor: 1}
		if mean := float64(w.Mean); mean > 0 {
			w.Floor = Float(max(1, largest/mean))
		}
		r.WhatIf = append(r.WhatIf, w)
	}
}

// saltCounts are the numbers of salts tried.
var saltCounts = []int{2, 4, 8, 16, 32}

// salt tries what salting the largest keys would do at the present number of
// partitions: a salt is one more column of the key, and the rows of a salted
// key are spread evenly over its values.
func (a *analysis) salt(r *Report) {
	if a.hasher == nil || len(r.TopKeys) == 0 || r.Verdict != HotKey {
		return
	}
	at := slices.Index(a.counts, a.n)
	for _, salts := range saltCounts {
		values := slices.Clone(a.values[at])
		salted := 0
		for _, k := range r.TopKeys {
			if k.Value < EvenExcess*float64(r.Summary.Mean) {
				break
			}
			h, err := a.hasher.Hash(k.Row)
			if err != nil {
				return
			}
			salted++
			values[placement.Partition(h, a.n)] -= k.Value
			for s := range salts {
				spread := int32(placement.HashInt(int32(s), uint32(h)))
				values[placement.Partition(spread, a.n)] += k.Value / float64(salts)
			}
		}
		if salted == 0 {
			return
		}
		r.Salting = append(r.Salting, Salting{Keys: salted, Salts: salts, MaxOverMedian: Measure(values).MaxOverMedian})
	}
}

// bestSalting returns the fewest salts that come within a tenth of what the
// most achieve; false where there is nothing to salt.
func (r *Report) bestSalting() (Salting, bool) {
	if len(r.Salting) == 0 {
		return Salting{}, false
	}
	best := math.Inf(1)
	for _, s := range r.Salting {
		best = min(best, float64(s.MaxOverMedian))
	}
	for _, s := range r.Salting {
		if float64(s.MaxOverMedian) <= 1.1*best {
			return s, true
		}
	}
	return Salting{}, false
}

package skew

import (
	"fmt"
	"maps"
	"slices"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
	"github.com/sparkstate/sparkstate/statestore/unsaferow"
)

func (a *analysis) report() *Report {
	r := &Report{At: a.at, Measure: a.o.Measure, Notes: a.notes, Floor: max(a.o.Floor, 0)}
	gone := make(map[int64]bool)
	for _, p := range a.parts {
		r.Values = append(r.Values, p.value)
		r.Rows = append(r.Rows, p.rows)
		r.Bytes = append(r.Bytes, p.bytes)
		for _, b := range p.missing {
			gone[b] = true
		}
	}
	if len(gone) > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("what batches %s changed is gone in some partitions; snapshots stand in for it", checkpoint.Ranges(slices.Sorted(maps.Keys(gone)))))
	}
	if a.o.Floor == 0 {
		r.Floor = map[string]float64{ByRows: FloorRows, ByChanges: FloorRows, ByBytes: FloorBytes}[r.Measure]
	}
	r.Keys = a.keysOf()
	r.Summary = Measure(r.Values)
	r.Imbalance = MeasureImbalance(r.Values)
	r.SkewRate, r.UnexplainedRate, r.RowsPerKey = Undefined(), Undefined(), Undefined()
	if r.Keys != nil {
		c := Chance(r.Keys)
		r.Chance = &c
		keys := int64(c.Keys)
		hoover := float64(r.Imbalance.Hoover)
		r.SkewRate = Float(SkewRate(hoover, ChanceHoover(keys, a.n)))
		switch {
		case a.alike:
			r.UnexplainedRate = r.SkewRate
		case !a.spill:
			r.UnexplainedRate = Float(SkewRate(hoover, a.sizes.ChanceHoover(a.n)))
		}
		if keys > 0 && r.Measure != ByChanges {
			r.RowsPerKey = Float(float64(Measure(r.Rows).Total) / float64(keys))
		}
	}
	if absent := len(a.store.Absent()); absent > 0 && !a.place.Single {
		r.Notes = append(r.Notes, fmt.Sprintf("%d of %d partitions have no directory and count as 0; if this is a copy, it may be incomplete, and uneven for that reason", absent, a.n))
	}
	a.topKeys(r)
	a.columns(r)
	a.placed(r)
	a.whatIf(r)
	a.verdict(r)
	a.salt(r)
	r.Advice = advise(a, r)
	return r
}

// topKeys lists the largest keys.
func (a *analysis) topKeys(r *Report) {
	r.TopError = a.keys.Error()
	for _, h := range a.keys.Top(a.o.Top) {
		k := a.top(r, h, a.key)
		k.Partition = h.tag
		k.OfPartition = shareOf(h.Weight, r.Values[h.tag])
		r.TopKeys = append(r.TopKeys, k)
	}
	for _, p := range a.parts {
		r.NullKeys += p.nullKey
	}
}

func (a *analysis) top(r *Report, h Heavy, t *sqltype.Type) TopKey {
	return TopKey{Row: h.Key, Type: t, Value: h.Weight, Error: h.Error, Partition: -1,
		OfPartition: Undefined(), OfAll: shareOf(h.Weight, float64(r.Summary.Total))}
}

func shareOf(part, whole float64) Float {
	if !(whole > 0) {
		return Undefined()
	}
	return Float(part / whole)
}

// columns looks at each key column alone.
func (a *analysis) columns(r *Report) {
	for i, h := range a.cols {
		c := ColumnReport{Name: a.key.Fields[i].Name}
		c.Distinct, c.Exact = h.Distinct()
		null := 0.0
		for _, p := range a.parts {
			if p.nulls != nil { // nil where the partition is absent
				null += p.nulls[i]
			}
		}
		c.Null = shareOf(null, float64(r.Summary.Total))
		for _, top := range h.Top(a.o.Top) {
			c.Top = append(c.Top, a.top(r, top, columnType(a.key, i)))
		}
		r.Columns = append(r.Columns, c)
	}
}

// fitShare is the part of the rows that other columns must explain.
const fitShare = 0.99

// placed compares where keys are with where they belong.
func (a *analysis) placed(r *Report) {
	r.Placement.Strict = a.place.Strict
	sampled := int64(0)
	fits := make([]int64, len(a.subset))
	for _, p := range a.parts {
		r.Placement.Checked += p.checked
		r.Placement.Misplaced += p.misplaced
		r.Placement.Examples = append(r.Placement.Examples, p.examples...)
		sampled += p.sampled
		for i, n := range p.fits {
			fits[i] += n
		}
	}
	r.Placement.Examples = r.Placement.Examples[:min(len(r.Placement.Examples), a.o.Top)]
	if r.Placement.Misplaced == 0 {
		return
	}
	for i, s := range a.subset {
		if float64(fits[i]) >= fitShare*float64(sampled) {
			for _, c := range s.columns {
				r.Placement.PartitionedBy = append(r.Placement.PartitionedBy, a.key.Fields[c].Name)
			}
			return
		}
	}
}

// verdict judges the measure, and where rows are even, the bytes as well.
func (a *analysis) verdict(r *Report) {
	e := Evidence{Values: r.Values, Keys: r.Keys, Single: a.place.Single, TopPartition: -1}
	if r.Placement.Checked > 0 {
		e.Misplaced = float64(r.Placement.Misplaced) / float64(r.Placement.Checked)
	}
	if e.Keys == nil {
		e.Keys = r.Rows // there are no more keys than rows
	}
	if len(r.TopKeys) > 0 {
		top := r.TopKeys[0]
		e.Top, e.TopPartition = top.Value, top.Partition
		e.TopNull = allNull(top)
	}
	switch {
	case a.alike:
	case a.key == nil && r.Measure == ByBytes:
		e.Sizes = &a.sized
	case a.key == nil:
	case a.spill:
		e.Sizes = a.guessSizes(r, e.Top)
	default:
		e.Sizes = &a.sizes
	}
	r.Verdict = Judge(e)
	if r.Verdict == FewKeys && r.Keys == nil {
		r.Verdict = ByChance // how many keys there are is not known
	}
	r.Severity = Grade(r.Verdict, r.Summary, r.Floor)
	switch r.Measure {
	case ByBytes:
		if !quiet(r.Verdict) && r.Verdict != WrongPartitioning && a.fat(r) {
			r.Verdict = FatValues
		}
	case ByRows:
		if quiet(r.Verdict) && !a.place.Single && a.fat(r) {
			r.Verdict = FatValues
			if a.o.Floor == 0 {
				r.Floor = FloorBytes
			}
			r.Severity = Grade(FatValues, Measure(r.Bytes), r.Floor)
		}
	}
	if r.Placement.Strict && r.Placement.Misplaced > 0 {
		// Spark promises that there is none: this is damage, however even.
		r.Verdict, r.Severity = WrongPartitioning, Critical
	}
}

// fat says whether the bytes are uneven where the rows are not, and beyond what
// chance makes of rows of such sizes.
func (a *analysis) fat(r *Report) bool {
	bytes := Measure(r.Bytes)
	if bytes.Fullest < 0 || !(bytes.Total > 0) {
		return false
	}
	// Bytes that follow the rows are as uneven as those; more than that is the
	// values' doing.
	perRow := float64(bytes.Total) / float64(Measure(r.Rows).Total)
	if beyond := float64(bytes.Max) - perRow*r.Rows[bytes.Fullest]; beyond <= EvenExcess*float64(bytes.Mean) {
		return false
	}
	return !Evidence{Values: r.Bytes, Sizes: &a.sized}.valuesByChance()
}

// guessSizes stands in for the sizes of keys where there were too many to know
// each: the largest as it is, and all others alike.
func (a *analysis) guessSizes(r *Report, top float64) *KeySizes {
	if r.Keys == nil || top <= 0 {
		return nil
	}
	sizes := &KeySizes{}
	sizes.Add(top)
	rest := int64(Measure(r.Keys).Total) - 1
	for range rest {
		sizes.Add((float64(r.Summary.Total) - top) / float64(rest))
	}
	return sizes
}

// quiet says whether a verdict needs nobody's attention.
func quiet(v Verdict) bool {
	return v == Even || v == ByChance || v == FewKeys || v == SinglePartition
}

// allNull says whether every column of a key is null.
func allNull(k TopKey) bool {
	n := len(k.Type.Fields)
	row, err := unsaferow.View(k.Row, n)
	if err != nil || n == 0 {
		return false
	}
	for i := range n {
		if !row.IsNull(i) {
			return false
		}
	}
	return true
}

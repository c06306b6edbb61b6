package report

import (
	"cmp"
	"slices"
)

// MaxColumns bounds the columns of a picture but for those of hot partitions,
// MaxHot how many of those have one of their own.
const (
	MaxColumns = 200
	MaxHot     = 24
)

// Range is a run of partitions that share a column, both ends included.
type Range struct {
	From, To int
	// Hot says that it is a hot partition alone, or that one is among them.
	Hot bool
}

// String writes the numbers of the partitions.
func (r Range) String() string { return span(int64(r.From), int64(r.To)) }

// Alone says that the range is a single partition.
func (r Range) Alone() bool { return r.From == r.To }

// Ranges divides n partitions into columns: one for each where they are at most
// MaxColumns, and otherwise as many to a column as it takes. The hot ones, of
// which the MaxHot with the greatest values, are then taken out of their ranges
// into columns of their own, so that none of them hides its neighbours, nor they
// it.
func Ranges(values []float64, hot []int) []Range {
	n := len(values)
	size := (n + MaxColumns - 1) / MaxColumns
	isHot := make(map[int]bool, len(hot))
	for _, p := range hot {
		isHot[p] = true
	}
	alone := make(map[int]bool)
	if size > 1 {
		most := slices.Clone(hot)
		slices.SortStableFunc(most, func(a, b int) int { return cmp.Compare(values[b], values[a]) })
		for _, p := range most[:min(len(most), MaxHot)] {
			alone[p] = true
		}
	}
	var out []Range
	for p := range n {
		if k := len(out) - 1; k >= 0 && p%size != 0 && !alone[p] && !alone[p-1] {
			out[k].To = p
			out[k].Hot = out[k].Hot || isHot[p]
			continue
		}
		out = append(out, Range{From: p, To: p, Hot: isHot[p]})
	}
	return out
}

// most returns the greatest value of the range and the partition that has it,
// the lowest one where several do. Values that are not known are passed over;
// where none is, the partition is -1.
func (r Range) most(values []float64) (float64, int) {
	top, at := 0.0, -1
	for p := r.From; p <= r.To; p++ {
		if v := values[p]; !unknown(v) && (at < 0 || v > top) {
			top, at = v, p
		}
	}
	return top, at
}

package report

import (
	"fmt"
	"slices"
)

// bars draws the rows of each range of partitions: of several, those of the
// fullest. Hot ones have another colour and a dot above them.
func bars(s *Skew, ranges []Range) *figure {
	top := greatest(s.Max, s.Line)
	f := &figure{Width: unit * len(ranges), Height: 112, Pixels: 200}
	var plain, hot, dots, median, line pen
	for i, r := range ranges {
		v, at := r.most(s.Values)
		h := scale(v, top)
		g := gap(len(ranges))
		p := &plain
		if r.Hot {
			p = &hot
			dots.dot(x(i), 106-h)
		}
		if h > 0 {
			p.box(float64(unit*i)+g/2, 112-h, unit-g, h)
		}
		f.Hovers = append(f.Hovers, hover{unit * i, unit, describe(s, r, v, at)})
	}
	across := func(p *pen, v float64) {
		if !unknown(v) {
			p.put('M', 0, 112-scale(v, top))
			p.put('H', float64(f.Width))
		}
	}
	across(&median, s.Median)
	across(&line, s.Line)
	f.draw("bar", &plain)
	f.draw("bar hot", &hot)
	f.draw("median", &median)
	f.draw("limit", &line)
	f.draw("dot hot", &dots)
	f.Label = fmt.Sprintf("Bar chart of the rows of %s after batch %d: %s", Plural(len(s.Values), "partition"), s.Batch, s.inWords())
	return f
}

// describe says what a column is.
func describe(s *Skew, r Range, v float64, at int) string {
	text := fmt.Sprintf("partition %s: %s rows", r, Count(v))
	if !r.Alone() {
		text = fmt.Sprintf("partitions %s: at most %s rows, in %d", r, Count(v), at)
	}
	if r.Hot {
		text += ", hot"
	}
	return text
}

// inWords says what the bars show.
func (s *Skew) inWords() string {
	text := fmt.Sprintf("median %s, largest %s", Count(s.Median), Count(s.Max))
	if s.Fullest >= 0 && s.Max > 0 {
		text += fmt.Sprintf(" in partition %d", s.Fullest)
	}
	if !unknown(s.Line) {
		text += fmt.Sprintf("; hot above %s, which ", Count(s.Line))
		switch n := len(s.Hot); n {
		case 0:
			text += "no partition exceeds"
		case 1:
			text += "1 partition exceeds"
		default:
			text += Plural(n, "partition") + " exceed"
		}
	}
	return text
}

// maxTable bounds the lines of the table of partitions.
const maxTable = 2000

// partitionRow is a line of the table of partitions.
type partitionRow struct {
	Partition              int
	Rows, Ratio            float64
	Keys, Bytes, FileBytes float64
	Hot, Fullest, Absent   bool
}

// partitionRows lists all partitions, or the maxTable fullest ones; left is how
// many are not in the list.
func (s *Store) partitionRows() (rows []partitionRow, left int) {
	rows = make([]partitionRow, 0, s.Partitions)
	for p := range s.Partitions {
		r := partitionRow{Partition: p, Rows: nan, Ratio: nan, Keys: nan, Bytes: nan, FileBytes: nan}
		if z := s.Size; z != nil && p < len(z.Partition) {
			n := z.Partition[p]
			r.Rows, r.Keys, r.Bytes, r.FileBytes, r.Absent = n.Rows, n.Keys, n.Bytes, n.FileBytes, n.Absent
		}
		if k := s.Skew; k != nil && p < len(k.Values) {
			r.Rows = k.Values[p]
			r.Ratio = r.Rows / max(k.Median, 1)
			r.Hot, r.Fullest = slices.Contains(k.Hot, p), p == k.Fullest && k.Max > 0
		}
		rows = append(rows, r)
	}
	if len(rows) <= maxTable {
		return rows, 0
	}
	slices.SortStableFunc(rows, func(a, b partitionRow) int { return descending(a.Rows, b.Rows) })
	left = len(rows) - maxTable
	return rows[:maxTable], left
}

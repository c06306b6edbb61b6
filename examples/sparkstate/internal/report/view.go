package report

import (
	"fmt"
	"html/template"
)

// view is the page with its pictures.
type view struct {
	*Page
	Policy    string
	Style     template.CSS
	Load      *grid
	LoadAxis  axis
	LoadMarks []swatch
	Views     []storeView
	// Rows, Bytes and FileBytes are of all stores together.
	Rows, Bytes, FileBytes float64
	Worst                  *storeView
}

// axis is what stands below a picture of partitions.
type axis struct {
	First, Middle, Last string
	// Each names every column, where they are not many: with nothing those whose
	// names would be too close to each other.
	Each []string
	// Note says how many partitions share a column.
	Note string
}

const (
	// fewColumns is up to how many each has a name below it.
	fewColumns = 8
	// someColumns is up to how many some have, each below its own column. Where
	// there are more a column is too narrow to tell.
	someColumns = 60
)

func axisOf(ranges []Range) axis {
	n := len(ranges)
	a := axis{}
	if n <= fewColumns || n <= someColumns && ranges[n-1].To == ranges[0].From+n-1 {
		step := nice(float64(n) / fewColumns)
		for i, r := range ranges {
			name := ""
			if i%step == 0 {
				name = r.String()
			}
			a.Each = append(a.Each, name)
		}
		return a
	}
	a.First, a.Middle, a.Last = fmt.Sprint(ranges[0].From), fmt.Sprint(ranges[n/2].From), fmt.Sprint(ranges[n-1].To)
	widest := 1
	for _, r := range ranges {
		widest = max(widest, r.To-r.From+1)
	}
	if widest > 1 {
		a.Note = fmt.Sprintf("up to %d neighbouring partitions share a column", widest)
	}
	return a
}

// nice returns the smallest of 1, 2, 5, 10, 20, 50 … that is no less than x.
func nice(x float64) int {
	for ten := 1; ; ten *= 10 {
		for _, n := range []int{1, 2, 5} {
			if float64(n*ten) >= x {
				return n * ten
			}
		}
	}
}

// storeView is a store with its pictures.
type storeView struct {
	*Store
	ID, Label string
	Level     Level
	Axis      axis
	Bars      *figure
	BarsTop   string
	InWords   string
	Heat      *grid
	Steps     []heatStep
	HeatRows  []heatRow
	Broken    bool // some cell of the heat map cannot be read
	Growth    []*chart
	Grown     string
	WhatIf    []*chart
	Few       bool // partitions, so that tables need not be folded
	Table     []partitionRow
	Left      int
	Now       int // partitions, as the what-if marks them
}

// GrowthRow is a line of the table behind the charts of growth.
type GrowthRow struct {
	Batch int64
	Point
}

// GrowthRows lists the batches, the newest first.
func (v storeView) GrowthRows() []GrowthRow {
	var out []GrowthRow
	for i := len(v.Series.Points) - 1; i >= 0; i-- {
		out = append(out, GrowthRow{v.Series.Batches[i], v.Series.Points[i]})
	}
	return out
}

func (p *Page) view() *view {
	v := &view{Page: p, Policy: policy, Style: style}
	var ranges []Range
	v.Load, ranges = loadGrid(&p.Whole.Map)
	if v.Load != nil {
		v.LoadAxis = axisOf(ranges)
		used := make(map[Mark]bool)
		for _, line := range p.Whole.Map.Cells {
			for _, m := range line {
				used[m] = true
			}
		}
		for m := range marks {
			if used[m] || m == Loads {
				v.LoadMarks = append(v.LoadMarks, swatch{fmt.Sprint("m", uint8(m)), m.String()})
			}
		}
	}
	for i := range p.Stores {
		s := newStoreView(&p.Stores[i], fmt.Sprint("store-", i))
		if s.Size != nil {
			v.Rows += s.Size.Rows
			v.Bytes += s.Size.KeyBytes + s.Size.ValueBytes
			v.FileBytes += s.Size.FileBytes
		} else {
			v.Rows, v.Bytes, v.FileBytes = nan, nan, nan
		}
		v.Views = append(v.Views, s)
	}
	for i := range v.Views {
		s := &v.Views[i]
		if s.Skew != nil && (v.Worst == nil || worse(s.Skew, v.Worst.Skew)) {
			v.Worst = s
		}
	}
	return v
}

// worse says whether the first of two stores is the one to look at.
func worse(a, b *Skew) bool {
	rank := map[Level]int{Good: 0, Info: 1, Warning: 2, Critical: 3}
	if rank[a.Level] != rank[b.Level] {
		return rank[a.Level] > rank[b.Level]
	}
	return greatest(a.Rate) > greatest(b.Rate)
}

func newStoreView(s *Store, id string) storeView {
	v := storeView{Store: s, ID: id, Label: s.Operator.String(), Level: Info, Few: s.Partitions <= fewColumns, Now: s.Partitions}
	if s.Name != "default" {
		v.Label += " / " + s.Name.String()
	}
	values := make([]float64, s.Partitions)
	var hot []int
	if k := s.Skew; k != nil {
		values, hot = k.Values, k.Hot
		v.Level = k.Level
	}
	if len(s.Missing) > 0 {
		v.Level = Critical
	}
	ranges := Ranges(values, hot)
	v.Axis = axisOf(ranges)
	if k := s.Skew; k != nil && len(ranges) > 0 {
		v.Bars, v.BarsTop, v.InWords = bars(k, ranges), Count(greatest(k.Max, k.Line)), k.inWords()
		v.WhatIf = whatIfCharts(k)
	}
	if r := &s.Series; len(r.Batches) > 0 && len(r.Rows) > 0 {
		v.Heat, v.Steps, v.HeatRows = heat(r, ranges), newHeatScale(r.Rows).legend(), heatRows(r, ranges)
		for b := range r.Batches {
			v.Broken = v.Broken || Range{From: 0, To: len(r.Rows) - 1}.partly(r.Rows, b)
		}
		v.Growth, v.Grown = growthCharts(r), growthInWords(r)
	}
	if s.Size != nil || s.Skew != nil {
		v.Table, v.Left = s.partitionRows()
	}
	return v
}

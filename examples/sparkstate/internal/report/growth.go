package report

import (
	"fmt"
	"slices"
)

// chart is a small picture over the batches, or over numbers of partitions.
type chart struct {
	*figure
	Title string
	// Top is the greatest value, as text; the least is 0.
	Top string
	// Left and Right name the first and the last column, Ticks all of them
	// where there is room.
	Left, Right string
	Ticks       []string
	Legend      []swatch
}

// swatch is a line of a legend.
type swatch struct{ Class, Text string }

// growthCharts follow the rows, the bytes and the changes of a store.
func growthCharts(s *Series) []*chart {
	if len(s.Points) < 2 {
		return nil
	}
	over := func(what string, of func(Point) float64, text func(float64) string) *chart {
		var values []float64
		for _, p := range s.Points {
			values = append(values, of(p))
		}
		top := greatest(values...)
		c := s.chart(what, text(top))
		c.curve(values, top*1.04)
		c.Label = fmt.Sprintf("%s after batches %d to %d: first %s, last %s, at most %s",
			what, s.Batches[0], s.Batches[len(s.Batches)-1], text(values[0]), text(values[len(values)-1]), text(top))
		return c
	}
	return []*chart{
		over("Rows", func(p Point) float64 { return p.Rows }, Count),
		over("Bytes of keys and values", func(p Point) float64 { return p.Bytes }, Bytes),
		changes(s),
		over("Max/median of the rows by partition", func(p Point) float64 { return p.MaxOverMedian }, Ratio),
	}
}

func (s *Series) chart(title, top string) *chart {
	n := len(s.Points)
	return &chart{figure: &figure{Width: unit * n, Height: 100, Pixels: 110}, Title: title, Top: top,
		Left: fmt.Sprint("batch ", s.Batches[0]), Right: fmt.Sprint(s.Batches[n-1])}
}

// changes draws what each batch inserted, updated and deleted, one on top of
// the other.
func changes(s *Series) *chart {
	top := 0.0
	for _, p := range s.Points {
		top = max(top, greatest(p.Inserted+p.Updated+p.Deleted))
	}
	c := s.chart("Keys changed by each batch", Count(top))
	classes := []string{"inserted", "updated", "deleted"}
	pens := make([]pen, len(classes))
	total := make([]float64, len(classes))
	g := gap(len(s.Points))
	for i, p := range s.Points {
		y := 100.0
		for k, v := range []float64{p.Inserted, p.Updated, p.Deleted} {
			if unknown(v) {
				continue
			}
			total[k] += v
			if h := scale(v, top); h > 0 {
				pens[k].box(float64(unit*i)+g, y-h, unit-2*g, h)
				y -= h
			}
		}
	}
	c.Label = c.Title + ", together:"
	for k, class := range classes {
		c.draw(class, &pens[k])
		c.Legend = append(c.Legend, swatch{class, class})
		c.Label += fmt.Sprintf(" %s %s", Count(total[k]), class)
	}
	if slices.ContainsFunc(s.Points, func(p Point) bool { return unknown(p.Inserted) }) {
		c.Legend = append(c.Legend, swatch{"", "no bar: not known, or nothing"})
	}
	return c
}

// whatIfCharts draw the fullest partition and the skew rate against the number
// of partitions.
func whatIfCharts(s *Skew) []*chart {
	if len(s.WhatIf) < 2 {
		return nil
	}
	draw := func(title string, of func(WhatIf) float64, least float64, text func(float64) string) *chart {
		var values []float64
		for _, w := range s.WhatIf {
			values = append(values, of(w))
		}
		top := greatest(append(values, least)...)
		c := &chart{figure: &figure{Width: unit * len(values), Height: 100, Pixels: 130}, Title: title, Top: text(top)}
		c.curve(values, top*1.06)
		var now pen
		c.Label = title + ":"
		for i, w := range s.WhatIf {
			c.Ticks = append(c.Ticks, fmt.Sprint(w.Partitions))
			c.Label += fmt.Sprintf(" %s at %d,", text(values[i]), w.Partitions)
			c.Hovers = append(c.Hovers, hover{unit * i, unit, fmt.Sprintf("%d partitions: %s", w.Partitions, text(values[i]))})
			if w.Partitions == len(s.Values) && !unknown(values[i]) {
				now.dot(x(i), 100-scale(values[i], top*1.06))
			}
		}
		c.Label = c.Label[:len(c.Label)-1]
		c.draw("dot now", &now)
		if len(c.Ticks) > fewColumns {
			c.Left, c.Right, c.Ticks = c.Ticks[0], c.Ticks[len(c.Ticks)-1], nil
		}
		return c
	}
	charts := []*chart{draw("Rows in the fullest partition", func(w WhatIf) float64 { return w.Max }, 0, Count)}
	if !unknown(s.Rate) {
		charts = append(charts, draw("Skew rate", func(w WhatIf) float64 { return w.Rate }, 0.1, Percent))
	}
	return charts
}

// growthInWords says how a store has grown over the batches that are known.
func growthInWords(s *Series) string {
	first, last := -1, -1
	for i, p := range s.Points {
		if unknown(p.Rows) {
			continue
		}
		if first < 0 {
			first = i
		}
		last = i
	}
	if first < 0 || first == last {
		return ""
	}
	a, b := s.Points[first], s.Points[last]
	batches := s.Batches[last] - s.Batches[first]
	text := fmt.Sprintf("From batch %d to %d the rows went from %s to %s", s.Batches[first], s.Batches[last], Count(a.Rows), Count(b.Rows))
	if d := b.Rows - a.Rows; d != 0 {
		by := d / float64(batches)
		switch {
		case by > 0:
			text += fmt.Sprintf(": %s more with each batch on average", Count(by))
		default:
			text += fmt.Sprintf(": %s fewer with each batch on average", Count(-by))
		}
	}
	return text + fmt.Sprintf("; the bytes from %s to %s.", Bytes(a.Bytes), Bytes(b.Bytes))
}

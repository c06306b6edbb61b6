package report

import (
	"cmp"
	"fmt"
	"math"
)

// MaxLines bounds the batches of a picture.
const MaxLines = 120

// heatLevels is the number of colours of the heat map, beside that for nothing.
const heatLevels = 9

// heatLevel returns the colour of a value: 0 for nothing, and then by the
// square root of its part of the greatest. Of a state with one partition of a
// hundred times the rest, the rest still differs from nothing; of an even
// state all have one colour.
func heatLevel(v, top float64) int {
	if !(v > 0) || !(top > 0) {
		return 0
	}
	return min(heatLevels, max(1, int(math.Ceil(heatLevels*math.Sqrt(v/top)))))
}

// heatStep is a colour of the legend and the greatest value that has it.
type heatStep struct {
	Level int
	Upto  float64
}

// heatSteps returns the legend of a heat map.
func heatSteps(top float64) []heatStep {
	var out []heatStep
	for k := range heatLevels + 1 {
		share := float64(k) / heatLevels
		out = append(out, heatStep{k, math.Floor(top * share * share)})
	}
	out[heatLevels].Upto = top
	return out
}

// grid is a picture of columns of partitions and lines of batches, the newest
// on top.
type grid struct {
	*figure
	Top, Bottom int64 // batches
}

// gridPixels is the height of a line on the screen, and of a picture of so many.
func gridPixels(lines int) int { return max(40, lines*max(4, min(22, 320/max(lines, 1)))) }

// runs draws cells of one line as long as neighbours are alike. The class is
// "" for nothing to draw.
func runs(pens map[string]*pen, columns int, line int, class func(column int) string) {
	for from := 0; from < columns; {
		c, to := class(from), from+1
		for to < columns && class(to) == c {
			to++
		}
		if c != "" {
			if pens[c] == nil {
				pens[c] = new(pen)
			}
			pens[c].box(float64(unit*from), float64(line), float64(unit*(to-from)), 1)
		}
		from = to
	}
}

// heat draws the heat map of a store.
func heat(s *Series, ranges []Range) *grid {
	lines := len(s.Batches)
	g := &grid{Top: s.Batches[lines-1], Bottom: s.Batches[0]}
	g.figure = &figure{Width: unit * len(ranges), Height: lines, Pixels: gridPixels(lines)}
	top := s.greatest()
	pens := make(map[string]*pen)
	var dots pen
	for line := range lines {
		b := lines - 1 - line
		runs(pens, len(ranges), line, func(c int) string {
			v, at := ranges[c].at(s.Rows, b)
			if at < 0 {
				return "gone"
			}
			return fmt.Sprint("h", heatLevel(v, top))
		})
		for c, r := range ranges {
			if r.partly(s.Rows, b) {
				dots.dot(x(c), float64(line)+0.5)
			}
		}
	}
	for k := range heatLevels + 1 {
		g.drawNamed(fmt.Sprint("h", k), pens)
	}
	g.drawNamed("gone", pens)
	g.draw("dot gone", &dots)
	for c, r := range ranges {
		v, at := r.at(s.Rows, lines-1)
		title := fmt.Sprintf("partition %s: %s rows after batch %d", r, Count(v), g.Top)
		switch {
		case at < 0:
			title = fmt.Sprintf("partition %s: not readable after batch %d", r, g.Top)
		case !r.Alone():
			title = fmt.Sprintf("partitions %s: at most %s rows after batch %d, in %d", r, Count(v), g.Top, at)
		}
		g.Hovers = append(g.Hovers, hover{unit * c, unit, title})
	}
	g.Label = fmt.Sprintf("Heat map of the rows of %s after batches %d to %d, at most %s", plural(len(s.Rows), "partition"), g.Bottom, g.Top, Count(top))
	return g
}

func (f *figure) drawNamed(class string, pens map[string]*pen) {
	if p := pens[class]; p != nil {
		f.draw(class, p)
	}
}

// greatest returns the greatest number of rows that any partition has had.
func (s *Series) greatest() float64 {
	top := 0.0
	for _, line := range s.Rows {
		top = max(top, greatest(line...))
	}
	return top
}

// at is [Range.most] of what partitions had after a batch.
func (r Range) at(rows [][]float64, batch int) (float64, int) {
	top, at := 0.0, -1
	for p := r.From; p <= r.To; p++ {
		if v := rows[p][batch]; !unknown(v) && (at < 0 || v > top) {
			top, at = v, p
		}
	}
	return top, at
}

// partly says that some partition of the range could not be read.
func (r Range) partly(rows [][]float64, batch int) bool {
	for p := r.From; p <= r.To; p++ {
		if unknown(rows[p][batch]) {
			return true
		}
	}
	return false
}

// heatRow is a line of the table behind a heat map.
type heatRow struct {
	Range
	Rows []float64
}

func heatRows(s *Series, ranges []Range) []heatRow {
	var out []heatRow
	for _, r := range ranges {
		row := heatRow{Range: r}
		for b := range s.Batches {
			v, at := r.at(s.Rows, b)
			if at < 0 {
				v = nan
			}
			row.Rows = append(row.Rows, v)
		}
		out = append(out, row)
	}
	return out
}

var nan = math.NaN()

// descending compares for an order from the greatest on, unknown values last.
func descending(a, b float64) int {
	switch {
	case unknown(a) || unknown(b):
		return cmp.Compare(b2i(unknown(a)), b2i(unknown(b)))
	default:
		return cmp.Compare(b, a)
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

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

// leastStep is the least ratio between a colour and the next, so that values
// which hardly differ look alike; mostSpan is the greatest ratio that all colours
// together span: what is below it has the first.
const (
	leastStep = 1.35
	mostSpan  = 10_000
)

// heatScale gives colours to numbers of rows. Each colour stands for so many
// times the rows of the one before, counted from the greatest down: a partition
// that has a multiple of the others is seen beside them, and so are they.
type heatScale struct{ top, step float64 }

// newHeatScale returns the scale that spans the values from the smallest that is
// not 0 to the greatest.
func newHeatScale(rows [][]float64) heatScale {
	top, least := 0.0, math.Inf(1)
	for _, line := range rows {
		for _, v := range line {
			if !unknown(v) && v > 0 {
				top, least = max(top, v), min(least, v)
			}
		}
	}
	return heatScale{top, max(leastStep, math.Pow(min(mostSpan, top/least), 1.0/heatLevels))}
}

// level returns the colour of a value: 0 for nothing, and otherwise 1 to
// heatLevels.
func (h heatScale) level(v float64) int {
	if !(v > 0) || !(h.top > 0) {
		return 0
	}
	// The rounding of the logarithm must not move a value that is on the edge.
	below := math.Floor(math.Log(h.top/v)/math.Log(h.step) + 1e-9)
	return max(1, heatLevels-int(below))
}

// heatStep is a colour of the legend and the greatest whole number that has it.
type heatStep struct {
	Level int
	Upto  float64
}

// legend returns the colours that whole numbers have.
func (h heatScale) legend() []heatStep {
	out := []heatStep{{0, 0}}
	for k := 1; k <= heatLevels; k++ {
		upto := math.Floor(h.top/math.Pow(h.step, float64(heatLevels-k)) + 1e-9)
		if upto > out[len(out)-1].Upto {
			out = append(out, heatStep{k, upto})
		}
	}
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

// separate draws lines between the cells, where they are large enough.
func (g *grid) separate() {
	var p pen
	if columns := g.Width / unit; columns <= 60 {
		for c := 1; c < columns; c++ {
			p.put('M', float64(unit*c), 0)
			p.put('V', float64(g.Height))
		}
	}
	if g.Pixels >= 8*g.Height {
		for line := 1; line < g.Height; line++ {
			p.put('M', 0, float64(line))
			p.put('H', float64(g.Width))
		}
	}
	g.draw("between", &p)
}

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
	scale := newHeatScale(s.Rows)
	pens := make(map[string]*pen)
	var dots pen
	for line := range lines {
		b := lines - 1 - line
		runs(pens, len(ranges), line, func(c int) string {
			v, at := ranges[c].at(s.Rows, b)
			if at < 0 {
				return "gone"
			}
			return fmt.Sprint("h", scale.level(v))
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
	g.separate()
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
	g.Label = fmt.Sprintf("Heat map of the rows of %s after batches %d to %d, at most %s", Plural(len(s.Rows), "partition"), g.Bottom, g.Top, Count(scale.top))
	return g
}

func (f *figure) drawNamed(class string, pens map[string]*pen) {
	if p := pens[class]; p != nil {
		f.draw(class, p)
	}
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

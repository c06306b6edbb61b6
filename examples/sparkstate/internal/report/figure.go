package report

import (
	"math"
	"strconv"
	"strings"
)

// figure is a picture without words: an SVG that is stretched to the room it
// has, so that its columns stand above those of the next one on any screen. The
// words stand around it as text.
type figure struct {
	// Label is what is read out instead.
	Label string
	// Width and Height are in units of the drawing: a column is 10 wide.
	Width, Height int
	// Pixels is the height on the screen.
	Pixels int
	Shapes []shape
	Hovers []hover
}

// shape is a path and its style.
type shape struct{ Class, D string }

// hover is a part of a picture that says what it is when pointed at.
type hover struct {
	X, Width int
	Title    string
}

// unit is the width of a column.
const unit = 10

// pen writes the data of a path.
type pen struct{ b strings.Builder }

func (p *pen) put(command byte, numbers ...float64) {
	p.b.WriteByte(command)
	for i, v := range numbers {
		if i > 0 {
			p.b.WriteByte(' ')
		}
		p.b.WriteString(strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64))
	}
}

// box draws a rectangle.
func (p *pen) box(x, y, width, height float64) {
	p.put('M', x, y)
	p.put('h', width)
	p.put('v', height)
	p.put('h', -width)
	p.b.WriteByte('z')
}

// dot draws a point; its style makes it round.
func (p *pen) dot(x, y float64) {
	p.put('M', x, y)
	p.b.WriteString("h0")
}

// draw adds what the pen has written, if anything.
func (f *figure) draw(class string, p *pen) {
	if p.b.Len() > 0 {
		f.Shapes = append(f.Shapes, shape{class, p.b.String()})
	}
}

// gap is how much of a column is left free between bars: nothing where there
// are so many that it would be less than a pixel.
func gap(columns int) float64 {
	if columns > 60 {
		return 0
	}
	return 1
}

// scale returns how high a value is drawn, of a picture that is 100 high and
// ends at the top.
func scale(v, top float64) float64 {
	if unknown(v) || !(top > 0) {
		return 0
	}
	return 100 * v / top
}

// greatest returns the greatest of the values, at least 0.
func greatest(values ...float64) float64 {
	top := 0.0
	for _, v := range values {
		if !unknown(v) {
			top = max(top, v)
		}
	}
	return top
}

// curve draws a line through the values, one to a column, with the area below
// it. It is broken where a value is not known.
func (f *figure) curve(values []float64, top float64) {
	var line, area, dots pen
	start := -1
	end := func(i int) {
		if start < 0 {
			return
		}
		area.put('L', x(i-1), 100)
		area.put('L', x(start), 100)
		area.b.WriteByte('z')
		start = -1
	}
	for i, v := range values {
		if unknown(v) {
			end(i)
			continue
		}
		y := 100 - scale(v, top)
		command := byte('L')
		if start < 0 {
			start, command = i, 'M'
		}
		line.put(command, x(i), y)
		area.put(command, x(i), y)
		dots.dot(x(i), y)
	}
	end(len(values))
	f.draw("area", &area)
	f.draw("line", &line)
	if len(values) <= 24 {
		f.draw("dot", &dots)
	}
}

// x is the middle of a column.
func x(column int) float64 { return unit*float64(column) + unit/2 }

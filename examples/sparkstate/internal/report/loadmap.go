package report

import "fmt"

// markNames are the marks in words; their styles are called m0 to m5.
var markNames = [marks]string{
	Loads:       "loads",
	LoadsInSome: "with some versions of Spark only",
	LoadsHere:   "this library only",
	CleanedUp:   "cleaned up: older than what the query keeps",
	Lost:        "lost",
	Unjudged:    "not judged: nothing says that the partition should be there",
}

// String returns the mark in words.
func (m Mark) String() string {
	if m < marks {
		return markNames[m]
	}
	return "unknown"
}

// loadGrid draws the map of what can be loaded. Partitions that have lost
// something are treated as hot ones are in other pictures.
func loadGrid(m *LoadMap) (*grid, []Range) {
	lines := len(m.Batches)
	if lines == 0 || len(m.Cells) == 0 {
		return nil, nil
	}
	lost := make([]float64, len(m.Cells))
	var hot []int
	for p, cells := range m.Cells {
		for _, c := range cells {
			if c == Lost {
				lost[p]++
			}
		}
		if lost[p] > 0 {
			hot = append(hot, p)
		}
	}
	ranges := Ranges(lost, hot)
	g := &grid{Top: m.Batches[lines-1], Bottom: m.Batches[0]}
	g.figure = &figure{Width: unit * len(ranges), Height: lines, Pixels: min(180, gridPixels(lines))}
	pens := make(map[string]*pen)
	var dots pen
	seen := Loads // the worst, in general
	for line := range lines {
		b := lines - 1 - line
		worst := func(c int) Mark {
			w := Unjudged
			for p := ranges[c].From; p <= ranges[c].To; p++ {
				w = w.Worse(m.Cells[p][b])
			}
			return w
		}
		runs(pens, len(ranges), line, func(c int) string { return fmt.Sprint("m", uint8(worst(c))) })
		for c := range ranges {
			w := worst(c)
			seen = seen.Worse(w)
			if w == Lost {
				dots.dot(x(c), float64(line)+0.5)
			}
		}
	}
	for k := range marks {
		g.drawNamed(fmt.Sprint("m", uint8(k)), pens)
	}
	g.separate()
	g.draw("dot lost", &dots)
	for c, r := range ranges {
		title := fmt.Sprintf("partition %s", r)
		if lost[r.From] > 0 {
			title += fmt.Sprintf(": lost after %d of the %d batches shown", int(lost[r.From]), lines)
		}
		g.Hovers = append(g.Hovers, hover{unit * c, unit, title})
	}
	g.Label = fmt.Sprintf("Map of %s and batches %d to %d: ", Plural(len(m.Cells), "partition"), g.Bottom, g.Top)
	switch {
	case seen == Loads:
		g.Label += "every partition loads after every batch"
	case seen == CleanedUp && len(m.Trouble) == 0:
		g.Label += "older ones have been cleaned up, the others load"
	case len(hot) > 0:
		g.Label += Plural(len(hot), "partition") + " lost something; the list below says what"
	default:
		g.Label += "not everything loads; the list below says what"
	}
	return g, ranges
}

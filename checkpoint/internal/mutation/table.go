package mutation

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/sparkstate/sparkstate/statestore/codec"
)

// Tally counts the mutations of one line of a table.
type Tally struct {
	Harmless, Noticed int
	// Passed is how many gave wrong rows and nothing was said; Found of those
	// are found by a deep check.
	Passed, Found int
}

// N is the number of mutations.
func (t Tally) N() int { return t.Harmless + t.Noticed + t.Passed }

func (t *Tally) add(r Result) {
	switch r.Outcome {
	case Harmless:
		t.Harmless++
	case Noticed:
		t.Noticed++
	case Passed:
		t.Passed++
		if r.Found {
			t.Found++
		}
	}
}

// line is what the mutations of a line have in common.
type line struct {
	class    Class
	sidecars bool
	codec    codec.Codec // of State alone
	rowSums  bool        // of State alone
	kind     Kind        // of State alone
}

// Table adds results up.
type Table struct {
	lines map[line]*Tally
	// Faulty are the mutations that showed a fault of the library.
	Faulty []Result
}

func newTable() *Table { return &Table{lines: make(map[line]*Tally)} }

func (t *Table) add(r Result) {
	l := line{class: r.Class, sidecars: r.Subject.Sidecars}
	if r.Class == State {
		l.codec, l.rowSums, l.kind = r.Subject.Codec, r.Subject.RowSums, r.Kind
	}
	if t.lines[l] == nil {
		t.lines[l] = &Tally{}
	}
	t.lines[l].add(r)
	if len(r.Faults) > 0 {
		t.Faulty = append(t.Faulty, r)
	}
}

// N is the number of mutations in the table.
func (t *Table) N() int {
	n := 0
	for _, c := range t.lines {
		n += c.N()
	}
	return n
}

// of adds up the lines that fit.
func (t *Table) of(fits func(line) bool) Tally {
	var sum Tally
	for l, c := range t.lines {
		if fits(l) {
			sum.Harmless += c.Harmless
			sum.Noticed += c.Noticed
			sum.Passed += c.Passed
			sum.Found += c.Found
		}
	}
	return sum
}

// WriteTo writes the table as text: what passes by what was damaged, of state
// files by codec, and of those without .crc files by kind. The shares are of the
// mutations that are not harmless; the second of those that passed.
func (t *Table) WriteTo(w io.Writer) (int64, error) {
	var b strings.Builder
	tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	head := func(what string) {
		fmt.Fprintf(tw, "%s\tn\tharmless\tnoticed\tpassed\tshare\tdeep check finds\n", what)
	}
	row := func(what string, fits func(line) bool) {
		if c := t.of(fits); c.N() > 0 {
			fmt.Fprintf(tw, "%s\t%d\t%d\t%d\t%d\t%s\t%s\n", what, c.N(), c.Harmless, c.Noticed, c.Passed, percent(c.Passed, c.Passed+c.Noticed), percent(c.Found, c.Passed))
		}
	}
	for _, sums := range []bool{true, false} {
		head(withSums(sums))
		for _, class := range Classes {
			row(string(class), func(l line) bool { return l.class == class && l.sidecars == sums })
		}
		for _, edits := range []bool{true, false} {
			what := "whole files astray"
			if edits {
				what = "bytes changed"
			}
			for _, c := range codecs {
				row(fmt.Sprintf("state, %s, %s", c, what), func(l line) bool {
					return l.class == State && l.sidecars == sums && l.codec == c && !l.rowSums && l.kind.edits() == edits
				})
			}
			row("state, row checksums, "+what, func(l line) bool {
				return l.class == State && l.sidecars == sums && l.rowSums && l.kind.edits() == edits
			})
		}
		fmt.Fprintln(tw)
	}
	head("state, no .crc files")
	for _, c := range codecs {
		for _, k := range Kinds {
			row(c.String()+" "+string(k), func(l line) bool { return l == line{State, false, c, false, k} })
		}
	}
	if err := tw.Flush(); err != nil {
		return 0, err
	}
	n, err := io.WriteString(w, b.String())
	return int64(n), err
}

func withSums(sums bool) string {
	if sums {
		return "with .crc files"
	}
	return "no .crc files"
}

func percent(n, of int) string {
	if of == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(of))
}

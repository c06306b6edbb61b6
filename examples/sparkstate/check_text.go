package main

import (
	"bufio"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sparkstate/sparkstate/checkpoint"
)

// textWidth is how wide the text of check gets, in characters.
const textWidth = 80

// checkText writes the report for people: the answers, the map, the findings.
func (a *app) checkText(cp *checkpoint.Checkpoint, r *checkpoint.CheckReport) error {
	w := bufio.NewWriter(a.out)
	t := &checkWriter{w: w, cp: cp, r: r}
	t.answers()
	t.picture()
	t.findings()
	return output(w.Flush())
}

type checkWriter struct {
	w  *bufio.Writer // its error comes back from Flush
	cp *checkpoint.Checkpoint
	r  *checkpoint.CheckReport
}

func (t *checkWriter) line(format string, a ...any) {
	fmt.Fprintln(t.w, strings.TrimRight(fmt.Sprintf(format, a...), " "))
}

// wrap writes words in lines that fit, all but the first indented as given.
func (t *checkWriter) wrap(first, indent, text string) {
	line := first
	for word := range strings.FieldsSeq(printable(text)) {
		if n := utf8.RuneCountInString(line) + utf8.RuneCountInString(word); n > textWidth && strings.TrimSpace(line) != "" {
			t.line("%s", line)
			line = indent
		}
		line += word + " "
	}
	t.line("%s", line)
}

func (t *checkWriter) answers() {
	r := t.r
	switch {
	case r.LastCommitted < 0:
		t.line("no batch is committed")
	case r.From != checkpoint.Recorded:
		t.line("no commits: batch %d is the newest that all partitions have", r.LastCommitted)
	default:
		t.line("batch %d is the last committed one", r.LastCommitted)
	}
	if r.Asked != r.LastCommitted {
		t.line("Spark would ask for the state of batch %d", r.Asked)
	}
	t.line("")
	rows := [][]string{{"", "restarts as it is", "newest batch that loads everywhere"}}
	for j, a := range r.Answers {
		rows = append(rows, []string{checkpoint.Judge(j).String(), restarts(j, a), newest(a)})
	}
	for _, row := range rows {
		t.line("%-21s%-20s%s", row[0], row[1], row[2])
	}
	for j, a := range r.Answers {
		if tellsWhy(r, j) {
			t.line("")
			t.wrap(checkpoint.Judge(j).String()+": ", "  ", a.Why.Error())
		}
	}
	for j, a := range r.Answers {
		if tellsBack(r, j) {
			t.line("")
			t.wrap(fmt.Sprintf("%s, back to batch %d: ", checkpoint.Judge(j), a.Newest), "  ", rollbackText(a.Back))
		}
	}
	t.line("")
}

// restarts is a judge's answer in a word or two.
func restarts(judge int, a checkpoint.Answer) string {
	words := map[bool]string{true: "yes", false: "no"}
	if checkpoint.Judge(judge) == checkpoint.Library {
		words = map[bool]string{true: "readable", false: "not readable"}
	}
	return words[a.Restarts]
}

// newest is the newest batch of a judge's answer.
func newest(a checkpoint.Answer) string {
	if a.Newest < 0 {
		return "none"
	}
	return fmt.Sprint(a.Newest)
}

// tellsWhy says whether a judge has a reason that the one before has not given.
func tellsWhy(r *checkpoint.CheckReport, judge int) bool {
	a := r.Answers[judge]
	return a.Why != nil && (judge == 0 || r.Answers[judge-1].Why == nil || r.Answers[judge-1].Why.Error() != a.Why.Error())
}

// tellsBack says whether a judge has a way back that the one before has not.
func tellsBack(r *checkpoint.CheckReport, judge int) bool {
	a := r.Answers[judge]
	return a.Back != nil && (judge == 0 || r.Answers[judge-1].Back == nil || r.Answers[judge-1].Newest != a.Newest)
}

// rollbackText says what a rollback takes.
func rollbackText(b *checkpoint.Rollback) string {
	var out []string
	if len(b.Offsets) > 0 {
		out = append(out, "offsets/ "+checkpoint.Ranges(b.Offsets))
	}
	if len(b.Commits) > 0 {
		out = append(out, "commits/ "+checkpoint.Ranges(b.Commits))
	}
	if n := len(b.Sources); n > 0 {
		out = append(out, b.Sources[0])
		if n > 1 {
			out[len(out)-1] += fmt.Sprintf(" and what is newer there (%d files)", n)
		}
	}
	out = append(out, fmt.Sprintf("and all state files above version %d", b.Above))
	text := "in a copy, remove " + strings.Join(out, ", ") + "."
	if b.Again >= 0 {
		text += fmt.Sprintf(" Batch %d is then run again with the offsets that it had.", b.Again)
	}
	if b.Replayed.First <= b.Replayed.Last {
		text += fmt.Sprintf(" The input of batch %s is read and written a second time, if its source still has it", span(b.Replayed.First, b.Replayed.Last))
		sep := ": "
		for i := range b.Input {
			if p := &b.Input[i]; p.Change != checkpoint.OffsetStill {
				text += sep + "source " + p.ID + " " + advance(p)
				sep = ", "
			}
		}
		text += "."
	}
	return text
}

// The marks of the picture, from the best to the worst.
const marks = "█▓▒·x"

// mark is the position in marks of what can be said of a span.
func mark(s checkpoint.Span) int {
	can := func(j checkpoint.Judge) bool {
		return s.Loading[j] == checkpoint.Loads || s.Loading[j] == checkpoint.ByFallback
	}
	switch {
	case s.Loading[checkpoint.Library] == checkpoint.CleanedUp:
		return 3
	case can(checkpoint.SparkBefore41) && can(checkpoint.Spark41) && can(checkpoint.Spark42):
		return 0
	case can(checkpoint.SparkBefore41) || can(checkpoint.Spark41) || can(checkpoint.Spark42):
		return 1
	case can(checkpoint.Library):
		return 2
	}
	return 4
}

// maxPictureRows bounds the height of one store's picture.
const maxPictureRows = 24

// picture draws partitions × batches. Partitions that look the same share a
// line, and where the batches are too many several share a column, which then
// shows the worst of them.
func (t *checkWriter) picture() {
	m := t.r.Map
	if m.First > m.Last {
		return
	}
	n := m.Last - m.First + 1
	columns := min(n, textWidth-16)
	per := ceil(n, columns)
	for _, s := range m.Stores {
		type row struct {
			from, to int
			cells    string
		}
		var rows []row
		for _, p := range s.Partitions {
			cells := drawn(p.Spans, m.First, n, per)
			if k := len(rows) - 1; k >= 0 && rows[k].cells == cells && rows[k].to == p.Partition-1 {
				rows[k].to = p.Partition
				continue
			}
			rows = append(rows, row{p.Partition, p.Partition, cells})
		}
		t.line("operator %s, store %s: batches %s", operatorLabel(t.cp, s.Operator), s.Store, span(m.First, m.Last))
		for i, r := range rows {
			if i == maxPictureRows {
				t.line("  … and %d more lines", len(rows)-i)
				break
			}
			t.line("%13s  %s", span(int64(r.from), int64(r.to)), r.cells)
		}
	}
	t.line("█ loads  ▓ with some versions of Spark only  ▒ with this library only")
	t.line("· cleaned up  x lost")
	if per > 1 {
		t.line("%d batches to a column, the worst of them shown", per)
	}
	t.line("")
}

// ceil divides and rounds up.
func ceil(a, b int64) int64 {
	q := a / b
	if a%b != 0 {
		q++
	}
	return q
}

// drawn returns the line of a partition, of n batches from first on.
func drawn(spans []checkpoint.Span, first, n, per int64) string {
	cells := make([]int, ceil(n, per))
	for _, s := range spans {
		k := mark(s)
		for c := (s.First - first) / per; c <= (s.Last-first)/per; c++ {
			cells[c] = max(cells[c], k)
		}
	}
	all := []rune(marks)
	out := make([]rune, len(cells))
	for i, k := range cells {
		out[i] = all[k]
	}
	return string(out)
}

func operatorLabel(cp *checkpoint.Checkpoint, id int) string {
	if name := operatorName(cp, id); name != "" {
		return fmt.Sprintf("%d (%s)", id, name)
	}
	return fmt.Sprint(id)
}

func (t *checkWriter) findings() {
	if len(t.r.Findings) == 0 {
		t.line("nothing found (level %s)", t.r.Level)
		return
	}
	t.line("%s (level %s)", counting(len(t.r.Findings)+int(t.r.LeftOut), "finding"), t.r.Level)
	for _, group := range alike(t.r.Findings) {
		f := group[0]
		t.line("")
		t.line("%s: %s", f.Severity, f.ID)
		for i, g := range group {
			if i == maxAlike {
				t.line("  … and %d more of these; --format json lists all", len(group)-i)
				break
			}
			t.wrap("  ", "    ", place(t.cp, g)+g.What+condition(g))
		}
		t.wrap("  → ", "    ", f.Do)
	}
}

// maxAlike is how many findings of one kind are shown to people.
const maxAlike = 5

// alike puts together the findings that ask for the same, in the order of the
// first of each.
func alike(all []checkpoint.Finding) [][]checkpoint.Finding {
	type kind struct {
		id, do   string
		severity checkpoint.Severity
	}
	var out [][]checkpoint.Finding
	at := make(map[kind]int)
	for _, f := range all {
		k := kind{f.ID, f.Do, f.Severity}
		i, ok := at[k]
		if !ok {
			i = len(out)
			at[k] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], f)
	}
	return out
}

// place says where a finding is, as far as its text does not.
func place(cp *checkpoint.Checkpoint, f checkpoint.Finding) string {
	if at := f.Place(cp); at != "" {
		return at + ": "
	}
	return ""
}

func condition(f checkpoint.Finding) string {
	if f.Condition == "" {
		return ""
	}
	return " (Spark: " + f.Condition + ")"
}

// printable takes out what would move the cursor of a terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r != ' ' && r != '\n' && !unicode.IsPrint(r) {
			return '·'
		}
		return r
	}, s)
}

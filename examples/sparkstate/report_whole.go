package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/examples/sparkstate/internal/report"
)

// whole answers whether the checkpoint can be restored.
func (r *reporting) whole() {
	w := &r.page.Whole
	if r.cp.Provider().Format != checkpoint.HDFS {
		w.Checked = "Only the logs were looked at, so it cannot be said whether the query restarts."
		return
	}
	w.Checked = "Judged by names and sizes of the files only (level quick)."
	switch r.check.Level {
	case checkpoint.DefaultCheck:
		w.Checked = "Every file that a batch which can be restored needs was decoded (level default)"
	case checkpoint.DeepCheck:
		w.Checked = "Every state file was decoded, every row validated (level deep)"
	}
	if r.check.Level != checkpoint.QuickCheck {
		w.Checked += ": " + report.Plural(int(r.check.Files), "file") + ", " + report.Bytes(float64(r.check.Bytes)) + "."
	}
	for j, a := range r.check.Answers {
		w.Answers = append(w.Answers, report.Answer{Judge: checkpoint.Judge(j).String(), Good: a.Restarts, Restarts: restarts(j, a), Newest: newest(a)})
		if tellsWhy(r.check, j) {
			who := r.judges(j, func(k int) bool { return r.check.Answers[k].Why != nil && !tellsWhy(r.check, k) })
			w.Reasons = append(w.Reasons, report.Said{Who: who, Text: report.Text(a.Why.Error())})
		}
		if tellsBack(r.check, j) {
			who := r.judges(j, func(k int) bool { return r.check.Answers[k].Back != nil && !tellsBack(r.check, k) })
			w.Ways = append(w.Ways, report.Said{Who: fmt.Sprintf("%s, back to batch %d", who, a.Newest), Text: report.Text(rollbackText(a.Back))})
		}
	}
	r.loadMap()
}

// findings lists what the check has found, and what to do.
func (r *reporting) findings() {
	w := &r.page.Whole
	titles := make(map[string]string)
	for _, k := range checkpoint.FindingKinds() {
		titles[k.ID] = k.Title
	}
	for _, group := range alike(r.check.Findings) {
		f := group[0]
		out := report.Finding{Level: report.Level(f.Severity.String()), ID: f.ID, Title: titles[f.ID], Do: report.Text(f.Do)}
		for _, g := range group[:min(len(group), maxAlike)] {
			out.Items = append(out.Items, report.Text(place(r.cp, g)+g.What+condition(g)))
		}
		out.More = len(group) - len(out.Items)
		w.Findings = append(w.Findings, out)
	}
}

// judges names a judge and those after it that say the same.
func (r *reporting) judges(j int, same func(judge int) bool) string {
	names := []string{checkpoint.Judge(j).String()}
	for k := j + 1; k < len(r.check.Answers) && same(k); k++ {
		names = append(names, checkpoint.Judge(k).String())
	}
	return strings.Join(names, "; ")
}

// window returns the batches that the pictures show: the newest committed ones.
func (r *reporting) window() (first, last int64) {
	m := r.check.Map
	last = min(m.Last, r.check.LastCommitted)
	return max(m.First, last-int64(r.flags.batches)+1), last
}

// maxTrouble bounds the list of what does not load.
const maxTrouble = 40

// loadMap puts the maps of all stores into one, and what does not load into
// words.
func (r *reporting) loadMap() {
	m := r.check.Map
	first, last := r.window()
	if first > last {
		return
	}
	out := &r.page.Whole.Map
	out.Left = first - m.First
	for b := first; b <= last; b++ {
		out.Batches = append(out.Batches, b)
	}
	for _, s := range m.Stores {
		for _, p := range s.Partitions {
			for len(out.Cells) <= p.Partition {
				out.Cells = append(out.Cells, slices.Repeat([]report.Mark{report.Unjudged}, len(out.Batches)))
			}
			for _, sp := range p.Spans {
				for b := max(sp.First, first); b <= min(sp.Last, last); b++ {
					cell := &out.Cells[p.Partition][b-first]
					*cell = cell.Worse(report.Mark(mark(sp)))
				}
			}
		}
		out.Trouble = append(out.Trouble, r.trouble(s)...)
	}
	slices.SortStableFunc(out.Trouble, func(a, b report.Trouble) int { return cmp.Compare(b.Mark, a.Mark) })
	out.More = max(0, len(out.Trouble)-maxTrouble)
	out.Trouble = out.Trouble[:len(out.Trouble)-out.More]
}

// trouble lists what of a store does not load. Neighbouring partitions of which
// the same is to be said share an entry, with the reason of the first.
func (r *reporting) trouble(s checkpoint.StoreMap) []report.Trouble {
	type kind struct {
		first, last int64
		mark        report.Mark
	}
	type run struct{ from, to, at int } // partitions, and the place in the list
	var out []report.Trouble
	open := make(map[kind]run)
	for _, p := range s.Partitions {
		for _, sp := range p.Spans {
			k := kind{sp.First, sp.Last, report.Mark(mark(sp))}
			if k.mark == report.Loads || k.mark == report.CleanedUp {
				continue
			}
			o, ok := open[k]
			if !ok || o.to != p.Partition-1 {
				o = run{p.Partition, p.Partition, len(out)}
				t := report.Trouble{Store: report.Text("operator " + operatorLabel(r.cp, s.Operator) + ", store " + s.Store), Batches: span(sp.First, sp.Last), Mark: k.mark}
				if sp.Why != nil {
					t.Why = report.Text(sp.Why.Error())
				}
				out = append(out, t)
			}
			o.to = p.Partition
			open[k] = o
			out[o.at].Partitions = span(int64(o.from), int64(o.to))
		}
	}
	return out
}

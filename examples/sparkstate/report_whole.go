package main

import (
	"slices"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/examples/sparkstate/internal/report"
)

// whole answers whether the checkpoint is whole.
func (r *reporting) whole() {
	w := &r.page.Whole
	w.Checked = "Judged by names and sizes of the files only (level quick)."
	switch r.check.Level {
	case checkpoint.DefaultCheck:
		w.Checked = "Every file that a batch which can be restored needs was decoded (level default)"
	case checkpoint.DeepCheck:
		w.Checked = "Every state file was decoded, every row validated (level deep)"
	}
	if r.check.Level != checkpoint.QuickCheck {
		w.Checked += ": " + counting(int(r.check.Files), "file") + ", " + report.Bytes(float64(r.check.Bytes)) + "."
	}
	for j, a := range r.check.Answers {
		out := report.Answer{Judge: checkpoint.Judge(j).String(), Good: a.Restarts, Restarts: restarts(j, a), Newest: newest(a)}
		if tellsWhy(r.check, j) {
			out.Why = report.Text(a.Why.Error())
		}
		if tellsBack(r.check, j) {
			out.Back = report.Text(rollbackText(a.Back))
		}
		w.Answers = append(w.Answers, out)
	}
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
	r.loadMap()
}

// window returns the batches that the pictures show, of the map: the newest.
func (r *reporting) window() (first, last int64) {
	m := r.check.Map
	return max(m.First, m.Last-int64(r.flags.batches)+1), m.Last
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
	n := 0
	for _, s := range m.Stores {
		for _, p := range s.Partitions {
			n = max(n, p.Partition+1)
		}
	}
	out.Cells = make([][]report.Mark, n)
	for p := range out.Cells {
		out.Cells[p] = make([]report.Mark, len(out.Batches))
	}
	judged := make([]bool, n)
	for _, s := range m.Stores {
		label := "operator " + operatorLabel(r.cp, s.Operator) + ", store " + s.Store
		var trouble []report.Trouble
		type run struct{ last, at int } // the partition and the place in trouble
		open := make(map[checkpoint.BatchRange]run)
		for _, p := range s.Partitions {
			judged[p.Partition] = true
			for _, sp := range p.Spans {
				k := report.Mark(mark(sp))
				for b := max(sp.First, first); b <= min(sp.Last, last); b++ {
					cell := &out.Cells[p.Partition][b-first]
					*cell = max(*cell, k)
				}
				if k == report.Loads || k == report.CleanedUp {
					continue
				}
				batches := checkpoint.BatchRange{First: sp.First, Last: sp.Last}
				if o, ok := open[batches]; ok && o.last == p.Partition-1 && trouble[o.at].Mark == k {
					trouble[o.at].Partitions = span(int64(trouble[o.at].From), int64(p.Partition))
					open[batches] = run{p.Partition, o.at}
					continue
				}
				open[batches] = run{p.Partition, len(trouble)}
				t := report.Trouble{Store: report.Text(label), From: p.Partition, Partitions: span(int64(p.Partition), int64(p.Partition)),
					Batches: span(sp.First, sp.Last), Mark: k}
				if sp.Why != nil {
					t.Why = report.Text(sp.Why.Error())
				}
				trouble = append(trouble, t)
			}
		}
		out.Trouble = append(out.Trouble, trouble...)
	}
	for p, ok := range judged {
		if !ok {
			for b := range out.Cells[p] {
				out.Cells[p][b] = report.Unjudged
			}
		}
	}
	slices.SortStableFunc(out.Trouble, func(a, b report.Trouble) int { return int(b.Mark) - int(a.Mark) })
	out.More = max(0, len(out.Trouble)-maxTrouble)
	out.Trouble = out.Trouble[:len(out.Trouble)-out.More]
}

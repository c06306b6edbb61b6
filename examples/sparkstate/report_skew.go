package main

import (
	"math"
	"slices"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/examples/sparkstate/internal/report"
	"github.com/sparkstate/sparkstate/skew"
)

// meanings are the verdicts in a sentence.
var meanings = map[skew.Verdict]string{
	skew.Even:              "the fullest partition has less than a quarter of the mean above it.",
	skew.ByChance:          "uneven, but no more than even hashing of so many keys is.",
	skew.FewKeys:           "there are fewer keys than partitions, so some must be empty.",
	skew.SinglePartition:   "everything is in one partition by design.",
	skew.WrongPartitioning: "keys are not where their hash says.",
	skew.NullKey:           "the key of which every column is null fills a partition.",
	skew.HotKey:            "one key fills a partition.",
	skew.FatValues:         "the bytes are uneven where the rows are not.",
	skew.Structural:        "uneven beyond chance, without a single cause.",
}

// skewPart measures how unevenly the rows are spread, and why.
func (r *reporting) skewPart(s *checkpoint.Store, batch int64, opts []checkpoint.Option, out *report.Store) {
	f := r.flags.skew
	if n, _ := s.Operator().Partitions(); f.whatIf == nil {
		f.whatIf = []int{n / 8, n / 4, n / 2, n, n * 2, n * 4, n * 8}
		f.whatIf = slices.DeleteFunc(f.whatIf, func(n int) bool { return n < 1 || n > maxWhatIf })
	}
	m, _, err := r.skewOf(r.cmd, s, f, r.rule, opts)
	if err != nil {
		out.Missing = append(out.Missing, report.Text("skew: "+message(err)))
		return
	}
	k := &report.Skew{
		Batch: batch, Verdict: m.Verdict.String(), Meaning: meanings[skew.Verdict(m.Verdict)], Level: skewLevel(m),
		Hot: m.Hot, Line: float64(m.Line), Rule: m.Rule, Condition: m.Condition, Inconclusive: m.Inconclusive,
		Mean: float64(m.Mean), Std: float64(m.Std), Median: float64(m.Median), P99: float64(m.P99), Max: float64(m.Max),
		MaxOverMedian: float64(m.MaxOverMedian), Fullest: m.Fullest, Rate: float64(m.SkewRate), PValue: math.NaN(),
	}
	for _, p := range m.Partitions {
		k.Values = append(k.Values, p.Value)
	}
	if m.Chance != nil {
		k.PValue = float64(m.Chance.PValue)
	}
	a := m.Analysis
	k.TopError = a.TopError
	k.Alike = s.GroupingKey() != nil && len(a.TopKeys) == 0
	for _, t := range a.TopKeys {
		k.TopKeys = append(k.TopKeys, keyOf(t))
	}
	for _, c := range a.Columns {
		col := report.Column{Name: report.Text(c.Name), Distinct: float64(c.Distinct), Exact: c.Exact, Null: float64(c.Null)}
		for _, t := range c.Top {
			col.Top = append(col.Top, keyOf(t))
		}
		k.Columns = append(k.Columns, col)
	}
	keys := math.NaN()
	if m.Chance != nil {
		keys = float64(m.Chance.Keys)
	}
	for _, w := range a.WhatIf {
		rate := math.NaN()
		if !math.IsNaN(keys) {
			rate = skew.SkewRate(float64(w.Hoover), skew.ChanceHoover(int64(keys), w.Partitions))
		}
		k.WhatIf = append(k.WhatIf, report.WhatIf{Partitions: w.Partitions, Max: float64(w.Max), MaxOverMedian: float64(w.MaxOverMedian), Rate: rate, Empty: w.Empty})
	}
	for _, t := range a.Advice {
		k.Advice = append(k.Advice, report.Text(t))
	}
	for _, t := range a.Notes {
		k.Notes = append(k.Notes, report.Text(t))
	}
	if a.Placement.Misplaced > 0 {
		k.Notes = append(k.Notes, report.Text(a.Placement.String()))
	}
	for _, t := range a.Times {
		out.Lifetime = append(out.Lifetime, report.Text(a.timeText(t)))
	}
	if a.NeverExpires != nil {
		out.Lifetime = append(out.Lifetime, report.Text("growth: "+*a.NeverExpires))
	}
	out.Skew = k
}

// skewLevel is good where nothing is wrong, and as bad as the severity where
// something is.
func skewLevel(m *storeSkew) report.Level {
	switch skew.Verdict(m.Verdict) {
	case skew.Even, skew.ByChance, skew.SinglePartition:
		if m.Severity == skew.Info {
			return report.Good
		}
	}
	return report.Level(m.Severity)
}

func keyOf(t topKey) report.TopKey {
	k := report.TopKey{Key: report.Key(t.Key), Value: t.Value, Share: float64(t.OfAll), Partition: -1, OfPartition: math.NaN()}
	if t.PartitionID != nil {
		k.Partition, k.OfPartition = *t.PartitionID, float64(*t.OfPartition)
	}
	return k
}

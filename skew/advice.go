package skew

import (
	"fmt"
	"math"
	"math/bits"
	"strings"
)

// advise says in words what would help, with the evidence in it.
func advise(a *analysis, r *Report) []string {
	var out []string
	say := func(format string, v ...any) { out = append(out, fmt.Sprintf(format, v...)) }
	pinned := "a stateful query's partition count is pinned by its checkpoint, so another count means a new checkpoint"
	switch r.Verdict {
	case HotKey, NullKey:
		top := r.TopKeys[0]
		say("repartitioning will not help: the key %s alone holds %s of the %s, and every partition count puts it in one partition",
			describe(top.Row, top.Type), percent(top.OfAll), r.Measure)
		if r.Verdict == NullKey {
			say("it is the key of which every column is null: filter such rows out before the operator, or give them a key of their own kind; a join never matches them")
		} else if s, ok := r.bestSalting(); ok {
			say("salt %s over %d: max/median %s → %s", saltedKeys(r, s), s.Salts, short(r.Summary.MaxOverMedian), short(s.MaxOverMedian))
		}
	case WrongPartitioning:
		p := r.Placement
		switch {
		case len(p.PartitionedBy) > 0:
			say("the rows are partitioned by %s alone, not by the whole key: repartition by the whole key before the operator, or not at all", strings.Join(p.PartitionedBy, ", "))
		case p.Strict:
			say("%d of %d rows are not in the partition that their hash names, though Spark promises it here: files may have been swapped or copied between partitions, or the state was written with another number of partitions", p.Misplaced, p.Checked)
		default:
			say("%d of %d rows are not in the partition that the hash of the whole key names, nor of any of its columns alone", p.Misplaced, p.Checked)
		}
	case FewKeys:
		keys := int64(Measure(r.Keys).Total)
		want := powerAtMost(keys / 4)
		say("%s = %d is too many for %d keys: %d partitions are empty; %d would do", "spark.sql.shuffle.partitions", a.n, keys, r.Imbalance.Empty, want)
		say("%s", pinned+" (or, on RocksDB and Spark 4.2, offline repartitioning)")
	case FatValues:
		say("rows are spread evenly, bytes are not: a few values are large; look at what grows in them (collected lists, long strings) rather than at the partitioning")
	case Structural:
		if w, ok := better(r); ok {
			say("at %d partitions max/median would be %s instead of %s; %s", w.Partitions, short(w.MaxOverMedian), short(r.Summary.MaxOverMedian), pinned)
		}
	}
	if hot := hotColumn(r); hot != "" && r.Verdict != HotKey && r.Verdict != NullKey {
		out = append(out, hot)
	}
	return out
}

// saltedKeys names what is salted: the column value that all of the largest
// keys share, if it is frequent, or the key itself.
func saltedKeys(r *Report, s Salting) string {
	for i, c := range r.Columns {
		if len(r.Columns) < 2 || len(c.Top) == 0 || c.Distinct < 5 {
			continue
		}
		shared := true
		reader := newColumnReader(r.TopKeys[0].Type, i)
		for _, k := range r.TopKeys[:s.Keys] {
			v, _, err := reader.value(k.Row)
			shared = shared && err == nil && string(v) == string(c.Top[0].Row)
		}
		if shared {
			return describe(c.Top[0].Row, c.Top[0].Type)
		}
	}
	if s.Keys == 1 {
		return describe(r.TopKeys[0].Row, r.TopKeys[0].Type)
	}
	return fmt.Sprintf("the %d largest keys", s.Keys)
}

// better returns the what-if that is clearly more even than the present.
func better(r *Report) (WhatIf, bool) {
	best := WhatIf{}
	now := float64(r.Summary.MaxOverMedian)
	for _, w := range r.WhatIf {
		if w.Partitions <= r.Summary.Count {
			continue // fewer partitions are always more even, and larger
		}
		if v := float64(w.MaxOverMedian); v < 0.8*now && (best.Partitions == 0 || v < float64(best.MaxOverMedian)) {
			best = w
		}
	}
	return best, best.Partitions > 0
}

// hotColumnShare is from which share on a column's value is worth a word.
const hotColumnShare = 0.2

// hotColumn says which value of a key column alone many rows have, though no
// single key and no partition is hot for it.
func hotColumn(r *Report) string {
	if len(r.Columns) < 2 {
		return ""
	}
	for _, c := range r.Columns {
		if len(c.Top) == 0 || c.Distinct < 5 || !(float64(c.Top[0].OfAll) >= hotColumnShare) {
			continue
		}
		return fmt.Sprintf("%s has %s of the %s; it fills no partition as long as the other key columns are hashed with it", describe(c.Top[0].Row, c.Top[0].Type), percent(c.Top[0].OfAll), r.Measure)
	}
	return ""
}

func percent(f Float) string { return fmt.Sprintf("%.0f %%", 100*float64(f)) }

func short(f Float) string {
	if v := float64(f); v == math.Trunc(v) || math.Abs(v) >= 99.5 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.2g", float64(f))
}

// powerAtMost returns the largest power of two that is not above n; at least
// 1.
func powerAtMost(n int64) int64 {
	if n < 1 {
		return 1
	}
	return 1 << (bits.Len64(uint64(n)) - 1)
}

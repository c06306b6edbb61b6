package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sparkstate/sparkstate/checkpoint"
)

// noteHoles says on stderr which batches the logs lack.
func (a *app) noteHoles(h checkpoint.Holes) {
	if len(h.Offsets) > 0 {
		a.note("offsets/ has holes: " + ranges(h.Offsets))
	}
	if len(h.Commits) > 0 {
		a.note("commits/ has holes: " + ranges(h.Commits))
	}
	if len(h.Unplanned) > 0 {
		a.note("committed, but not in offsets/: " + checkpoint.Ranges(h.Unplanned))
	}
}

// advance says in a few words how far a source went.
func advance(p *checkpoint.SourceProgress) string {
	moved, known := p.Moved()
	by := ""
	if known {
		by = fmt.Sprintf(" (%+d)", moved)
	}
	switch p.End.Kind {
	case checkpoint.NoOffset:
		return ""
	case checkpoint.KafkaOffset:
		switch {
		case known:
			return fmt.Sprintf("kafka %d records", moved)
		case p.Start.Kind == checkpoint.NoOffset:
			return fmt.Sprintf("kafka %d partitions", len(p.End.Partitions))
		}
		return fmt.Sprintf("kafka %d or more records", p.Records)
	case checkpoint.FileOffset:
		return fmt.Sprintf("file %d%s", p.End.Number, by)
	case checkpoint.NumberOffset:
		return fmt.Sprintf("%d%s", p.End.Number, by)
	case checkpoint.RateOffset:
		return fmt.Sprintf("rate %d%s", p.End.Number, by)
	case checkpoint.DeltaOffset:
		return fmt.Sprintf("delta %s%s", deltaText(p.End.Delta), by)
	}
	return p.End.Raw
}

func deltaText(d checkpoint.DeltaPosition) string { return fmt.Sprintf("%d:%d", d.Version, d.Index) }

// note says what a reader should know of a batch.
func (v *summaryView) note(e *checkpoint.HistoryEntry) string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if e.Gap > 0 {
		add("%s in neither log", batchesText(e.ID-e.Gap, e.ID-1))
	}
	if !e.Planned {
		add("no offset log")
	}
	if n := len(v.committed); !e.Committed && n > 0 && e.ID < v.committed[n-1] {
		add("no commit")
	}
	if !v.table { // tables have a cell that says so, and the error is printed at the end
		for _, err := range []error{e.OffsetErr, e.CommitErr} {
			if err != nil {
				add("%s", oneLine(err.Error()))
			}
		}
	}
	if e.Since >= 0 && e.Since < e.ID-1-e.Gap {
		add("compared with batch %d", e.Since)
	}
	switch n := len(e.ConfChanges); {
	case n == 1:
		c := e.ConfChanges[0]
		add("%s: %s → %s", shortKey(c.Key), valueText(c.Before), valueText(c.After))
	case n > 1:
		add("%d changes of the conf", n)
	}
	for i := range e.Sources {
		p := &e.Sources[i]
		for _, t := range v.sourceNotes(e, p) {
			if len(e.Sources) > 1 {
				t = "source " + p.ID + ": " + t
			}
			out = append(out, t)
		}
	}
	return strings.Join(out, "; ")
}

func (v *summaryView) sourceNotes(e *checkpoint.HistoryEntry, p *checkpoint.SourceProgress) []string {
	var out []string
	switch {
	case p.Change == checkpoint.OffsetAdded && e.Since >= 0:
		out = append(out, "new source")
	case p.Change == checkpoint.OffsetRemoved && !listed(e.Offsets, p.ID):
		out = append(out, "gone")
	case p.Change == checkpoint.OffsetRemoved:
		out = append(out, "no offset any more")
	case p.Change == checkpoint.OffsetReplaced && p.End.Kind == checkpoint.DeltaOffset && p.Start.Kind == checkpoint.DeltaOffset:
		out = append(out, "another Delta table")
	case p.Change == checkpoint.OffsetReplaced:
		out = append(out, fmt.Sprintf("%s offsets before, %s now", p.Start.Kind, p.End.Kind))
	case p.Change == checkpoint.OffsetBackwards && len(p.Partitions) == 0:
		out = append(out, "backwards")
	}
	for _, c := range []struct {
		change checkpoint.OffsetChange
		text   string
	}{{checkpoint.OffsetBackwards, "backwards"}, {checkpoint.OffsetRemoved, "gone"}, {checkpoint.OffsetAdded, "new"}} {
		if ps := changed(p, c.change); len(ps) > 0 {
			out = append(out, c.text+": "+partitionsText(ps))
		}
	}
	if e.ID == v.newest {
		if ps := p.StandingStill(v.still); len(ps) > 0 {
			out = append(out, "stand still: "+partitionsText(ps))
		}
	}
	return out
}

// listed says whether an offset log has a line for a source.
func listed(o *checkpoint.OffsetLog, id string) bool {
	return slices.ContainsFunc(o.Sources, func(s checkpoint.SourceOffset) bool { return s.ID == id })
}

// partitionsText writes topic partitions by topic: clicks 0-3, 7 | orders 1.
func partitionsText(ps []checkpoint.PartitionProgress) string {
	var out []string
	for len(ps) > 0 {
		topic := ps[0].Topic
		n := slices.IndexFunc(ps, func(p checkpoint.PartitionProgress) bool { return p.Topic != topic })
		if n < 0 {
			n = len(ps)
		}
		var ids []int64
		for _, p := range ps[:n] {
			ids = append(ids, int64(p.Partition))
		}
		out = append(out, topic+" "+checkpoint.Ranges(ids))
		ps = ps[n:]
	}
	return strings.Join(out, " | ")
}

func batchesText(first, last int64) string {
	if first == last {
		return fmt.Sprintf("batch %d is", first)
	}
	return fmt.Sprintf("batches %d-%d are", first, last)
}

func valueText(v *string) string {
	if v == nil {
		return "absent"
	}
	return *v
}

// shortKey leaves out what the keys that Spark pins have in common.
func shortKey(key string) string { return strings.TrimPrefix(key, "spark.sql.") }

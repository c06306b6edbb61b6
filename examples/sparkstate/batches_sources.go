package main

import (
	"context"
	"errors"

	"github.com/sparkstate/sparkstate/checkpoint"
)

// sourceView has a row for each source of a batch, of Kafka for each topic
// partition.
type sourceView struct {
	ctx    context.Context
	table  bool
	cp     *checkpoint.Checkpoint
	failed *failures
	counts map[string]fileCounts // by source
}

// fileCounts is the number of input files by batch of the source's log; nil
// where it is not known.
type fileCounts map[int64]int64

func (v *sourceView) columns() []column {
	return []column{{"batch_id", true}, {"source", false}, {"kind", false}, {"topic", false}, {"partition", true},
		{"start", true}, {"end", true}, {"moved", true}, {"files", true}, {"change", false}, {"idle", true}}
}

func (v *sourceView) entry(sh *sheet, e *checkpoint.HistoryEntry) error {
	null := cell("null")
	for i := range e.Sources {
		p := &e.Sources[i]
		kind := p.End.Kind
		if kind == checkpoint.NoOffset {
			kind = p.Start.Kind
		}
		head := []cell{jsonCell(e.ID), textCell(p.ID), jsonCell(kind)}
		for _, q := range p.Partitions {
			moved, idle := null, null
			if q.Start >= 0 && q.End >= 0 {
				moved = jsonCell(q.End - q.Start)
			}
			if q.Change != checkpoint.OffsetUnknown && q.Change != checkpoint.OffsetRemoved {
				idle = jsonCell(q.Idle)
			}
			if err := sh.row(append(head[:3:3], textCell(q.Topic), jsonCell(q.Partition),
				orNull(q.Start), orNull(q.End), moved, null, jsonCell(q.Change), idle)...); err != nil {
				return err
			}
		}
		if len(p.Partitions) > 0 {
			continue
		}
		moved, files := null, null
		if n, ok := p.Moved(); ok {
			moved = jsonCell(n)
		}
		if n, ok := v.files(e, p); ok {
			files = jsonCell(n)
		}
		if err := sh.row(append(head, null, null, v.offset(p.Start), v.offset(p.End), moved, files, jsonCell(p.Change), null)...); err != nil {
			return err
		}
	}
	return nil
}

func (v *sourceView) end(*sheet) error { return nil }

func orNull(offset int64) cell {
	if offset < 0 {
		return cell("null")
	}
	return jsonCell(offset)
}

// offset is the number of an offset that is one, and for programs all of the
// others.
func (v *sourceView) offset(o checkpoint.Offset) cell {
	switch o.Kind {
	case checkpoint.FileOffset, checkpoint.NumberOffset:
		return jsonCell(o.Number)
	case checkpoint.RateOffset:
		if v.table {
			return jsonCell(o.Number)
		}
	case checkpoint.DeltaOffset:
		if v.table {
			return textCell(deltaText(o.Delta))
		}
	}
	return rawCell(o)
}

// files counts the input files of a batch of a file source.
func (v *sourceView) files(e *checkpoint.HistoryEntry, p *checkpoint.SourceProgress) (int64, bool) {
	moved, ok := p.Moved()
	if p.End.Kind != checkpoint.FileOffset || !ok || moved < 0 {
		return 0, false
	}
	counts, counted := v.counts[p.ID]
	if !counted {
		counts = v.count(e, p.ID)
		v.counts[p.ID] = counts
	}
	if counts == nil {
		return 0, false
	}
	n := int64(0)
	for b, files := range counts {
		if b > p.End.Number-moved && b <= p.End.Number {
			n += files
		}
	}
	return n, true
}

// count reads the log of a file source once. What is wrong with it makes the
// tool fail at the end.
func (v *sourceView) count(e *checkpoint.HistoryEntry, id string) fileCounts {
	l, err := v.cp.SourceLog(e.Offsets, id)
	if errors.Is(err, checkpoint.ErrNotFound) {
		return nil
	}
	if err != nil {
		v.failed.add(err)
		return nil
	}
	counts := make(fileCounts)
	for f, err := range l.Files(v.ctx) {
		if err != nil {
			v.failed.add(err)
			return nil
		}
		counts[f.LogBatch]++
	}
	return counts
}

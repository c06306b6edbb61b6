package main

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/sparkstate/sparkstate/checkpoint"
)

// fileView has a row for each input file of the file sources, with the batch
// that read it. The logs of files are numbered by themselves, so the end
// offsets of all batches are collected first.
type fileView struct {
	ctx     context.Context
	app     *app
	cp      *checkpoint.Checkpoint
	failed  *failures
	sources []*fileSource
}

type fileSource struct {
	id   string
	log  *checkpoint.SourceLog // nil where it has none
	ends []logSpan             // in ascending order once all batches are in
}

// logSpan is the part of a source's log that a batch read: after start, up to
// end.
type logSpan struct{ batch, start, end int64 }

func (v *fileView) columns() []column {
	modified := column{"timestampMs", true}
	if v.app.format == asTable {
		modified = column{"modified", false}
	}
	return []column{{"batch_id", true}, {"source", false}, {"logOffset", true}, modified, {"path", false}}
}

// row writes a file. Where a path is too long for a table, its end tells more
// than its start.
func (v *fileView) row(sh *sheet, batch int64, source string, f checkpoint.SourceFile) error {
	modified, path := jsonCell(f.TimestampMs), f.Path
	if v.app.format == asTable {
		modified = secondsCell(f.TimestampMs)
		if r := []rune(path); len(r) > maxCell {
			path = "…" + string(r[len(r)-maxCell+1:])
		}
	}
	return sh.row(jsonCell(batch), textCell(source), jsonCell(f.LogBatch), modified, textCell(path))
}

func (v *fileView) entry(_ *sheet, e *checkpoint.HistoryEntry) error {
	for i := range e.Sources {
		p := &e.Sources[i]
		moved, ok := p.Moved()
		if p.End.Kind != checkpoint.FileOffset || !ok || moved <= 0 {
			continue
		}
		s, err := v.source(e.Offsets, p.ID)
		if err != nil {
			return err
		}
		s.ends = append(s.ends, logSpan{e.ID, p.End.Number - moved, p.End.Number})
	}
	return nil
}

func (v *fileView) source(o *checkpoint.OffsetLog, id string) (*fileSource, error) {
	for _, s := range v.sources {
		if s.id == id {
			return s, nil
		}
	}
	s := &fileSource{id: id}
	var err error
	if s.log, err = v.cp.SourceLog(o, id); errors.Is(err, checkpoint.ErrNotFound) {
		v.app.note("source " + id + ": which directory of sources/ is its log of files cannot be told")
		err = nil
	}
	v.sources = append(v.sources, s)
	return s, err
}

func (v *fileView) end(sh *sheet) error {
	for _, s := range v.sources {
		if s.log == nil {
			continue
		}
		slices.SortStableFunc(s.ends, func(a, b logSpan) int { return cmp.Compare(a.end, b.end) })
		for f, err := range s.log.Files(v.ctx) {
			if err != nil {
				if ctxErr := v.ctx.Err(); ctxErr != nil {
					return ctxErr
				}
				v.failed.add(err)
				continue
			}
			batch, ok := s.batch(f.LogBatch)
			if !ok {
				continue
			}
			if err := v.row(sh, batch, s.id, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// batch returns the batch that read a batch of the source's log; false where
// none of the range did.
func (s *fileSource) batch(log int64) (int64, bool) {
	i, _ := slices.BinarySearchFunc(s.ends, log, func(e logSpan, log int64) int { return cmp.Compare(e.end, log) })
	if i == len(s.ends) || log <= s.ends[i].start {
		return 0, false
	}
	return s.ends[i].batch, true
}

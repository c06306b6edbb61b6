package checkpoint

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"maps"
	"slices"
)

// HistoryEntry is what the logs say of one batch, and how it differs from the
// batches before it.
//
// Planned and Committed say that the log has a file for the batch. Where the
// file cannot be read, Offsets or Commit is nil and the error is here.
type HistoryEntry struct {
	Batch
	// OffsetErr and CommitErr say why a log could not be read: damage, or a
	// file that has gone since the checkpoint was opened.
	OffsetErr, CommitErr error

	// Gap is the number of batches directly before this one that neither log
	// has; see [Holes] for what that means.
	Gap int64

	// NextWatermarkMs is the watermark that the next batch starts with, in
	// milliseconds since 1970; 0 for none. It is recorded by the commit, or
	// inferred where the commit records less than the batch had: a watermark
	// never goes back. Without a commit, and of Spark 2.3 and earlier, which
	// did not record it, it is unknown.
	NextWatermarkMs   int64
	NextWatermarkFrom Source

	// ConfChanges lists by key how the conf differs from that of batch
	// ConfSince, the last one before that has any: -1 for none, and then there
	// are no changes.
	ConfSince   int64
	ConfChanges []ConfChange

	// Sources compares the source offsets with those of batch Since, the last
	// one before whose offset log could be read: -1 for none. Sources that are
	// no longer there come last.
	Since   int64
	Sources []SourceProgress
}

// Err returns what is wrong with the batch's logs, nil if nothing is.
func (e *HistoryEntry) Err() error { return errors.Join(e.OffsetErr, e.CommitErr) }

// ConfChange is one key of the conf that is another than before.
type ConfChange struct {
	Key string
	// Before and After are nil where the key is absent, which means the legacy
	// default: see [OffsetLog].
	Before, After *string
}

// History yields every batch that is in offsets/ or in commits/, in ascending
// order. A log file that is damaged costs its batch, not the rest: its error is
// in the entry. The sequence itself ends with an error only when ctx is done.
//
// One batch at a time is held in memory. The logs are those that were there
// when the checkpoint was opened; a part of a checkpoint without logs has none.
func (c *Checkpoint) History(ctx context.Context) iter.Seq2[*HistoryEntry, error] {
	return func(yield func(*HistoryEntry, error) bool) {
		ids := slices.Concat(c.planned, c.committed)
		slices.Sort(ids)
		h := historian{cp: c, since: -1, confSince: -1}
		last := int64(-1)
		for i, id := range slices.Compact(ids) {
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			e := h.entry(id)
			if i > 0 {
				e.Gap = id - last - 1
			}
			last = id
			if !yield(e, nil) {
				return
			}
		}
	}
}

// historian remembers what the next batch is compared with.
type historian struct {
	cp *Checkpoint

	conf      map[string]string
	confSince int64

	since   int64
	order   []string // of the sources of batch since
	sources map[string]begun
}

func (h *historian) entry(id int64) *HistoryEntry {
	e := &HistoryEntry{Batch: Batch{ID: id}, ConfSince: -1, Since: -1}
	_, e.Planned = slices.BinarySearch(h.cp.planned, id)
	_, e.Committed = slices.BinarySearch(h.cp.committed, id)
	if e.Planned {
		e.Offsets, e.OffsetErr = h.cp.OffsetLog(id)
	}
	if e.Committed {
		e.Commit, e.CommitErr = h.cp.CommitLog(id)
	}
	if e.Offsets != nil {
		h.compareConf(e)
		h.compareSources(e)
	}
	if e.Commit != nil {
		h.nextWatermark(e)
	}
	return e
}

func (h *historian) nextWatermark(e *HistoryEntry) {
	next := e.Commit.NextWatermarkMs
	// Before 2.4 a commit records none, or a 0 that is none. The confs that are
	// pinned tell the Spark that planned the batch: since 2.4 this one is among
	// them.
	_, since24 := h.conf[ConfMultipleWatermarks]
	switch {
	case !e.Commit.HasNextWatermark, next == 0 && e.Commit.Version == 1 && !since24:
	case e.Offsets != nil && e.Offsets.WatermarkMs > next:
		e.NextWatermarkMs, e.NextWatermarkFrom = e.Offsets.WatermarkMs, Inferred
	default:
		e.NextWatermarkMs, e.NextWatermarkFrom = next, Recorded
	}
}

func (h *historian) compareConf(e *HistoryEntry) {
	conf := e.Offsets.Conf
	if conf == nil {
		return
	}
	if e.ConfSince = h.confSince; e.ConfSince >= 0 {
		e.ConfChanges = confChanges(h.conf, conf)
	}
	h.conf, h.confSince = conf, e.ID
}

// confChanges compares two confs, neither of them nil.
func confChanges(before, after map[string]string) []ConfChange {
	value := func(m map[string]string, k string) *string {
		if v, ok := m[k]; ok {
			return &v
		}
		return nil
	}
	keys := maps.Clone(after)
	maps.Copy(keys, before)
	var out []ConfChange
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		a, b := value(before, k), value(after, k)
		if a == nil || b == nil || *a != *b {
			out = append(out, ConfChange{Key: k, Before: a, After: b})
		}
	}
	return out
}

func (h *historian) compareSources(e *HistoryEntry) {
	// What came before is known from the batch before, and at the start of the
	// query, when there was nothing.
	known := h.since >= 0 || e.ID == 0
	next := make(map[string]begun, len(e.Offsets.Sources))
	var order []string
	for _, s := range e.Offsets.Sources {
		end := s.Parse()
		from, ok := h.sources[s.ID]
		if !ok {
			from.known = known
		}
		if from.known && from.at.Kind == NoOffset && end.Kind == KafkaOffset {
			from.at = h.kafkaStart(e.Offsets, s.ID)
		}
		p, after := progress(s.ID, from, end)
		if !ok && h.since >= 0 {
			p.Change = OffsetAdded
		}
		e.Sources = append(e.Sources, p)
		if _, twice := next[s.ID]; !twice {
			order = append(order, s.ID)
		}
		next[s.ID] = after
	}
	for _, id := range h.order {
		if _, ok := next[id]; !ok {
			e.Sources = append(e.Sources, SourceProgress{ID: id, Start: h.sources[id].at, Change: OffsetRemoved})
		}
	}
	e.Since = h.since
	h.since, h.sources, h.order = e.ID, next, order
}

// kafkaStart returns where a Kafka source started; NoOffset where its log does
// not tell.
func (h *historian) kafkaStart(o *OffsetLog, id string) Offset {
	l, err := h.cp.SourceLog(o, id)
	var start Offset
	if err == nil {
		start, err = l.Start()
	}
	if err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, fs.ErrNotExist) {
		h.cp.warn(err)
	}
	if err != nil || start.Kind != KafkaOffset {
		return Offset{}
	}
	return start
}

// BatchRange is a range of batches, both ends included.
type BatchRange struct{ First, Last int64 }

// Holes are the batches that the logs lack. Spark numbers batches without
// holes, and refuses to start where there are some. Stateless queries with
// asynchronous progress tracking (Spark 3.4) leave holes of their own; below a
// stateful query they are damage.
type Holes struct {
	// Offsets and Commits are missing between the smallest and the largest
	// batch of offsets/ and of commits/. What is below has been cleaned up.
	Offsets, Commits []BatchRange
	// Unplanned have a commit, and no offset log.
	Unplanned []int64
}

// Holes returns what is missing in the logs, judged by file names alone.
func (c *Checkpoint) Holes() Holes {
	h := Holes{Offsets: gaps(c.planned), Commits: gaps(c.committed)}
	for _, id := range c.committed {
		if _, ok := slices.BinarySearch(c.planned, id); !ok {
			h.Unplanned = append(h.Unplanned, id)
		}
	}
	return h
}

// gaps returns what is missing in ascending numbers.
func gaps(ns []int64) []BatchRange {
	var out []BatchRange
	for i := 1; i < len(ns); i++ {
		if ns[i] > ns[i-1]+1 {
			out = append(out, BatchRange{ns[i-1] + 1, ns[i] - 1})
		}
	}
	return out
}

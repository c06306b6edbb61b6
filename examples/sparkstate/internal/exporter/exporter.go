// Package exporter makes Prometheus metrics of checkpoints: for a scrape, or
// for a file that node_exporter collects.
//
// # Bounds
//
// No label is ever a key or a value of the state. Labels are the path of a
// checkpoint as it was given, the operator and the store, whose names are cut
// at 100 bytes, the number of a partition, and words of fixed lists (verdicts,
// severities, kinds of findings, judges). For each checkpoint there are at most
//
//   - MaxStores stores; sparkstate_checkpoint_stores_left_out counts the rest;
//   - Options.PartitionSeries series of single partitions. A store with more
//     partitions than are left of these has series for its hot partitions and
//     the fullest one only, no more than ExtraPartitions.
//
// # What is read when
//
// A reading lists the files of a checkpoint. Where names, sizes and times are
// as they were, nothing more is read. Otherwise the logs are read and the
// checkpoint is checked, and those stores are walked that have another batch or
// other files than before. What is kept is numbers, so memory between readings
// does not depend on the size of the state.
package exporter

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/skew"
)

// The bounds on series.
const (
	// MaxStores is how many stores of a checkpoint have series.
	MaxStores = 256
	// DefaultPartitionSeries is how many partitions of a checkpoint have a
	// series of their own, unless another number is given.
	DefaultPartitionSeries = 2000
	// ExtraPartitions is how many partitions have a series of their own, of a
	// store whose partitions are too many to have one each.
	ExtraPartitions = 20
)

// atOnce is how many checkpoints are read at the same time.
const atOnce = 2

// Options change what is read and shown.
type Options struct {
	// Level is how much a check reads.
	Level checkpoint.CheckLevel
	// Rule marks hot partitions.
	Rule skew.Rule
	// Floor is that of skew.Options.
	Floor float64
	// Workers is how many partitions are read at once; 0 means one for each
	// processor.
	Workers int
	// PartitionSeries is how many partitions of a checkpoint have a series of
	// their own.
	PartitionSeries int
	// Open is how checkpoints are opened.
	Open []checkpoint.OpenOption
	// Judges are the values of the label judge.
	Judges [checkpoint.Judges]string
	// Journal returns who is told of the readings of a checkpoint.
	Journal func(path string) Journal
}

// Journal is told of the readings of one checkpoint. The calls for one reading
// may come from several goroutines.
type Journal interface {
	// Begin is called when files have changed and are read.
	Begin()
	// Note is told what was assumed, Warn what is wrong and changes no number.
	Note(text string)
	Warn(err error)
	// End is called after every reading, also one that found the files as they
	// were, with what could not be read.
	End(err error)
}

// Exporter reads checkpoints and collects metrics of the last readings. It is
// a prometheus.Collector. Its methods may be used from several goroutines.
type Exporter struct {
	options Options
	targets []*target
	slots   chan struct{}
	flights singleflight.Group
	// read is the function read, but in tests.
	read func(ctx context.Context, t *target, o *Options, earlier *reading) (*reading, error)
}

// target is one checkpoint and what is known of it.
type target struct {
	path, label string
	journal     Journal

	mu sync.Mutex
	// last is the last reading; nil before the first, and where the last
	// attempt found nothing to read.
	last        *reading
	attempted   bool
	up          bool
	lastSuccess time.Time
	duration    time.Duration
	reads       uint64 // attempts
	unchanged   uint64 // those that found the files as they were
	failures    uint64
}

// New returns an exporter of checkpoints, none of which is read yet.
func New(paths []string, o Options) *Exporter {
	e := &Exporter{options: o, slots: make(chan struct{}, atOnce), read: read}
	names := newLabels()
	for _, p := range paths {
		label, _ := names.pair(p, "")
		e.targets = append(e.targets, &target{path: p, label: label, journal: o.Journal(p)})
	}
	return e
}

// Refresh reads what has changed since the last reading, and returns when that
// is done or ctx is. A checkpoint that is being read already is not read a
// second time: all who ask meanwhile wait for the one reading, which goes on
// until work is done, whatever becomes of those who wait. The error says what
// could not be read; the metrics and the journals say so too.
func (e *Exporter) Refresh(ctx, work context.Context) error {
	var waiting []<-chan singleflight.Result
	for _, t := range e.targets {
		waiting = append(waiting, e.flights.DoChan(t.path, func() (any, error) { return nil, e.refresh(work, t) }))
	}
	var errs []error
	for _, w := range waiting {
		select {
		case r := <-w:
			errs = append(errs, r.Err)
		case <-ctx.Done():
			return errors.Join(append(errs, context.Cause(ctx))...)
		}
	}
	return errors.Join(errs...)
}

// refresh reads one checkpoint.
func (e *Exporter) refresh(ctx context.Context, t *target) error {
	select {
	case e.slots <- struct{}{}:
		defer func() { <-e.slots }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	t.mu.Lock()
	earlier := t.last
	t.mu.Unlock()
	start := time.Now()
	r, err := e.read(ctx, t, &e.options, earlier)
	if ctx.Err() != nil {
		return context.Cause(ctx) // says nothing of the checkpoint
	}
	t.journal.End(err)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.attempted, t.up, t.last = true, err == nil, r
	t.duration = time.Since(start)
	t.reads++
	switch {
	case err != nil:
		t.failures++
		return err
	case r == earlier:
		t.unchanged++
	}
	t.lastSuccess = time.Now()
	return nil
}

// ready says whether every checkpoint has been read once, or could not be.
func (e *Exporter) ready() bool {
	for _, t := range e.targets {
		t.mu.Lock()
		ok := t.attempted
		t.mu.Unlock()
		if !ok {
			return false
		}
	}
	return true
}

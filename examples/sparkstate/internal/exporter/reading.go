package exporter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/skew"
)

// reading is what one reading of a checkpoint has found. It holds numbers and
// a bounded number of names, so that it can be kept for as long as the
// checkpoint stays as it is, and it is not changed once it is made.
type reading struct {
	queryID, provider string
	// Batches are −1 for none, times in milliseconds 0.
	committed, planned int64
	plannedMs          int64
	watermarkMs        int64
	list               *listing
	check              *checked
	stores             []*storeReading
	// leftOut counts the stores beyond MaxStores.
	leftOut int
	// failed is what could not be read.
	failed error
}

// checked is what is kept of a check.
type checked struct {
	answers  [checkpoint.Judges]answer
	severity map[checkpoint.Severity]int
	kinds    map[string]int
}

type answer struct {
	restarts bool
	newest   int64
}

// storeReading is what is kept of a store.
type storeReading struct {
	key             storeKey
	operator, store string // as labels
	err             error

	numbers []skew.Float // of storeGauges
	verdict skew.Verdict
	fullest []partitionRows // at most ExtraPartitions, the fullest first
	rows    []float64       // of all partitions; nil beyond the bound on series
}

type partitionRows struct {
	partition int
	rows      float64
}

// storeKey says what a store's numbers depend on. As long as it stays the same
// they are not read again.
type storeKey struct {
	operator   int
	store      string
	batch      int64
	partitions int
	digest     uint64
	all        bool // with the rows of every partition
}

// read reads a checkpoint, but for what is in an earlier reading of the same
// files; where nothing has changed it returns that. A reading comes with an
// error as well where only some of it could be read.
func read(ctx context.Context, t *target, o *Options, earlier *reading) (_ *reading, err error) {
	cp, err := checkpoint.Open(t.path, append(slices.Clone(o.Open), checkpoint.OnWarning(t.journal.Warn))...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, cp.Close()) }()
	l, err := list(cp)
	if err != nil {
		return nil, err
	}
	// What failed is tried again: not all errors are in the files.
	if earlier != nil && earlier.failed == nil && earlier.list.digest == l.digest {
		return earlier, nil
	}
	t.journal.Begin()
	for _, n := range cp.Notes() {
		t.journal.Note(n)
	}
	r := &reading{list: l, committed: -1, planned: -1}
	if err := errors.Join(r.logs(cp), r.state(ctx, cp, o, earlier)); err != nil {
		r.failed = fmt.Errorf("%s: %w", t.path, err)
	}
	report, err := cp.Check(ctx, o.Level, checkpoint.CheckWorkers(o.Workers))
	if err != nil {
		return nil, err
	}
	r.check = summarise(report, o.Level)
	return r, r.failed
}

// logs reads what the logs say of the query and its newest batch.
func (r *reading) logs(cp *checkpoint.Checkpoint) error {
	r.provider = cp.Provider().Name()
	var errs []error
	var err error
	if r.queryID, err = cp.ID(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		errs = append(errs, err)
	}
	if r.committed, _, err = cp.LastCommitted(); err != nil {
		errs = append(errs, err)
	}
	if r.watermarkMs, err = cp.WatermarkMs(); err != nil {
		errs = append(errs, err)
	}
	if planned, _ := cp.Batches(); len(planned) > 0 {
		r.planned = planned[len(planned)-1]
		offsets, err := cp.OffsetLog(r.planned)
		if err == nil {
			r.plannedMs = offsets.TimestampMs
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// state reads the stores, after the last committed batch.
func (r *reading) state(ctx context.Context, cp *checkpoint.Checkpoint, o *Options, earlier *reading) error {
	if r.committed < 0 {
		return nil // a query that has not got that far
	}
	known := make(map[storeKey]*storeReading)
	if earlier != nil {
		for _, s := range earlier.stores {
			known[s.key] = s
		}
	}
	var errs []error
	names := newLabels()
	series := o.PartitionSeries
	for _, op := range cp.Operators() {
		if err := op.Err(); err != nil {
			errs = append(errs, err)
		}
		for _, s := range op.Stores() {
			if len(r.stores) == MaxStores {
				r.leftOut++
				continue
			}
			n, _ := op.Partitions()
			key := storeKey{op.ID(), s.Name(), r.committed, n, r.list.operators[op.ID()], n <= series}
			read := known[key]
			if read == nil || read.err != nil {
				read = readStore(ctx, s, o, key.all)
				read.key = key
			}
			if read.rows != nil {
				series -= n
			}
			// The names may be others than before though the numbers are not.
			named := *read
			named.operator, named.store = names.pair(op.Label(), s.Name())
			r.stores = append(r.stores, &named)
			if read.err != nil {
				errs = append(errs, fmt.Errorf("operator %s, store %s: %w", op.Label(), s.Name(), read.err))
			}
		}
	}
	return errors.Join(errs...)
}

// readStore walks a store. all keeps the rows of every partition.
func readStore(ctx context.Context, s *checkpoint.Store, o *Options, all bool) *storeReading {
	r, err := skew.Analyze(ctx, s, skew.Options{Floor: o.Floor, Workers: o.Workers, WhatIf: []int{}})
	if err != nil {
		return &storeReading{err: err}
	}
	hot := skew.Find(o.Rule, r.Rows).Hot
	out := &storeReading{verdict: r.Verdict}
	for _, g := range storeGauges {
		out.numbers = append(out.numbers, g.of(&walk{r, s, hot}))
	}
	if all {
		out.rows = r.Rows
		return out
	}
	if f := r.Summary.Fullest; f >= 0 && !slices.Contains(hot, f) {
		hot = append(hot, f)
	}
	for _, p := range hot {
		out.fullest = append(out.fullest, partitionRows{p, r.Rows[p]})
	}
	slices.SortFunc(out.fullest, func(a, b partitionRows) int {
		return cmp.Or(cmp.Compare(b.rows, a.rows), cmp.Compare(a.partition, b.partition))
	})
	out.fullest = slices.Clone(out.fullest[:min(len(out.fullest), ExtraPartitions)])
	return out
}

// summarise keeps the answers of a check and how much it found of what it
// looked for.
func summarise(r *checkpoint.CheckReport, level checkpoint.CheckLevel) *checked {
	out := &checked{kinds: make(map[string]int), severity: map[checkpoint.Severity]int{checkpoint.Info: 0, checkpoint.Warning: 0, checkpoint.Critical: 0}}
	for _, k := range checkpoint.FindingKinds() {
		if k.Level <= level {
			out.kinds[k.ID] = 0
		}
	}
	for _, f := range r.Findings {
		out.severity[f.Severity]++
		out.kinds[f.ID]++
	}
	for j, a := range r.Answers {
		out.answers[j] = answer{a.Restarts, a.Newest}
	}
	return out
}

// gone forgives that a file has gone: a running query removes old ones.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

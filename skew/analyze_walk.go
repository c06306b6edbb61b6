package skew

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore"
	"github.com/sparkstate/sparkstate/statestore/placement"
	"github.com/sparkstate/sparkstate/statestore/provider"
)

// found is what a walk hands on: the values of a key column that it has counted
// so far, or in the end the walker with all the rest.
type found struct {
	column int
	values *HeavyHitters
	walker *walker
}

// Size implements statestore.Sized.
func (f found) Size() int64 {
	if f.values == nil {
		return 0
	}
	return f.values.table.size()
}

// The values of a column are handed on when there are so many, or when they take
// so many bytes: so that the table they are counted in stays in the processor's
// cache, and a walk takes no more memory the more values there are.
const (
	handedValues = 32 << 10
	handedBytes  = 4 << 20
)

// walker is what the walk of one partition gathers.
type walker struct {
	partition int
	part      partial
	keys      *HeavyHitters
	cols      []*HeavyHitters // of what was not handed on
	readers   []*columnReader
	sized     KeySizes
	trials    trials
}

func (a *analysis) newWalker() *walker {
	w := &walker{keys: NewHeavyHitters(a.o.ExactKeys, 0), trials: a.newTrials()}
	if a.key != nil {
		for i := range a.key.Fields {
			w.cols = append(w.cols, newColumnCounter())
			w.readers = append(w.readers, newColumnReader(a.key, i))
		}
	}
	return w
}

// newColumnCounter returns what counts the values of a column until they are
// handed on: exactly.
func newColumnCounter() *HeavyHitters { return NewHeavyHitters(2*handedValues, 0) }

// begin makes a walker ready for a partition. It keeps the memory of the one
// before.
func (w *walker) begin(a *analysis, partition int) {
	w.partition = partition
	w.part = partial{nulls: make([]float64, len(w.cols)), fits: make([]int64, len(a.subset))}
	w.sized = KeySizes{}
	w.keys.reset()
	for _, c := range w.cols {
		c.reset()
	}
	w.trials.reset()
}

// walk walks partitions that are there, some at a time, and takes what they
// found together in order, so that the answer does not depend on timing.
func (a *analysis) walk(ctx context.Context, partitions []int) error {
	a.gathered = a.newGathered()
	if len(partitions) == 0 {
		return nil
	}
	spare := sync.Pool{New: func() any { return a.newWalker() }}
	counters := sync.Pool{New: func() any { return newColumnCounter() }}
	visit := func(ctx context.Context, p int, rows iter.Seq2[checkpoint.Grouped, error], emit func(found) bool) error {
		w := spare.Get().(*walker)
		w.begin(a, p)
		err := w.walk(a, rows, func(column int) error {
			if !emit(found{column: column, values: w.cols[column]}) {
				return context.Cause(ctx)
			}
			w.cols[column] = counters.Get().(*HeavyHitters)
			return nil
		})
		if err == nil {
			emit(found{walker: w})
		}
		return err
	}
	opts := append(slices.Clip(a.opts), checkpoint.Workers(a.o.Workers), checkpoint.Partitions(partitions...))
	walks := checkpoint.Scan(ctx, a.store, func(ctx context.Context, p int, rows iter.Seq2[[]statestore.Entry, error], emit func(found) bool) error {
		return visit(ctx, p, a.grouped(rows), emit)
	}, opts...)
	if a.o.Measure == ByChanges {
		walks = checkpoint.Walk(ctx, a.store, func(ctx context.Context, p int, emit func(found) bool) error {
			var missing []int64
			return visit(ctx, p, a.changes(ctx, p, &missing), func(f found) bool {
				if f.walker != nil {
					f.walker.part.missing = missing
				}
				return emit(f)
			})
		}, opts...)
	}
	for f, err := range walks {
		switch {
		case err != nil:
			return err
		case f.values != nil:
			a.cols[f.column].Merge(f.values)
			f.values.reset()
			counters.Put(f.values)
		default:
			a.merge(f.walker)
			spare.Put(f.walker)
		}
	}
	return a.count(ctx, partitions)
}

// walk walks one partition. handOn takes the values of a column, and leaves
// another counter in its place.
func (w *walker) walk(a *analysis, rows iter.Seq2[checkpoint.Grouped, error], handOn func(column int) error) error {
	part := &w.part
	for g, err := range rows {
		if err != nil {
			return err
		}
		weight, err := a.weigh(g)
		if err != nil {
			return err
		}
		part.rows++
		size := float64(len(g.Stored.Key) + len(g.Stored.Value))
		part.bytes += size
		part.value += weight
		w.sized.Add(size)
		if a.key == nil {
			continue
		}
		if err := w.look(a, g.Key, weight, handOn); err != nil {
			return err
		}
		if a.hasher == nil {
			continue
		}
		if err := w.place(a, g.Key, weight); err != nil {
			return err
		}
	}
	return nil
}

// look takes a key in, as a whole and column by column.
func (w *walker) look(a *analysis, key []byte, weight float64, handOn func(column int) error) error {
	part := &w.part
	if !a.alike {
		w.keys.add(key, weight, w.partition)
	}
	nulls := 0
	for i, r := range w.readers {
		v, null, err := r.value(key)
		if err != nil {
			return err
		}
		if null {
			nulls++
			part.nulls[i] += weight
		}
		w.cols[i].add(v, weight, 0)
		if t := &w.cols[i].table; t.len() >= handedValues || t.arena.bytes >= handedBytes {
			if err := handOn(i); err != nil {
				return err
			}
		}
	}
	if nulls > 0 && nulls == len(w.readers) {
		part.nullKey += weight
	}
	return nil
}

// grouped yields rows under their grouping keys; without a schema as they are
// stored.
func (a *analysis) grouped(rows iter.Seq2[[]statestore.Entry, error]) iter.Seq2[checkpoint.Grouped, error] {
	if a.key != nil {
		return a.store.Group(rows)
	}
	return func(yield func(checkpoint.Grouped, error) bool) {
		for e, err := range provider.Rows(rows) {
			if !yield(checkpoint.Grouped{Key: e.Key, Stored: e}, err) || err != nil {
				return
			}
		}
	}
}

// changesOf yields what one batch changed in a partition; without a schema
// under the keys as they are stored.
func (a *analysis) changesOf(ctx context.Context, p int, batch int64) iter.Seq2[checkpoint.Grouped, error] {
	if a.key != nil {
		return a.store.GroupedChanges(ctx, p, batch)
	}
	return func(yield func(checkpoint.Grouped, error) bool) {
		for c, err := range a.store.ChangeEntries(ctx, p, batch) {
			e := statestore.Entry{Key: c.Key, Value: c.Value}
			if !yield(checkpoint.Grouped{Key: e.Key, Stored: e}, err) || err != nil {
				return
			}
		}
	}
}

// changes yields what the batches changed in a partition, and notes those of
// which that is not known.
func (a *analysis) changes(ctx context.Context, p int, missing *[]int64) iter.Seq2[checkpoint.Grouped, error] {
	return func(yield func(checkpoint.Grouped, error) bool) {
		for _, b := range a.batches {
			for g, err := range a.changesOf(ctx, p, b) {
				if errors.Is(err, statestore.ErrMissing) {
					// A snapshot stands in for the delta: what changed is not known.
					*missing = append(*missing, b)
					break
				}
				if !yield(g, err) || err != nil {
					return
				}
			}
		}
	}
}

// sampleRows is how many rows of a partition are tried with other columns.
const sampleRows = 2000

// place hashes a key: for where it is, and for where it would be.
func (w *walker) place(a *analysis, key []byte, weight float64) error {
	part := &w.part
	h, err := a.hasher.Hash(key)
	if err != nil {
		return err
	}
	w.trials.add(h, weight)
	part.checked++
	if belongs := placement.Partition(h, a.n); belongs != w.partition {
		part.misplaced++
		if len(part.examples) < a.o.Top {
			part.examples = append(part.examples, MisplacedKey{Row: slices.Clone(key), Type: a.key, Partition: w.partition, Belongs: belongs})
		}
	}
	if part.sampled >= sampleRows {
		return nil
	}
	part.sampled++
	for i, s := range a.subset {
		h, err := s.hasher.Hash(key)
		if err != nil {
			return err
		}
		if placement.Partition(h, a.n) == w.partition {
			part.fits[i]++
		}
	}
	return nil
}

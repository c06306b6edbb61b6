package statestore

import (
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/sparkstate/sparkstate/statestore/provider"
)

// Scan is [Walk] for visits that read all rows of their partition: visit is
// given the batches of [Store.Batches], and while it works on some partitions,
// the files of the next ones are listed, opened and read ahead.
func Scan[T any](ctx context.Context, s *Store, visit func(ctx context.Context, partition int, rows iter.Seq2[[]Entry, error], emit func(T) bool) error, opts ...Option) iter.Seq2[T, error] {
	r := s.read(opts)
	if err := r.check(s); err != nil {
		return func(yield func(T, error) bool) {
			var zero T
			yield(zero, err)
		}
	}
	return scan(ctx, s, r, r.wanted(s), opts, func(ctx context.Context, partition int, rows iter.Seq2[[]Entry, error], _ *read, emit func(T) bool) error {
		return visit(ctx, partition, rows, emit)
	})
}

// scan visits the partitions of a request.
func scan[T any](ctx context.Context, s *Store, r *read, ids []int, opts []Option, visit func(ctx context.Context, partition int, rows iter.Seq2[[]Entry, error], r *read, emit func(T) bool) error) iter.Seq2[T, error] {
	sorted := *r
	sorted.anyOrder = false
	return aheadOf(ctx, s, &sorted, ids, func(ctx context.Context, i int, lane Option, emit func(T) bool) error {
		return visit(ctx, ids[i], s.Batches(ctx, ids[i], append(slices.Clip(opts), lane)...), r, emit)
	}, emitted[T](r))
}

// aheadOf is ordered over the partitions of a request, with their files
// listed and read ahead. lane has a read use what was read ahead.
func aheadOf[T any](ctx context.Context, s *Store, r *read, ids []int, visit func(ctx context.Context, i int, lane Option, emit func(T) bool) error, items handling[T]) iter.Seq2[T, error] {
	if s.cfg.FS == nil {
		return inOrder[T](r)(ctx, r.workers, len(ids), func(ctx context.Context, i int, emit func(T) bool) error {
			return visit(ctx, i, func(*read) {}, emit)
		}, items)
	}
	return func(yield func(T, error) bool) {
		l := &lanes{s: s, r: r, ids: ids, ahead: provider.NewAhead(s.cfg.FS, r.reads), next: make(map[int]*lane)}
		defer l.close()
		for item, err := range inOrder[T](r)(ctx, r.workers, len(ids), func(ctx context.Context, i int, emit func(T) bool) error {
			lane := l.get(ctx, i)
			defer lane.Close()
			return visit(ctx, i, func(r *read) { r.load.Ahead = lane }, emit)
		}, items) {
			if !yield(item, err) {
				return
			}
		}
	}
}

// inOrder returns how the visits of a request are put together.
func inOrder[T any](r *read) func(ctx context.Context, workers, n int, produce producer[T], items handling[T]) iter.Seq2[T, error] {
	if r.anyOrder {
		return interleaved[T]
	}
	return ordered[T]
}

// lanes begins the lanes of partitions before they are due.
type lanes struct {
	s     *Store
	r     *read
	ids   []int
	ahead *provider.Ahead

	mu    sync.Mutex
	begun int // those below this index are
	next  map[int]*lane
}

type lane struct {
	*provider.Lane
	listed chan struct{}
}

// get returns the lane of an index once its partition is listed, and begins
// those that come after it. ctx is that of the whole read.
func (l *lanes) get(ctx context.Context, i int) *provider.Lane {
	l.mu.Lock()
	for ; l.begun < min(i+l.r.reads, len(l.ids)); l.begun++ {
		l.next[l.begun] = l.begin(ctx, l.ids[l.begun])
	}
	got := l.next[i]
	delete(l.next, i)
	l.mu.Unlock()
	select {
	case <-got.listed:
	case <-ctx.Done():
	}
	return got.Lane
}

func (l *lanes) begin(ctx context.Context, partition int) *lane {
	out := &lane{l.ahead.Lane(ctx), make(chan struct{})}
	out.Go(func() {
		defer close(out.listed)
		// An error here is one that the visit will meet as well.
		if p, err := l.s.Partition(partition); err == nil && p != nil {
			load := l.r.load
			load.Ahead = out.Lane
			p.Prefetch(l.r.version, load)
		}
	})
	return out
}

// close gives up the lanes that were begun for nothing.
func (l *lanes) close() {
	for _, lane := range l.next {
		lane.Close()
	}
}

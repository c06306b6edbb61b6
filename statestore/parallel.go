package statestore

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"
)

// forEach calls fn for 0 … n-1, at most workers at a time, and returns the
// error of the lowest index that failed. The first failure cancels the rest.
func forEach(ctx context.Context, workers, n int, fn func(context.Context, int) error) error {
	for _, err := range ordered(ctx, workers, n, func(ctx context.Context, i int, _ func(struct{}) bool) error { return fn(ctx, i) }) {
		if err != nil {
			return err
		}
	}
	return nil
}

// ordered runs produce for 0 … n-1, at most workers at a time, and yields what
// they emit in the order of the index, whatever the timing. A producer that is
// ahead waits after two items, so memory stays at workers × 2 items. The first
// error ends the sequence.
func ordered[T any](ctx context.Context, workers, n int, produce func(ctx context.Context, i int, emit func(T) bool) error) iter.Seq2[T, error] {
	return orderedDropping(ctx, workers, n, produce, func(T) {})
}

// orderedDropping is ordered for items that have to be given back: what was
// emitted and is not yielded, because the sequence has ended before, goes to
// drop.
func orderedDropping[T any](ctx context.Context, workers, n int, produce func(ctx context.Context, i int, emit func(T) bool) error, drop func(T)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		var running sync.WaitGroup

		type lane struct {
			items chan T
			err   error // set before items is closed
		}
		// Lanes are handed out in order, so the lowest one that is not done
		// always has a worker, and waiting for it cannot deadlock. The queue is
		// as long as there are workers: no more lanes are open than that.
		queue := make(chan *lane, max(workers, 1))
		slots := make(chan struct{}, max(workers, 1))
		var current, unqueued *lane
		defer func() {
			cancel()
			running.Wait()
			left := []*lane{current, unqueued}
			for l := range queue {
				left = append(left, l)
			}
			for _, l := range left {
				if l == nil {
					continue
				}
				for item := range l.items {
					drop(item)
				}
			}
		}()
		running.Go(func() {
			defer close(queue)
			for i := range n {
				select {
				case slots <- struct{}{}:
				case <-ctx.Done():
					return
				}
				l := &lane{items: make(chan T, 2)}
				running.Go(func() {
					defer func() { <-slots }()
					defer close(l.items)
					l.err = produce(ctx, i, func(item T) bool {
						select {
						case l.items <- item:
							return true
						case <-ctx.Done():
							return false
						}
					})
				})
				select {
				case queue <- l:
				case <-ctx.Done():
					unqueued = l
					return
				}
			}
		})
		var zero T
		done := 0
		for l := range queue {
			current = l
			for item := range l.items {
				if !yield(item, nil) {
					return
				}
			}
			if l.err != nil {
				yield(zero, l.err)
				return
			}
			done++
		}
		if done < n {
			yield(zero, context.Cause(ctx))
		}
	}
}

// interleaved runs produce for 0 … n-1, at most workers at a time, and yields
// what they emit as it comes. Each producer may be one item ahead. The first
// error ends the sequence; what was emitted and is not yielded goes to drop.
func interleaved[T any](ctx context.Context, workers, n int, produce func(ctx context.Context, i int, emit func(T) bool) error, drop func(T)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		type result struct {
			item T
			err  error
		}
		results := make(chan result, max(workers, 1))
		var running sync.WaitGroup
		var next atomic.Int64
		for range min(max(workers, 1), n) {
			running.Go(func() {
				for i := next.Add(1) - 1; i < int64(n) && ctx.Err() == nil; i = next.Add(1) - 1 {
					err := produce(ctx, int(i), func(item T) bool {
						select {
						case results <- result{item: item}:
							return true
						case <-ctx.Done():
							return false
						}
					})
					if err != nil {
						select {
						case results <- result{err: err}:
						case <-ctx.Done():
						}
						return
					}
				}
			})
		}
		go func() {
			running.Wait()
			close(results)
		}()
		defer func() {
			cancel()
			for r := range results {
				if r.err == nil {
					drop(r.item)
				}
			}
		}()
		for r := range results {
			if !yield(r.item, r.err) || r.err != nil {
				return
			}
		}
		if err := context.Cause(ctx); err != nil {
			var zero T
			yield(zero, err)
		}
	}
}

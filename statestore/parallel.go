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
	for _, err := range ordered(ctx, workers, n, func(ctx context.Context, i int, _ func(struct{}) bool) error { return fn(ctx, i) }, plain[struct{}]()) {
		if err != nil {
			return err
		}
	}
	return nil
}

// interleaved runs produce for 0 … n-1, at most workers at a time, and yields
// what they emit as it comes. Each producer may be one item ahead. The first
// error ends the sequence; what was emitted and is not yielded goes to drop.
func interleaved[T any](ctx context.Context, workers, n int, produce producer[T], items handling[T]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		type result struct {
			item T
			err  error
		}
		results := make(chan result, max(workers, 1))
		var running sync.WaitGroup
		var next atomic.Int64
		put := func(r result) bool {
			select {
			case results <- r:
				return true
			case <-ctx.Done():
				return false
			}
		}
		run := func(i int) bool {
			err := errNoReturn
			defer func() {
				if err != nil {
					put(result{err: err})
				}
			}()
			err = produce(ctx, i, func(item T) bool { return put(result{item: item}) })
			return err == nil
		}
		for range min(max(workers, 1), n) {
			running.Go(func() {
				for i := next.Add(1) - 1; i < int64(n) && ctx.Err() == nil && run(int(i)); i = next.Add(1) - 1 {
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
					items.drop(r.item)
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

package statestore

import (
	"context"
	"iter"
)

// Walk calls visit for every partition wanted, those without a directory
// included, as many at a time as [Workers] says, and yields what the visits
// emit in ascending order of the partitions, whatever the timing. It is what to
// build on where each partition is worked on by itself.
//
// A visit that is ahead of its turn waits after two items, unless they are
// [Sized]. It should return when
// emit returns false. The first error, in that same order, ends the sequence.
func Walk[T any](ctx context.Context, s *Store, visit func(ctx context.Context, partition int, emit func(T) bool) error, opts ...Option) iter.Seq2[T, error] {
	r := s.read(opts)
	if err := r.check(s); err != nil {
		return func(yield func(T, error) bool) {
			var zero T
			yield(zero, err)
		}
	}
	ids := r.wanted(s)
	return ordered(ctx, r.workers, len(ids), func(ctx context.Context, i int, emit func(T) bool) error {
		return visit(ctx, ids[i], emit)
	}, emitted[T](r))
}

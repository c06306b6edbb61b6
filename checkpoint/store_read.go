package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/apache/arrow/go/v17/arrow"

	"github.com/sparkstate/sparkstate/statestore"
)

// At says which state an answer is of.
type At struct {
	// Batch is the batch, Version the state version that it wrote: one more.
	Batch, Version int64
}

// At returns the batch and version that the options ask for. A batch that is
// not committed is a *BatchError.
func (s *Store) At(ctx context.Context, opts ...Option) (At, error) {
	at, _, err := s.resolve(ctx, opts)
	return at, err
}

func (s *Store) resolve(ctx context.Context, opts []Option) (At, []statestore.Option, error) {
	q := &query{}
	for _, o := range opts {
		o(q)
	}
	st, err := s.state()
	if err != nil {
		return At{}, nil, err
	}
	last := st.Latest() - 1
	b := last
	if q.hasBatch {
		b = q.batch
	}
	switch {
	case last < 0:
		return At{}, nil, s.batchError(ctx, b, fmt.Errorf("%w: no batch of this query is, yet", ErrNotCommitted))
	case b < 0:
		return At{}, nil, s.batchError(ctx, b, errors.New("batches count from 0"))
	case b > last:
		return At{}, nil, s.batchError(ctx, b, fmt.Errorf("%w: the last committed one is %d", ErrNotCommitted, last))
	}
	return At{Batch: b, Version: b + 1}, append(q.below, statestore.AtVersion(b+1)), nil
}

// batchError adds what can be read instead.
func (s *Store) batchError(ctx context.Context, batch int64, cause error) error {
	readable, err := s.Readable(ctx)
	return &BatchError{Batch: batch, Readable: readable, Err: errors.Join(cause, err)}
}

// explain turns an error about a file that is not there into one that says
// which batches can be read.
func (s *Store) explain(ctx context.Context, batch int64, err error) error {
	var be *BatchError
	var fe *statestore.FileError
	if errors.As(err, &fe) && strings.Contains(fe.Condition, "MISSING_SNAPSHOT") {
		return err // a snapshot that was asked for by name
	}
	if errors.As(err, &be) || !errors.Is(err, statestore.ErrMissing) && !errors.Is(err, statestore.ErrCleanedUp) {
		return err
	}
	return s.batchError(ctx, batch, err)
}

// Entries yields the rows of one partition as bytes, in an order that is the
// same at every call. They need no schema.
func (s *Store) Entries(ctx context.Context, partition int, opts ...Option) iter.Seq2[statestore.Entry, error] {
	return reading(s, ctx, opts, func(st *statestore.Store, below []statestore.Option) iter.Seq2[statestore.Entry, error] {
		return st.Entries(ctx, partition, below...)
	})
}

// Batches yields the rows that Entries yields, a few dozen at a time; see
// [statestore.Store.Batches].
func (s *Store) Batches(ctx context.Context, partition int, opts ...Option) iter.Seq2[[]statestore.Entry, error] {
	return reading(s, ctx, opts, func(st *statestore.Store, below []statestore.Option) iter.Seq2[[]statestore.Entry, error] {
		return st.Batches(ctx, partition, below...)
	})
}

// Scan has visit read all rows of every partition, as many partitions at a time
// as [Workers] says, and yields what it emits in ascending order of the
// partitions; see [statestore.Scan].
func Scan[T any](ctx context.Context, s *Store, visit func(ctx context.Context, partition int, rows iter.Seq2[[]statestore.Entry, error], emit func(T) bool) error, opts ...Option) iter.Seq2[T, error] {
	return reading(s, ctx, opts, func(st *statestore.Store, below []statestore.Option) iter.Seq2[T, error] {
		return statestore.Scan(ctx, st, visit, below...)
	})
}

// Walk has visit work on every partition, as Scan does, where it is not, or not
// only, the rows as of one batch that are wanted; see [statestore.Walk].
func Walk[T any](ctx context.Context, s *Store, visit func(ctx context.Context, partition int, emit func(T) bool) error, opts ...Option) iter.Seq2[T, error] {
	return reading(s, ctx, opts, func(st *statestore.Store, below []statestore.Option) iter.Seq2[T, error] {
		return statestore.Walk(ctx, st, visit, below...)
	})
}

// Schema returns the schema of the store's Arrow records.
func (s *Store) Schema() (*arrow.Schema, error) {
	st, err := s.state()
	if err != nil {
		return nil, err
	}
	return st.Schema()
}

// Records yields the rows as Arrow records {key: struct, value: struct,
// partition_id: int32}, partition by partition; see [statestore.Store.Records].
// The caller releases them.
func (s *Store) Records(ctx context.Context, opts ...Option) iter.Seq2[arrow.Record, error] {
	return reading(s, ctx, opts, func(st *statestore.Store, below []statestore.Option) iter.Seq2[arrow.Record, error] {
		return st.Records(ctx, below...)
	})
}

// reading resolves the batch, reads, and explains what fails.
func reading[T any](s *Store, ctx context.Context, opts []Option, read func(*statestore.Store, []statestore.Option) iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		at, below, err := s.resolve(ctx, opts)
		if err != nil {
			yield(zero, err)
			return
		}
		st, err := s.state()
		if err != nil {
			yield(zero, err)
			return
		}
		for item, err := range read(st, below) {
			if err != nil {
				yield(zero, s.explain(ctx, at.Batch, err))
				return
			}
			if !yield(item, nil) {
				return
			}
		}
	}
}

package checkpoint

import (
	"context"
	"fmt"
	"iter"

	"github.com/apache/arrow/go/v17/arrow"

	"github.com/sparkstate/sparkstate/statestore"
)

// Changes yields what the batches from to to, both included, changed, as Arrow
// records {batch_id, change_type, key, value, partition_id}; see
// [statestore.Store.Changes]. A batch that is not committed, or whose deltas
// are gone, is a *BatchError. The caller releases the records.
func (s *Store) Changes(ctx context.Context, from, to int64, opts ...Option) iter.Seq2[arrow.Record, error] {
	return func(yield func(arrow.Record, error) bool) {
		st, below, err := s.changeRange(ctx, from, to, opts)
		if err != nil {
			yield(nil, err)
			return
		}
		for rec, err := range st.Changes(ctx, from+1, to+1, below...) {
			if err != nil {
				yield(nil, s.explain(ctx, to, err))
				return
			}
			if !yield(rec, nil) {
				return
			}
		}
	}
}

// ChangeSchema returns the schema of the records of Changes.
func (s *Store) ChangeSchema() (*arrow.Schema, error) {
	st, err := s.state()
	if err != nil {
		return nil, err
	}
	return st.ChangeSchema()
}

// ChangeEntries yields what one batch changed in one partition, as bytes, in
// the order written. It needs no schema.
func (s *Store) ChangeEntries(ctx context.Context, partition int, batch int64) iter.Seq2[statestore.Change, error] {
	return func(yield func(statestore.Change, error) bool) {
		st, _, err := s.changeRange(ctx, batch, batch, nil)
		if err != nil {
			yield(statestore.Change{}, err)
			return
		}
		for c, err := range st.ChangeEntries(ctx, partition, batch+1) {
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}

func (s *Store) changeRange(ctx context.Context, from, to int64, opts []Option) (*statestore.Store, []statestore.Option, error) {
	if from > to {
		return nil, nil, s.batchError(ctx, from, fmt.Errorf("a range of batches goes upwards, not from %d to %d", from, to))
	}
	// The end of the range decides what is committed; its start must be one.
	if from < 0 {
		opts = append(opts[:len(opts):len(opts)], AtBatch(from))
	} else {
		opts = append(opts[:len(opts):len(opts)], AtBatch(to))
	}
	_, below, err := s.resolve(ctx, opts)
	if err != nil {
		return nil, nil, err
	}
	st, err := s.state()
	return st, below, err
}

package checkpoint

import (
	"context"
	"errors"

	"github.com/sparkstate/sparkstate/statestore"
)

// Counts are the numbers of every partition of a store at one batch.
type Counts struct {
	At
	// Partitions has one element for each partition wanted, absent ones
	// included, in ascending order.
	Partitions []statestore.Count
}

// Rows returns the number of rows of each partition.
func (c *Counts) Rows() []int64 {
	out := make([]int64, len(c.Partitions))
	for i, p := range c.Partitions {
		out[i] = p.Rows
	}
	return out
}

// Counts counts the rows, distinct grouping keys and bytes of every partition.
// They need no schema, except for the keys of a session window.
func (s *Store) Counts(ctx context.Context, opts ...Option) (*Counts, error) {
	at, below, err := s.resolve(ctx, opts)
	if err != nil {
		return nil, err
	}
	st, err := s.state()
	if err != nil {
		return nil, err
	}
	parts, err := st.Counts(ctx, below...)
	if err != nil {
		return nil, s.explain(ctx, at.Batch, err)
	}
	if err := s.keysElsewhere(ctx, parts, opts); err != nil {
		return nil, err
	}
	return &Counts{At: at, Partitions: parts}, nil
}

// keysElsewhere fills in the keys where another store has a row for each.
func (s *Store) keysElsewhere(ctx context.Context, parts []statestore.Count, opts []Option) error {
	k := s.op.kind
	if k == nil || k.keysIn == nil || k.keysIn(s.name) == "" {
		return nil
	}
	other, err := s.op.Store(k.keysIn(s.name))
	if err != nil { // a partial copy: not known, then
		for i := range parts {
			parts[i].Keys = -1
		}
		return nil
	}
	c, err := other.Counts(ctx, opts...)
	if errors.Is(err, statestore.ErrMissing) {
		return keysOneByOne(ctx, other, parts, opts)
	}
	if err != nil {
		return err
	}
	for i := range parts {
		parts[i].Keys = c.Partitions[i].Rows
	}
	return nil
}

// keysOneByOne fills in the keys of the partitions that the other store has.
func keysOneByOne(ctx context.Context, other *Store, parts []statestore.Count, opts []Option) error {
	at, _, err := other.resolve(ctx, opts)
	if err != nil {
		return err
	}
	st, err := other.state()
	if err != nil {
		return err
	}
	for i := range parts {
		switch c, err := st.Counts(ctx, statestore.AtVersion(at.Version), statestore.Partitions(parts[i].Partition)); {
		case errors.Is(err, statestore.ErrMissing):
			parts[i].Keys = -1
		case err != nil:
			return err
		default:
			parts[i].Keys = c[0].Rows
		}
	}
	return nil
}

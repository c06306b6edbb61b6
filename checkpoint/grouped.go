package checkpoint

import (
	"context"
	"iter"

	"github.com/sparkstate/sparkstate/statestore"
	"github.com/sparkstate/sparkstate/statestore/provider"
)

// Grouped is a row under its grouping key. The slices are valid until the next
// step.
type Grouped struct {
	// Key is the row of the columns that are hashed, as Spark would write it:
	// of the type that [Store.GroupingKey] returns.
	Key []byte
	// Stored is the row as it is stored.
	Stored statestore.Entry
}

// Grouped yields the rows of one partition under their grouping keys. It needs
// the key's schema only where the last key column has to be cut off; where
// that one is not known, the error is ErrNoSchema.
func (s *Store) Grouped(ctx context.Context, partition int, opts ...Option) iter.Seq2[Grouped, error] {
	return s.grouped(s.Entries(ctx, partition, opts...))
}

// GroupedChanges yields what one batch changed in one partition under the
// grouping keys; the stored value of a delete is empty.
func (s *Store) GroupedChanges(ctx context.Context, partition int, batch int64) iter.Seq2[Grouped, error] {
	return s.grouped(func(yield func(statestore.Entry, error) bool) {
		for c, err := range s.ChangeEntries(ctx, partition, batch) {
			if !yield(statestore.Entry{Key: c.Key, Value: c.Value}, err) {
				return
			}
		}
	})
}

// Group yields the rows that [Scan] or [Store.Batches] hands out under their
// grouping keys, as [Store.Grouped] does.
func (s *Store) Group(rows iter.Seq2[[]statestore.Entry, error]) iter.Seq2[Grouped, error] {
	return s.grouped(provider.Rows(rows))
}

func (s *Store) grouped(entries iter.Seq2[statestore.Entry, error]) iter.Seq2[Grouped, error] {
	return func(yield func(Grouped, error) bool) {
		var cut *keyCutter
		switch s.keyShape() {
		case statestore.UnknownKey:
			yield(Grouped{}, statestore.ErrNoSchema)
			return
		case statestore.LastColumnApart:
			if s.types.key == nil || len(s.types.key.Fields) == 0 {
				yield(Grouped{}, statestore.ErrNoSchema)
				return
			}
			cut = newKeyCutter(s.types.key.Fields[:len(s.types.key.Fields)-1])
		}
		for e, err := range entries {
			g := Grouped{Key: e.Key, Stored: e}
			if err == nil && cut != nil {
				g.Key, _, err = cut.last(e.Key)
			}
			if err != nil {
				yield(Grouped{}, err)
				return
			}
			if !yield(g, nil) {
				return
			}
		}
	}
}

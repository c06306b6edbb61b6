package checkpoint

import (
	"context"
	"slices"
	"strings"

	"github.com/sparkstate/sparkstate/statestore"
	"github.com/sparkstate/sparkstate/statestore/placement"
)

// Lookup says where a key was looked for.
type Lookup struct {
	// Own is the partition in which the key belongs by the hash of its columns;
	// -1 where it cannot be computed.
	Own int
	// Reason says why the key may be elsewhere, or why Own is not known; empty
	// where the key can be in Own only.
	Reason string
	// Read lists the partitions that were read: Own first, then the others in
	// ascending order, up to the one that has the key. A partition without a
	// directory has nothing to read.
	Read []int
}

// Row is a row of a store. The bytes are the caller's to keep.
type Row struct {
	Partition  int
	Key, Value []byte
}

// Found is the answer to [Store.Get].
type Found struct {
	At
	Lookup
	// Rows are the rows with the key, in the order of [Store.Entries]: at most
	// one, unless the key was given without its last column, or its bytes are
	// not settled by its values: see [KeyOf].
	Rows []Row
}

// Get looks for a key. It reads the partition that the key belongs in; the
// others as well, before it says that the key is not there, if rows may have
// been placed otherwise (see [Store.Placement]) or the place cannot be
// computed. A value that does not fit its column is an
// [*unsaferow.ValueError]. Values without a schema are ErrNoSchema: give a
// [RowKey] then.
func (s *Store) Get(ctx context.Context, key Key, opts ...Option) (*Found, error) {
	at, below, err := s.resolve(ctx, opts)
	if err != nil {
		return nil, err
	}
	q, err := s.search(key, below)
	if err != nil {
		return nil, err
	}
	all, where, err := find(ctx, q, func(ctx context.Context, partition int) (hits[Row], error) {
		var h hits[Row]
		for e, err := range q.state.Entries(ctx, partition, below...) {
			if err != nil {
				return h, err
			}
			if rank := q.rank(e.Key); rank >= 0 {
				h.add(rank, Row{Partition: partition, Key: owned(e.Key), Value: owned(e.Value)})
			}
		}
		return h, nil
	})
	if err != nil {
		return nil, s.explain(ctx, at.Batch, err)
	}
	return &Found{At: at, Lookup: where, Rows: all.items}, nil
}

// search is a key that is looked for in a store.
type search struct {
	state    *statestore.Store
	below    []statestore.Option
	patterns []pattern
	where    Lookup
}

func (s *Store) search(key Key, below []statestore.Option) (*search, error) {
	q := &search{below: below}
	var err error
	if q.state, err = s.state(); err != nil {
		return nil, err
	}
	if q.patterns, err = s.patterns(key); err != nil {
		return nil, err
	}
	q.where = s.place(q.patterns[0].row)
	if len(q.patterns) > 1 && q.where.Reason == "" && !strings.EqualFold(s.op.cp.conf[ConfStrictDistribution], "true") {
		// This is a join, and it may be one from before Spark 3.0, when keys
		// were not normalised.
		q.where.Reason = "before Spark 3.2, -0.0 was hashed as another number than 0.0"
	}
	return q, nil
}

// place computes where a key row belongs.
func (s *Store) place(row []byte) Lookup {
	p := s.Placement()
	switch {
	case p.Single || s.op.partitions == 1:
		return Lookup{Own: 0}
	case p.Columns < 0:
		return Lookup{Own: -1, Reason: "which columns of the key are hashed is not known"}
	}
	columns := make([]int, p.Columns)
	for i := range columns {
		columns[i] = i
	}
	h, err := placement.NewHasher(s.types.key, columns)
	if err != nil {
		return Lookup{Own: -1, Reason: err.Error()}
	}
	hash, err := h.Hash(row)
	if err != nil {
		return Lookup{Own: -1, Reason: err.Error()}
	}
	l := Lookup{Own: placement.Partition(hash, s.op.partitions)}
	switch {
	case !p.Strict:
		l.Reason = "this checkpoint does not promise that a key is where the hash of all its columns says"
	case s.op.partFrom != Recorded:
		l.Reason = "the number of partitions is not recorded"
	}
	return l
}

// rank returns the index of the first pattern that a key matches, -1 for none.
func (q *search) rank(key []byte) int {
	return slices.IndexFunc(q.patterns, func(p pattern) bool { return p.matches(key) })
}

// hits are what was found for the best of the patterns that anything was found
// for.
type hits[T any] struct {
	rank  int
	items []T
}

func (h *hits[T]) add(rank int, items ...T) {
	switch {
	case len(items) == 0 || len(h.items) > 0 && rank > h.rank:
		return
	case rank < h.rank:
		h.items = nil
	}
	h.rank = rank
	h.items = append(h.items, items...)
}

// find looks for the key in its own partition, and then where else it may be.
func find[T any](ctx context.Context, q *search, look func(ctx context.Context, partition int) (hits[T], error)) (hits[T], Lookup, error) {
	var all hits[T]
	where := q.where
	present := q.state.Present()
	if where.Own >= 0 {
		if slices.Contains(present, where.Own) {
			h, err := look(ctx, where.Own)
			if err != nil {
				return all, where, err
			}
			where.Read = append(where.Read, where.Own)
			all = h
		}
		if where.Reason == "" || all.exact() {
			return all, where, nil
		}
	}
	type looked struct {
		partition int
		hits[T]
	}
	for l, err := range statestore.Walk(ctx, q.state, func(ctx context.Context, partition int, emit func(looked) bool) error {
		if partition == where.Own || !slices.Contains(present, partition) {
			return nil
		}
		h, err := look(ctx, partition)
		if err != nil {
			return err
		}
		emit(looked{partition, h})
		return nil
	}, q.below...) {
		if err != nil {
			return all, where, err
		}
		where.Read = append(where.Read, l.partition)
		all.add(l.rank, l.items...)
		if all.exact() {
			break
		}
	}
	return all, where, nil
}

// exact: the key was found as it was asked for.
func (h *hits[T]) exact() bool { return len(h.items) > 0 && h.rank == 0 }

// owned returns a copy that is not nil, even of no bytes.
func owned(b []byte) []byte { return append([]byte{}, b...) }

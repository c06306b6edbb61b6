package checkpoint

import (
	"context"
	"slices"
	"sync"

	"github.com/sparkstate/sparkstate/statestore"
	"github.com/sparkstate/sparkstate/statestore/provider"
)

// KeyChange is what a batch did to a key. The bytes are the caller's to keep.
type KeyChange struct {
	Batch     int64
	Type      statestore.ChangeType
	Partition int
	Key       []byte
	Value     []byte // nil for a delete
}

// KeyHistory is the answer to [Store.GetHistory].
type KeyHistory struct {
	At
	Lookup
	// Changes are in ascending order of the batch, within it in the order
	// written.
	Changes []KeyChange
	// Since is the first batch from which on every change is known. Of what was
	// before, retention or a partial copy has left nothing, or a part, which is
	// in Changes all the same. It is one more than the batch asked for where
	// nothing is left at all.
	Since int64
}

// GetHistory looks for every change of a key up to a batch, in the change files
// that are still there. It reads the partitions that [Store.Get] would read. A
// key that no change file mentions may be in the state all the same, from
// before Since.
func (s *Store) GetHistory(ctx context.Context, key Key, opts ...Option) (*KeyHistory, error) {
	at, below, err := s.resolve(ctx, opts)
	if err != nil {
		return nil, err
	}
	q, err := s.search(key, below)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	since := make(map[int]int64) // by partition
	all, where, err := find(ctx, q, func(ctx context.Context, partition int) (hits[KeyChange], error) {
		var h hits[KeyChange]
		versions, first, err := q.deltas(partition, at.Version)
		if err != nil {
			return h, err
		}
		mu.Lock()
		since[partition] = first - 1
		mu.Unlock()
		for _, v := range versions {
			for c, err := range q.state.ChangeEntries(ctx, partition, v) {
				if err != nil {
					return h, err
				}
				rank := q.rank(c.Key)
				if rank < 0 {
					continue
				}
				x := KeyChange{Batch: v - 1, Type: c.Type, Partition: partition, Key: owned(c.Key)}
				if c.Type != statestore.Delete {
					x.Value = owned(c.Value)
				}
				h.add(rank, x)
			}
		}
		return h, nil
	})
	if err != nil {
		return nil, s.explain(ctx, at.Batch, err)
	}
	out := &KeyHistory{At: at, Lookup: where, Changes: all.items}
	// A key is in one partition: where it was found, only that one counts.
	read := where.Read
	if len(out.Changes) > 0 {
		read = []int{out.Changes[0].Partition}
	}
	for _, p := range read {
		out.Since = max(out.Since, since[p])
	}
	return out, nil
}

// deltas returns the versions up to last of which a partition has the changes,
// and the first from which on there is no gap.
func (q *search) deltas(partition int, last int64) (versions []int64, first int64, err error) {
	p, err := q.state.Partition(partition)
	if err != nil || p == nil {
		return nil, last + 1, err
	}
	for _, f := range p.Files() {
		if f.Kind == provider.DeltaFile && f.Version <= last {
			versions = append(versions, f.Version)
		}
	}
	slices.Sort(versions)
	first = last + 1
	for _, v := range slices.Backward(versions) {
		if v != first-1 {
			break
		}
		first = v
	}
	return versions, first, nil
}

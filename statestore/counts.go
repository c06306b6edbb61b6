package statestore

import (
	"context"

	"github.com/sparkstate/sparkstate/statestore/provider"
)

// Count is what one partition holds at one version.
type Count struct {
	Partition int
	// Present is false for a partition without a directory, which counts as
	// empty.
	Present bool
	// Rows is the number of rows of the state.
	Rows int64
	// Keys is the number of distinct grouping keys; -1 where it cannot be
	// known. It differs from Rows for session windows and joins.
	Keys int64
	// KeyBytes and ValueBytes sum up the row bytes.
	KeyBytes, ValueBytes int64
	// Files and FileBytes count the delta and snapshot files that are present,
	// of whatever version, and their stored size.
	Files     int
	FileBytes int64
	// LoadBytes is the stored size of those that this version is read from.
	LoadBytes int64
	// Newest is the highest version that a file of the partition names.
	Newest int64
}

// Counts counts the rows of every partition wanted, absent ones too, in
// ascending order of the partition.
func (s *Store) Counts(ctx context.Context, opts ...Option) ([]Count, error) {
	r := s.read(opts)
	if err := r.check(s); err != nil {
		return nil, err
	}
	ids := r.wanted(s)
	out := make([]Count, len(ids))
	err := forEach(ctx, r.workers, len(ids), func(ctx context.Context, i int) error {
		c, err := s.count(ctx, ids[i], r)
		out[i] = c
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (s *Store) count(ctx context.Context, id int, r *read) (Count, error) {
	c := Count{Partition: id}
	p, err := s.Partition(id)
	if err != nil {
		return c, err
	}
	distinct := s.distinct(r.load.Budget)
	defer distinct.close()
	if p != nil {
		c.Present = true
		if err := c.files(ctx, p, r); err != nil {
			return c, err
		}
		for batch, err := range p.Batches(ctx, r.version, r.load) {
			if err != nil {
				return c, err
			}
			c.Rows += int64(len(batch))
			for i := range batch {
				c.KeyBytes += int64(len(batch[i].Key))
				c.ValueBytes += int64(len(batch[i].Value))
			}
			if err := distinct.add(batch); err != nil {
				return c, err
			}
		}
	}
	c.Keys = distinct.count(c.Rows)
	return c, nil
}

// files sums up what lies in the directory.
func (c *Count) files(ctx context.Context, p provider.Partition, r *read) error {
	var state []provider.File
	for _, f := range p.Files() {
		if f.Kind == provider.DeltaFile || f.Kind == provider.SnapshotFile {
			state = append(state, f)
		}
	}
	state, err := p.Stat(ctx, state)
	if err != nil {
		return err
	}
	plan, err := p.Plan(r.version, r.load)
	if err != nil {
		return err
	}
	load := make(map[string]bool)
	for _, f := range plan.Files() {
		load[f.Name] = true
	}
	for _, f := range state {
		c.Files++
		c.FileBytes += f.Size
		c.Newest = max(c.Newest, f.Version)
		if load[f.Name] {
			c.LoadBytes += f.Size
		}
	}
	return nil
}

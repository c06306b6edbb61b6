package statestore

import (
	"context"
	"iter"

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
	// Files counts the delta and snapshot files that are present, of whatever
	// version, and FileBytes sums up their stored size; without [FileSizes] it
	// is -1.
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
	out := make([]Count, 0, len(ids))
	for c, err := range scan(ctx, s, r, ids, opts, s.count) {
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

func (s *Store) count(ctx context.Context, id int, rows iter.Seq2[[]Entry, error], r *read, emit func(Count) bool) error {
	c := Count{Partition: id}
	p, err := s.Partition(id)
	if err != nil {
		return err
	}
	distinct := s.distinct(r.load.Budget)
	defer distinct.close()
	for batch, err := range rows {
		if err != nil {
			return err
		}
		c.Rows += int64(len(batch))
		for i := range batch {
			c.KeyBytes += int64(len(batch[i].Key))
			c.ValueBytes += int64(len(batch[i].Value))
		}
		if err := distinct.add(batch); err != nil {
			return err
		}
	}
	c.Keys = distinct.count(c.Rows)
	if p != nil {
		c.Present = true
		if err := c.files(ctx, p, r); err != nil {
			return err
		}
	}
	emit(c)
	return nil
}

// files sums up what lies in the directory. The sizes of the files that were
// read are known by now.
func (c *Count) files(ctx context.Context, p provider.Partition, r *read) error {
	var state []provider.File
	for _, f := range p.Files() {
		if f.Kind == provider.DeltaFile || f.Kind == provider.SnapshotFile {
			c.Newest = max(c.Newest, f.Version)
			state = append(state, f)
		}
	}
	c.Files, c.FileBytes = len(state), -1
	plan, err := p.Plan(r.version, r.load)
	if err != nil {
		return err
	}
	if c.LoadBytes, err = sizeOf(ctx, p, plan.Files()); err != nil || !r.sizes {
		return err
	}
	c.FileBytes, err = sizeOf(ctx, p, state)
	return err
}

func sizeOf(ctx context.Context, p provider.Partition, files []provider.File) (int64, error) {
	files, err := p.Stat(ctx, files)
	if err != nil {
		return 0, err
	}
	n := int64(0)
	for _, f := range files {
		n += max(f.Size, 0)
	}
	return n, nil
}

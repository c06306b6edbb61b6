package statestore

import (
	"context"
	"encoding/binary"

	"github.com/sparkstate/sparkstate/statestore/provider"
	"github.com/sparkstate/sparkstate/statestore/unsaferow"
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
	distinct, err := s.distinct()
	if err != nil {
		return c, err
	}
	p, err := s.Partition(id)
	if err != nil {
		return c, err
	}
	if p != nil {
		c.Present = true
		if err := c.files(ctx, p, r); err != nil {
			return c, err
		}
		for e, err := range p.Entries(ctx, r.version, r.load) {
			if err != nil {
				return c, err
			}
			c.Rows++
			c.KeyBytes += int64(len(e.Key))
			c.ValueBytes += int64(len(e.Value))
			if err := distinct.add(e.Key); err != nil {
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

// distinct counts grouping keys.
type distinct struct {
	shape KeyShape
	last  int // where the slot of the last key column begins
	seen  map[string]struct{}
	buf   []byte
}

func (s *Store) distinct() (*distinct, error) {
	d := &distinct{shape: s.cfg.KeyShape}
	if d.shape == LastColumnApart {
		if s.cfg.Key == nil || len(s.cfg.Key.Fields) == 0 {
			d.shape = UnknownKey
			return d, nil
		}
		d.last = unsaferow.FixedSize(len(s.cfg.Key.Fields)) - 8
		d.seen = make(map[string]struct{})
	}
	return d, nil
}

// add takes in a key. Two keys that differ in the last column alone have the
// same bytes but for its slot: the column is a number, so nothing else of the
// row depends on it.
func (d *distinct) add(key []byte) error {
	if d.shape != LastColumnApart {
		return nil
	}
	if len(key) < d.last+8 {
		return &FileError{Offset: -1, Kind: ErrRow, Detail: "a key is shorter than its fixed part"}
	}
	d.buf = append(d.buf[:0], key...)
	binary.LittleEndian.PutUint64(d.buf[d.last:], 0)
	if _, ok := d.seen[string(d.buf)]; !ok {
		d.seen[string(d.buf)] = struct{}{}
	}
	return nil
}

func (d *distinct) count(rows int64) int64 {
	switch d.shape {
	case WholeKey:
		return rows
	case LastColumnApart:
		return int64(len(d.seen))
	}
	return -1
}

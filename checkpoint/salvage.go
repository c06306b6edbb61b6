package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"

	"github.com/sparkstate/sparkstate/statestore"
	"github.com/sparkstate/sparkstate/statestore/hdfs"
)

// SalvagedRow is a row that can still be read of a damaged store. Its bytes are
// valid until the next step.
type SalvagedRow struct {
	statestore.Entry
	// Batch is the newest batch after which the row is known to have been like
	// this. Before the one that was asked for, a file that is lost may have
	// changed or removed it since.
	Batch int64
	// Doubtful: the row may be wrong. Its file has changed since it was written,
	// and nothing tells where; or it is a delta that breaks off, and what is lost
	// of it may change the row once more.
	Doubtful bool
}

// Loss counts what could not be salvaged: the files that are damaged or
// missing, and how many of the rows are of an older batch, or doubtful. How
// many rows are gone for good cannot be known.
type Loss = hdfs.Loss

// Salvage yields everything of a partition that can still be read, whatever is
// damaged or missing: the newest record of each key in any file. Nothing else
// of this library reads past damage. Of a store that is whole the rows are
// those of [Store.Entries]; they need no schema, not even a readable one.
//
// loss adds up what is lost, and may be that of several partitions one after
// the other. The error is that of a batch that was never committed, of a
// directory that cannot be listed, or of ctx. The rows of the partition are
// held in memory.
func (s *Store) Salvage(ctx context.Context, partition int, loss *Loss, opts ...Option) iter.Seq2[SalvagedRow, error] {
	return func(yield func(SalvagedRow, error) bool) {
		at, err := s.SalvageAt(ctx, opts...)
		if err != nil {
			yield(SalvagedRow{}, err)
			return
		}
		p, err := s.damagedPartition(partition)
		switch {
		case err != nil:
			yield(SalvagedRow{}, err)
			return
		case p == nil:
			if at.Version > 0 {
				facts := partFacts{of: &storeFacts{store: s}, id: partition, dir: s.dirs()[partition]}
				loss.Files = append(loss.Files, facts.missing())
			}
			return
		}
		for r, err := range p.Salvage(ctx, at.Version, loss) {
			if err != nil {
				yield(SalvagedRow{}, err)
				return
			}
			if !yield(SalvagedRow{Entry: r.Entry, Batch: r.Version - 1, Doubtful: r.Doubtful}, nil) {
				return
			}
		}
	}
}

// SalvageAt returns the batch and version that Salvage reads with the options:
// as [Store.At], but without a look at the schema, which may be what is
// damaged.
func (s *Store) SalvageAt(ctx context.Context, opts ...Option) (At, error) {
	q := &query{}
	for _, o := range opts {
		o(q)
	}
	if p := s.op.cp.Provider(); p.Format != HDFS {
		return At{}, &statestore.FileError{Path: s.op.dir, Offset: -1, Kind: statestore.ErrUnsupported,
			Detail: fmt.Sprintf("the state is written by %s; only HDFSBackedStateStoreProvider's is read yet", p.Name())}
	}
	last, _, err := s.op.cp.LastCommitted()
	if err != nil {
		return At{}, err
	}
	b := last
	if q.hasBatch {
		b = q.batch
	}
	if b < 0 || b > last {
		return At{}, &BatchError{Batch: b, Err: fmt.Errorf("%w: the last committed one is %d", ErrNotCommitted, last)}
	}
	return At{Batch: b, Version: b + 1}, ctx.Err()
}

// damagedPartition opens a partition, nil for one that has no directory.
func (s *Store) damagedPartition(id int) (*hdfs.Partition, error) {
	if id < 0 || id >= s.op.partitions {
		return nil, fmt.Errorf("store %s: %w: %d of %d, counted from 0", s.name, statestore.ErrNoPartition, id, s.op.partitions)
	}
	dir, ok := s.dirs()[id]
	if !ok {
		return nil, nil
	}
	p, err := s.listPartition(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, statestore.ErrMissing) {
		return nil, nil
	}
	return p, err
}

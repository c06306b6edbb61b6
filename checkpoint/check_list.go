package checkpoint

import (
	"context"
	"errors"
	"math"
	"path"
	"slices"

	"github.com/sparkstate/sparkstate/statestore"
	"github.com/sparkstate/sparkstate/statestore/provider"
)

func (x *examination) readStores() error {
	if x.cp.Provider().Format != HDFS {
		x.last, x.asked, x.end = -1, -1, -1
		if n := len(x.cp.committed); n > 0 {
			x.last, x.lastFrom = x.cp.committed[n-1], Recorded
			x.asked = x.last
		}
		return nil
	}
	if err := x.findAsked(); err != nil {
		return err
	}
	for _, o := range x.cp.operators {
		for _, s := range o.stores {
			st, err := s.stateAt(0)
			if err != nil {
				return err
			}
			sf := &storeFacts{store: s}
			for p, err := range statestore.Walk(x.ctx, st, func(ctx context.Context, id int, emit func(*partFacts) bool) error {
				p := &partFacts{of: sf, id: id}
				if err := x.readPartition(ctx, p); err != nil {
					return err
				}
				emit(p)
				return nil
			}, statestore.Workers(x.workers)) {
				if err != nil {
					return err
				}
				sf.parts = append(sf.parts, p)
			}
			x.stores = append(x.stores, sf)
		}
	}
	x.span()
	return nil
}

// span settles with which batch the map begins, and without commits with which
// it ends.
func (x *examination) span() {
	if x.lastFrom != Recorded {
		_, hi := x.ends()
		x.end = max(x.last, hi-1)
	}
	x.first = math.MaxInt64
	if len(x.cp.committed) > 0 {
		x.first = x.cp.committed[0]
	}
	x.partitions(func(p *partFacts) {
		for _, vs := range [][]int64{p.deltas, p.snapshots} {
			if len(vs) > 0 {
				x.first = min(x.first, vs[0]-1)
			}
		}
	})
	if len(x.stores) == 0 || x.first > x.end {
		x.first = x.end + 1
	}
}

// listings is how often a partition is listed, at most, while its files vanish
// under the reader.
const listings = 4

// readPartition lists a partition and decodes what the level asks for. The
// maintenance of a running query removes files meanwhile; then all of it is done
// again, from a fresh listing.
func (x *examination) readPartition(ctx context.Context, p *partFacts) error {
	s := p.of.store
	p.dir = s.dirs()[p.id]
	if p.dir == "" {
		// Of a part of a checkpoint nobody knows what else there was; and an
		// operator of which nothing is known may run as a single task.
		lonely := len(s.op.dirs) == 1 && s.op.dirs[0] != "" && s.op.kind == nil
		p.unjudged = x.cp.at.root == "" || s.op.partFrom != Recorded || lonely
		return nil
	}
	for n := 1; ; n++ {
		fresh := partFacts{of: p.of, id: p.id, dir: p.dir, broken: make(map[breakKey]breakAt)}
		if err := x.listPartition(ctx, &fresh); err != nil {
			return err
		}
		*p = fresh
		if n == listings || !p.vanished() {
			return nil
		}
	}
}

// vanished says whether a file went between the listing and its turn.
func (p *partFacts) vanished() bool {
	return p.went || slices.ContainsFunc(p.files, func(f fileFacts) bool { return f.check != nil && errors.Is(f.check.Err, statestore.ErrMissing) })
}

func (x *examination) listPartition(ctx context.Context, p *partFacts) error {
	part, err := p.of.store.damagedPartition(p.id)
	switch {
	case err != nil:
		p.err = err
		return nil
	case part == nil:
		p.unjudged = x.cp.at.root == ""
		return nil
	}
	p.part = part
	if err := p.size(ctx); err != nil {
		return err
	}
	slices.Sort(p.deltas)
	slices.Sort(p.snapshots)
	slices.Sort(p.named)
	p.cut = x.cutAtStart(p)
	return x.decode(ctx, p)
}

// size asks for the sizes of the state files of the listing. It does so for a few
// at a time, so that a million names are not held twice.
func (p *partFacts) size(ctx context.Context) error {
	listed := p.part.Files()
	p.files = make([]fileFacts, 0, len(listed))
	for some := range slices.Chunk(listed, 512) {
		state := slices.DeleteFunc(slices.Clone(some), func(f provider.File) bool { return f.Kind != provider.DeltaFile && f.Kind != provider.SnapshotFile })
		sized, err := p.part.Stat(ctx, state)
		if err != nil {
			return err
		}
		p.went = p.went || len(sized) < len(state)
		for _, f := range some {
			switch f.Kind {
			case provider.DeltaFile, provider.SnapshotFile:
				if len(sized) == 0 || sized[0].Name != f.Name {
					continue // it has gone since
				}
				f, sized = sized[0], sized[1:]
				if f.Kind == provider.DeltaFile {
					p.deltas = append(p.deltas, f.Version)
				} else {
					p.snapshots = append(p.snapshots, f.Version)
				}
			}
			p.files = append(p.files, fileFacts{File: f, dir: p.dir})
			if v, err, ok := namedSnapshot(f.Name); err != nil {
				p.unlisted = &statestore.FileError{Path: path.Join(p.dir, f.Name), Offset: -1, Kind: statestore.ErrCorrupt,
					Condition: "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED", Detail: "Spark 4.2 takes this for a snapshot, and fails on the number", Err: err}
			} else if ok {
				p.named = append(p.named, v)
			}
		}
	}
	return nil
}

// cutAtStart says whether the first deltas of a chain are missing in a way that
// cleaning up does not explain: it removes everything below a snapshot, and not
// what is still in the logs.
func (x *examination) cutAtStart(p *partFacts) bool {
	if len(p.snapshots) == 0 || len(p.deltas) == 0 || len(x.cp.committed) == 0 {
		return false
	}
	first, oldest := p.deltas[0], p.snapshots[0]
	i, _ := slices.BinarySearch(p.deltas, oldest)
	return first > 1 && first < oldest && int64(i) == oldest-first && x.cp.committed[0] < oldest-1
}

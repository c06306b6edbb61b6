package checkpoint

import (
	"context"
	"slices"
	"time"

	"github.com/sparkstate/sparkstate/statestore"
	"github.com/sparkstate/sparkstate/statestore/hdfs"
	"github.com/sparkstate/sparkstate/statestore/placement"
	"github.com/sparkstate/sparkstate/statestore/provider"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
	"github.com/sparkstate/sparkstate/statestore/unsaferow"
)

// decode reads the files of a partition that the level asks for, each once.
func (x *examination) decode(ctx context.Context, p *partFacts) error {
	if x.level == QuickCheck {
		return nil
	}
	loadable := p.part.Versions()
	needed := func(f *fileFacts) bool {
		if f.Version > x.end+1 {
			return false
		}
		_, ok := slices.BinarySearch(loadable, f.Version)
		// A delta that a snapshot stands for is needed only if that is damaged.
		return ok && (f.Kind == provider.SnapshotFile || !holds(p.snapshots, f.Version))
	}
	for i := range p.files {
		f := &p.files[i]
		if f.isState() && (x.level == DeepCheck || needed(f)) || x.mayReplace(p, f) {
			if err := x.verify(ctx, p, f); err != nil {
				return err
			}
		}
	}
	// What leads to a damaged snapshot is needed in its place.
	for _, v := range p.snapshots {
		if f := p.file(hdfs.SnapshotName(v)); f.check != nil && anyFault(f) != nil {
			if d := p.file(hdfs.DeltaName(v)); d != nil && d.check == nil {
				if err := x.verify(ctx, p, d); err != nil {
					return err
				}
			}
		}
	}
	return x.compareSnapshots(ctx, p)
}

func holds(ns []int64, v int64) bool {
	_, ok := slices.BinarySearch(ns, v)
	return ok
}

// anyFault returns what any of the judges has against a file.
func anyFault(f *fileFacts) error {
	for j := range Judges {
		if err, _ := f.fault(j); err != nil {
			return err
		}
	}
	return nil
}

func (x *examination) verify(ctx context.Context, p *partFacts, f *fileFacts) error {
	var look func(provider.Change, int64)
	// What may stand in for a missing file has to prove more than those that
	// Spark has put in place.
	if x.level == DeepCheck || f.Kind == provider.TempFile {
		f.rows = &rowFacts{}
		look = p.rowCheck(f.rows)
	}
	validate := p.rowValidator()
	c, err := p.part.Verify(ctx, f.File, func(c provider.Change, offset int64) {
		if f.first == nil && c.Type == provider.Update {
			f.first = &firstRow{validate(c, f.path(), offset)}
		}
		if look != nil {
			look(c, offset)
		}
	})
	if err != nil {
		return err
	}
	f.check = c
	p.doubtful = p.doubtful || c.Hadoop != nil || c.Spark != nil
	return nil
}

// rowValidator returns what compares the first row of a file with the schema,
// as Spark does.
func (p *partFacts) rowValidator() func(c provider.Change, name string, offset int64) error {
	s := p.of.store
	noValue := s.op.kind != nil && s.op.kind.valuesUnchecked
	return func(c provider.Change, name string, offset int64) error {
		check := func(row []byte, t *sqltype.Type, what string) error {
			if t == nil {
				return nil
			}
			err := unsaferow.Validate(row, t)
			if err == nil {
				return nil
			}
			return &statestore.FileError{Path: name, Offset: offset, Kind: statestore.ErrCorrupt,
				Condition: "CANNOT_LOAD_STATE_STORE." + what + "_ROW_FORMAT_VALIDATION_FAILURE", Detail: "the first row does not fit the schema", Err: err}
		}
		if err := check(c.Key, s.types.key, "KEY"); err != nil || noValue {
			return err
		}
		return check(c.Value, s.types.value, "VALUE")
	}
}

// rowCheck returns what looks at each row of a file.
func (p *partFacts) rowCheck(to *rowFacts) func(provider.Change, int64) {
	s := p.of.store
	key, value := s.types.key, s.types.value
	belongs := s.placer()
	timeout := -1
	unit := int64(1)
	for _, c := range s.Columns() {
		if (c.Role == Timeout || c.Role == ExpiresAt) && c.Side == "value" && len(c.Index) == 1 {
			timeout = c.Index[0]
			if c.Unit == Microseconds {
				unit = 1000
			}
		}
	}
	year := (365 * 24 * time.Hour).Milliseconds()
	return func(c provider.Change, offset int64) {
		var err error
		if key != nil {
			err = unsaferow.Validate(c.Key, key)
		}
		inKey := err != nil
		if err == nil && value != nil && c.Type == provider.Update {
			err = unsaferow.Validate(c.Value, value)
		}
		if err != nil {
			if to.misfits++; to.misfit == nil {
				to.misfit, to.inKey, to.offset = err, inKey, offset
			}
			return // whatever else it says means nothing
		}
		if belongs != nil {
			if q, ok := belongs(c.Key); ok && q != p.id {
				if to.misplaced++; to.misplaced == 1 {
					to.belongs, to.at = q, offset
				}
			}
		}
		if timeout >= 0 && value != nil && c.Type == provider.Update {
			if row, err := unsaferow.View(c.Value, len(value.Fields)); err == nil && !row.IsNull(timeout) {
				if ms := row.Int64(timeout) / unit; ms > 0 && ms < year {
					to.timeouts++
				}
			}
		}
	}
}

// placer returns what says in which partition a key must be; nil where Spark
// promises nothing, or the number of partitions is only a guess.
func (s *Store) placer() func(key []byte) (int, bool) {
	at := s.Placement()
	if !at.Strict || at.Single || at.Columns < 0 || s.types.key == nil || s.op.partFrom != Recorded {
		return nil
	}
	columns := make([]int, at.Columns)
	for i := range columns {
		columns[i] = i
	}
	h, err := placement.NewHasher(s.types.key, columns)
	if err != nil {
		return nil // a type that Spark does not hash, or not by its bytes
	}
	n := s.op.partitions
	return func(key []byte) (int, bool) {
		sum, err := h.Hash(key)
		return placement.Partition(sum, n), err == nil
	}
}

// compareSnapshots compares, in a deep check, every snapshot with the deltas
// that lead to it, and otherwise those that are damaged: what can still be read
// of them tells whether the deltas are to be trusted.
func (x *examination) compareSnapshots(ctx context.Context, p *partFacts) error {
	for _, v := range p.snapshots {
		f := p.file(hdfs.SnapshotName(v))
		if f.check == nil || x.level != DeepCheck && f.check.Err == nil {
			continue
		}
		base, ok := p.otherBase(v)
		if !ok {
			continue
		}
		c, err := p.part.CompareSnapshot(ctx, v, base)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil { // otherwise the deltas are damaged, which is said of them
			f.against = c
		}
	}
	return nil
}

// otherBase returns the version from which deltas lead to that of a snapshot:
// of the next older snapshot, or 0.
func (p *partFacts) otherBase(v int64) (int64, bool) {
	for s := v; s > 0; {
		s = atMost(p.snapshots, s-1)
		if at, _ := p.breaks(Library, s); at <= v {
			return 0, false
		}
		if bad, hard := p.snapshotFault(Library, s); bad == nil || !hard {
			return s, true
		}
	}
	return 0, false
}

func versionOf(v int64) provider.Version { return provider.Version{Number: v} }

var noLoadOptions provider.LoadOptions

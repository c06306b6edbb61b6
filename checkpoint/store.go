package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/sparkstate/sparkstate/statestore"
	"github.com/sparkstate/sparkstate/statestore/codec"
	"github.com/sparkstate/sparkstate/statestore/hdfs"
	"github.com/sparkstate/sparkstate/statestore/provider"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

// Store is one store of an operator, read by batch.
type Store struct {
	op    *Operator
	name  string
	types schemas
	notes []string
	state func() (*statestore.Store, error)
}

func (o *Operator) newStore(name string) *Store {
	s := &Store{op: o, name: name, types: o.readSchema(name)}
	if s.types.err != nil {
		o.cp.warn(s.types.err)
	}
	for _, g := range o.cp.given {
		if g.operator == o.id && g.store == name {
			if g.key != nil {
				s.types.key, s.types.keyFrom, s.types.err = g.key, Given, nil
			}
			if g.value != nil {
				s.types.value, s.types.valueFrom, s.types.err = g.value, Given, nil
			}
		}
	}
	s.state = sync.OnceValues(s.newState)
	return s
}

// adapt lets the operator's kind correct or complete what is recorded.
func (s *Store) adapt() {
	if k := s.op.kind; k != nil && k.adapt != nil {
		k.adapt(s)
	}
}

// inferKey sets the key's type where none is known.
func (s *Store) inferKey(t *sqltype.Type) {
	if s.types.key == nil {
		s.types.key, s.types.keyFrom = t, Inferred
	}
}

// inferValue sets the value's type where none is known.
func (s *Store) inferValue(t *sqltype.Type) {
	if s.types.value == nil {
		s.types.value, s.types.valueFrom = t, Inferred
	}
}

// correctValue replaces the value's type where it is recorded wrongly, and
// says so. What the caller gave stays.
func (s *Store) correctValue(t *sqltype.Type, why string) {
	if s.types.valueFrom == Recorded {
		s.types.value, s.types.valueFrom = t, Inferred
		s.note(why)
	}
}

func (s *Store) note(text string) { s.notes = append(s.notes, text) }

// Name returns the store's name.
func (s *Store) Name() string { return s.name }

// Operator returns the operator that the store belongs to.
func (s *Store) Operator() *Operator { return s.op }

// Key returns the struct type of the keys, nil where it is not known, and
// where it is from.
func (s *Store) Key() (*sqltype.Type, Source) { return s.types.key, s.types.keyFrom }

// Value returns the struct type of the values, nil where it is not known, and
// where it is from.
func (s *Store) Value() (*sqltype.Type, Source) { return s.types.value, s.types.valueFrom }

// Err returns what is wrong with the store's schema file, nil if nothing is.
func (s *Store) Err() error { return s.types.err }

// Notes returns what was corrected or assumed of the store, a sentence each.
func (s *Store) Notes() []string { return slices.Clone(s.notes) }

// PrefixColumns returns the number of leading key columns that the operator
// scans by, and where it is from.
func (s *Store) PrefixColumns() (int, Source) {
	if m := s.op.meta; m != nil {
		for _, st := range m.Stores {
			if st.Name == s.name {
				return st.PrefixColumns, Recorded
			}
		}
	}
	k := s.op.kind
	switch {
	case k == nil:
		return 0, Unknown
	case k.prefixColumns == nil:
		return 0, Inferred
	case s.types.key == nil:
		return 0, Unknown
	}
	return k.prefixColumns(s.types.key), Inferred
}

// Present returns the partitions that have a directory, in ascending order.
func (s *Store) Present() []int { return slices.Sorted(maps.Keys(s.op.dirs)) }

// Absent returns the partitions that have no directory. A query that ran has
// one for each, and Spark refuses to load a state without it, so [Checkpoint.Check]
// calls them lost. A copy of a part of the state may be wanted all the same:
// what is read of the whole store leaves them out, and who shows it has to say
// so. (A partition that has a directory, but not the files or the store that it
// should have, is an error to read.)
func (s *Store) Absent() []int {
	var out []int
	for p := range s.op.partitions {
		if _, ok := s.op.dirs[p]; !ok {
			out = append(out, p)
		}
	}
	return out
}

// dirs returns the directory of the store in each partition that exists.
func (s *Store) dirs() map[int]string {
	if s.name == defaultStore {
		return s.op.dirs
	}
	out := make(map[int]string, len(s.op.dirs))
	for p, d := range s.op.dirs {
		out[p] = path.Join(d, s.name)
	}
	return out
}

// openPartition opens a partition with the provider that wrote it. It may be
// one of a running query.
func (s *Store) openPartition(dir string) (provider.Partition, error) {
	return provider.Relisting(func() (provider.Partition, error) { return s.listPartition(dir) })
}

// listPartition opens a partition as it is at this moment.
func (s *Store) listPartition(dir string) (*hdfs.Partition, error) {
	c := s.op.cp
	cfg := hdfs.Config{
		Codec:          codec.Unknown,
		RowChecksum:    strings.EqualFold(c.conf[ConfRowChecksum], "true"),
		IgnoreSidecars: c.ignoreSidecars,
		MaxRowBytes:    c.limits.RowBytes,
		MaxBlockBytes:  c.limits.BlockBytes,
		MaxWindowBytes: c.limits.WindowBytes,
		MaxEntries:     c.limits.DirectoryEntries,
		Warn:           c.warn,
	}
	if c.conf != nil {
		var err error
		if cfg.Codec, err = codec.Parse(c.conf[ConfCodec]); err != nil {
			c.warn(fmt.Errorf("offsets/%d: %s: %w", c.confBatch, ConfCodec, err))
			cfg.Codec = codec.Unknown
		}
	}
	p, err := hdfs.Open(c.fsys, dir, cfg)
	if err != nil {
		// A partition has all stores of its operator or none.
		if errors.Is(err, fs.ErrNotExist) && s.name != defaultStore {
			return nil, &statestore.FileError{Path: dir, Offset: -1, Kind: statestore.ErrMissing, Condition: missingDelta,
				Detail: "the partition is there, but it has no directory of this store"}
		}
		return nil, err
	}
	return p, nil
}

// newState makes the store below, which knows versions.
func (s *Store) newState() (*statestore.Store, error) {
	c := s.op.cp
	if s.op.err != nil {
		return nil, s.op.err
	}
	if s.types.err != nil {
		return nil, s.types.err
	}
	if p := c.Provider(); p.Format != HDFS {
		return nil, &statestore.FileError{Path: s.op.dir, Offset: -1, Kind: statestore.ErrUnsupported,
			Detail: fmt.Sprintf("the state is written by %s; only HDFSBackedStateStoreProvider's is read yet", p.Name())}
	}
	last, err := c.last()
	if err != nil {
		return nil, err
	}
	return s.stateAt(last.batch + 1)
}

func (s *Store) stateAt(latest int64) (*statestore.Store, error) {
	return statestore.New(statestore.Config{
		Name:       s.name,
		Partitions: s.op.partitions,
		Dirs:       s.dirs(),
		Open:       s.openPartition,
		FS:         s.op.cp.fsys,
		Latest:     latest,
		Key:        s.types.key,
		Value:      s.types.value,
		KeyShape:   s.keyShape(),
	})
}

func (s *Store) keyShape() statestore.KeyShape {
	k := s.op.kind
	switch {
	case k == nil && !s.op.cp.before32():
		// In every kind a row of the default store has a key of its own, except
		// for session windows, which cannot be told without a schema.
		return statestore.UnknownKey
	case k == nil || k.keyShape == nil:
		return statestore.WholeKey
	}
	return k.keyShape(s.name)
}

// sample says whether the first rows of the store, there being any, all pass
// the test. It serves to recognise operators that left no metadata.
func (s *Store) sample(test func(statestore.Entry) bool) bool {
	const partitions, rows = 16, 16
	n := 0
	dirs := s.dirs()
	for i, p := range slices.Sorted(maps.Keys(dirs)) {
		if i == partitions || n >= rows {
			break
		}
		if f, ok := s.op.cp.formatOf(dirs[p]); !ok || f != HDFS {
			continue
		}
		part, err := s.openPartition(dirs[p])
		if err != nil {
			s.op.cp.warn(err)
			continue
		}
		vs := part.Versions()
		if len(vs) == 0 {
			continue
		}
		for e, err := range provider.Rows(part.Batches(context.Background(), provider.Version{Number: vs[len(vs)-1]}, provider.LoadOptions{})) {
			if err != nil {
				s.op.cp.warn(err)
				break
			}
			if !test(e) {
				return false
			}
			if n++; n >= rows {
				break
			}
		}
	}
	return n > 0
}

// loadable returns the versions that every partition of every store can load.
func (c *Checkpoint) loadable() ([]int64, error) {
	var common []int64
	first := true
	for _, o := range c.operators {
		for _, s := range o.stores {
			vs, err := s.loadableVersions(context.Background())
			if err != nil {
				return nil, err
			}
			if first {
				common, first = vs, false
				continue
			}
			common = slices.DeleteFunc(common, func(v int64) bool { _, ok := slices.BinarySearch(vs, v); return !ok })
		}
	}
	return common, nil
}

func (s *Store) loadableVersions(ctx context.Context) ([]int64, error) {
	st, err := s.stateAt(0)
	if err != nil {
		return nil, err
	}
	return st.Versions(ctx)
}

// Readable returns the batches that every partition of the store can load,
// judged by file names alone, and not beyond the last committed one; in
// ascending order.
func (s *Store) Readable(ctx context.Context) ([]int64, error) {
	st, err := s.state()
	if err != nil {
		return nil, err
	}
	vs, err := st.Versions(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]int64, 0, len(vs))
	for _, v := range vs {
		if v <= st.Latest() {
			out = append(out, v-1)
		}
	}
	return out, nil
}

package statestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/sparkstate/sparkstate/statestore/provider"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

// KeyShape says what of a row's key is the grouping key, so that distinct keys
// can be counted.
type KeyShape uint8

const (
	// WholeKey: every row has a key of its own.
	WholeKey KeyShape = iota
	// LastColumnApart: the last key column (a session's start, a join's index)
	// only numbers the rows of one key.
	LastColumnApart
	// UnknownKey: not known; distinct keys cannot be counted.
	UnknownKey
)

// Config is what a store's checkpoint says of it.
type Config struct {
	// Name is the store's name; "default" for all operators but joins.
	Name string
	// Partitions is the number of partitions, those without a directory
	// included.
	Partitions int
	// Dirs holds the directory of each partition that has one.
	Dirs map[int]string
	// Open opens a partition directory with the store's provider.
	Open func(dir string) (provider.Partition, error)
	// FS is what Open opens files of. Where it is given, files are read ahead
	// (see [Reads]).
	FS fs.FS
	// Latest is the version that is read when no other is asked for.
	Latest int64
	// Key and Value are the struct types of the rows; nil where they are not
	// known, and then there are no columns.
	Key, Value *sqltype.Type
	// KeyShape says how to count distinct keys.
	KeyShape KeyShape
}

// Store reads one store. Its methods may be used from several goroutines.
type Store struct {
	cfg  Config
	mu   sync.Mutex
	open map[int]provider.Partition
}

// New returns a store over the directories that cfg names. It reads nothing
// yet.
func New(cfg Config) (*Store, error) {
	switch {
	case cfg.Open == nil:
		return nil, errors.New("statestore: no provider given")
	case cfg.Partitions < 0:
		return nil, fmt.Errorf("statestore: %d partitions", cfg.Partitions)
	}
	for p := range cfg.Dirs {
		if p < 0 || p >= cfg.Partitions {
			return nil, fmt.Errorf("statestore: partition %d of %d", p, cfg.Partitions)
		}
	}
	return &Store{cfg: cfg, open: make(map[int]provider.Partition)}, nil
}

// Name returns the store's name.
func (s *Store) Name() string { return s.cfg.Name }

// Partitions returns the number of partitions, those without a directory
// included.
func (s *Store) Partitions() int { return s.cfg.Partitions }

// Present returns the partitions that have a directory, in ascending order.
func (s *Store) Present() []int { return slices.Sorted(maps.Keys(s.cfg.Dirs)) }

// Latest returns the version that is read when no other is asked for.
func (s *Store) Latest() int64 { return s.cfg.Latest }

// Key returns the type of the key rows, nil where it is not known.
func (s *Store) Key() *sqltype.Type { return s.cfg.Key }

// Value returns the type of the value rows, nil where it is not known.
func (s *Store) Value() *sqltype.Type { return s.cfg.Value }

// Partition opens a partition, or returns it as it was opened before; nil for
// one that has no directory.
func (s *Store) Partition(id int) (provider.Partition, error) {
	if id < 0 || id >= s.cfg.Partitions {
		return nil, s.noPartition(id)
	}
	dir, ok := s.cfg.Dirs[id]
	if !ok {
		return nil, nil
	}
	s.mu.Lock()
	p := s.open[id]
	s.mu.Unlock()
	if p != nil {
		return p, nil
	}
	// Listing may be slow, so the lock is not held meanwhile. Two callers may
	// list the same directory at once; the first to finish wins.
	p, err := s.cfg.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // a partition may lack one of an operator's stores
	}
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if q := s.open[id]; q != nil {
		return q, nil
	}
	s.open[id] = p
	return p, nil
}

// Versions returns the versions that every partition with a directory can
// load, judged by file names alone, in ascending order.
func (s *Store) Versions(ctx context.Context, opts ...Option) ([]int64, error) {
	r := s.read(opts)
	if err := r.check(s); err != nil {
		return nil, err
	}
	ids := r.present(s)
	each := make([][]int64, len(ids))
	err := forEach(ctx, r.reads, len(ids), func(ctx context.Context, i int) error {
		p, err := s.Partition(ids[i])
		if err != nil || p == nil {
			return err
		}
		each[i] = p.Versions()
		if each[i] == nil {
			each[i] = []int64{} // there, but nothing in it can be loaded
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return common(each), nil
}

// common returns the numbers that are in every list; nil lists are left out.
func common(lists [][]int64) []int64 {
	count := make(map[int64]int)
	n := 0
	for _, l := range lists {
		if l == nil {
			continue
		}
		n++
		for _, v := range l {
			count[v]++
		}
	}
	var all []int64
	for v, c := range count {
		if c == n {
			all = append(all, v)
		}
	}
	slices.Sort(all)
	return all
}

// Entries yields the rows of one partition as bytes. A partition without a
// directory has none. The order is the same at every call.
func (s *Store) Entries(ctx context.Context, partition int, opts ...Option) iter.Seq2[Entry, error] {
	return provider.Rows(s.Batches(ctx, partition, opts...))
}

// Batches yields the rows that Entries yields, a few dozen at a time, which is
// several times faster where little is done with each of them. A batch is never
// empty, and valid until the next step.
func (s *Store) Batches(ctx context.Context, partition int, opts ...Option) iter.Seq2[[]Entry, error] {
	r := s.read(opts)
	p, err := s.Partition(partition)
	switch {
	case err != nil:
		return func(yield func([]Entry, error) bool) { yield(nil, err) }
	case p == nil:
		return func(func([]Entry, error) bool) {}
	}
	return p.Batches(ctx, r.version, r.load)
}

// ErrNoPartition is returned where a partition is asked for that the store
// does not have.
var ErrNoPartition = errors.New("no such partition")

func (s *Store) noPartition(id int) error {
	return fmt.Errorf("store %s: %w: %d of %d, counted from 0", s.cfg.Name, ErrNoPartition, id, s.cfg.Partitions)
}

// noSchema is the error of whatever needs columns where none are known.
func (s *Store) noSchema() error {
	return fmt.Errorf("store %s: %w: no schema is recorded in this checkpoint, so rows have no columns (Spark records one since 3.1)", s.cfg.Name, ErrNoSchema)
}

// ErrNoSchema is returned where columns are asked for and the checkpoint
// records no schema.
var ErrNoSchema = errors.New("schema unknown")

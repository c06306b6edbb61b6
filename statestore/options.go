package statestore

import (
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/apache/arrow/go/v17/arrow/memory"

	"github.com/sparkstate/sparkstate/statestore/provider"
)

// Option says what of a store is wanted. Without any, all partitions are read
// at the latest version.
type Option func(*read)

// read is a request with all its options applied.
type read struct {
	version    provider.Version
	load       provider.LoadOptions
	partitions []int // nil for all
	workers    int
	reads      int
	rows       int
	bytes      int
	stats      *Stats
	mem        memory.Allocator
	sizes      bool
	anyOrder   bool
}

// AtVersion reads version v instead of the latest.
func AtVersion(v int64) Option { return func(r *read) { r.version = provider.Version{Number: v} } }

// FromSnapshot forces the snapshot of version v as the start of the chain, as
// Spark's option snapshotStartBatchId does with v-1. Without that very snapshot
// the read fails.
func FromSnapshot(v int64) Option { return func(r *read) { r.load.BaseVersion = v } }

// Partitions restricts the read to some partitions.
func Partitions(ids ...int) Option {
	return func(r *read) { r.partitions = append(r.partitions, ids...) }
}

// Workers sets how many partitions are decoded at once; 0 or less means one
// for each processor. The output order does not depend on it.
func Workers(n int) Option { return func(r *read) { r.workers = n } }

// Reads sets how many files are opened and read at once ahead of the workers,
// and how many directories are listed; 0 or less leaves the default of 64.
// Reading waits for the medium and not for a processor, so it is more than there
// are. It takes up to 256 KiB of memory for each, and 16 MiB.
func Reads(n int) Option {
	return func(r *read) {
		if r.reads = n; n <= 0 {
			r.reads = defaultReads
		}
	}
}

// FileSizes has [Store.Counts] ask for the sizes of files that are not read. It
// costs a system call for each.
func FileSizes() Option { return func(r *read) { r.sizes = true } }

// Memory bounds the memory that the rows which the deltas touch may take while
// they are replayed, in bytes, over all reads that are given this very option:
// a snapshot is streamed past them, a state without one is held as a whole, one
// partition for each of the [Workers]. A read that would need more fails with
// ErrMemory. Beside this budget a worker holds a block of a file, and with
// [Store.Records] 16 MiB of records that wait for their turn, or the two of each
// partition that always may where [BatchSize] makes these more.
func Memory(bytes int64) Option {
	b := provider.NewBudget(bytes)
	return func(r *read) { r.load.Budget = b }
}

// AnyOrder has [Store.Records] yield the records of several partitions as they
// come, instead of those of one after those of the other. Then no record waits
// for its turn, which takes memory, and no worker for room to put one, which
// takes time where partitions are large. A record still is of one partition,
// whose records keep their order.
func AnyOrder() Option { return func(r *read) { r.anyOrder = true } }

// BatchSize bounds an Arrow record to so many rows and to about so many bytes
// of key and value (a longer row still makes a record of its own). 0 leaves
// the default: 8,192 rows, 4 MiB.
func BatchSize(rows, bytes int) Option {
	return func(r *read) {
		if rows > 0 {
			r.rows = rows
		}
		if bytes > 0 {
			r.bytes = bytes
		}
	}
}

// Allocator has the buffers of records come from mem, memory.DefaultAllocator
// without it.
func Allocator(mem memory.Allocator) Option { return func(r *read) { r.mem = mem } }

// RecycleBuffers has the buffers of a record that was released used again for a
// later record of the same read, which saves most of what the garbage collector
// costs. Whatever is taken from a record without copying, as the strings of an
// array.String are, is then not valid beyond the release.
func RecycleBuffers() Option { return func(r *read) { r.mem = new(recycler) } }

// Stats counts what was met in decoding and is no error. It may be shared by
// several reads, also at the same time.
type Stats struct {
	// InvalidUTF8 is the number of strings that are not UTF-8. In Arrow each
	// malformed sequence of them is U+FFFD; Entries has them as they are.
	InvalidUTF8 atomic.Int64
}

// WithStats has the read add to s.
func WithStats(s *Stats) Option { return func(r *read) { r.stats = s } }

const (
	defaultRows  = 8192
	defaultBytes = 4 << 20
	defaultReads = 64
)

func (s *Store) read(opts []Option) *read {
	r := &read{version: provider.Version{Number: s.cfg.Latest}, rows: defaultRows, bytes: defaultBytes, reads: defaultReads}
	for _, o := range opts {
		o(r)
	}
	if r.mem == nil {
		r.mem = memory.DefaultAllocator
	}
	if r.workers <= 0 {
		r.workers = runtime.GOMAXPROCS(0)
	}
	return r
}

// check refuses partitions that the store does not have.
func (r *read) check(s *Store) error {
	for _, id := range r.partitions {
		if id < 0 || id >= s.cfg.Partitions {
			return s.noPartition(id)
		}
	}
	return nil
}

// wanted returns the partitions to read in ascending order, each once.
func (r *read) wanted(s *Store) []int {
	if r.partitions == nil {
		all := make([]int, s.cfg.Partitions)
		for i := range all {
			all[i] = i
		}
		return all
	}
	ids := slices.Clone(r.partitions)
	slices.Sort(ids)
	return slices.Compact(ids)
}

// present returns those of the wanted partitions that have a directory.
func (r *read) present(s *Store) []int {
	return slices.DeleteFunc(r.wanted(s), func(id int) bool { _, ok := s.cfg.Dirs[id]; return !ok })
}

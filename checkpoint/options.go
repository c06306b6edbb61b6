package checkpoint

import (
	"github.com/apache/arrow/go/v17/arrow/memory"

	"github.com/sparkstate/sparkstate/statestore"
)

// Option says what of a store is wanted. Without any, all partitions are read
// as of the last committed batch.
type Option func(*query)

type query struct {
	batch    int64
	hasBatch bool
	below    []statestore.Option
}

// AtBatch reads the state that batch b left behind.
func AtBatch(b int64) Option { return func(q *query) { q.batch, q.hasBatch = b, true } }

// FromSnapshot forces the snapshot that batch b left behind as the start, as
// Spark's option snapshotStartBatchId does. Without that very snapshot the read
// fails.
func FromSnapshot(b int64) Option { return pass(statestore.FromSnapshot(b + 1)) }

// Partitions restricts the read to some partitions.
func Partitions(ids ...int) Option { return pass(statestore.Partitions(ids...)) }

// Workers sets how many partitions are decoded at once; 0 or less means one
// for each processor. The output order does not depend on it.
func Workers(n int) Option { return pass(statestore.Workers(n)) }

// Reads sets how many files are read ahead of the workers at once; 0 or less
// leaves the default of 64. See [statestore.Reads].
func Reads(n int) Option { return pass(statestore.Reads(n)) }

// FileSizes has [Store.Counts] ask for the sizes of files that are not read.
func FileSizes() Option { return pass(statestore.FileSizes()) }

// AnyOrder has [Store.Records] yield the records of several partitions as they
// come; see [statestore.AnyOrder].
func AnyOrder() Option { return pass(statestore.AnyOrder()) }

// BatchSize bounds an Arrow record to so many rows and about so many bytes; 0
// leaves the default.
func BatchSize(rows, bytes int) Option { return pass(statestore.BatchSize(rows, bytes)) }

// Memory bounds the memory that the rows which the deltas touch may take, in
// bytes; see [statestore.Memory].
func Memory(bytes int64) Option { return pass(statestore.Memory(bytes)) }

// Allocator has the buffers of records come from mem, memory.DefaultAllocator
// without it.
func Allocator(mem memory.Allocator) Option { return pass(statestore.Allocator(mem)) }

// RecycleBuffers has the buffers of released records used again; what is taken
// from a record without copying is then not valid beyond its release. See
// [statestore.RecycleBuffers].
func RecycleBuffers() Option { return pass(statestore.RecycleBuffers()) }

// WithStats has the read count what it meets.
func WithStats(s *statestore.Stats) Option { return pass(statestore.WithStats(s)) }

func pass(o statestore.Option) Option { return func(q *query) { q.below = append(q.below, o) } }

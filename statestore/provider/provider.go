// Package provider is the seam between the files of one state store partition
// and everything that is built on them.
//
// A state store provider, in Spark's sense, decides what a partition looks
// like on disk: HDFSBackedStateStoreProvider writes delta and snapshot files,
// RocksDBStateStoreProvider writes zips, SST files and changelogs. Each such
// format implements [Partition] in a package of its own; what is above this
// seam (rows, columns, counts, checks) is written once and for all of them.
//
// The package imports nothing else of this module, so that every other
// package may use its errors.
package provider

import (
	"context"
	"iter"
	"strconv"
)

// Entry is one row of a state store as it lies on disk: the bytes of the key
// row and of the value row, without any framing, checksum or padding that the
// file format adds.
//
// Both slices are valid until the iteration that yielded them takes its next
// step; whoever keeps them copies them.
type Entry struct {
	Key   []byte
	Value []byte
}

// ChangeType says what a record of a version's change set did. The names are
// those of the change_type column in Spark's own change feed.
type ChangeType uint8

const (
	// Update is a put: the row was inserted or replaced. The files do not say
	// which of the two.
	Update ChangeType = iota
	// Delete is a removal; the value is empty.
	Delete
	// Append is a merge record of a multi-valued column family (RocksDB only).
	Append
)

// String returns Spark's name for the change.
func (t ChangeType) String() string {
	switch t {
	case Update:
		return "update"
	case Delete:
		return "delete"
	case Append:
		return "append"
	}
	return "ChangeType(" + strconv.Itoa(int(t)) + ")"
}

// Change is one record of a version's change set. The slices live as long as
// those of an [Entry].
type Change struct {
	Type  ChangeType
	Key   []byte
	Value []byte
}

// Version names one version of one partition. Versions count from 1; version
// 0 is the empty state and has no file. Batch b of a query reads version b and
// writes version b+1.
type Version struct {
	Number int64
	// ID is the unique id that checkpoint format 2 adds to file names (RocksDB
	// only); empty otherwise.
	ID string
}

// FileKind tells the files of a partition apart.
type FileKind uint8

const (
	// DeltaFile turns version N-1 into version N.
	DeltaFile FileKind = iota
	// SnapshotFile holds all of version N.
	SnapshotFile
	// TempFile was never renamed into place: a killed task's, or one being
	// written. It is never read as state.
	TempFile
	// SidecarFile holds checksums of another file.
	SidecarFile
	// OtherFile is anything else that lies in the directory.
	OtherFile
)

// String returns a word for people.
func (k FileKind) String() string {
	switch k {
	case DeltaFile:
		return "delta"
	case SnapshotFile:
		return "snapshot"
	case TempFile:
		return "temporary"
	case SidecarFile:
		return "sidecar"
	}
	return "other"
}

// File is one file of a partition directory, as it was listed.
type File struct {
	// Name is the file's name within the partition directory.
	Name string
	Kind FileKind
	// Version is the state version that the name states; 0 for files that
	// belong to none.
	Version int64
	// Size is the stored (compressed) size in bytes; -1 where it cannot be told
	// (a link that leads nowhere, a FIFO), or has not been
	// asked for, since on slow mounts asking costs as much as reading.
	Size int64
}

// Plan is what has to be read for one version: a base and the changes after
// it.
type Plan struct {
	Version int64
	// Base is the snapshot to start from; its Name is empty where the chain
	// starts from the empty state.
	Base File
	// Deltas are the change files after the base, oldest first, without a gap.
	Deltas []File
}

// Files returns the files that the plan reads, the base first.
func (p Plan) Files() []File {
	if p.Base.Name == "" {
		return p.Deltas
	}
	return append([]File{p.Base}, p.Deltas...)
}

// LoadOptions are what a caller may ask of a load beyond the version.
type LoadOptions struct {
	// BaseVersion, when not 0, forces the snapshot of that version as the
	// start (Spark's option snapshotStartBatchId, plus one).
	BaseVersion int64
	// Budget bounds the memory that the load may take for the rows that the
	// change sets touch; nil does not.
	Budget *Budget
	// Ahead has the files that Prefetch was told of read ahead; nil reads none.
	Ahead *Lane
}

// Partition is one partition of one store: a directory. Its methods may be
// called at the same time from several goroutines.
type Partition interface {
	// Files returns the files as they were listed when the partition was
	// opened, by version and then by name, without their sizes.
	Files() []File

	// Stat returns the given files with their sizes. Files that have vanished
	// since the listing are left out.
	Stat(ctx context.Context, files []File) ([]File, error)

	// Plan says which files a load of the version reads, from names alone. It
	// fails with ErrMissing where the chain has a gap, with ErrCleanedUp where
	// retention has removed what is needed.
	Plan(v Version, o LoadOptions) (Plan, error)

	// Versions returns the versions that can be loaded, judged by names alone,
	// in ascending order.
	Versions() []int64

	// Batches yields every row of the version exactly once, in an order that is
	// the same at every call, a few dozen at a time: what is done with each row
	// is so little that a call for each would cost as much. A batch is never
	// empty; it and its rows are valid until the next step, and it may be
	// reordered. The sequence stops after the first error, and a version of
	// which an error was yielded is not complete. [Rows] takes batches apart.
	Batches(ctx context.Context, v Version, o LoadOptions) iter.Seq2[[]Entry, error]

	// Prefetch has o.Ahead begin to read the files that Batches will read, in
	// the order in which it will. It does not wait, and leaves errors to Batches.
	Prefetch(v Version, o LoadOptions)

	// Changes yields the records of the change set that made the version out
	// of the one before, in the order in which they were written, in batches
	// that live as long as those of Batches. A key may occur more than once.
	Changes(ctx context.Context, v Version) iter.Seq2[[]Change, error]
}

// Rows yields the items of batches one by one.
func Rows[T any](batches iter.Seq2[[]T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for batch, err := range batches {
			if err != nil {
				var zero T
				yield(zero, err)
				return
			}
			for i := range batch {
				if !yield(batch[i], nil) {
					return
				}
			}
		}
	}
}

// Gather makes batches of rows that come one by one: the opposite of [Rows].
func Gather(rows iter.Seq2[Entry, error]) iter.Seq2[[]Entry, error] {
	const batchLen = 64
	return func(yield func([]Entry, error) bool) {
		var (
			arena []byte
			ends  []int // two a row
			batch []Entry
		)
		send := func() bool {
			batch = batch[:0]
			start := 0
			for i := 0; i < len(ends); i += 2 {
				k, v := ends[i], ends[i+1]
				batch = append(batch, Entry{Key: arena[start:k:k], Value: arena[k:v:v]})
				start = v
			}
			arena, ends = arena[:0], ends[:0]
			return len(batch) == 0 || yield(batch, nil)
		}
		for e, err := range rows {
			if err != nil {
				if send() {
					yield(nil, err)
				}
				return
			}
			arena = append(arena, e.Key...)
			ends = append(ends, len(arena))
			arena = append(arena, e.Value...)
			ends = append(ends, len(arena))
			if len(ends) == 2*batchLen && !send() {
				return
			}
		}
		send()
	}
}

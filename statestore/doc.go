// Package statestore reads one state store of a Spark Structured Streaming
// query: versions, rows, counts and changes, from the files of its partitions.
//
//	state/<operatorId>/<partitionId>/[<storeName>/]     a partition of a store
//
// A [Store] is opened over a file system with what its checkpoint says of it:
// how many partitions it has, the types of its key and value rows, and which
// provider wrote it. Package checkpoint finds all that out and opens stores by
// operator and name; most callers start there. This package knows versions
// only; batches, logs and operators are checkpoint's.
//
// Rows come in three shapes, each built on the one before:
//
//   - [Store.Entries]: the bytes of key and value as Spark stored them. They
//     need no schema.
//   - [Store.Counts]: numbers for every partition. They need none either.
//   - [Store.Records]: Arrow records {key: struct, value: struct,
//     partition_id: int32}. They need the schemas, which Spark records since
//     3.1.
//
// Nothing here writes. A damaged file is an error that names file and offset
// (see [FileError]), never a short result.
package statestore

import "github.com/sparkstate/sparkstate/statestore/provider"

// The seam's types, for callers that need no other part of it.
type (
	Entry      = provider.Entry
	Change     = provider.Change
	ChangeType = provider.ChangeType
	FileError  = provider.FileError
)

// The kinds of error, for errors.Is; see package provider for what each means.
var (
	ErrDamaged     = provider.ErrDamaged
	ErrTruncated   = provider.ErrTruncated
	ErrChecksum    = provider.ErrChecksum
	ErrCorrupt     = provider.ErrCorrupt
	ErrCodec       = provider.ErrCodec
	ErrTooLarge    = provider.ErrTooLarge
	ErrRow         = provider.ErrRow
	ErrMissing     = provider.ErrMissing
	ErrCleanedUp   = provider.ErrCleanedUp
	ErrMemory      = provider.ErrMemory
	ErrUnsupported = provider.ErrUnsupported
)

// The kinds of change.
const (
	Update = provider.Update
	Delete = provider.Delete
	Append = provider.Append
)

// WithPath fills in the path of a [*FileError] that has none yet.
func WithPath(err error, path string) error { return provider.WithPath(err, path) }

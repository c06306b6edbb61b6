// Package hdfs reads the files of Spark's HDFSBackedStateStoreProvider, the
// default state store provider of Structured Streaming since Spark 2.0.
//
// A partition is a directory of delta and snapshot files:
//
//	state/0/3/        operator 0, partition 3
//	  1.delta         turns the empty state into version 1
//	  2.delta         turns version 1 into version 2
//	  2.snapshot      all of version 2
//	  3.delta         …
//	  .3.delta.crc    Hadoop's checksums of 3.delta (local file systems only)
//	  3.delta.crc     Spark's checksum of 3.delta (4.1)
//
// Both kinds of file hold the same stream of records inside one of the
// compressions of package codec. There is no header, no version and no count;
// integers are big-endian int32:
//
//	+--------+-----------+----------+---------------+
//	| keyLen | key bytes | valueLen | value bytes   |  put
//	+--------+-----------+----------+---------------+
//	| keyLen | key bytes |    -1    |                  remove, in deltas only
//	+--------+-----------+----------+
//	|   -1   |                                          end mark
//	+--------+
//
// The end mark is the only proof that a file is whole. Keys and values are
// UnsafeRow bytes (package unsaferow), the length of which is a multiple of 8.
// Spark before 2.3 could leave 4 stray bytes behind a value; they are cut off.
// Spark 4.2 can put a CRC-32C in front of each row (little-endian, unlike the
// lengths); it is verified and cut off.
//
// Version V is the newest snapshot S ≤ V and the deltas S+1 … V on top. It is
// read the other way round: the deltas newest first into a table of the keys
// that they touch, then the snapshot is streamed past the table, so that
// memory follows the changes and not the state.
package hdfs

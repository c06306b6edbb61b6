// Package statetest writes checkpoints of stateful queries without Spark, damages
// them, and has tests that look at their state. It is for those who write
// programs on this library, and for those who test the state of a pipeline.
//
//	cp := statetest.Open(t, statetest.Query{
//		Spark: "4.1", Partitions: 4, // codec, conf, row checksums, .crc files, …
//		Operators: []statetest.Operator{statetest.Aggregation("word STRING", "count BIGINT NOT NULL")},
//	}, func(w *statetest.Writer) {
//		w.Put(0, "", []any{"a"}, []any{1}) // operator, store, key, value
//		w.Commit()                         // batch 0
//	})
//	statetest.RequireRows(t, cp, 0, "", []statetest.Row{{Key: []any{"a"}, Value: []any{1}}})
//
//	describe   Query ── Operator ── Store    Aggregation, Dedupe, DedupeWithinWatermark,
//	                                         SessionWindow, FlatMapGroupsWithState, Limit, Join, …
//	write      Writer  Put, PutRecord,       Go values, Arrow records, bytes
//	                   PutRow, PutJoin
//	                   Commit, Snapshot      a batch, a snapshot
//	                   SetLog, ReadFiles     watermarks, times, offsets
//	to         Dir, Map                      a directory, an fstest.MapFS
//	damage     Damage  Fault                 Truncate, DropDelta, FlipByte, StaleSnapshot, …
//	look       RequireRows, RequireJoin, RequireSame, RequireWhole; Rows
//
// What looks at a state asks nothing about who wrote it: it takes a checkpoint
// that a pipeline's test made with a real Spark, too.
//
//	cp, err := checkpoint.Open("/tmp/test-checkpoint")
//
// The files are those of HDFSBackedStateStoreProvider as the version of Spark
// that is asked for writes them: rows, codecs, logs and what they pin, schema
// files, operator metadata, and the sidecars. Keys go to the partition that
// Spark's hash names. Operators that this provider cannot hold have no function:
// transformWithState, and joins of state formats 3 and 4.
//
// Spark takes them for its own. Its sources statestore and state-metadata (4.1.4,
// 4.3.0) give the rows back, and its queries (3.5.9, 4.1.4, 4.3.0) go on from
// them as from a checkpoint that they wrote themselves; testdata/README.md has
// what was tried, and the program that tries it.
//
// Only tests and generators import this package; it is the one part of the
// library that writes, and the one that looks up, to package checkpoint.
package statetest

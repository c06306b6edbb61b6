// Package statetest writes checkpoints of stateful queries, so that programs
// and pipelines can be tested on them without Spark.
//
//	m := fstest.MapFS{}
//	w := statetest.NewWriter(statetest.Query{
//		Partitions: 4,
//		Operators: []statetest.Operator{{Name: "stateStoreSave", Stores: []statetest.Store{{
//			Key: key, Value: value,
//		}}}},
//	}, statetest.Map(m, "checkpoint"))
//	w.Put(0, "default", []any{"a"}, []any{1})
//	err := w.Commit()
//
// Files are those of HDFSBackedStateStoreProvider, byte for byte as Spark
// writes them: rows, codecs, logs, schema files, operator metadata, and the
// sidecars that a local file system gets. Keys go to the partition that Spark's
// hash names.
//
// Damage does to such a checkpoint, or to any other, what happens to files: there
// is a [Fault] for each kind of damage, named for what happened.
//
// Only tests and generators import this package; it is the one part of the
// library that writes.
package statetest

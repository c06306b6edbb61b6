// Package checkpoint reads the checkpoint directory of a Spark Structured
// Streaming query without Spark: which batches were planned and committed,
// which stateful operators and stores it has, and what is in them.
//
//	<root>/
//	  metadata                     the query's id
//	  offsets/<batch>              written before the batch runs: end offsets,
//	                               watermark, the confs that are pinned
//	  commits/<batch>              written after the batch
//	  state/<operator>/
//	    _metadata/metadata         name, stores, partitions (Spark 4.0)
//	    <partition>/               the store called "default"
//	      _metadata/schema         key and value schema, in partition 0 only
//	                               (Spark 3.1)
//	      <storeName>/             other stores (joins)
//
// What there is to ask:
//
//	open       Open, OpenFS             a directory, a zip file, any fs.FS
//	the logs   Batches, OffsetLog,      planned and committed batches, watermarks,
//	           History, Conf            source offsets, confs
//	what is    Operators ── Stores      names, schemas, partitions, columns with a role
//	the rows   Store: Records, Entries  Arrow records; bytes
//	           Counts, Get, Changes     numbers; one key; what each batch changed
//	           JoinSide.Records         one side of a stream-stream join
//	two        Compare                  what differs between two states
//	whole?     Check, Store.Salvage     findings, what restarts; what can still be read
//
// Batch b of a query reads version b of its state and writes version b+1. This
// package speaks of batches; package statestore, on which it builds, knows
// versions only.
//
// Copies are partial and old Sparks recorded less, so everything but the state
// files may be missing. What was not recorded is inferred, and every such fact
// carries where it came from: see [Source].
//
// Nothing is ever written. [Open] goes through an os.Root, so that no link
// leads out of the directory; [OpenFS] takes any file system.
package checkpoint

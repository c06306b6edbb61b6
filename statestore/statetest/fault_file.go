package statetest

import (
	"fmt"
	"path"
	"strconv"

	"github.com/sparkstate/sparkstate/statestore/hdfs"
	"github.com/sparkstate/sparkstate/statestore/sidecar"
)

// File addresses a file of a checkpoint.
type File struct{ name string }

// Delta is the file that turns version-1 of a partition into version, counted
// from 1: the batch's number plus one. The only store of most operators is
// called default, which "" stands for as well.
func Delta(operator int, store string, partition int, version int64) File {
	return File{path.Join(storeDir(operator, store, partition), hdfs.DeltaName(version))}
}

// Snapshot is the file that holds all of a version of a partition.
func Snapshot(operator int, store string, partition int, version int64) File {
	return File{path.Join(storeDir(operator, store, partition), hdfs.SnapshotName(version))}
}

// SchemaFile is the schema file of a store, which lies in partition 0.
func SchemaFile(operator int, store string) File {
	return File{path.Join(storeDir(operator, store, 0), "_metadata", "schema")}
}

// OperatorMetadata is what Spark 4.0 and later record of an operator.
func OperatorMetadata(operator int) File {
	return File{path.Join("state", strconv.Itoa(operator), "_metadata", "metadata")}
}

// OffsetLog is the file of offsets/ of a batch.
func OffsetLog(batch int64) File { return File{fmt.Sprintf("offsets/%d", batch)} }

// CommitLog is the file of commits/ of a batch.
func CommitLog(batch int64) File { return File{fmt.Sprintf("commits/%d", batch)} }

// QueryID is the file metadata, which holds the query's id.
func QueryID() File { return File{"metadata"} }

// Path is any other file, by its slash-separated path below the root of the
// checkpoint.
func Path(name string) File { return File{path.Clean(name)} }

// String returns the path below the root of the checkpoint.
func (f File) String() string { return f.name }

// Temp is the temporary file that Spark 2.4 and later write before they rename
// it to this one.
func (f File) Temp() File {
	d, base := path.Split(f.name)
	return File{d + "." + base + ".5f8f7c1e-0000-4000-8000-000000000000.TID9.tmp"}
}

// HadoopCRC is the hidden .crc file that a local file system gets beside the
// file.
func (f File) HadoopCRC() File { return File{hadoopPath(f.name)} }

// SparkCRC is the JSON .crc file that Spark 4.1 writes beside a state file.
func (f File) SparkCRC() File { return File{sidecar.SparkName(f.name)} }

// storeDir is the directory of a partition of a store. The default store has
// no directory of its own.
func storeDir(operator int, store string, partition int) string {
	d := path.Join("state", strconv.Itoa(operator), strconv.Itoa(partition))
	if store == "" || store == "default" {
		return d
	}
	return path.Join(d, store)
}

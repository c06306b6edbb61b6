package statetest

import (
	"fmt"
	"maps"
	"strconv"

	"github.com/sparkstate/sparkstate/statestore/codec"
	"github.com/sparkstate/sparkstate/statestore/placement"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

// Query describes the query whose checkpoint is written. The zero value of
// every field is a choice that Spark would make.
type Query struct {
	// ID is the query's id; "" stands for a fixed one.
	ID string
	// Spark is the version whose layout is imitated, as 3.5 or 4.1; "" stands
	// for 3.5. Operator metadata is written from 4.0 on, JSON sidecars by 4.1.
	Spark string
	// Partitions is the number of state partitions; 0 stands for 200.
	Partitions int
	// Codec is the compression of the state files; 0 stands for LZ4.
	Codec codec.Codec
	// BlockSize is that of the codec, in bytes; 0 stands for Spark's default.
	BlockSize int
	// Conf is added to what the offset log pins. A key with the value "" is
	// left out.
	Conf map[string]string
	// Sidecars has Hadoop's hidden .crc files written too, as a local file
	// system does.
	Sidecars bool
	// Operators are the stateful operators, in the order of their ids.
	Operators []Operator
}

// Operator is a stateful operator.
type Operator struct {
	// Name is what Spark's metadata calls it, such as dedupe.
	Name string
	// PrefixColumns is the number of key columns that it scans by.
	PrefixColumns int
	Stores        []Store
	// OneTask says that it has partition 0 only.
	OneTask bool
}

// Store is a store of an operator.
type Store struct {
	// Name is the store's name; "" stands for default.
	Name string
	// Key and Value are the struct types of the rows, and what the schema file
	// says.
	Key, Value *sqltype.Type
	// Hashed are the key columns that decide the partition; nil stands for all
	// of them.
	Hashed []int
	// NoSchema leaves the schema file out, as Spark before 3.1 does.
	NoSchema bool
}

func (s Store) name() string {
	if s.Name == "" {
		return "default"
	}
	return s.Name
}

func (q Query) partitions() int {
	if q.Partitions == 0 {
		return 200
	}
	return q.Partitions
}

func (q Query) codec() codec.Codec {
	if q.Codec == codec.Unknown {
		return codec.LZ4
	}
	return q.Codec
}

// atLeast says whether the Spark imitated is of that version or later.
func (q Query) atLeast(major, minor int) bool {
	v := q.Spark
	if v == "" {
		v = "3.5"
	}
	var a, b int
	if _, err := fmt.Sscanf(v, "%d.%d", &a, &b); err != nil {
		return false
	}
	return a > major || a == major && b >= minor
}

// conf is what the offset log pins.
func (q Query) conf() map[string]string {
	c := map[string]string{
		"spark.sql.shuffle.partitions":                                  strconv.Itoa(q.partitions()),
		"spark.sql.streaming.stateStore.providerClass":                  "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider",
		"spark.sql.streaming.multipleWatermarkPolicy":                   "min",
		"spark.sql.streaming.aggregation.stateFormatVersion":            "2",
		"spark.sql.streaming.flatMapGroupsWithState.stateFormatVersion": "2",
		"spark.sql.streaming.join.stateFormatVersion":                   "2",
		"spark.sql.streaming.stateStore.compression.codec":              q.codec().String(),
		"spark.sql.streaming.stateStore.rocksdb.formatVersion":          "5",
		"spark.sql.streaming.statefulOperator.useStrictDistribution":    "true",
		"spark.sql.optimizer.pruneFiltersCanPruneStreamingSubplan":      "false",
	}
	if q.atLeast(4, 0) {
		c["spark.sql.streaming.stateStore.encodingFormat"] = "unsaferow"
	}
	maps.Copy(c, q.Conf)
	maps.DeleteFunc(c, func(_, v string) bool { return v == "" })
	return c
}

// hasher returns what places the keys of a store.
func (s Store) hasher() (*placement.Hasher, error) { return placement.NewHasher(s.Key, s.Hashed) }

package statetest

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sparkstate/sparkstate/checkpoint"
)

// release is a version of Spark: major, minor, patch.
type release [3]int

// parseRelease reads a version such as 3.5 or 3.3.0. Without a patch it is the
// last of its line; "" stands for 3.5.
func parseRelease(s string) (release, error) {
	if s == "" {
		s = "3.5"
	}
	parts := strings.Split(s, ".")
	r := release{2: math.MaxInt}
	if len(parts) < 2 || len(parts) > len(r) {
		return r, fmt.Errorf("statetest: %q is no version of Spark such as 3.5 or 3.5.9", s)
	}
	for i, p := range parts {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil {
			return r, fmt.Errorf("statetest: %q is no version of Spark such as 3.5 or 3.5.9", s)
		}
		r[i] = int(n)
	}
	if !r.atLeast(2, 2, 0) {
		return r, fmt.Errorf("statetest: the layout of Spark %s is not known; that of 2.2 is the oldest", s)
	}
	return r, nil
}

// atLeast says whether the release is this one or a later one.
func (r release) atLeast(major, minor, patch int) bool {
	return slices.Compare(r[:], []int{major, minor, patch}) >= 0
}

// What the releases differ in. Before 2.4 the commit log holds nothing. Before
// 3.1 there is no schema file, and 3.1.0 to 3.1.2 write version 1 of it; before
// 3.3.1 a deduplication records a schema that is not that of its values.
// Operator metadata came with 4.0. 4.1 alone writes JSON sidecars for this
// provider, and 4.3 records no column as NOT NULL.
func (r release) hasNextWatermark() bool { return r.atLeast(2, 4, 0) }
func (r release) hasSchema() bool        { return r.atLeast(3, 1, 0) }
func (r release) schemaV2() bool         { return r.atLeast(3, 1, 3) }
func (r release) misnamesDedupe() bool   { return !r.atLeast(3, 3, 1) }
func (r release) hasMetadata() bool      { return r.atLeast(4, 0, 0) }
func (r release) hasJSONSums() bool      { return r.atLeast(4, 1, 0) && !r.atLeast(4, 2, 0) }
func (r release) hasOffsetLogV2() bool   { return r.atLeast(4, 2, 0) }
func (r release) hasRowChecksums() bool  { return r.atLeast(4, 2, 0) }
func (r release) allNullable() bool      { return r.atLeast(4, 3, 0) }

// pinned are the keys that the offset log pins, with the values of a session
// that sets nothing, by the release that wrote them first.
var pinned = []struct {
	key, value string
	since      release
}{
	{checkpoint.ConfShufflePartitions, "", release{2, 2}},
	{checkpoint.ConfProviderClass, "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider", release{2, 3}},
	{checkpoint.ConfMultipleWatermarks, "min", release{2, 4}},
	{checkpoint.ConfAggregationFormat, "2", release{2, 4}},
	{checkpoint.ConfFlatMapGroupsFormat, "2", release{2, 4}},
	{checkpoint.ConfJoinFormat, "2", release{3, 0}},
	{checkpoint.ConfCodec, "", release{3, 1}},
	{checkpoint.ConfRocksDBFormatVersion, "5", release{3, 2}},
	{checkpoint.ConfStrictDistribution, "true", release{3, 3}},
	{"spark.sql.optimizer.pruneFiltersCanPruneStreamingSubplan", "false", release{3, 5}},
	{checkpoint.ConfStateStoreEncoding, "unsaferow", release{4, 0}},
	{checkpoint.ConfRowChecksum, "false", release{4, 2}},
	{"spark.sql.dropDuplicates.deterministicKeyOrder.enabled", "true", release{4, 3}},
	{"spark.sql.function.protobufExtensions.enabled", "false", release{4, 3}},
	{"spark.sql.streaming.queryEvolution.enableSourceEvolution", "false", release{4, 3}},
	{"spark.sql.streaming.stateStore.rocksdb.mergeOperatorVersion", "2", release{4, 3}},
	{"spark.sql.streaming.statefulOperator.alwaysNullableOutput.enabled", "true", release{4, 3}},
}

// conf is what the offset log pins.
func (q Query) conf(r release) map[string]string {
	c := make(map[string]string)
	for _, p := range pinned {
		if r.atLeast(p.since[0], p.since[1], p.since[2]) {
			c[p.key] = p.value
		}
	}
	set := func(key, value string) {
		if _, ok := c[key]; ok {
			c[key] = value
		}
	}
	set(checkpoint.ConfShufflePartitions, strconv.Itoa(q.partitions()))
	set(checkpoint.ConfCodec, q.codec().String())
	set(checkpoint.ConfRowChecksum, strconv.FormatBool(q.RowChecksums))
	for _, op := range q.Operators {
		for k, v := range op.conf {
			set(k, v)
		}
	}
	maps.Copy(c, q.Conf)
	maps.DeleteFunc(c, func(_, v string) bool { return v == "" })
	return c
}

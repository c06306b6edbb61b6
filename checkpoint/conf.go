package checkpoint

import "strconv"

// Keys of the configuration that Spark pins in the offset log.
const (
	ConfShufflePartitions    = "spark.sql.shuffle.partitions"
	ConfProviderClass        = "spark.sql.streaming.stateStore.providerClass"
	ConfCodec                = "spark.sql.streaming.stateStore.compression.codec"
	ConfRowChecksum          = "spark.sql.streaming.stateStore.rowChecksum.enabled"
	ConfAggregationFormat    = "spark.sql.streaming.aggregation.stateFormatVersion"
	ConfJoinFormat           = "spark.sql.streaming.join.stateFormatVersion"
	ConfFlatMapGroupsFormat  = "spark.sql.streaming.flatMapGroupsWithState.stateFormatVersion"
	ConfStrictDistribution   = "spark.sql.streaming.statefulOperator.useStrictDistribution"
	ConfMultipleWatermarks   = "spark.sql.streaming.multipleWatermarkPolicy"
	ConfStateStoreEncoding   = "spark.sql.streaming.stateStore.encodingFormat"
	ConfRocksDBFormatVersion = "spark.sql.streaming.stateStore.rocksdb.formatVersion"
)

// conf is the configuration of one batch; nil where no offset log tells.
type conf map[string]string

// partitions returns the number of state partitions, be it believable or not.
func (c conf) partitions() (int, bool) {
	n, err := strconv.ParseInt(c[ConfShufflePartitions], 10, 32)
	return int(n), err == nil && n > 0
}

// before32 says whether an older Spark than 3.2 planned the batch that the
// conf is of: each version pins a few keys more.
func (c *Checkpoint) before32() bool {
	_, pinned := c.conf[ConfRocksDBFormatVersion]
	return c.confBatch >= 0 && !pinned
}

package checkpoint

// transformWithState (Spark 4.0) keeps its state variables in column families
// of a RocksDB store, and always records its metadata.
var transformWithState = kind{
	names: []string{"transformWithStateExec", "transformWithStateInPandasExec", "transformWithStateInPySparkExec"},
}

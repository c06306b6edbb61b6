package statetest

import (
	"slices"

	"github.com/sparkstate/sparkstate/checkpoint"
)

// Aggregation is a streaming aggregation. Columns are given as DDL: those that
// it groups by, and its buffers, which are not always its results; an average
// has a sum and a count. Without grouping columns there is one group, in one
// task.
//
//	statetest.Aggregation("window STRUCT<start: TIMESTAMP, end: TIMESTAMP> NOT NULL, word STRING", "count BIGINT NOT NULL")
//
// Put takes the grouping columns as the key and the buffers as the value.
func Aggregation(key, buffers string) Operator {
	op := single("stateStoreSave", key, buffers)
	op.OneTask = len(op.Stores[0].Key.Fields) == 0
	return op
}

// AggregationV1 is an aggregation whose state is of format 1, that of Spark
// before 2.4: the grouping columns are in the value as well. Put takes the same
// as for [Aggregation], and repeats them; [RequireRows] wants a value with both.
func AggregationV1(key, buffers string) Operator {
	op := Aggregation(key, buffers)
	op.conf = map[string]string{checkpoint.ConfAggregationFormat: "1"}
	s := &op.Stores[0]
	s.Value = structOf(s.Key.Fields, s.Value.Fields)
	s.row = func(key, value []any) ([]any, error) { return slices.Concat(key, value), nil }
	return op
}

package statetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
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
// as for [Aggregation], and repeats them.
func AggregationV1(key, buffers string) Operator {
	op := Aggregation(key, buffers)
	op.conf = map[string]string{checkpoint.ConfAggregationFormat: "1"}
	s := &op.Stores[0]
	s.Value = structOf(s.Key.Fields, s.Value.Fields)
	s.row = func(key, value []any) ([]any, error) { return slices.Concat(key, value), nil }
	return op
}

// Dedupe is dropDuplicates by some columns. Put takes them as the key; the
// value is nil.
func Dedupe(key string) Operator {
	op := single("dedupe", key, "__dummy__ VOID")
	op.Stores[0].misnamed = true
	return op
}

// DedupeWithinWatermark is dropDuplicatesWithinWatermark by some columns, of
// Spark 3.5 and later. Put takes them as the key, and as the value when the row
// expires: the event time and the delay of the watermark, as a time.Time or in
// microseconds.
func DedupeWithinWatermark(key string) Operator {
	op := single("dedupeWithinWatermark", key, "expiresAtMicros BIGINT NOT NULL")
	op.Stores[0].row = lastTime(time.Time.UnixMicro)
	return op
}

// SessionWindow is an aggregation of groupBy(session_window(…), key…). Put takes
// as the key the columns of key and the start of the session, as the value its
// end and the buffers.
func SessionWindow(key, buffers string) Operator {
	op := single("sessionWindowStateStoreSaveExec", key, buffers)
	s := &op.Stores[0]
	group := s.Key.Fields
	n := len(group)
	op.PrefixColumns = n
	stamp := &sqltype.Type{Kind: sqltype.Timestamp}
	session := sqltype.Field{Name: "session_window", Metadata: map[string]json.RawMessage{"spark.sessionWindow": json.RawMessage("true")},
		Type: structOf([]sqltype.Field{{Name: "start", Type: stamp, Nullable: true}, {Name: "end", Type: stamp, Nullable: true}})}
	s.Key = structOf(group, []sqltype.Field{{Name: "sessionStartTime", Type: stamp}})
	s.Value = structOf([]sqltype.Field{session}, group, s.Value.Fields)
	s.Hashed = upTo(n)
	s.row = func(key, value []any) ([]any, error) {
		if len(key) != n+1 || len(value) == 0 {
			return nil, fmt.Errorf("statetest: a session has the %d columns of its group and its start as the key, its end and buffers as the value", n)
		}
		return slices.Concat([]any{[]any{key[n], value[0]}}, key[:n], value[1:]), nil
	}
	return op
}

// FlatMapGroupsWithState is flatMapGroupsWithState or mapGroupsWithState. The
// key are the grouping columns, state the columns of the state, of which a
// primitive type has one called value. With a timeout there is one column more.
//
// Put takes as the value the state as []any, or nil for none, and if there is a
// timeout when it comes: a time.Time, or milliseconds since 1970, -1 for never.
func FlatMapGroupsWithState(key, state string, timeout bool) Operator {
	op := single("flatMapGroupsWithState", key, state)
	s := &op.Stores[0]
	value := []sqltype.Field{{Name: "groupState", Type: s.Value, Nullable: true}}
	if timeout {
		value = append(value, timeoutColumn(sqltype.Long))
		s.row = lastTime(time.Time.UnixMilli)
	}
	s.Value = structOf(value)
	return op
}

// FlatMapGroupsWithStateV1 is the same with state of format 1, that of Spark
// before 2.4: the columns of the state stand in the value themselves, and are
// all null where there is no state. What is recorded of the timeout is wrong, as
// it is with Spark.
func FlatMapGroupsWithStateV1(key, state string, timeout bool) Operator {
	op := single("flatMapGroupsWithState", key, state)
	op.conf = map[string]string{checkpoint.ConfFlatMapGroupsFormat: "1"}
	s := &op.Stores[0]
	n := len(s.Value.Fields)
	at := lastTime(time.Time.UnixMilli)
	if timeout {
		s.RecordedValue = structOf(s.Value.Fields, []sqltype.Field{timeoutColumn(sqltype.Integer)})
		s.Value = structOf(s.Value.Fields, []sqltype.Field{timeoutColumn(sqltype.Long)})
	}
	s.row = func(key, value []any) ([]any, error) {
		if len(value) == 0 || timeout != (len(value) == 2) {
			return nil, fmt.Errorf("statetest: the value is the state and, only where there is one, a timeout")
		}
		state, ok := value[0].([]any)
		if value[0] == nil {
			state, ok = make([]any, n), true
		}
		if !ok {
			return nil, fmt.Errorf("statetest: a state is []any or nil, not %T", value[0])
		}
		if !timeout {
			return state, nil
		}
		return at(key, slices.Concat(state, value[1:]))
	}
	return op
}

func timeoutColumn(k sqltype.Kind) sqltype.Field {
	return sqltype.Field{Name: "timeoutTimestamp", Type: &sqltype.Type{Kind: k}}
}

// ApplyInPandasWithState is that of Python, in Spark 3.4 and later; it stores
// what [FlatMapGroupsWithState] does.
func ApplyInPandasWithState(key, state string, timeout bool) Operator {
	op := FlatMapGroupsWithState(key, state, timeout)
	op.Name = "applyInPandasWithState"
	return op
}

// Limit is a limit over the whole stream. Its one row has the key nil and, as
// the value, how many rows it has let through.
func Limit() Operator {
	op := single("globalLimit", "key VOID", "value BIGINT")
	op.OneTask = true
	return op
}

// WithWatermark returns the operator with a note on a column, wherever it has
// it, that this is the event time or a window of it, and how long the watermark
// waits.
func (op Operator) WithWatermark(column string, delay time.Duration) Operator {
	found := false
	mark := func(t *sqltype.Type) *sqltype.Type {
		if t == nil {
			return nil
		}
		c := *t
		c.Fields = slices.Clone(t.Fields)
		for i, f := range c.Fields {
			if f.Name != column {
				continue
			}
			found = true
			notes := map[string]json.RawMessage{"spark.watermarkDelayMs": json.RawMessage(strconv.FormatInt(delay.Milliseconds(), 10))}
			if f.Type.Kind == sqltype.Struct && f.Metadata["spark.sessionWindow"] == nil {
				notes["spark.timeWindow"] = json.RawMessage("true")
			}
			for k, v := range f.Metadata {
				if notes[k] == nil {
					notes[k] = v
				}
			}
			c.Fields[i].Metadata = notes
		}
		return &c
	}
	op.Stores = slices.Clone(op.Stores)
	for i := range op.Stores {
		s := &op.Stores[i]
		s.Key, s.Value, s.RecordedValue = mark(s.Key), mark(s.Value), mark(s.RecordedValue)
	}
	if !found && op.err == nil {
		op.err = fmt.Errorf("statetest: %s has no column %s", op.Name, column)
	}
	return op
}

// single is an operator with one store.
func single(name, key, value string) Operator {
	op := Operator{Name: name}
	op.Stores = []Store{{Key: op.columns(key), Value: op.columns(value)}}
	return op
}

// columns parses DDL. What is wrong with it is kept.
func (op *Operator) columns(ddl string) *sqltype.Type {
	t, err := sqltype.ParseDDL(ddl)
	if err != nil {
		if op.err == nil {
			op.err = fmt.Errorf("statetest: %s: %w", op.Name, err)
		}
		return structOf()
	}
	return t
}

// structOf puts columns together.
func structOf(columns ...[]sqltype.Field) *sqltype.Type {
	return &sqltype.Type{Kind: sqltype.Struct, Fields: slices.Concat(columns...)}
}

func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// lastTime makes the last value a number where it is a time.
func lastTime(number func(time.Time) int64) func(key, value []any) ([]any, error) {
	return func(_, value []any) ([]any, error) {
		if n := len(value); n > 0 {
			if t, ok := value[n-1].(time.Time); ok {
				value = slices.Clone(value)
				value[n-1] = number(t)
			}
		}
		return value, nil
	}
}

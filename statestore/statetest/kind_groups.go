package statetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

// FlatMapGroupsWithState is flatMapGroupsWithState or mapGroupsWithState. The
// key are the grouping columns, state the columns of the state, of which a
// primitive type has one called value. With a timeout there is one column more.
//
// Put takes as the value the state as []any, or nil for none, and if there is a
// timeout when it comes: a time.Time, or milliseconds since 1970, -1 for never.
// [RequireRows] wants the same.
//
//	w.Put(0, "", []any{"somebody"}, []any{[]any{3, "clicked"}, time.Now().Add(time.Hour)})
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
// all null where there is no state, and so [RequireRows] wants them. What is recorded of the timeout is wrong, as
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

// ApplyInPandasWithState is that of Python, in Spark 3.4 and later; it stores
// what [FlatMapGroupsWithState] does.
func ApplyInPandasWithState(key, state string, timeout bool) Operator {
	op := FlatMapGroupsWithState(key, state, timeout)
	op.Name = "applyInPandasWithState"
	return op
}

func timeoutColumn(k sqltype.Kind) sqltype.Field {
	return sqltype.Field{Name: "timeoutTimestamp", Type: &sqltype.Type{Kind: k}}
}

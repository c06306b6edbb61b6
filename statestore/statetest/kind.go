package statetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

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

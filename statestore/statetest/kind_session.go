package statetest

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

// SessionWindow is an aggregation of groupBy(session_window(…), key…). Put takes
// as the key the columns of key and the start of the session, as the value its
// end and the buffers:
//
//	w.Put(0, "", []any{"somebody", start}, []any{end, 3})
//
// Spark keeps in the value the session as a struct, the columns of key again, and
// the buffers, so [RequireRows] wants
//
//	statetest.Row{Key: []any{"somebody", start}, Value: []any{[]any{start, end}, "somebody", 3}}
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

package checkpoint

import (
	"github.com/sparkstate/sparkstate/statestore"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

// sessionWindow is an aggregation by session_window (Spark 3.2). Its key is
// the grouping columns without the session, and then the session's start, by
// which several sessions of one group are told apart; its value a whole row.
var sessionWindow = kind{
	names:        []string{"sessionWindowStateStoreSaveExec"},
	valuesExpire: true,
	infer: func(o *Operator) bool {
		s := o.onlyStore()
		if s == nil || s.types.key == nil || s.types.value == nil {
			return false
		}
		last, ok := lastField(s.types.key)
		if !ok || last.Name != "sessionStartTime" || last.Type.Kind != sqltype.Timestamp {
			return false
		}
		for _, f := range s.types.value.Fields {
			if _, ok := f.Metadata["spark.sessionWindow"]; ok {
				return true
			}
		}
		return false
	},
	keyShape:      func(string) statestore.KeyShape { return statestore.LastColumnApart },
	prefixColumns: func(key *sqltype.Type) int { return len(key.Fields) - 1 },
}

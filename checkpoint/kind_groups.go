package checkpoint

import (
	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

// flatMapGroupsWithState is also mapGroupsWithState and, in Python,
// applyInPandasWithState. Its key is the grouping columns. Its value is, in
// format 2, the struct groupState and then, if a timeout is configured,
// timeoutTimestamp; in format 1 the columns of the state, and then
// timeoutTimestamp.
//
// Format 1 records timeoutTimestamp as an integer, but stores a long.
var flatMapGroupsWithState = kind{
	names: []string{"flatMapGroupsWithState", "applyInPandasWithState"},
	infer: func(o *Operator) bool {
		s := o.onlyStore()
		if s == nil || s.types.value == nil {
			return false
		}
		for _, f := range s.types.value.Fields {
			if f.Name == "groupState" && f.Type.Kind == sqltype.Struct {
				return true
			}
		}
		last, ok := lastField(s.types.value)
		return ok && last.Name == timeoutColumn
	},
	adapt: func(s *Store) {
		if last, ok := lastField(s.types.value); ok && last.Name == timeoutColumn && last.Type.Kind == sqltype.Integer {
			s.correctValue(retype(s.types.value, len(s.types.value.Fields)-1, &sqltype.Type{Kind: sqltype.Long}),
				"timeoutTimestamp is recorded as an integer; format 1 stores a long")
		}
	},
	roles: func(s *Store) []Column { return s.valueColumn(timeoutColumn, Timeout, Milliseconds) },
}

const timeoutColumn = "timeoutTimestamp"

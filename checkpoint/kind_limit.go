package checkpoint

import (
	"github.com/sparkstate/sparkstate/statestore"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

// globalLimit counts the rows that a LIMIT has let through: one row, in one
// task, with a key of one null column and a value of one number.
var globalLimit = kind{
	names: []string{"globalLimit"},
	infer: func(o *Operator) bool {
		s := o.onlyStore()
		if s == nil {
			return false
		}
		if v := s.types.value; v != nil && (len(v.Fields) != 1 || v.Fields[0].Type.Kind != sqltype.Long) {
			return false
		}
		if k := s.types.key; k != nil {
			return len(k.Fields) == 1 && k.Fields[0].Type.Kind == sqltype.Void
		}
		return s.sample(func(e statestore.Entry) bool { return isOneNull(e.Key) })
	},
	oneTask: func(*Operator) bool { return true },
	adapt: func(s *Store) {
		s.inferKey(columns("key", sqltype.Void))
		s.inferValue(columns("value", sqltype.Long))
	},
}

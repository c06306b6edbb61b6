package checkpoint

import "github.com/sparkstate/sparkstate/statestore"

// aggregation is a streaming aggregation. Its key is the grouping columns; its
// value the buffers (format 2), or grouping columns and buffers (format 1, in
// use when the conf is absent).
var aggregation = kind{
	names: []string{"stateStoreSave"},
	infer: func(o *Operator) bool {
		s := o.onlyStore()
		return s != nil && s.types.key != nil && s.types.value != nil
	},
	// Without grouping columns there is one group, in one task.
	oneTask: func(o *Operator) bool {
		s := o.onlyStore()
		if s == nil {
			return false
		}
		if s.types.key != nil {
			return len(s.types.key.Fields) == 0
		}
		return s.sample(func(e statestore.Entry) bool { return len(e.Key) == 0 })
	},
}

package checkpoint

import "github.com/sparkstate/sparkstate/statestore"

// aggregation is a streaming aggregation. Its key is the grouping columns; its
// value the buffers (format 2), or grouping columns and buffers (format 1, in
// use when the conf is absent).
var aggregation = kind{
	names:     []string{"stateStoreSave"},
	weakSigns: true, // everything that is nothing else looks like one
	infer: func(o *Operator) bool {
		s := o.onlyStore()
		return s != nil && s.types.key != nil && s.types.value != nil
	},
	neverExpires: func(s *Store) (string, string) {
		if s.types.key == nil || s.keyHasEventTime() || len(s.types.key.Fields) == 0 {
			return "", ""
		}
		return "the aggregation keeps every group for ever: the event-time column, or a window over it, is not among the grouping columns",
			"group by a window of the event time as well, if groups may end"
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

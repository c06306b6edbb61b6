package checkpoint

import (
	"strings"

	"github.com/sparkstate/sparkstate/statestore"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

// The stores of a stream-stream join of format 1 or 2, two for each side: how
// many rows a join key has, and the rows themselves, numbered.
const (
	leftCounts  = "left-keyToNumValues"
	leftRows    = "left-keyWithIndexToValue"
	rightCounts = "right-keyToNumValues"
	rightRows   = "right-keyWithIndexToValue"

	countsSuffix = "-keyToNumValues"
	rowsSuffix   = "-keyWithIndexToValue"
)

// symmetricHashJoin is a stream-stream join. Formats 3 and 4 (Spark 4.1) have
// one store on RocksDB, and always record their metadata.
var symmetricHashJoin = kind{
	names: []string{"symmetricHashJoin"},
	infer: func(o *Operator) bool {
		for _, s := range o.stores {
			switch s.name {
			case leftCounts, leftRows, rightCounts, rightRows:
				return true
			}
		}
		return false
	},
	neverExpires: func(s *Store) (string, string) {
		// With the event time in the rows it depends on the join's condition,
		// which is not recorded.
		if !strings.HasSuffix(s.name, rowsSuffix) || s.types.key == nil || s.types.value == nil ||
			s.keyHasEventTime() || len(eventTime("value", s.types.value)) > 0 {
			return "", ""
		}
		return "the join keeps every row of this side for ever: neither its key nor its rows have an event-time column",
			"declare a watermark on both inputs, and a range of event times in the join condition"
	},
	adapt: func(s *Store) {
		if strings.HasSuffix(s.name, countsSuffix) {
			s.inferValue(columns("value", sqltype.Long))
		}
	},
	keyShape: func(store string) statestore.KeyShape {
		if strings.HasSuffix(store, rowsSuffix) {
			return statestore.LastColumnApart
		}
		return statestore.WholeKey
	},
	keysIn: func(store string) string {
		if side, ok := strings.CutSuffix(store, rowsSuffix); ok {
			return side + countsSuffix
		}
		return ""
	},
}

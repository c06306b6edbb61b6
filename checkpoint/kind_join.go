package checkpoint

import (
	"slices"
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

var joinStores = []string{leftCounts, leftRows, rightCounts, rightRows}

// symmetricHashJoin is a stream-stream join. Formats 3 and 4 (Spark 4.1) have
// one store on RocksDB, and always record their metadata.
var symmetricHashJoin = kind{
	names:          []string{"symmetricHashJoin"},
	stores:         joinStores,
	placedStrictly: true,
	infer: func(o *Operator) bool {
		return slices.ContainsFunc(o.stores, func(s *Store) bool { return slices.Contains(joinStores, s.name) })
	},
	weakSigns: true, // names of stores, which are compared by themselves
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

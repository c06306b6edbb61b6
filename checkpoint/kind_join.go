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

package checkpoint

import "github.com/sparkstate/sparkstate/statestore/sqltype"

// dedupeWithinWatermark is dropDuplicatesWithinWatermark (Spark 3.5). Its value
// is the watermark at which the row goes, in microseconds.
var dedupeWithinWatermark = kind{
	names: []string{"dedupeWithinWatermark"},
	infer: func(o *Operator) bool {
		s := o.onlyStore()
		if s == nil || s.types.value == nil {
			return false
		}
		f := s.types.value.Fields
		return len(f) == 1 && f[0].Name == "expiresAtMicros"
	},
	adapt: func(s *Store) { s.inferValue(columns("expiresAtMicros", sqltype.Long)) },
	roles: func(s *Store) []Column { return s.valueColumn("expiresAtMicros", ExpiresAt, Microseconds) },
}

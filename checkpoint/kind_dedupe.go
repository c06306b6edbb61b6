package checkpoint

import (
	"github.com/sparkstate/sparkstate/statestore"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
	"github.com/sparkstate/sparkstate/statestore/unsaferow"
)

// dedupe is dropDuplicates. Its key is the columns compared; its value means
// nothing: a row of one null column.
//
// Spark 3.1 to 3.3.0 recorded the child's whole row as the value schema, and
// later Sparks keep that file. The rows are the same in every version, so the
// recorded schema is replaced where it is another.
var dedupe = kind{
	names:           []string{"dedupe"},
	valuesUnchecked: true, // it turns the check off, since they mean nothing
	infer: func(o *Operator) bool {
		s := o.onlyStore()
		if s == nil {
			return false
		}
		if v := s.types.value; v != nil && len(v.Fields) == 1 && v.Fields[0].Type.Kind == sqltype.Void {
			return v.Fields[0].Name == dummyValue.Fields[0].Name
		}
		if v := s.types.value; v != nil && unsaferow.FixedSize(len(v.Fields)) <= len(oneNull) {
			return false
		}
		return s.sample(func(e statestore.Entry) bool { return isOneNull(e.Value) && !isOneNull(e.Key) })
	},
	neverExpires: func(s *Store) (string, string) {
		if s.types.key == nil || s.keyHasEventTime() {
			return "", ""
		}
		return "dropDuplicates keeps every key for ever: the event-time column is not among the columns it compares",
			"dropDuplicatesWithinWatermark (Spark 3.5) keeps keys only as long as the watermark's delay"
	},
	adapt: func(s *Store) {
		s.inferValue(dummyValue)
		if v := s.types.value; len(v.Fields) != 1 || v.Fields[0].Type.Kind != sqltype.Void {
			s.correctValue(dummyValue, "the recorded value schema is that of a whole input row; deduplication stores none")
		}
	},
}

// dummyValue is the schema that Spark records for such values since 3.3.1.
var dummyValue = columns("__dummy__", sqltype.Void)

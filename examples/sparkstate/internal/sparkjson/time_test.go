package sparkjson

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/statestore/unsaferow"
)

// Timestamps have all the digits of their kind, zeros too, at any depth; and a
// key of a map is what Spark makes of it.
func TestWriteTimestamps(t *testing.T) {
	at := time.Date(2026, 1, 5, 9, 0, 35, 455455450, time.UTC)
	nanos := func(us int64, ns int16) any { return unsaferow.TimestampNanos{Microseconds: us, Nanoseconds: ns} }
	for _, c := range []struct {
		typ   string
		value any
		want  string
	}{
		{"TIMESTAMP", at, `"2026-01-05T09:00:35.455455Z"`},
		{"TIMESTAMP_NTZ", at, `"2026-01-05T09:00:35.455455"`},
		{"TIMESTAMP_LTZ(9)", at, `"2026-01-05T09:00:35.455455450Z"`},
		{"TIMESTAMP_NTZ(9)", at, `"2026-01-05T09:00:35.455455450"`},
		{"TIMESTAMP_NTZ(7)", at, `"2026-01-05T09:00:35.455455400"`},
		{"TIMESTAMP_LTZ(9)", nil, `null`},
		{"TIMESTAMP_LTZ(9)", nanos(-1, 999), `"1969-12-31T23:59:59.999999999Z"`},
		{"TIMESTAMP_LTZ(9)", nanos(0, 1), `"1970-01-01T00:00:00.000000001Z"`},
		{"TIMESTAMP_NTZ(9)", nanos(math.MaxInt64, 999), `"+294247-01-10T04:00:54.775807999"`},
		{"TIMESTAMP_NTZ(9)", nanos(math.MinInt64, 0), `"-290308-12-21T19:59:05.224192000"`},
		{"ARRAY<STRUCT<a: TIMESTAMP_NTZ(8)>>", []any{[]any{at}, []any{nil}}, `[{"a":"2026-01-05T09:00:35.455455450"},{"a":null}]`},
		{"MAP<TIMESTAMP_LTZ(9), TIMESTAMP_LTZ(9)>", [][2]any{{at, at}},
			`{"TimestampNanosVal(1767603635455455, 450)":"2026-01-05T09:00:35.455455450Z"}`},
	} {
		typ := ddl(t, "c "+c.typ)
		row, err := unsaferow.Append(nil, typ, []any{c.value})
		require.NoError(t, err)
		assert.Equal(t, `{"c":`+c.want+`}`, string(written(t, typ, row)), c.typ)
	}
}

package sparkjson

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/statestore/sqltype"
	"github.com/sparkstate/sparkstate/statestore/unsaferow"
)

func ddl(t testing.TB, text string) *sqltype.Type {
	t.Helper()
	typ, err := sqltype.ParseDDL(text)
	require.NoError(t, err)
	return typ
}

// What is read of each type, in the notation of this package and in those that
// people use.
func TestParseValues(t *testing.T) {
	const us = 1_000_000
	for _, c := range []struct {
		typ, json string
		want      any
	}{
		{"INT", "null", nil},
		{"VOID", "null", nil},
		{"BOOLEAN", "true", true},
		{"BOOLEAN", `"false"`, false},
		{"TINYINT", "-128", int64(-128)},
		{"SMALLINT", "32767", int64(32767)},
		{"INT", "-2147483648", int64(math.MinInt32)},
		{"BIGINT", "9223372036854775807", int64(math.MaxInt64)},
		{"FLOAT", "552818.5", float32(552818.5)},
		{"FLOAT", "1E10", float32(1e10)},
		{"DOUBLE", "-1.5e-7", -1.5e-7},
		{"DOUBLE", `"-Infinity"`, math.Inf(-1)},
		{"DOUBLE", `"Infinity"`, math.Inf(1)},
		{"STRING", `"emoji 😀 zero\u0000byte"`, "emoji 😀 zero\x00byte"},
		{"STRING", `"5"`, "5"},
		{"VARCHAR(9)", `""`, ""},
		{"BINARY", `"AP8="`, []byte{0, 255}},
		{"DATE", `"1970-01-02"`, int64(1)},
		{"DATE", `"0001-01-01"`, int64(-719162)},
		{"DATE", `"+10000-01-01"`, int64(2932897)},
		{"DATE", `"-0001-12-31"`, int64(-719529)},
		{"DATE", "20460", int64(20460)},
		{"TIMESTAMP", `"2026-01-08T06:57:29.000000Z"`, int64(1767855449 * us)},
		{"TIMESTAMP", `"2026-01-08 06:57:29"`, int64(1767855449 * us)},
		{"TIMESTAMP", `"2026-01-08 06:57:29.000001"`, int64(1767855449*us + 1)},
		{"TIMESTAMP", `"2026-01-08 06:57"`, int64(1767855420 * us)},
		{"TIMESTAMP", `"2026-01-08"`, int64(1767830400 * us)},
		{"TIMESTAMP", `"2026-01-08T08:57:29+02:00"`, int64(1767855449 * us)},
		{"TIMESTAMP", `"2026-01-08T01:27:29-05:30"`, int64(1767855449 * us)},
		{"TIMESTAMP", `"1969-12-31T23:59:59.999999Z"`, int64(-1)},
		{"TIMESTAMP", `"+294247-01-10T04:00:54.775807Z"`, int64(math.MaxInt64)},
		{"TIMESTAMP", `"-290308-12-21T19:59:05.224192Z"`, int64(math.MinInt64)},
		{"TIMESTAMP", "1767855449000000", int64(1767855449 * us)},
		{"TIMESTAMP_NTZ", `"2026-01-08T06:57:29.000000"`, int64(1767855449 * us)},
		{"TIMESTAMP_LTZ(9)", `"2026-01-08T06:57:29.123456789Z"`, unsaferow.TimestampNanos{Microseconds: 1767855449*us + 123456, Nanoseconds: 789}},
		{"TIMESTAMP_LTZ(7)", `"1969-12-31 23:59:59.9999999"`, unsaferow.TimestampNanos{Microseconds: -1, Nanoseconds: 900}},
		{"TIMESTAMP_NTZ(9)", `"2026-01-08"`, unsaferow.TimestampNanos{Microseconds: 1767830400 * us}},
		{"TIME(6)", `"06:57:29.5"`, int64(25049_500_000_000)},
		{"TIME(0)", `"00:00:00"`, int64(0)},
		{"TIME(6)", `"23:59:59.999999999"`, int64(86399_999_999_999)},
		{"DECIMAL(9,2)", "9999999.99", big.NewInt(999999999)},
		{"DECIMAL(9,2)", `"-1.5"`, big.NewInt(-150)},
		{"DECIMAL(9,2)", "1.500", big.NewInt(150)},
		{"DECIMAL(9,2)", "1.5e3", big.NewInt(150000)},
		{"DECIMAL(9,2)", "150e-2", big.NewInt(150)},
		{"DECIMAL(9,2)", "-0.00", big.NewInt(0)},
		{"DECIMAL(9,0)", `".0"`, big.NewInt(0)},
		{"INTERVAL YEAR TO MONTH", `"INTERVAL '-1-2' YEAR TO MONTH"`, int64(-14)},
		{"INTERVAL YEAR TO MONTH", `"INTERVAL '3' YEAR"`, int64(36)},
		{"INTERVAL MONTH", `"INTERVAL '14' MONTH"`, int64(14)},
		{"INTERVAL YEAR", `"2"`, int64(24)},
		{"INTERVAL DAY TO SECOND", `"INTERVAL '6 10:10:49.753502' DAY TO SECOND"`, int64(6*86400*us + 36649*us + 753502)},
		{"INTERVAL DAY TO SECOND", `"interval '-0 05:40:13.143' day to second"`, int64(-20413143000)},
		{"INTERVAL DAY TO SECOND", `"0 00:00:01"`, int64(us)},
		{"INTERVAL DAY TO SECOND", `"INTERVAL '-106751991 04:00:54.775808' DAY TO SECOND"`, int64(math.MinInt64)},
		{"INTERVAL DAY TO SECOND", `"INTERVAL '106751991 04:00:54.775807' DAY TO SECOND"`, int64(math.MaxInt64)},
		{"INTERVAL HOUR TO MINUTE", `"INTERVAL '123:45' HOUR TO MINUTE"`, int64(7425 * 60 * us)},
		{"INTERVAL SECOND", `"INTERVAL '08.5' SECOND"`, int64(8500000)},
		{"INTERVAL DAY TO SECOND", "17", int64(17)},
		{"INTERVAL", `"1 years 2 months 3 days 4 hours -5 minutes 6.5 seconds"`,
			unsaferow.Interval{Months: 14, Days: 3, Microseconds: (4*3600-300)*us + 6_500_000}},
		{"INTERVAL", `"0 seconds"`, unsaferow.Interval{}},
		{"GEOMETRY(4326)", `{"wkb":"AQ==","srid":4326}`, unsaferow.Geo{SRID: 4326, WKB: []byte{1}}},
		{"STRUCT<a: INT, b: STRING>", `{"b":"x","a":1}`, []any{int64(1), "x"}},
		{"STRUCT<a: INT, b: STRING>", `[1,null]`, []any{int64(1), nil}},
		{"STRUCT<a: INT, a: INT>", `{"a":1,"a":2}`, []any{int64(1), int64(2)}},
		{"ARRAY<INT>", `[]`, []any{}},
		{"ARRAY<STRUCT<a: INT>>", `[null,{"a":1},[2]]`, []any{nil, []any{int64(1)}, []any{int64(2)}}},
		{"MAP<STRING, INT>", `{"b":1,"a":null}`, [][2]any{{"b", int64(1)}, {"a", nil}}},
		{"MAP<TIMESTAMP, INT>", `{"1767855449000000":1}`, [][2]any{{int64(1767855449 * us), int64(1)}}},
		{"MAP<DATE, INT>", `{"20460":1,"2026-01-07":2}`, [][2]any{{int64(20460), int64(1)}, {int64(20460), int64(2)}}},
		{"MAP<TIMESTAMP_NTZ(9), INT>", `{"TimestampNanosVal(12, 306)":1,"1970-01-01 00:00:00.000012306":2}`,
			[][2]any{{unsaferow.TimestampNanos{Microseconds: 12, Nanoseconds: 306}, int64(1)}, {unsaferow.TimestampNanos{Microseconds: 12, Nanoseconds: 306}, int64(2)}}},
		{"MAP<BOOLEAN, DECIMAL(3,1)>", `{"true":"1.5"}`, [][2]any{{true, big.NewInt(15)}}},
		{"MAP<STRUCT<a: INT>, INT>", `{"{\"a\":1}":1}`, [][2]any{{[]any{int64(1)}, int64(1)}}},
	} {
		typ := ddl(t, "c "+c.typ)
		for _, row := range []string{`{"c":` + c.json + `}`, " [ " + c.json + " ] "} {
			got, err := ParseRow(typ, []byte(row))
			if assert.NoError(t, err, "%s %s", c.typ, row) {
				assert.Equal(t, []any{c.want}, got, "%s %s", c.typ, row)
			}
			_, err = unsaferow.Append(nil, typ, got)
			assert.NoError(t, err, "%s %s", c.typ, row)
		}
	}
}

// Java has one NaN, and so has a key; -0.0 keeps its sign.
func TestParseFloats(t *testing.T) {
	typ := ddl(t, "f FLOAT, d DOUBLE, z FLOAT, y DOUBLE")
	v, err := ParseRow(typ, []byte(`{"f":"NaN","d":"NaN","z":-0.0,"y":-0.0}`))
	require.NoError(t, err)
	row, err := unsaferow.Append(nil, typ, v)
	require.NoError(t, err)
	assert.Equal(t, "0000000000000000"+"0000c07f00000000"+"000000000000f87f"+"0000008000000000"+"0000000000000080", fmt.Sprintf("%x", row))
}

// Each message says which column it is about, and what was expected of it.
func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ typ, json, column, says string }{
		{"a INT", ``, "", "ends too early"},
		{"a INT", `{"a":1`, "", "ends too early"},
		{"a INT", `[1`, "", "ends too early"},
		{"a INT", `[`, "", "ends too early"},
		{"a INT", `{"a"`, "a", "ends too early"},
		{"a INT", `{"a":1} 2`, "", "follows the end"},
		{"a INT", `{a:1}`, "", "not JSON"},
		{"a INT", `{"a":1,}`, "", "not JSON"},
		{"a INT", `null`, "", "not null"},
		{"a INT", `5`, "", "an object of its columns, or an array of their values, not 5"},
		{"a INT, b INT", `{"a":1}`, "b", "it is missing; expected INT: a whole number or null"},
		{"a INT, b INT", `[1]`, "b", "it is missing"},
		{"a INT, b INT", `[1,2,3]`, "", "more than 2 values; the columns are: a, b"},
		{"a INT, b INT", `{"c":1}`, "", `there is no column "c"; there is: a, b`},
		{"a INT", `{"a":1,"a":2}`, "a", "more often"},
		{"a INT", `{"a":1.5}`, "a", "a whole number, not 1.5"},
		{"a INT", `{"a":2147483648}`, "a", "a whole number, not 2147483648"},
		{"a INT", `{"a":[]}`, "a", "not an array"},
		{"a INT", `{"a":true}`, "a", "not true"},
		{"a BOOLEAN", `{"a":1}`, "a", "true or false, not 1"},
		{"a FLOAT", `{"a":"inf"}`, "a", `"NaN", "Infinity"`},
		{"a DOUBLE", `{"a":1e999}`, "a", "not 1e999"},
		{"a STRING", `{"a":5}`, "a", "a string, not 5"},
		{"a STRING", `{"a":{}}`, "a", "a string, not an object"},
		{"a BINARY", `{"a":"?"}`, "a", "base64"},
		{"a DATE", `{"a":"2026-02-29"}`, "a", "such as"},
		{"a DATE", `{"a":"20260228"}`, "a", "such as"},
		{"a TIMESTAMP", `{"a":"2026-02-28 24:00:00"}`, "a", "such as"},
		{"a TIMESTAMP", `{"a":"2026-02-28 23:00:00.0000001"}`, "a", "such as"},
		{"a TIMESTAMP", `{"a":"+294247-01-10T04:00:54.775808Z"}`, "a", "such as"},
		{"a TIMESTAMP_NTZ", `{"a":"2026-01-08T06:57:29Z"}`, "a", "without a zone"},
		{"a TIME", `{"a":"24:00:00"}`, "a", "such as"},
		{"a DECIMAL(9,2)", `{"a":1.234}`, "a", "at most 9 digits, 2 of them after the point, not 1.234"},
		{"a DECIMAL(9,2)", `{"a":1e999}`, "a", "not 1e999"},
		{"a DECIMAL(9,2)", `{"a":"."}`, "a", "9 digits"},
		{"a INTERVAL YEAR TO MONTH", `{"a":"1-12"}`, "a", "INTERVAL '1-2' YEAR TO MONTH"},
		{"a INTERVAL YEAR TO MONTH", `{"a":"INTERVAL '1' DAY"}`, "a", "YEAR TO MONTH"},
		{"a INTERVAL DAY TO SECOND", `{"a":"INTERVAL '106751991 04:00:54.775808' DAY TO SECOND"}`, "a", "INTERVAL '1 02:03:04' DAY TO SECOND"},
		{"a INTERVAL DAY TO SECOND", `{"a":"INTERVAL '1 2' DAY TO PARSEC"}`, "a", "DAY TO SECOND"},
		{"a INTERVAL SECOND", `{"a":"1.0000001"}`, "a", "SECOND"},
		{"a INTERVAL", `{"a":"5 parsecs"}`, "a", "1 years 2 months"},
		{"a INTERVAL", `{"a":"3000000000 days"}`, "a", "1 years 2 months"},
		{"a INTERVAL", `{"a":""}`, "a", "1 years 2 months"},
		{"a VOID", `{"a":1}`, "a", "expected null, not 1"},
		{"a VARIANT", `{"a":1}`, "a", "variant"},
		{"a TIMESTAMP_NTZ(9)", `{"a":"2026-01-08T06:57:29Z"}`, "a", "without a zone"},
		{"a TIMESTAMP_LTZ(9)", `{"a":1}`, "a", "such as"},
		{"a GEOMETRY(4326)", `{"a":{"srid":1}}`, "a.wkb", "missing"},
		{"a GEOMETRY(4326)", `{"a":{"srid":null,"wkb":""}}`, "a", "null"},
		{"w STRUCT<start: TIMESTAMP, end: TIMESTAMP>", `{"w":{"start":"yesterday","end":null}}`, "w.start", `not "yesterday"`},
		{"s ARRAY<STRUCT<a: INT>>", `{"s":[{"a":1},{"a":"x"}]}`, "s[1].a", `not "x"`},
		{"m MAP<TIMESTAMP_NTZ(9), INT>", `{"m":{"TimestampNanosVal(12, 306) or so":1}}`, "m.key", "without a zone"},
		{"m MAP<INT, INT>", `{"m":{"x":1}}`, "m.key", `not "x"`},
		{"m MAP<STRING, INT>", `{"m":{"x":"y"}}`, "m.x", `not "y"`},
		{"m MAP<STRUCT<a: INT>, INT>", `{"m":{"{}":1}}`, "m.key.a", "missing"},
		{"a INT", `{"a":"` + strings.Repeat("long ", 40) + `"}`, "a", "…"},
	} {
		_, err := ParseRow(ddl(t, c.typ), []byte(c.json))
		var pe *ParseError
		if assert.ErrorAs(t, err, &pe, "%s %s", c.typ, c.json) {
			assert.Equal(t, c.column, pe.Column, "%s %s: %v", c.typ, c.json, err)
			assert.Contains(t, err.Error(), c.says, "%s %s", c.typ, c.json)
		}
	}
	_, err := ParseRow(&sqltype.Type{Kind: sqltype.Integer}, []byte("5"))
	require.Error(t, err)
	// Not even a null: nulls of an unknown type cannot be told from its values.
	_, err = ParseRow(&sqltype.Type{Kind: sqltype.Struct, Fields: []sqltype.Field{
		{Name: "a", Type: &sqltype.Type{Kind: sqltype.Unknown, Text: "hologram"}}}}, []byte("[null]"))
	require.ErrorContains(t, err, "column a: its type is not known (hologram)")
}

// A row without columns is what a global aggregation has for a key.
func TestParseNothing(t *testing.T) {
	none := &sqltype.Type{Kind: sqltype.Struct}
	for _, text := range []string{"{}", "[]"} {
		v, err := ParseRow(none, []byte(text))
		require.NoError(t, err)
		assert.Empty(t, v)
	}
	_, err := ParseRow(none, []byte(`{"a":1}`))
	assert.ErrorContains(t, err, "there is: none")
}

// everyType has all the types that can be written and read.
const everyType = `b BOOLEAN, y TINYINT, s SMALLINT, i INT, l BIGINT, f FLOAT, d DOUBLE, t STRING, x BINARY, dt DATE, ts TIMESTAMP,
	ntz TIMESTAMP_NTZ, ts9 TIMESTAMP_LTZ(9), ntz7 TIMESTAMP_NTZ(7), tm TIME(6), d9 DECIMAL(9,2), d18 DECIMAL(18,6), d38 DECIMAL(38,10), d0 DECIMAL(38,38), ym INTERVAL YEAR TO MONTH, yy INTERVAL YEAR, mm INTERVAL MONTH,
	ds INTERVAL DAY TO SECOND, dd INTERVAL DAY, hm INTERVAL HOUR TO MINUTE, ss INTERVAL SECOND, ci INTERVAL, v VOID,
	st STRUCT<a: INT, b: STRUCT<d: DOUBLE, e: ARRAY<SMALLINT>>, n: STRING>, ai ARRAY<INT>, as ARRAY<STRING>, ast ARRAY<STRUCT<q: DECIMAL(20,4), w: TIMESTAMP>>,
	ms MAP<STRING, INT>, mi MAP<INT, ARRAY<DECIMAL(38,10)>>, mt MAP<TIMESTAMP, DATE>, mx MAP<DOUBLE, STRING>, mb MAP<BINARY, BOOLEAN>, mst MAP<STRUCT<a: STRING>, INT>,
	mds MAP<INTERVAL DAY TO SECOND, INT>, mn MAP<TIMESTAMP_NTZ(9), INT>, g GEOMETRY(4326), dup INT, dup STRING, ` + "`a.b`" + ` INT`

// random makes a value of a type, null now and then.
func random(r *rand.Rand, t *sqltype.Type, null bool) any {
	if null && r.IntN(6) == 0 || t.Kind == sqltype.Void {
		return nil
	}
	pick := func(edges ...int64) int64 {
		if r.IntN(2) == 0 {
			return edges[r.IntN(len(edges))]
		}
		return r.Int64() >> r.IntN(64)
	}
	// units keeps an interval to what its units can say.
	units := func(n int64) int64 { return n / int64(unitSize[t.End]) * int64(unitSize[t.End]) }
	switch t.Kind {
	case sqltype.Boolean:
		return r.IntN(2) == 0
	case sqltype.Byte:
		return int64(int8(pick(-128, 127, 0)))
	case sqltype.Short:
		return int64(int16(pick(-32768, 32767, 0)))
	case sqltype.Integer:
		return int64(int32(pick(math.MinInt32, math.MaxInt32, 0)))
	case sqltype.Long:
		return pick(math.MinInt64, math.MaxInt64, 0)
	case sqltype.Float:
		return float32(randomFloat(r, 32))
	case sqltype.Double:
		return randomFloat(r, 64)
	case sqltype.String:
		return []string{"", "a", "日本語", "emoji 😀 zero\x00byte", `"\` + "\n\x7f", strings.Repeat("x", r.IntN(60))}[r.IntN(6)]
	case sqltype.Binary:
		b := make([]byte, r.IntN(20))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	case sqltype.Date:
		return int64(int32(pick(math.MinInt32, math.MaxInt32, -719162, -719529, 2932896, 2932897)))
	case sqltype.Timestamp, sqltype.TimestampNTZ:
		return pick(math.MinInt64, math.MaxInt64, 1, -1, -62135596800000000)
	case sqltype.TimestampNanos, sqltype.TimestampNTZNanos:
		digits := map[int]int16{7: 100, 8: 10, 9: 1}[t.Precision]
		return unsaferow.TimestampNanos{Microseconds: pick(math.MinInt64, math.MaxInt64, 1, -1), Nanoseconds: int16(r.IntN(1000)) / digits * digits}
	case sqltype.Time:
		return r.Int64N(86400e9)
	case sqltype.Decimal:
		n := new(big.Int)
		for range r.IntN(t.Precision + 1) {
			n.Add(n.Mul(n, big.NewInt(10)), big.NewInt(int64(r.IntN(10))))
		}
		if r.IntN(2) == 0 {
			n.Neg(n)
		}
		return n
	case sqltype.YearMonthInterval:
		return units(int64(int32(pick(math.MinInt32, math.MaxInt32, 11, -11))))
	case sqltype.DayTimeInterval:
		return units(pick(math.MinInt64, math.MaxInt64, 1, -1))
	case sqltype.CalendarInterval:
		return unsaferow.Interval{Months: int32(pick(math.MinInt32, 13)), Days: int32(pick(math.MaxInt32, -1)), Microseconds: pick(math.MinInt64, math.MaxInt64, 1)}
	case sqltype.Geometry:
		return unsaferow.Geo{SRID: int32(r.Uint32()), WKB: random(r, &sqltype.Type{Kind: sqltype.Binary}, false).([]byte)}
	case sqltype.Struct:
		return randomRow(r, t)
	case sqltype.Array:
		out := make([]any, r.IntN(4))
		for i := range out {
			out[i] = random(r, t.Element, true)
		}
		return out
	case sqltype.Map:
		out := make([][2]any, r.IntN(4))
		for i := range out {
			out[i] = [2]any{random(r, t.Key, false), random(r, t.Value, true)}
		}
		return out
	}
	panic(t.String())
}

func randomRow(r *rand.Rand, t *sqltype.Type) []any {
	out := make([]any, len(t.Fields))
	for i, f := range t.Fields {
		out[i] = random(r, f.Type, true)
	}
	return out
}

func randomFloat(r *rand.Rand, bits int) float64 {
	switch r.IntN(8) {
	case 0:
		return math.Float64frombits(nan64)
	case 1:
		return math.Inf(r.IntN(2) - 1)
	case 2:
		return math.Copysign(0, float64(r.IntN(2))-1)
	case 3:
		return float64(r.IntN(1e6))
	}
	for {
		f := math.Float64frombits(r.Uint64())
		if bits == 32 {
			f = float64(math.Float32frombits(r.Uint32()))
		}
		if f == f {
			return f
		}
	}
}

// written is the JSON of one row of bytes.
func written(t testing.TB, typ *sqltype.Type, row []byte) []byte {
	t.Helper()
	d, err := unsaferow.NewDecoder(typ, memory.DefaultAllocator)
	require.NoError(t, err)
	a, _, err := d.Decode([][]byte{row})
	require.NoError(t, err)
	defer a.Release()
	w, err := For(typ, a)
	require.NoError(t, err)
	return w(nil, 0)
}

// What is written of a row gives the same bytes when it is read.
func TestParseWhatIsWritten(t *testing.T) {
	typ := ddl(t, everyType)
	r := rand.New(rand.NewPCG(1, 2))
	for range 400 {
		row, err := unsaferow.Append(nil, typ, randomRow(r, typ))
		require.NoError(t, err)
		text := written(t, typ, row)
		v, err := ParseRow(typ, text)
		require.NoError(t, err, "%s", text)
		again, err := unsaferow.Append(nil, typ, v)
		require.NoError(t, err, "%s", text)
		require.Equal(t, row, again, "%s", text)
	}
}

func FuzzParseRow(f *testing.F) {
	typ := ddl(f, everyType)
	r := rand.New(rand.NewPCG(3, 4))
	for range 4 {
		row, err := unsaferow.Append(nil, typ, randomRow(r, typ))
		require.NoError(f, err)
		f.Add(string(written(f, typ, row)))
	}
	small := ddl(f, "ts TIMESTAMP, ds INTERVAL DAY TO SECOND, ci INTERVAL, d DECIMAL(38,10), tm TIME, dt DATE")
	f.Add(`["2026-01-08T06:57:29Z","INTERVAL '1 02:03:04.5' DAY TO SECOND","1 years 4.5 seconds","1.5e3","06:57:29","2026-01-08"]`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, typ := range []*sqltype.Type{typ, small} {
			v, err := ParseRow(typ, []byte(text))
			if err != nil {
				var pe *ParseError
				require.ErrorAs(t, err, &pe)
				continue
			}
			row, err := unsaferow.Append(nil, typ, v)
			if err != nil { // too many digits for a decimal
				continue
			}
			// What was understood is written so that it is understood again.
			again, err := ParseRow(typ, written(t, typ, row))
			require.NoError(t, err)
			second, err := unsaferow.Append(nil, typ, again)
			require.NoError(t, err)
			require.Equal(t, row, second)
		}
	})
}

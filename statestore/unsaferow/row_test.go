package unsaferow

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v17/arrow/decimal128"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/statestore/internal/randrow"
	"github.com/sparkstate/sparkstate/statestore/provider"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

// vectors are rows byte by byte, with the values that they hold. Each is decoded,
// checked, and written again.
var vectors = []struct {
	name, ddl string
	values    []any
	hex       string
}{
	{"string and long", "k STRING, n BIGINT", []any{"a", int64(5)}, `
		00*8
		01 00 00 00 18 00 00 00
		05 00*7
		61 00*7`},
	{"no fields", "", []any{}, ""},
	{"null", "k VOID", []any{nil}, "01 00*7 00*8"},
	{"negative numbers leave the rest of the slot 0", "a TINYINT, b SMALLINT, c INT, d BIGINT, e DATE, f INTERVAL YEAR TO MONTH",
		[]any{int64(-1), int64(-2), int64(-3), int64(-4), int64(-1), int64(-14)}, `
		00*8
		ff 00*7
		fe ff 00*6
		fd ff ff ff 00*4
		fc ff*7
		ff*4 00*4
		f2 ff ff ff 00*4`},
	{"floats", "a FLOAT, b DOUBLE, c BOOLEAN", []any{float32(1), math.Inf(-1), true}, `
		00*8
		00 00 80 3f 00*4
		00*6 f0 ff
		01 00*7`},
	{"times", "a TIMESTAMP, b TIMESTAMP_NTZ, c TIME(3), d INTERVAL DAY TO SECOND",
		[]any{int64(1577836800000000), int64(-1), int64(1000000), int64(-1000000)}, `
		00*8
		00 40 fa c1 08 9b 05 00
		ff*8
		40 42 0f 00*5
		c0 bd f0 ff*5`},
	{"empty text points at the end", "a STRING, b BINARY", []any{"", []byte{}}, `
		00*8
		00 00 00 00 18 00 00 00
		00 00 00 00 18 00 00 00`},
	{"decimals of both sizes", "a DECIMAL(9,2), b DECIMAL(20,0), c DECIMAL(38,10)",
		[]any{decimal128.FromI64(-150), decimal128.FromI64(-1), decimal128.FromBigInt(pow10(20))}, `
		00*8
		6a ff*7
		01 00 00 00 20 00 00 00
		09 00 00 00 30 00 00 00
		ff 00*15
		05 6b c7 5e 2d 63 10 00 00 00*7`},
	{"nulls that keep their place", "a DECIMAL(38,10), b INTERVAL, c STRING", []any{nil, nil, nil}, `
		07 00*7
		00 00 00 00 20 00 00 00
		10 00 00 00 30 00 00 00
		00*8
		00*16
		00*16`},
	{"calendar interval", "a INTERVAL", []any{Interval{-1, 2, 3}}, `
		00*8
		10 00 00 00 10 00 00 00
		ff ff ff ff 02 00 00 00 03 00*7`},
	{"timestamps of 9 digits, from Spark 4.3", "a TIMESTAMP_NTZ(9), b BOOLEAN, c TIMESTAMP_LTZ(9), d BOOLEAN",
		// 2026-01-05 09:00:34.874874874
		[]any{TimestampNanos{1767603634874874, 874}, true, TimestampNanos{1767603634874874, 874}, true}, `
		00*8
		10 00 00 00 28 00 00 00
		01 00*7
		10 00 00 00 38 00 00 00
		01 00*7
		fa a9 c2 4a a0 47 06 00 6a 03 00*6
		fa a9 c2 4a a0 47 06 00 6a 03 00*6`},
	{"timestamps of 7 to 9 digits before 1970, the least, and null", "a TIMESTAMP_LTZ(9), b TIMESTAMP_NTZ(8), c TIMESTAMP_LTZ(7), d TIMESTAMP_NTZ(9)",
		[]any{TimestampNanos{-1, 999}, TimestampNanos{math.MinInt64, 0}, nil, nil}, `
		0c 00*7
		10 00 00 00 28 00 00 00
		10 00 00 00 38 00 00 00
		10 00 00 00 48 00 00 00
		10 00 00 00 58 00 00 00
		ff*8 e7 03 00*6
		00*7 80 00*8
		00*16
		00*16`},
	{"timestamps of 9 digits in structs, arrays and maps",
		"a STRUCT<x: TIMESTAMP_NTZ(9)>, b ARRAY<TIMESTAMP_NTZ(9)>, c MAP<TIMESTAMP_LTZ(9), TIMESTAMP_NTZ(9)>",
		[]any{[]any{nil}, []any{TimestampNanos{1767603652419753, 28}, nil}, [][2]any{{TimestampNanos{1767603652419753, 28}, nil}}}, `
		00*8
		20 00 00 00 20 00 00 00
		30 00 00 00 40 00 00 00
		48 00 00 00 70 00 00 00
		01 00*7 10 00 00 00 10 00 00 00 00*16
		02 00*7 02 00*7 10 00 00 00 20 00 00 00 00*8 a9 60 ce 4b a0 47 06 00 1c 00*7
		28 00*7
		01 00*7 00*8 10 00 00 00 18 00 00 00 a9 60 ce 4b a0 47 06 00 1c 00*7
		01 00*7 01 00*7 00*8`},
	{"window: a struct in the region", "w STRUCT<start: TIMESTAMP, end: TIMESTAMP> NOT NULL, s STRUCT<>", []any{[]any{int64(1), int64(2)}, []any{}}, `
		00*8
		18 00 00 00 18 00 00 00
		00 00 00 00 30 00 00 00
		00*8 01 00*7 02 00*7`},
	{"arrays are packed", "a ARRAY<TINYINT>, b ARRAY<SMALLINT>, c ARRAY<INT>, d ARRAY<BIGINT>, e ARRAY<BOOLEAN>",
		[]any{[]any{int64(-1), nil, int64(3)}, []any{int64(-2)}, []any{int64(-3), int64(4)}, []any{int64(5)}, []any{}}, `
		00*8
		18 00 00 00 30 00 00 00
		18 00 00 00 48 00 00 00
		18 00 00 00 60 00 00 00
		18 00 00 00 78 00 00 00
		08 00 00 00 90 00 00 00
		03 00*7 02 00*7 ff 00 03 00*5
		01 00*7 00*8 fe ff 00*6
		02 00*7 00*8 fd ff ff ff 04 00 00 00
		01 00*7 00*8 05 00*7
		00*8`},
	{"large decimals in an array take what they need, nulls nothing", "a ARRAY<DECIMAL(38,0)>",
		[]any{[]any{decimal128.FromI64(1), nil, decimal128.FromBigInt(pow10(20))}}, `
		00*8
		40 00 00 00 10 00 00 00
		03 00*7 02 00*7
		01 00 00 00 28 00 00 00
		00*8
		09 00 00 00 30 00 00 00
		01 00*7
		05 6b c7 5e 2d 63 10 00 00 00*7`},
	{"intervals, texts and voids in arrays", "a ARRAY<INTERVAL>, b ARRAY<STRING>, c ARRAY<VOID>", []any{[]any{nil, Interval{1, 1, 1}}, []any{"x", ""}, []any{nil}}, `
		00*8
		30 00 00 00 20 00 00 00
		28 00 00 00 50 00 00 00
		18 00 00 00 78 00 00 00
		02 00*7 01 00*7 00*8 10 00 00 00 20 00 00 00 01 00 00 00 01 00 00 00 01 00*7
		02 00*7 00*8 01 00 00 00 20 00 00 00 00 00 00 00 28 00 00 00 78 00*7
		01 00*7 01 00*7 00*8`},
	{"map", "m MAP<STRING, INT>", []any{[][2]any{{"k", int64(7)}}}, `
		00*8
		40 00 00 00 10 00 00 00
		20 00*7
		01 00*7 00*8 01 00 00 00 18 00 00 00 6b 00*7
		01 00*7 00*8 07 00*7`},
	{"variant and geography", "v VARIANT, g GEOGRAPHY(4326)", []any{Variant{[]byte{0x0c, 5}, []byte{1, 0, 0}}, Geo{4326, []byte{1, 2}}}, `
		00*8
		09 00 00 00 18 00 00 00
		06 00 00 00 28 00 00 00
		02 00 00 00 0c 05 01 00 00 00*7
		e6 10 00 00 01 02 00 00`},
}

func pow10(n int64) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(n), nil) }

func TestVectors(t *testing.T) {
	for _, v := range vectors {
		t.Run(v.name, func(t *testing.T) {
			typ, row := ddl(t, v.ddl), unhex(t, v.hex)
			got, stats, err := decode(t, typ, row, row)
			require.NoError(t, err)
			assert.Equal(t, [][]any{v.values, v.values}, got)
			assert.Zero(t, stats)
			assert.NoError(t, Validate(row, typ))

			prefix := []byte("prefix")
			b, err := Append(prefix, typ, v.values)
			require.NoError(t, err)
			assert.Equal(t, append(prefix, row...), b)
		})
	}
}

// TestNullsThatHoldSomething has keys in which Spark did not clear the bytes that
// a null keeps.
func TestNullsThatHoldSomething(t *testing.T) {
	for _, tc := range []struct{ ddl, hex string }{
		{"t TIMESTAMP_NTZ(9), u TIMESTAMP_LTZ(9)", `
			03 00*7
			10 00 00 00 18 00 00 00
			10 00 00 00 28 00 00 00
			0d 6c b3 49 a0 47 06 00 9d 01 00*6
			0d 6c b3 49 a0 47 06 00 9d 01 00*6`},
		{"t INTERVAL, u INTERVAL", `
			03 00*7
			10 00 00 00 18 00 00 00
			10 00 00 00 28 00 00 00
			00*4 0e 00*3 00*8
			15 00*7 00*8`},
		// Written where an array had been.
		{"a STRUCT<t: TIMESTAMP_NTZ(9)>, b BIGINT", `
			00*8
			20 00 00 00 18 00 00 00
			00*8
			01 00*7 10 00 00 00 10 00 00 00 20 00 00 00 20 00 00 00 00*8`},
	} {
		typ, row := ddl(t, tc.ddl), unhex(t, tc.hex)
		got, stats, err := decode(t, typ, row)
		require.NoError(t, err)
		assert.Zero(t, stats)
		assert.NoError(t, Validate(row, typ))
		cleared, err := Append(nil, typ, got[0])
		require.NoError(t, err)
		assert.Len(t, cleared, len(row))
		assert.NotEqual(t, row, cleared)
		again, _, err := decode(t, typ, cleared)
		require.NoError(t, err)
		assert.Equal(t, got, again)
	}
}

// TestManyNulls goes through all patterns of nulls around the borders of the
// words and bytes of null bits.
func TestManyNulls(t *testing.T) {
	typ := &sqltype.Type{Kind: sqltype.Struct}
	for range 130 {
		typ.Fields = append(typ.Fields, sqltype.Field{Name: "c", Type: &sqltype.Type{Kind: sqltype.Long}})
	}
	var want [][]any
	var rows [][]byte
	for skip := range 131 {
		values := make([]any, 130)
		for i := range values {
			if i != skip && (skip < 100 || i%skip != 3) {
				values[i] = int64(i)
			}
		}
		b, err := Append(nil, typ, values)
		require.NoError(t, err)
		require.Len(t, b, 24+8*130)
		want, rows = append(want, values), append(rows, b)
	}
	got, _, err := decode(t, typ, rows...)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// TestRandom writes random values of random types and reads them again, in
// batches of a few rows and of several chunks.
func TestRandom(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		typ := randrow.Struct(r, 3)
		n := r.IntN(30)
		if seed%50 == 0 {
			n = 2*chunk + r.IntN(chunk)
		}
		want, rows := [][]any{}, [][]byte{}
		for range n {
			values := randomValue(r, typ, false).([]any)
			b, err := Append(nil, typ, values)
			require.NoError(t, err)
			require.NoError(t, Validate(b, typ), "%v", typ)
			want, rows = append(want, values), append(rows, b)
		}
		got, stats, err := decode(t, typ, rows...)
		require.NoError(t, err, "seed %d: %v", seed, typ)
		require.Equal(t, want, got, "seed %d: %v", seed, typ)
		require.Zero(t, stats)
	}
}

// TestReuse checks that a decoder carries nothing from one batch to the next,
// also after one that failed.
func TestReuse(t *testing.T) {
	typ := ddl(t, "k STRING, a ARRAY<STRUCT<x: INT, s: STRING>>, m MAP<INT, ARRAY<STRING>>, d DECIMAL(20,2), v VARIANT, i INTERVAL, b BOOLEAN")
	d, err := NewDecoder(typ, nil)
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(5, 5))
	for round := range 30 {
		want, rows := [][]any{}, [][]byte{}
		for range r.IntN(3 * chunk) {
			values := randomValue(r, typ, false).([]any)
			b, err := Append(nil, typ, values)
			require.NoError(t, err)
			want, rows = append(want, values), append(rows, b)
		}
		if round%3 == 2 && len(rows) > 0 {
			bad := r.IntN(len(rows))
			rows[bad] = rows[bad][:len(rows[bad])-8]
			_, _, err := d.Decode(rows)
			var re *RowError
			require.ErrorAs(t, err, &re)
			require.Equal(t, bad, re.Row)
			continue
		}
		arr, _, err := d.Decode(rows)
		require.NoError(t, err)
		require.Equal(t, len(want), arr.Len())
		for i := range want {
			require.Equal(t, want[i], value(t, arr, typ, i))
		}
		arr.Release()
	}
}

func TestUnknownTypes(t *testing.T) {
	typ, err := sqltype.ParseJSON([]byte(`{"type":"struct","fields":[
		{"name":"a","type":"long"},
		{"name":"u","type":"hologram"},
		{"name":"l","type":{"type":"array","elementType":"hologram"}},
		{"name":"m","type":{"type":"map","keyType":"long","valueType":"hologram"}},
		{"name":"k","type":{"type":"map","keyType":"hologram","valueType":"long"}},
		{"name":"z","type":"string"}]}`))
	require.NoError(t, err)
	row := unhex(t, `
		00*8
		01 00*7
		10 00 00 00 38 00 00 00
		28 00 00 00 48 00 00 00
		38 00 00 00 70 00 00 00
		99*8
		01 00 00 00 a8 00 00 00
		aa*16
		02 00*7 00*8 bb*16 00*8
		18 00*7 01 00*7 00*8 05 00*7 01 00*7 00*8 cc*8
		7a 00*7`)
	got, stats, err := decode(t, typ, row)
	require.NoError(t, err)
	assert.Equal(t, [][]any{{int64(1), nil, []any{nil, nil}, [][2]any{{int64(5), nil}}, nil, "z"}}, got)
	assert.Zero(t, stats)
	assert.NoError(t, Validate(row, typ))

	_, err = Append(nil, typ, []any{1, nil, nil, nil, nil, "z"})
	assert.NoError(t, err)
	_, err = Append(nil, typ, []any{1, 2, nil, nil, nil, "z"})
	assert.ErrorContains(t, err, "column u: cannot write a int as hologram")
	_, err = Append(nil, typ, []any{1, nil, []any{1}, nil, nil, "z"})
	assert.ErrorContains(t, err, "column l.element: the width")
}

// damaged are rows that break one rule each.
var damaged = []struct {
	name, ddl, hex string
	column         string
	offset         int
	reason         string
}{
	{"no bytes", "a INT", "", "", 0, "a size of 0 bytes is too small for 1 fields"},
	{"cut", "a INT", "00*15", "", 0, "a size of 15 bytes is not a multiple of 8"},
	{"too small", "a INT, b INT", "00*16", "", 0, "a size of 16 bytes is too small for 2 fields"},
	{"bytes without fields", "", "00*8", "", 0, "a row without fields has 8 bytes"},
	{"boolean", "a BOOLEAN", "00*8 02 00*7", "a", 8, "the unused bytes of the slot 0x2 are not 0"},
	{"byte", "x BIGINT, a TINYINT", "00*16 ff*8", "a", 16, "the unused bytes of the slot 0xffffffffffffffff are not 0"},
	{"short", "a SMALLINT", "00*8 00 00 01 00*5", "a", 8, "the unused bytes of the slot 0x10000 are not 0"},
	{"int", "a INT", "00*8 00*4 01 00*3", "a", 8, "the unused bytes of the slot 0x100000000 are not 0"},
	{"float", "a FLOAT", "00*8 00*7 80", "a", 8, "the unused bytes of the slot 0x8000000000000000 are not 0"},
	{"null that is not 0", "a BIGINT", "01 00*7 01 00*7", "a", 8, "the slot of a null holds 0x1"},
	{"null text that is not 0", "a STRING", "01 00*7 00*4 10 00*3", "a", 8, "the slot of a null holds 0x1000000000"},
	{"null decimal with a size", "a DECIMAL(20,0)", "01 00*7 01 00*3 10 00*3 00*16", "a", 8, "the slot of a null holds 0x1000000001"},
	{"null decimal beyond the row", "a DECIMAL(20,0)", "01 00*7 00*4 21 00*3 00*16", "a", 8, "the slot of a null holds 0x2100000000"},
	{"null interval beyond the row", "a INTERVAL", "01 00*7 10 00*3 18 00*3 00*16", "a", 8, "the slot of a null holds 0x1800000010"},
	{"null interval of another size", "a INTERVAL", "01 00*7 08 00*3 10 00*3 00*16", "a", 8, "the slot of a null holds 0x1000000008"},
	{"void that is not null", "a VOID", "00*16", "a", 8, "a void is not null"},
	{"text in the fixed part", "a STRING", "00*8 04 00*3 08 00*3", "a", 8, "offset 8 and size 4 do not lie within bytes 16 to 16"},
	{"text beyond the row", "a STRING", "00*8 09 00*3 10 00*3 00*8", "a", 8, "offset 16 and size 9 do not lie within bytes 16 to 24"},
	{"text of negative size", "a STRING", "00*8 ff*4 10 00*3 00*8", "a", 8, "offset 16 and size -1 do not lie within bytes 16 to 24"},
	{"text at a negative offset", "a STRING", "00*8 10 00*3 f0 ff ff ff 00*8", "a", 8, "offset -16 and size 16 do not lie within bytes 16 to 24"},
	{"texts on top of each other", "a STRING, b STRING", "00*8 08 00*3 18 00*3 08 00*3 18 00*3 00*8", "b", 16, "the sizes of its values add up to more than the whole"},
	{"decimal without bytes", "a DECIMAL(20,0)", "00*8 00*4 10 00*3 00*16", "a", 16, "a decimal has 0 bytes"},
	{"decimal of 17 bytes", "a DECIMAL(20,0)", "00*8 11 00*3 10 00*3 00*24", "a", 16, "a decimal has 17 bytes"},
	{"decimal with too many digits", "a DECIMAL(19,0)", "00*8 09 00*3 10 00*3 05 6b c7 5e 2d 63 10 00 00 00*7", "a", 16, "the unscaled value 100000000000000000000 has more than 19 digits"},
	{"least of all 128 bits", "a DECIMAL(38,0)", "00*8 10 00*3 10 00*3 80 00*15", "a", 16, "the unscaled value -170141183460469231731687303715884105728 has more than 38 digits"},
	{"small decimal with too many digits", "a DECIMAL(2,0)", "00*8 9c ff*7", "a", 8, "the unscaled value -100 has more than 2 digits"},
	{"interval", "a INTERVAL", "00*8 08 00*3 10 00*3 00*8", "a", 16, "a calendar interval has 8 bytes, not 16"},
	{"nanosecond timestamp", "a TIMESTAMP_LTZ(9)", "00*8 08 00*3 10 00*3 00*8", "a", 16, "a nanosecond timestamp has 8 bytes, not 16"},
	{"nanosecond timestamp of too many", "x INT, a TIMESTAMP_NTZ(7)", "00*16 10 00*3 18 00*3 00*8 e8 03 00*6", "a", 24, "a timestamp has 1000 nanoseconds beside its microseconds, not 0 to 999"},
	{"nanosecond timestamp of negative nanoseconds", "a TIMESTAMP_NTZ(9)", "00*8 10 00*3 10 00*3 00*8 ff*8", "a", 16, "a timestamp has -1 nanoseconds beside its microseconds, not 0 to 999"},
	{"nanosecond timestamp with more than a short", "a TIMESTAMP_NTZ(9)", "00*8 10 00*3 10 00*3 00*8 01 00 01 00*5", "a", 16, "a timestamp has 65537 nanoseconds beside its microseconds, not 0 to 999"},
	{"null nanosecond timestamp of another size", "a TIMESTAMP_NTZ(9)", "01 00*7 08 00*3 10 00*3 00*16", "a", 8, "the slot of a null holds 0x1000000008"},
	{"null nanosecond timestamp beyond the row", "a TIMESTAMP_LTZ(9)", "01 00*7 10 00*3 18 00*3 00*16", "a", 8, "the slot of a null holds 0x1800000010"},
	{"null nanosecond timestamp in an array", "a ARRAY<TIMESTAMP_LTZ(9)>", "00*8 18 00*3 10 00*3 01 00*7 01 00*7 10 00*3 18 00*3", "a.element", 32, "a null element holds 0x1800000010"},
	{"variant", "a VARIANT", "00*8 06 00*3 10 00*3 03 00*7", "a", 16, "a variant of 6 bytes cannot hold a value of 3"},
	{"variant too small", "a VARIANT", "00*8 03 00*3 10 00*3 00*8", "a", 16, "a variant has 3 bytes"},
	{"geometry", "a GEOMETRY", "00*8 03 00*3 10 00*3 00*8", "a", 16, "a geometry has 3 bytes"},
	{"struct too small", "w STRUCT<start: BIGINT, end: BIGINT>", "00*8 10 00*3 10 00*3 00*16", "w", 16, "a size of 16 bytes is too small for 2 fields"},
	{"struct of an odd size", "w STRUCT<start: BIGINT>", "00*8 11 00*3 10 00*3 00*24", "w", 16, "a size of 17 bytes is not a multiple of 8"},
	{"field of a struct", "x INT, w STRUCT<start: BIGINT, end: INT>", "00*16 18 00*3 18 00*3 00*16 00*4 01 00*3", "w.end", 40, "the unused bytes of the slot 0x100000000 are not 0"},
	{"array too small", "a ARRAY<INT>", "00*8 04 00*3 10 00*3 00*8", "a.element", 16, "a size of 4 bytes is not that of an array"},
	{"array of a negative count", "a ARRAY<INT>", "00*8 08 00*3 10 00*3 ff*8", "a.element", 16, "an array of 8 bytes cannot hold -1 elements"},
	{"array of a vast count", "a ARRAY<INT>", "00*8 08 00*3 10 00*3 ff*7 7f", "a.element", 16, "an array of 8 bytes cannot hold 9223372036854775807 elements"},
	{"array of one too many", "a ARRAY<BIGINT>", "00*8 18 00*3 10 00*3 02 00*7 00*16", "a.element", 16, "an array of 24 bytes cannot hold 2 elements"},
	{"null element that is not 0", "a ARRAY<SMALLINT>", "00*8 18 00*3 10 00*3 02 00*7 02 00*7 00 00 07 00 00*4", "a.element", 34, "a null element holds 0x7"},
	{"boolean element", "a ARRAY<BOOLEAN>", "00*8 18 00*3 10 00*3 02 00*7 00*8 01 02 00*6", "a.element", 33, "a boolean is 2"},
	{"small decimal element", "a ARRAY<DECIMAL(2,0)>", "00*8 18 00*3 10 00*3 01 00*7 00*8 64 00*7", "a.element", 32, "the unscaled value 100 has more than 2 digits"},
	{"void element", "a ARRAY<VOID>", "00*8 18 00*3 10 00*3 01 00*7 00*16", "a.element", 32, "a void is not null"},
	{"text element in the fixed part", "a ARRAY<STRING>", "00*8 20 00*3 10 00*3 01 00*7 00*8 01 00*3 10 00*3 00*8", "a.element", 32, "offset 16 and size 1 do not lie within bytes 24 to 32"},
	{"text elements on top of each other", "a ARRAY<STRING>", "00*8 28 00*3 10 00*3 02 00*7 00*8 08 00*3 20 00*3 08 00*3 20 00*3 00*8", "a.element", 40, "the sizes of its values add up to more than the whole"},
	{"field of an element", "a ARRAY<STRUCT<b: INT>>", "00*8 28 00*3 10 00*3 01 00*7 00*8 10 00*3 18 00*3 01 00*7 01 00*7", "a.element.b", 48, "the slot of a null holds 0x1"},
	{"map too small", "m MAP<INT, INT>", "00*8 04 00*3 10 00*3 00*8", "m", 16, "a size of 4 bytes is not that of a map"},
	{"map of vast keys", "m MAP<INT, INT>", "00*8 18 00*3 10 00*3 18 00*7 00*16", "m", 16, "a map of 24 bytes cannot hold keys of 24 bytes"},
	{"map of negative keys", "m MAP<INT, INT>", "00*8 18 00*3 10 00*3 ff*8 00*16", "m", 16, "a map of 24 bytes cannot hold keys of -1 bytes"},
	{"map without values", "m MAP<INT, INT>", "00*8 10 00*3 10 00*3 08 00*7 00*8", "m.value", 32, "a size of 0 bytes is not that of an array"},
	{"null key", "m MAP<INT, INT>", "00*8 38 00*3 10 00*3 18 00*7 01 00*7 01 00*7 00*8 01 00*7 00*16", "m.key", 40, "a key of a map is null"},
	{"more keys than values", "m MAP<INT, INT>", "00*8 28 00*3 10 00*3 18 00*7 01 00*7 00*16 00*8", "m", 16, "a map has 1 keys and 0 values"},
	{"value of a map", "m MAP<INT, BOOLEAN>", "00*8 38 00*3 10 00*3 18 00*7 01 00*7 00*16 01 00*7 00*8 02 00*7", "m.value", 64, "a boolean is 2"},
	{"fields of the same name", "s INT, s INT", "00*16 00*7 01", "[1]", 16, "the unused bytes of the slot 0x100000000000000 are not 0"},
	{"field without a name", "s STRUCT<`` BOOLEAN>", "00*8 10 00*3 10 00*3 00*8 02 00*7", "s[0]", 24, "the unused bytes of the slot 0x2 are not 0"},
	{"name with a dot", "`a.b` STRUCT<c BOOLEAN>", "00*8 10 00*3 10 00*3 00*8 02 00*7", "`a.b`.c", 24, "the unused bytes of the slot 0x2 are not 0"},
}

func TestDamaged(t *testing.T) {
	for _, v := range damaged {
		t.Run(v.name, func(t *testing.T) {
			typ, row := ddl(t, v.ddl), unhex(t, v.hex)
			want := RowError{Row: -1, Column: v.column, Offset: v.offset, Reason: v.reason}
			err := Validate(row, typ)
			var re *RowError
			require.ErrorAs(t, err, &re)
			assert.Equal(t, want, *re)
			assert.ErrorIs(t, err, provider.ErrRow)
			assert.ErrorIs(t, err, provider.ErrDamaged)

			// The same among good rows.
			good := make([]any, len(typ.Fields))
			b, err := Append(nil, typ, good)
			require.NoError(t, err)
			rows := [][]byte{b, b, row, b}
			_, _, err = decode(t, typ, rows...)
			require.ErrorAs(t, err, &re)
			want.Row = 2
			assert.Equal(t, want, *re)
		})
	}
}

// TestErrorInElement has the damage far into many arrays, so that it is met in a
// later chunk of elements than its array began in.
func TestErrorInElement(t *testing.T) {
	typ := ddl(t, "x INT, a ARRAY<MAP<INT, ARRAY<STRUCT<b: INT, c: DECIMAL(4,0)>>>>")
	inner := func(n int) []any {
		out := []any{}
		for i := range n {
			out = append(out, []any{i, i})
		}
		return out
	}
	for _, bad := range []int{0, 1, 700, 1499} {
		var rows [][]byte
		var at int
		for i := range 3 {
			row := []any{i, []any{nil, [][2]any{{1, inner(3)}, {2, nil}, {3, inner(1500)}}, [][2]any{}}}
			b, err := Append(nil, typ, row)
			require.NoError(t, err)
			if i == 1 {
				// The decimal of element bad: two slots from the end of each
				// 24-byte struct, counted from the end of the row, behind which
				// come the empty map (8 + 8 + 8 bytes).
				at = len(b) - 24 - 24*1500 + 24*bad + 16
				require.EqualValues(t, bad, le.Uint64(b[at:]))
				le.PutUint64(b[at:], 10000)
			}
			rows = append(rows, b)
		}
		want := RowError{Row: 1, Column: "a.element.value.element.c", Offset: at, Reason: "the unscaled value 10000 has more than 4 digits"}
		_, _, err := decode(t, typ, rows...)
		var re *RowError
		require.ErrorAs(t, err, &re)
		assert.Equal(t, want, *re)
		want.Row = -1
		require.ErrorAs(t, Validate(rows[1], typ), &re)
		assert.Equal(t, want, *re)
	}
}

func TestErrorText(t *testing.T) {
	err := &RowError{Row: 7, Column: "window.start", Offset: 24, Reason: "why"}
	assert.Equal(t, "row 7, column window.start: at byte 24: why", err.Error())
	assert.Equal(t, "row: at byte 0: why", (&RowError{Row: -1, Reason: "why"}).Error())
}

func TestBadTypes(t *testing.T) {
	for _, typ := range []*sqltype.Type{
		nil,
		{Kind: sqltype.Long},
		{Kind: sqltype.Struct, Fields: []sqltype.Field{{}}},
		{Kind: sqltype.Struct, Fields: []sqltype.Field{{Type: &sqltype.Type{Kind: sqltype.Array}}}},
		{Kind: sqltype.Struct, Fields: []sqltype.Field{{Type: &sqltype.Type{Kind: sqltype.Map}}}},
		{Kind: sqltype.Struct, Fields: []sqltype.Field{{Type: &sqltype.Type{Kind: sqltype.UDT}}}},
		{Kind: sqltype.Struct, Fields: []sqltype.Field{{Type: &sqltype.Type{Kind: sqltype.Decimal, Precision: 39}}}},
	} {
		_, err := NewDecoder(typ, nil)
		assert.Error(t, err)
		_, err = Append(nil, typ, nil)
		assert.Error(t, err)
		assert.Error(t, Validate(nil, typ))
	}
}

func TestSlack(t *testing.T) {
	typ := ddl(t, "a BIGINT, s STRING, d DECIMAL(20,0), i INTERVAL")
	tight, err := Append(nil, typ, []any{1, "abc", 2, Interval{}})
	require.NoError(t, err)
	nulls, err := Append(nil, typ, []any{nil, nil, nil, nil})
	require.NoError(t, err)
	_, stats, err := decode(t, typ, tight, nulls, append(tight[:len(tight):len(tight)], make([]byte, 8)...))
	require.NoError(t, err)
	assert.EqualValues(t, 1, stats.Slack)

	// Read with a schema that lacks the last columns.
	_, stats, err = decode(t, ddl(t, "a BIGINT"), tight, tight)
	require.NoError(t, err)
	assert.EqualValues(t, 2, stats.Slack)
}

// TestHostile has rows that would unfold to far more than they are.
func TestHostile(t *testing.T) {
	// 100 fields point at all the rest of the row each.
	typ := &sqltype.Type{Kind: sqltype.Struct}
	for range 100 {
		typ.Fields = append(typ.Fields, sqltype.Field{Name: "s", Type: &sqltype.Type{Kind: sqltype.Binary}})
	}
	row := make([]byte, 1<<20)
	for i := range 100 {
		le.PutUint64(row[16+8*i:], uint64(FixedSize(100))<<32|uint64(len(row)-FixedSize(100)))
	}
	_, _, err := decode(t, typ, row)
	require.ErrorContains(t, err, reasonCrowded)

	// The elements of an array are one and the same array each.
	row = make([]byte, 1<<20)
	le.PutUint64(row[8:], 16<<32|uint64(len(row)-16))
	outer := row[16:]
	n := 1 << 14
	le.PutUint64(outer, uint64(n))
	head, reason := readArrayHead(outer, 8)
	require.Empty(t, reason)
	inner := outer[head.region:]
	le.PutUint64(inner, uint64(len(inner)*3/4))
	for i := range n {
		le.PutUint64(outer[head.first+8*i:], uint64(head.region)<<32|uint64(len(inner)))
	}
	_, _, err = decode(t, ddl(t, "a ARRAY<ARRAY<TINYINT>>"), row)
	require.ErrorContains(t, err, reasonCrowded)

	// Null structs of many fields: 8 bytes each, and thousands of values.
	wide := &sqltype.Type{Kind: sqltype.Struct}
	for range 5000 {
		wide.Fields = append(wide.Fields, sqltype.Field{Name: "f", Type: &sqltype.Type{Kind: sqltype.Void}})
	}
	typ = &sqltype.Type{Kind: sqltype.Struct, Fields: []sqltype.Field{{Name: "a", Type: &sqltype.Type{Kind: sqltype.Array, Element: wide}}}}
	row, err = Append(nil, typ, []any{make([]any, 4000)})
	require.NoError(t, err)
	_, _, err = decode(t, typ, row)
	var re *RowError
	require.ErrorAs(t, err, &re)
	assert.Equal(t, RowError{Reason: "it unfolds to more than one array can hold"}, *re)
	_, _, err = decode(t, typ, row, row)
	require.ErrorIs(t, err, ErrBatchTooLarge)
	assert.NotErrorIs(t, err, provider.ErrDamaged)
}

func TestTooMuchText(t *testing.T) {
	typ := ddl(t, "s STRING, v VARIANT")
	d, err := NewDecoder(typ, nil)
	require.NoError(t, err)
	d.run.maxText = 100
	row := func(s string, n int) []byte {
		b, err := Append(nil, typ, []any{s, Variant{make([]byte, n), nil}})
		require.NoError(t, err)
		return b
	}
	fifty := row(strings.Repeat("x", 50), 50)
	arr, _, err := d.Decode([][]byte{fifty, fifty})
	require.NoError(t, err)
	arr.Release()
	for _, rows := range [][][]byte{
		{fifty, fifty, row("x", 0)},
		{fifty, fifty, row("", 1)},
		{row(strings.Repeat("\xff", 20), 0), row(strings.Repeat("\xff", 20), 0)},
	} {
		_, _, err = d.Decode(rows)
		require.ErrorIs(t, err, ErrBatchTooLarge)
	}
	_, _, err = d.Decode([][]byte{row(strings.Repeat("\xff", 40), 0)})
	require.ErrorIs(t, err, provider.ErrRow)
}

func TestView(t *testing.T) {
	typ := ddl(t, "a BIGINT, b INT, c SMALLINT, d TINYINT, e BOOLEAN, f FLOAT, g DOUBLE, h STRING, i BINARY, j ARRAY<SMALLINT>, k ARRAY<STRING>")
	b, err := Append(nil, typ, []any{-1, -2, -3, -4, true, 1.5, -2.5, "text", nil, []any{-5, nil}, []any{"x", nil, "y"}})
	require.NoError(t, err)
	r, err := View(b, 11)
	require.NoError(t, err)
	assert.Equal(t, 11, r.Len())
	assert.EqualValues(t, -1, r.Int64(0))
	assert.EqualValues(t, -2, r.Int32(1))
	assert.EqualValues(t, -3, r.Int16(2))
	assert.EqualValues(t, -4, r.Int8(3))
	assert.True(t, r.Bool(4))
	assert.EqualValues(t, 1.5, r.Float32(5))
	assert.EqualValues(t, -2.5, r.Float64(6))
	text, err := r.Bytes(7)
	require.NoError(t, err)
	assert.Equal(t, "text", string(text))
	assert.False(t, r.IsNull(7))
	assert.True(t, r.IsNull(8))
	assert.Panics(t, func() { r.Word(11) })
	assert.Panics(t, func() { r.IsNull(-1) })

	arr, err := r.Bytes(9)
	require.NoError(t, err)
	a, err := ViewArray(arr, 2)
	require.NoError(t, err)
	assert.Equal(t, 2, a.Len())
	assert.EqualValues(t, 0xfffb, a.Word(0))
	assert.False(t, a.IsNull(0))
	assert.True(t, a.IsNull(1))
	assert.Panics(t, func() { a.Word(2) })
	_, err = ViewArray(arr, 3)
	assert.ErrorIs(t, err, provider.ErrRow)
	_, err = ViewArray(arr[:8], 2)
	assert.ErrorIs(t, err, provider.ErrRow)
	arr, err = r.Bytes(10)
	require.NoError(t, err)
	a, err = ViewArray(arr, 8)
	require.NoError(t, err)
	text, err = a.Bytes(2)
	require.NoError(t, err)
	assert.Equal(t, "y", string(text))
	_, err = a.Bytes(1)
	assert.ErrorIs(t, err, provider.ErrRow, "a null points at nothing")

	_, err = r.Bytes(0)
	assert.ErrorContains(t, err, "column [0]: at byte 8: offset -1 and size -1")
	_, err = View(b, 100)
	assert.ErrorIs(t, err, provider.ErrRow)
	_, err = View(b[:len(b)-1], 11)
	assert.ErrorIs(t, err, provider.ErrRow)
}

func TestAppendValues(t *testing.T) {
	at := time.Date(2026, 1, 8, 23, 57, 29, 1500, time.FixedZone("", -3600))
	typ := ddl(t, "a DATE, b TIMESTAMP, c TIMESTAMP_NTZ, d TIME, e INTERVAL DAY TO SECOND, f DECIMAL(5,0), g DECIMAL(30,0), h FLOAT, i DOUBLE, j STRING, k BINARY, l BIGINT, m TINYINT")
	b, err := Append(nil, typ, []any{at, at, at, 90 * time.Second, 90 * time.Second, big.NewInt(-7), pow10(29), 3, float32(2.5), []byte("s"), "b", uint8(200), int8(-3)})
	require.NoError(t, err)
	got, _, err := decode(t, typ, b)
	require.NoError(t, err)
	assert.Equal(t, []any{
		int64(20461), at.UnixMicro(), time.Date(2026, 1, 8, 23, 57, 29, 1000, time.UTC).UnixMicro(), int64(90e9), int64(90e6),
		decimal128.FromI64(-7), decimal128.FromBigInt(pow10(29)), float32(3), 2.5, "s", []byte("b"), int64(200), int64(-3),
	}, got[0])
	b, err = Append(nil, ddl(t, "a DATE, b DATE"), []any{time.Date(1969, 12, 31, 23, 0, 0, 0, time.UTC), time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)})
	require.NoError(t, err)
	got, _, err = decode(t, ddl(t, "a DATE, b DATE"), b)
	require.NoError(t, err)
	assert.Equal(t, []any{int64(-1), int64(-719162)}, got[0])

	// Digits of the second, and the years beyond those that 64 bits of
	// nanoseconds reach.
	typ = ddl(t, "a TIMESTAMP_LTZ(7), b TIMESTAMP_LTZ(8), c TIMESTAMP_LTZ(9), d TIMESTAMP_NTZ(7), e TIMESTAMP_NTZ(9), f TIMESTAMP_NTZ(7)")
	ancient := time.Date(1, 1, 1, 0, 0, 0, 123456789, time.FixedZone("", -3600))
	b, err = Append(nil, typ, []any{ancient, ancient, ancient, ancient, ancient, TimestampNanos{5, 789}})
	require.NoError(t, err)
	got, _, err = decode(t, typ, b)
	require.NoError(t, err)
	us := time.Date(1, 1, 1, 0, 0, 0, 123456000, time.UTC).UnixMicro()
	assert.Equal(t, []any{
		TimestampNanos{us + 3600e6, 700}, TimestampNanos{us + 3600e6, 780}, TimestampNanos{us + 3600e6, 789},
		TimestampNanos{us, 700}, TimestampNanos{us, 789}, TimestampNanos{5, 789},
	}, got[0])

	// All widths of Go integers.
	for _, v := range []any{int(5), int8(5), int16(5), int32(5), int64(5), uint(5), uint8(5), uint16(5), uint32(5), uint64(5)} {
		b, err := Append(nil, ddl(t, "a INT"), []any{v})
		require.NoError(t, err)
		assert.Equal(t, unhex(t, "00*8 05 00*7"), b)
	}

	for _, tc := range []struct {
		ddl   string
		value any
		want  string
	}{
		{"a TINYINT", 128, "column a: 128 does not fit into TINYINT"},
		{"a TINYINT", -129, "column a: -129 does not fit into TINYINT"},
		{"a INT", int64(1) << 31, "column a: 2147483648 does not fit into INT"},
		{"a BIGINT", uint64(1) << 63, "column a: cannot write a uint64 as BIGINT"},
		{"a BIGINT", uint(1) << 63, "column a: cannot write a uint as BIGINT"},
		{"a BIGINT", 1.5, "column a: cannot write a float64 as BIGINT"},
		{"a BIGINT", at, "column a: cannot write a time.Time as BIGINT"},
		{"a BIGINT", time.Second, "column a: cannot write a time.Duration as BIGINT"},
		{"a DOUBLE", "1", "column a: cannot write a string as DOUBLE"},
		{"a BOOLEAN", 1, "column a: cannot write a int as BOOLEAN"},
		{"a DECIMAL(2,0)", 100, "column a: the unscaled value 100 has more than 2 digits"},
		{"a DECIMAL(38,0)", pow10(38), "column a: the unscaled value 100000000000000000000000000000000000000 has more than 38 digits"},
		{"a DECIMAL(38,0)", pow10(50), "has more than 38 digits"},
		{"a DECIMAL(38,0)", "1", "column a: cannot write a string as DECIMAL(38,0)"},
		{"a DECIMAL(38,0)", (*big.Int)(nil), "cannot write a *big.Int as DECIMAL(38,0)"},
		{"a STRING", 1, "column a: cannot write a int as STRING"},
		{"a INTERVAL", 1, "column a: cannot write a int as INTERVAL"},
		{"a TIMESTAMP_LTZ(9)", 1, "column a: cannot write a int as TIMESTAMP_LTZ(9)"},
		{"a TIMESTAMP_LTZ(9)", TimestampNanos{0, 1000}, "column a: a timestamp has 1000 nanoseconds beside its microseconds, not 0 to 999"},
		{"a TIMESTAMP_LTZ(9)", TimestampNanos{0, -1}, "column a: a timestamp has -1 nanoseconds beside its microseconds, not 0 to 999"},
		{"a TIMESTAMP_NTZ(9)", time.Date(300000, 1, 1, 0, 0, 0, 0, time.UTC), "column a: 300000-01-01 00:00:00 +0000 UTC does not fit into TIMESTAMP_NTZ(9)"},
		{"a VARIANT", 1, "column a: cannot write a int as VARIANT"},
		{"a GEOMETRY", 1, "column a: cannot write a int as geometry"},
		{"a VOID", 1, "column a: cannot write a int as VOID"},
		{"a STRUCT<b INT>", 1, "column a: cannot write a int as STRUCT<b: INT>"},
		{"a STRUCT<b INT>", []any{}, "column a: 0 values for 1 fields"},
		{"a STRUCT<b INT>", []any{""}, "column a.b: cannot write a string as INT"},
		{"a ARRAY<INT>", 1, "column a: cannot write a int as ARRAY<INT>"},
		{"a ARRAY<INT>", []any{""}, "column a.element: cannot write a string as INT"},
		{"a MAP<INT, INT>", 1, "column a: cannot write a int as MAP<INT, INT>"},
		{"a MAP<INT, INT>", [][2]any{{nil, 1}}, "column a.key: a key of a map is null"},
		{"a MAP<INT, INT>", [][2]any{{1, ""}}, "column a.value: cannot write a string as INT"},
	} {
		dst := []byte("dst")
		b, err := Append(dst, ddl(t, tc.ddl), []any{tc.value})
		var ve *ValueError
		require.ErrorAs(t, err, &ve, tc.want)
		assert.ErrorContains(t, err, tc.want)
		assert.Equal(t, dst, b)
	}
	_, err = Append(nil, ddl(t, "a INT"), nil)
	assert.EqualError(t, err, "unsaferow: 0 values for 1 fields")
}

func TestDecimalBytes(t *testing.T) {
	for _, n := range []string{"0", "1", "-1", "127", "128", "-128", "-129", "255", "256", "32767", "32768", "-32768", "-32769",
		"9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
		"99999999999999999999999999999999999999", "-99999999999999999999999999999999999999"} {
		want, ok := new(big.Int).SetString(n, 10)
		require.True(t, ok)
		b := appendDecimal(nil, decimal128.FromBigInt(want))
		got, reason := readDecimal(b, 38)
		require.Empty(t, reason)
		assert.Equal(t, want.String(), got.BigInt().String())
		// No shorter form exists.
		assert.Equal(t, twosComplementSize(want), len(b), n)
	}
}

// twosComplementSize is what Java's BigInteger.toByteArray says: room for the
// magnitude's bits and one for the sign.
func twosComplementSize(n *big.Int) int {
	if n.Sign() < 0 {
		n = new(big.Int).Not(n)
	}
	return n.BitLen()/8 + 1
}

func TestUTF8(t *testing.T) {
	const r = "\uFFFD"
	for _, tc := range []struct{ in, want string }{
		{"plain é 日 😀", "plain é 日 😀"},
		{"\uFFFD is itself valid", "\uFFFD is itself valid"},
		{"\xff", r}, {"\x80", r}, {"a\x80\x80b", "a" + r + r + "b"},
		{"\xc0\x80", r + r}, {"\xc1\xbf", r + r},
		{"\xc3", r}, {"\xc3\xc3\xa9", r + "é"}, {"\xc3a", r + "a"},
		{"\xe2\x82", r}, {"\xe2\x82a", r + "a"}, {"\xe2a", r + "a"}, {"\xe2\xe2\x82\xac", r + "€"},
		{"\xe0\x80\x80", r + r + r}, {"\xe0\x80", r + r}, {"\xe0\xa0", r},
		{"\xed\xa0\x80", r}, {"\xed\xa0", r}, {"\xed\xa0a", r + "a"}, {"\xed\xa0\xbd\xed\xb8\x80", r + r},
		{"\xf0\x9f\x98", r}, {"\xf0\x9f", r}, {"\xf0", r}, {"\xf0\x9f\x98a", r + "a"}, {"\xf0\x9fa", r + "a"}, {"\xf0a", r + "a"},
		{"\xf0\x80\x80\x80", r + r + r + r}, {"\xf0\x8f\xbf\xbf", r + r + r + r},
		{"\xf4\x90\x80\x80", r + r + r + r}, {"\xf4\x8f\xbf", r},
		{"\xf5\x80\x80\x80", r + r + r + r}, {"\xf8\x88\x80\x80\x80", r + r + r + r + r}, {"\xfe\xff", r + r},
	} {
		got, ok := appendText(nil, []byte(tc.in))
		assert.Equal(t, tc.want, string(got), "%q", tc.in)
		assert.Equal(t, tc.in == tc.want, ok)
	}

	// In a column: counted, and never glued together with what comes next.
	typ := ddl(t, "a STRING, b BINARY")
	var rows [][]byte
	for _, s := range []any{"ok", "\xc3", "\xa9", nil, "", "é"} {
		b, err := Append(nil, typ, []any{s, s})
		require.NoError(t, err)
		rows = append(rows, b)
	}
	got, stats, err := decode(t, typ, rows...)
	require.NoError(t, err)
	assert.Equal(t, [][]any{{"ok", []byte("ok")}, {r, []byte{0xc3}}, {r, []byte{0xa9}}, {nil, nil}, {"", []byte{}}, {"é", []byte("é")}}, got)
	assert.EqualValues(t, 2, stats.InvalidUTF8)
}

// wide has every type, in slots, in structs, in arrays and in maps.
const wide = "a BOOLEAN, b TINYINT, c SMALLINT, d INT, e BIGINT, f FLOAT, g DOUBLE, h STRING, i BINARY, j DATE, k TIMESTAMP, " +
	"l TIMESTAMP_NTZ, m TIME(6), n DECIMAL(9,2), o DECIMAL(38,10), p INTERVAL YEAR TO MONTH, q INTERVAL DAY TO SECOND, r INTERVAL, " +
	"s VOID, t VARIANT, u GEOMETRY(0), v STRUCT<x: INT, y: STRUCT<z: STRING, w: DECIMAL(20,0)>>, " +
	"a1 ARRAY<BOOLEAN>, a2 ARRAY<SMALLINT>, a3 ARRAY<INT>, a4 ARRAY<DECIMAL(9,2)>, a5 ARRAY<DECIMAL(38,10)>, a6 ARRAY<STRING>, a7 ARRAY<INTERVAL>, a8 ARRAY<VOID>, " +
	"n7 TIMESTAMP_LTZ(7), n9 TIMESTAMP_NTZ(9), a10 ARRAY<TIMESTAMP_NTZ(8)>, m3 MAP<TIMESTAMP_LTZ(9), TIMESTAMP_LTZ(9)>, a9 ARRAY<ARRAY<STRUCT<x: TINYINT, y: VARIANT>>>, m1 MAP<STRING, INT>, m2 MAP<INT, MAP<STRING, ARRAY<DECIMAL(38,10)>>>, e1 STRUCT<>"

func FuzzDecode(f *testing.F) {
	types := []*sqltype.Type{ddl(f, wide)}
	r := rand.New(rand.NewPCG(9, 9))
	for range 20 {
		b, err := Append(nil, types[0], randomValue(r, types[0], false).([]any))
		require.NoError(f, err)
		f.Add(uint8(0), b)
	}
	for _, v := range vectors {
		f.Add(uint8(len(types)), unhex(f, v.hex))
		types = append(types, ddl(f, v.ddl))
	}
	for _, v := range damaged {
		f.Add(uint8(len(types)), unhex(f, v.hex))
		types = append(types, ddl(f, v.ddl))
	}
	decoders := make([]*Decoder, len(types))
	for i, typ := range types {
		var err error
		decoders[i], err = NewDecoder(typ, nil)
		require.NoError(f, err)
	}
	f.Fuzz(func(t *testing.T, which uint8, b []byte) {
		typ, d := types[int(which)%len(types)], decoders[int(which)%len(types)]
		bad := Validate(b, typ)
		arr, stats, err := d.Decode([][]byte{b})
		if (bad == nil) != (err == nil) {
			t.Fatalf("Validate says %v, Decode says %v", bad, err)
		}
		if err != nil {
			var re *RowError
			if !errors.As(err, &re) || re.Row != 0 || re.Offset < 0 || re.Offset > len(b) {
				t.Fatalf("%v in a row of %d bytes", err, len(b))
			}
			return
		}
		defer arr.Release()
		check(t, arr)
		// What is valid can be written again, and means the same then.
		values := value(t, arr, typ, 0).([]any)
		again, err := Append(nil, typ, values)
		if err != nil {
			t.Fatal(err)
		}
		arr2, _, err := d.Decode([][]byte{again})
		if err != nil {
			t.Fatal(err)
		}
		defer arr2.Release()
		if got := value(t, arr2, typ, 0); stats.InvalidUTF8 == 0 && !assert.ObjectsAreEqual(comparable(values), comparable(got)) {
			t.Fatalf("%v became %v", values, got)
		}
	})
}

// comparable replaces floating-point numbers by their bits, since a NaN does not
// equal itself.
func comparable(v any) any {
	switch v := v.(type) {
	case float32:
		return math.Float32bits(v)
	case float64:
		return math.Float64bits(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = comparable(v[i])
		}
		return out
	case [][2]any:
		out := make([]any, 0, 2*len(v))
		for _, p := range v {
			out = append(out, comparable(p[0]), comparable(p[1]))
		}
		return out
	}
	return v
}

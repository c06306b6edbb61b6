package placement_test

import (
	"encoding/hex"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/statestore/placement"
	"github.com/sparkstate/sparkstate/statestore/provider"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
	"github.com/sparkstate/sparkstate/statestore/unsaferow"
)

func TestHashInt(t *testing.T) {
	for v, want := range map[int32]int32{0: 593689054, -42: -189366624, 42: -1134849565, math.MinInt32: -1718298732, math.MaxInt32: -1653689534} {
		assert.Equal(t, want, int32(placement.HashInt(v, 0)), v)
	}
}

func TestHashLong(t *testing.T) {
	for v, want := range map[int64]int32{0: 1669671676, -42: -846261623, 42: 1871679806, math.MinInt64: 1366273829, math.MaxInt64: -2106506049} {
		assert.Equal(t, want, int32(placement.HashLong(v, 0)), v)
	}
}

func TestPartition(t *testing.T) {
	for _, c := range []struct {
		hash    int32
		n, want int
	}{{7, 5, 2}, {-7, 5, 3}, {-5, 5, 0}, {0, 1, 0}, {math.MinInt32, 200, 152}, {math.MaxInt32, 200, 47}} {
		assert.Equal(t, c.want, placement.Partition(c.hash, c.n))
	}
}

// Hashes that Spark's hash() gives for the same values.
func TestHasher(t *testing.T) {
	huge, _ := new(big.Int).SetString("100000000000000000000", 10)
	for _, c := range []struct {
		ddl    string
		values []any
		want   int32
	}{
		{"a STRING, b ARRAY<INT>, c INT", []any{"Spark", []any{123}, 2}, -1321691492},
		{"a INT", []any{0}, 933211791},
		{"a INT", []any{1}, -559580957},
		{"a INT", []any{-1}, -1604776387},
		{"a SMALLINT", []any{-1}, -1604776387},
		{"a TINYINT", []any{-1}, -1604776387},
		{"a DATE", []any{-1}, -1604776387},
		{"a BOOLEAN", []any{true}, -559580957},
		{"a BIGINT", []any{0}, -1670924195},
		{"a BIGINT", []any{1}, -1712319331},
		{"a BIGINT", []any{-1}, -939490007},
		{"a DECIMAL(18,2)", []any{-1}, -939490007},
		{"a STRING", []any{""}, 142593372},
		{"a STRING", []any{"a"}, 1485273170},
		{"a STRING", []any{"ab"}, -97053317},
		{"a STRING", []any{"abc"}, 1322437556},
		{"a STRING", []any{"abcd"}, -396302900},
		{"a STRING", []any{"abcde"}, 814637928},
		{"a STRING", []any{"é"}, 2119106806},
		{"a BINARY", []any{[]byte("abcde")}, 814637928},
		{"a FLOAT", []any{float32(1)}, -466301895},
		{"a DOUBLE", []any{1.0}, -460888942},
		{"a FLOAT", []any{float32(math.Copysign(0, -1))}, 933211791},
		{"a DOUBLE", []any{math.Copysign(0, -1)}, -1670924195},
		{"a DECIMAL(38,0)", []any{huge}, 707288794},
		{"a INT, b STRING, c STRUCT<d: INT>", []any{nil, nil, nil}, 42},
		{"a VOID", []any{nil}, 42},
		{"a STRING, b TIMESTAMP", []any{"a", 1577836800000000}, 1323405404},
		{"a TIMESTAMP_NTZ(9)", []any{unsaferow.TimestampNanos{}}, 1081828689},
		{"a TIMESTAMP_LTZ(9)", []any{unsaferow.TimestampNanos{Nanoseconds: 1}}, 352697503},
		{"a TIMESTAMP_LTZ(9)", []any{unsaferow.TimestampNanos{Microseconds: 1}}, -1668858223},
		{"a TIMESTAMP_NTZ(9)", []any{unsaferow.TimestampNanos{Microseconds: -1, Nanoseconds: 999}}, 1380872029},
		{"a TIMESTAMP_LTZ(8)", []any{unsaferow.TimestampNanos{Microseconds: -1, Nanoseconds: 990}}, -1242053029},
		{"a TIMESTAMP_NTZ(7)", []any{unsaferow.TimestampNanos{Microseconds: -1, Nanoseconds: 900}}, 1561181399},
		{"a TIMESTAMP_LTZ(9)", []any{time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC)}, -1733165931},
		{"a TIMESTAMP_NTZ(9)", []any{time.Date(1, 1, 1, 0, 0, 0, 123456700, time.UTC)}, -723562103},
		{"a TIMESTAMP_NTZ(9)", []any{nil}, 42},
		{"a ARRAY<TIMESTAMP_NTZ(9)>", []any{[]any{time.Date(2026, 1, 5, 9, 0, 35, 455455455, time.UTC), nil}}, 1307701990},
		{"a STRUCT<b: INT, c: TIMESTAMP_NTZ(9)>", []any{[]any{1, time.Date(2026, 1, 5, 9, 0, 35, 455455455, time.UTC)}}, -1151039899},
		{"a STRING, b TIMESTAMP_LTZ(9)", []any{"a", time.Date(2026, 1, 5, 9, 0, 35, 455455455, time.UTC)}, -296245099},
		{"w STRUCT<start: TIMESTAMP, end: TIMESTAMP>", []any{[]any{1577836800000000, 1577836860000000}}, 1142547344},
		// A struct hashes like its fields in order, with nulls left out.
		{"a STRUCT<b: STRING, c: INT, d: ARRAY<STRUCT<e: BIGINT>>>", []any{[]any{"Spark", nil, []any{[]any{1}, nil}}}, -0},
	} {
		typ, err := sqltype.ParseDDL(c.ddl)
		require.NoError(t, err)
		row, err := unsaferow.Append(nil, typ, c.values)
		require.NoError(t, err)
		h, err := placement.NewHasher(typ, nil)
		require.NoError(t, err)
		got, err := h.Hash(row)
		require.NoError(t, err)
		if c.want == 0 {
			flat, err := sqltype.ParseDDL("b STRING, e BIGINT")
			require.NoError(t, err)
			row, err := unsaferow.Append(nil, flat, []any{"Spark", 1})
			require.NoError(t, err)
			h, err := placement.NewHasher(flat, nil)
			require.NoError(t, err)
			c.want, err = h.Hash(row)
			require.NoError(t, err)
		}
		assert.Equal(t, c.want, got, "%s %v", c.ddl, c.values)
	}
}

// TestNanosecondKeys has keys of a streaming aggregation of Spark 4.3, with the
// partition out of 5 in which each was. The last is one of nulls only, in whose
// bytes an earlier key has remained.
func TestNanosecondKeys(t *testing.T) {
	typ, err := sqltype.ParseDDL("t TIMESTAMP_NTZ(9), u TIMESTAMP_LTZ(9)")
	require.NoError(t, err)
	h, err := placement.NewHasher(typ, nil)
	require.NoError(t, err)
	for _, c := range []struct {
		key       string
		partition int
	}{
		{"0000000000000000 1000000018000000 1000000028000000 65ec874ba0470600 5300000000000000 65ec874ba0470600 5300000000000000", 0},
		{"0200000000000000 1000000018000000 1000000028000000 1f2f1f4ba0470600 3002000000000000 0000000000000000 0000000000000000", 0},
		{"0100000000000000 1000000018000000 1000000028000000 0000000000000000 0000000000000000 10fef749a0470600 3902000000000000", 1},
		{"0000000000000000 1000000018000000 1000000028000000 0d6cb349a0470600 9d01000000000000 0d6cb349a0470600 9d01000000000000", 2},
		{"0000000000000000 1000000018000000 1000000028000000 833a0449a0470600 b103000000000000 833a0449a0470600 b103000000000000", 3},
		{"0300000000000000 1000000018000000 1000000028000000 0d6cb349a0470600 9d01000000000000 0d6cb349a0470600 9d01000000000000", 2},
	} {
		key, err := hex.DecodeString(strings.ReplaceAll(c.key, " ", ""))
		require.NoError(t, err)
		hash, err := h.Hash(key)
		require.NoError(t, err)
		assert.Equal(t, c.partition, placement.Partition(hash, 5), c.key)
	}
	// A timestamp that is cut short is damage, not another hash.
	_, err = h.Hash(append([]byte{0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 24, 0, 0, 0, 8, 0, 0, 0, 24, 0, 0, 0}, make([]byte, 8)...))
	assert.ErrorIs(t, err, provider.ErrRow)
}

func TestNaNsAreOne(t *testing.T) {
	typ, err := sqltype.ParseDDL("a DOUBLE, b FLOAT, c ARRAY<DOUBLE>")
	require.NoError(t, err)
	h, err := placement.NewHasher(typ, nil)
	require.NoError(t, err)
	hash := func(d float64, f float32) int32 {
		row, err := unsaferow.Append(nil, typ, []any{d, f, []any{d}})
		require.NoError(t, err)
		got, err := h.Hash(row)
		require.NoError(t, err)
		return got
	}
	assert.Equal(t, hash(math.NaN(), float32(math.NaN())), hash(math.Float64frombits(0xfff8000000000123), math.Float32frombits(0xffc00123)))
	assert.Equal(t, hash(0, 0), hash(math.Copysign(0, -1), float32(math.Copysign(0, -1))))
}

func TestColumnsInOrder(t *testing.T) {
	typ, err := sqltype.ParseDDL("a STRING, b BIGINT")
	require.NoError(t, err)
	row, err := unsaferow.Append(nil, typ, []any{"abc", 1})
	require.NoError(t, err)
	hash := func(columns ...int) uint32 {
		h, err := placement.NewHasher(typ, columns)
		require.NoError(t, err)
		got, err := h.Hash(row)
		require.NoError(t, err)
		return uint32(got)
	}
	assert.Equal(t, placement.HashBytes([]byte("abc"), placement.Seed), hash(0))
	assert.Equal(t, placement.HashLong(1, placement.Seed), hash(1))
	assert.Equal(t, placement.HashBytes([]byte("abc"), placement.HashLong(1, placement.Seed)), hash(1, 0))
	_, err = placement.NewHasher(typ, []int{2})
	require.Error(t, err)
}

func TestNotHashable(t *testing.T) {
	for _, ddl := range []string{"a MAP<STRING, INT>", "a VARIANT", "a STRUCT<b: ARRAY<MAP<INT, INT>>>", "a STRING COLLATE UNICODE_CI", "a INT, b GEOMETRY(4326)"} {
		typ, err := sqltype.ParseDDL(ddl)
		if err != nil {
			t.Logf("%s: %v", ddl, err)
			continue
		}
		_, err = placement.NewHasher(typ, nil)
		assert.ErrorIs(t, err, provider.ErrUnsupported, ddl)
	}
}

// Rows that are too short, or that point out of themselves, are errors.
func FuzzHash(f *testing.F) {
	typ, err := sqltype.ParseDDL("a STRING, b ARRAY<STRUCT<c: STRING, d: DECIMAL(38,2)>>, e INT, f TIMESTAMP_LTZ(9)")
	require.NoError(f, err)
	row, err := unsaferow.Append(nil, typ, []any{"abc", []any{[]any{"x", 5}, nil}, 1, unsaferow.TimestampNanos{Microseconds: 1, Nanoseconds: 2}})
	require.NoError(f, err)
	f.Add(row)
	h, err := placement.NewHasher(typ, nil)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := h.Hash(b); err != nil {
			require.ErrorIs(t, err, provider.ErrRow)
		}
	})
}

func BenchmarkHash(b *testing.B) {
	typ, err := sqltype.ParseDDL("a STRING, b STRING")
	require.NoError(b, err)
	row, err := unsaferow.Append(nil, typ, []any{"profile_000123", "adviser_00042"})
	require.NoError(b, err)
	h, err := placement.NewHasher(typ, nil)
	require.NoError(b, err)
	b.ReportAllocs()
	for range b.N {
		if _, err := h.Hash(row); err != nil {
			b.Fatal(err)
		}
	}
}

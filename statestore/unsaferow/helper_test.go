package unsaferow

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/decimal128"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

func ddl(t testing.TB, s string) *sqltype.Type {
	t.Helper()
	typ, err := sqltype.ParseDDL(s)
	require.NoError(t, err, s)
	return typ
}

// unhex reads bytes in hexadecimal, with blanks anywhere and "00*7" for
// repetitions.
func unhex(t testing.TB, s string) []byte {
	t.Helper()
	var out []byte
	for _, word := range strings.Fields(s) {
		times := 1
		if w, n, ok := strings.Cut(word, "*"); ok {
			word = w
			_, err := fmt.Sscan(n, &times)
			require.NoError(t, err)
		}
		b, err := hex.DecodeString(word)
		require.NoError(t, err)
		out = append(out, bytes.Repeat(b, times)...)
	}
	return out
}

// decode decodes rows with an allocator that notices what is not released.
func decode(t testing.TB, typ *sqltype.Type, rows ...[]byte) ([][]any, Stats, error) {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	d, err := NewDecoder(typ, mem)
	require.NoError(t, err)
	arr, stats, err := d.Decode(rows)
	if err != nil {
		require.Nil(t, arr)
		return nil, stats, err
	}
	defer arr.Release()
	check(t, arr)
	out := make([][]any, arr.Len())
	for i := range out {
		out[i] = owned(value(t, arr, typ, i)).([]any)
	}
	return out, stats, nil
}

// check looks at what an array promises to those who read it: lengths of
// buffers, ascending offsets, counts of nulls, text that is text.
func check(t testing.TB, a arrow.Array) {
	t.Helper()
	if a, ok := a.(*array.Null); ok {
		require.Equal(t, a.Len(), a.NullN())
		return
	}
	nulls := 0
	for i := range a.Len() {
		if a.IsNull(i) {
			nulls++
		}
	}
	require.Equal(t, nulls, a.NullN(), "%v", a.DataType())
	offsets := func(offs []int32, size int) {
		require.Len(t, offs, a.Len()+1)
		require.True(t, slices.IsSorted(offs))
		require.Zero(t, offs[0])
		require.EqualValues(t, size, offs[a.Len()])
	}
	switch a := a.(type) {
	case *array.Struct:
		for i := range a.NumField() {
			require.Equal(t, a.Len(), a.Field(i).Len())
			check(t, a.Field(i))
		}
	case *array.Map:
		offsets(a.Offsets(), a.Keys().Len())
		require.Equal(t, a.Keys().Len(), a.Items().Len())
		require.Zero(t, a.Keys().NullN())
		check(t, a.Keys())
		check(t, a.Items())
	case *array.List:
		offsets(a.Offsets(), a.ListValues().Len())
		check(t, a.ListValues())
	case *array.String:
		offsets(a.ValueOffsets(), len(a.ValueBytes()))
		for i := range a.Len() {
			if !utf8.ValidString(a.Value(i)) {
				t.Fatalf("%q is not UTF-8", a.Value(i))
			}
		}
	case *array.Binary:
		offsets(a.ValueOffsets(), len(a.ValueBytes()))
	default:
		// Fixed width: the buffer holds all values.
		bits := a.DataType().(arrow.FixedWidthDataType).BitWidth()
		require.Equal(t, (a.Len()*bits+7)/8, a.Data().Buffers()[1].Len())
	}
}

// value returns element i as a Go value that Append takes.
func value(t testing.TB, a arrow.Array, typ *sqltype.Type, i int) any {
	t.Helper()
	v, err := Value(a, typ, i)
	require.NoError(t, err)
	return v
}

// owned returns a value that does not share memory with an array.
func owned(v any) any {
	switch v := v.(type) {
	case string:
		return strings.Clone(v)
	case []byte:
		return append([]byte{}, v...)
	case Variant:
		return Variant{append([]byte{}, v.Value...), append([]byte{}, v.Metadata...)}
	case Geo:
		return Geo{v.SRID, append([]byte{}, v.WKB...)}
	case []any:
		for i, x := range v {
			v[i] = owned(x)
		}
	case [][2]any:
		for i, x := range v {
			v[i] = [2]any{owned(x[0]), owned(x[1])}
		}
	}
	return v
}

// randomType returns a type, nested up to depth.
func randomType(r *rand.Rand, depth int) *sqltype.Type {
	kinds := []sqltype.Kind{
		sqltype.Boolean, sqltype.Byte, sqltype.Short, sqltype.Integer, sqltype.Long, sqltype.Float, sqltype.Double,
		sqltype.String, sqltype.Binary, sqltype.Date, sqltype.Timestamp, sqltype.TimestampNTZ, sqltype.Time,
		sqltype.Decimal, sqltype.Decimal, sqltype.YearMonthInterval, sqltype.DayTimeInterval, sqltype.CalendarInterval,
		sqltype.TimestampNanos, sqltype.TimestampNTZNanos, sqltype.Void, sqltype.Variant, sqltype.Geometry, sqltype.Geography,
	}
	if depth > 0 {
		kinds = append(kinds, sqltype.Struct, sqltype.Struct, sqltype.Array, sqltype.Array, sqltype.Map, sqltype.Map, sqltype.UDT)
	}
	t := &sqltype.Type{Kind: kinds[r.IntN(len(kinds))]}
	switch t.Kind {
	case sqltype.Decimal:
		t.Precision = 1 + r.IntN(38)
		t.Scale = r.IntN(t.Precision + 1)
	case sqltype.TimestampNanos, sqltype.TimestampNTZNanos:
		t.Precision = 7 + r.IntN(3)
	case sqltype.Geometry, sqltype.Geography:
		t.Text = t.Kind.String()
	case sqltype.Struct:
		*t = *randomStruct(r, depth-1)
	case sqltype.Array:
		t.Element = randomType(r, depth-1)
	case sqltype.Map:
		t.Key, t.Value = randomType(r, depth-1), randomType(r, depth-1)
	case sqltype.UDT:
		t.SQLType = randomType(r, depth-1)
	}
	return t
}

func randomStruct(r *rand.Rand, depth int) *sqltype.Type {
	t := &sqltype.Type{Kind: sqltype.Struct}
	n := r.IntN(6)
	if r.IntN(20) == 0 {
		n = 60 + r.IntN(80) // more than one word of null bits
	}
	for range n {
		t.Fields = append(t.Fields, sqltype.Field{Name: string(rune('a' + r.IntN(8))), Type: randomType(r, depth), Nullable: true})
	}
	return t
}

// randomValue returns a value of the type as value returns it.
func randomValue(r *rand.Rand, t *sqltype.Type, nullable bool) any {
	if nullable && r.IntN(4) == 0 {
		return nil
	}
	number := func(bits int) int64 {
		n := int64(r.Uint64()) >> (64 - bits)
		if r.IntN(4) == 0 {
			n >>= r.IntN(bits)
		}
		return n
	}
	text := func() []byte {
		b := make([]byte, r.IntN(20))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	switch t = t.Resolved(); t.Kind {
	case sqltype.Boolean:
		return r.IntN(2) == 0
	case sqltype.Byte:
		return number(8)
	case sqltype.Short:
		return number(16)
	case sqltype.Integer, sqltype.Date, sqltype.YearMonthInterval:
		return number(32)
	case sqltype.Long, sqltype.Timestamp, sqltype.TimestampNTZ, sqltype.Time, sqltype.DayTimeInterval:
		return number(64)
	case sqltype.Float:
		return float32(r.NormFloat64())
	case sqltype.Double:
		return r.NormFloat64()
	case sqltype.String:
		return strings.Repeat([]string{"", "a", "é", "日本", "😀", "\x00"}[r.IntN(6)], r.IntN(8))
	case sqltype.Binary:
		return text()
	case sqltype.Decimal:
		limit := limits[t.Precision].BigInt()
		n := decimal128.New(number(64), r.Uint64()).BigInt()
		for range r.IntN(3) {
			n.Rsh(n, uint(r.IntN(100)))
		}
		return decimal128.FromBigInt(n.Rem(n, limit))
	case sqltype.CalendarInterval:
		return Interval{int32(number(32)), int32(number(32)), number(64)}
	case sqltype.TimestampNanos, sqltype.TimestampNTZNanos:
		return TimestampNanos{number(64), int16(r.IntN(1000))}
	case sqltype.Variant:
		return Variant{text(), text()}
	case sqltype.Geometry, sqltype.Geography:
		return Geo{int32(number(32)), text()}
	case sqltype.Struct:
		out := make([]any, len(t.Fields))
		for i, f := range t.Fields {
			out[i] = randomValue(r, f.Type, true)
		}
		return out
	case sqltype.Array:
		out := []any{}
		n := r.IntN(5)
		if r.IntN(20) == 0 {
			n = r.IntN(150)
		}
		for range n {
			out = append(out, randomValue(r, t.Element, true))
		}
		return out
	case sqltype.Map:
		out := [][2]any{}
		for range r.IntN(4) {
			k := randomValue(r, t.Key, false)
			if k == nil {
				break // a void cannot be a key
			}
			out = append(out, [2]any{k, randomValue(r, t.Value, true)})
		}
		return out
	}
	return nil // void
}

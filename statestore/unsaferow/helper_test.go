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
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/statestore/internal/randrow"
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

// special are the values that only this package has types for.
var special = randrow.Special{
	Interval: func(months, days int32, microseconds int64) any { return Interval{months, days, microseconds} },
	Nanos:    func(microseconds int64, nanoseconds int16) any { return TimestampNanos{microseconds, nanoseconds} },
	Variant:  func(value, metadata []byte) any { return Variant{value, metadata} },
	Geo:      func(srid int32, wkb []byte) any { return Geo{srid, wkb} },
}

func randomValue(r *rand.Rand, t *sqltype.Type, nullable bool) any {
	return special.Value(r, t, nullable)
}

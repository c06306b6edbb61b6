package unsaferow

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/decimal128"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/statestore/internal/randrow"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

// Rows of any type go to Arrow and back without a bit changed, from a slice of
// an array too.
func TestArrowAndBack(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 11))
	for range 300 {
		typ := randrow.Struct(r, 3)
		rows := make([][]byte, 1+r.IntN(5))
		for i := range rows {
			var err error
			rows[i], err = Append(nil, typ, randomValue(r, typ, false).([]any))
			require.NoError(t, err, "%v", typ)
		}
		d, err := NewDecoder(typ, memory.DefaultAllocator)
		require.NoError(t, err)
		arr, _, err := d.Decode(rows)
		require.NoError(t, err)
		from := r.IntN(len(rows))
		part := array.NewSlice(arr, int64(from), int64(len(rows))).(*array.Struct)
		for i, want := range rows[from:] {
			got, err := AppendArrow([]byte("before"), typ, part, i)
			require.NoError(t, err, "%v", typ)
			require.Equal(t, append([]byte("before"), want...), got, "%v", typ)
		}
		part.Release()
		arr.Release()
	}
}

// built returns an array of one value.
func built[B array.Builder](t *testing.T, typ arrow.DataType, add func(b B)) arrow.Array {
	t.Helper()
	b := array.NewBuilder(memory.DefaultAllocator, typ)
	add(b.(B))
	a := b.NewArray()
	t.Cleanup(a.Release)
	return a
}

// Arrow has other types for the same values.
func TestValueFromOtherArrowTypes(t *testing.T) {
	seconds, millis, nanos := &arrow.TimestampType{Unit: arrow.Second}, &arrow.TimestampType{Unit: arrow.Millisecond}, &arrow.TimestampType{Unit: arrow.Nanosecond}
	stamp := func(n int64) func(*array.TimestampBuilder) {
		return func(b *array.TimestampBuilder) { b.Append(arrow.Timestamp(n)) }
	}
	dictionary := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	pair := arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int64}, arrow.Field{Name: "y", Type: arrow.PrimitiveTypes.Int64})
	both := func(x, y int64) func(*array.StructBuilder) {
		return func(b *array.StructBuilder) {
			b.Append(true)
			b.FieldBuilder(0).(*array.Int64Builder).Append(x)
			b.FieldBuilder(1).(*array.Int64Builder).Append(y)
		}
	}
	for _, c := range []struct {
		name string
		a    arrow.Array
		typ  string
		want any // nil for an error
	}{
		{"large text", built(t, arrow.BinaryTypes.LargeString, func(b *array.LargeStringBuilder) { b.Append("x") }), "STRING", "x"},
		{"dictionary", built(t, dictionary, func(b *array.BinaryDictionaryBuilder) { require.NoError(t, b.AppendString("x")) }), "STRING", "x"},
		{"large binary", built(t, arrow.BinaryTypes.LargeBinary, func(b *array.BinaryBuilder) { b.Append([]byte{1}) }), "BINARY", []byte{1}},
		{"fixed size binary", built(t, &arrow.FixedSizeBinaryType{ByteWidth: 2}, func(b *array.FixedSizeBinaryBuilder) { b.Append([]byte{1, 2}) }), "BINARY", []byte{1, 2}},
		{"narrow number", built(t, arrow.PrimitiveTypes.Uint16, func(b *array.Uint16Builder) { b.Append(9) }), "BIGINT", int64(9)},
		{"unsigned", built(t, arrow.PrimitiveTypes.Uint64, func(b *array.Uint64Builder) { b.Append(9) }), "BIGINT", uint64(9)},
		{"byte", built(t, arrow.PrimitiveTypes.Uint8, func(b *array.Uint8Builder) { b.Append(9) }), "INT", int64(9)},
		{"int", built(t, arrow.PrimitiveTypes.Uint32, func(b *array.Uint32Builder) { b.Append(9) }), "INT", int64(9)},
		{"seconds", built(t, seconds, stamp(2)), "TIMESTAMP", int64(2_000_000)},
		{"milliseconds", built(t, millis, stamp(-2)), "TIMESTAMP_NTZ", int64(-2000)},
		{"nanoseconds", built(t, nanos, stamp(3000)), "TIMESTAMP", int64(3)},
		{"not whole", built(t, nanos, stamp(3001)), "TIMESTAMP", nil},
		{"too far", built(t, seconds, stamp(1<<60)), "TIMESTAMP", nil},
		{"time of day", built(t, arrow.FixedWidthTypes.Time32s, func(b *array.Time32Builder) { b.Append(1) }), "TIME(6)", int64(1e9)},
		{"duration", built(t, arrow.FixedWidthTypes.Duration_s, func(b *array.DurationBuilder) { b.Append(1) }), "INTERVAL DAY TO SECOND", int64(1e6)},
		{"large list", built(t, arrow.LargeListOf(arrow.PrimitiveTypes.Int8), func(b *array.LargeListBuilder) {
			b.Append(true)
			b.ValueBuilder().(*array.Int8Builder).AppendValues([]int8{1, 2}, nil)
		}), "ARRAY<INT>", []any{int64(1), int64(2)}},
		{"list of fixed size", built(t, arrow.FixedSizeListOf(1, arrow.PrimitiveTypes.Int8), func(b *array.FixedSizeListBuilder) {
			b.Append(true)
			b.ValueBuilder().(*array.Int8Builder).Append(1)
		}), "ARRAY<INT>", []any{int64(1)}},
		{"list of what is none", built(t, arrow.ListOf(nanos), func(b *array.ListBuilder) {
			b.Append(true)
			b.ValueBuilder().(*array.TimestampBuilder).Append(1)
		}), "ARRAY<TIMESTAMP>", nil},
		{"decimal", built(t, &arrow.Decimal128Type{Precision: 9, Scale: 2}, func(b *array.Decimal128Builder) { b.Append(decimal128.FromI64(5)) }), "DECIMAL(20, 2)", decimal128.FromI64(5)},
		{"another scale", built(t, &arrow.Decimal128Type{Precision: 9, Scale: 2}, func(b *array.Decimal128Builder) { b.Append(decimal128.FromI64(5)) }), "DECIMAL(20, 3)", nil},
		{"no decimal", built(t, &arrow.Decimal128Type{Precision: 9, Scale: 2}, func(b *array.Decimal128Builder) { b.Append(decimal128.FromI64(5)) }), "BIGINT", nil},
		{"list for a map", built(t, arrow.ListOf(arrow.PrimitiveTypes.Int8), func(b *array.ListBuilder) { b.Append(true) }), "MAP<INT, INT>", nil},
		{"map for a list", built(t, arrow.MapOf(arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int8), func(b *array.MapBuilder) { b.Append(true) }), "ARRAY<INT>", nil},
		{"no such type", built(t, arrow.FixedWidthTypes.Float16, func(b *array.Float16Builder) { b.AppendEmptyValue() }), "FLOAT", nil},
		{"fields by position", built(t, pair, both(1, 2)), "STRUCT<a: INT, b: BIGINT>", []any{int64(1), int64(2)}},
		{"other number of fields", built(t, pair, both(1, 2)), "STRUCT<a: INT>", nil},
		{"struct for a number", built(t, pair, both(1, 2)), "INT", nil},
		{"parts of a timestamp", built(t, pair, both(1, 2)), "TIMESTAMP_LTZ(9)", TimestampNanos{1, 2}},
		{"part too large", built(t, pair, both(1, 1<<40)), "TIMESTAMP_LTZ(9)", nil},
		{"parts of others", built(t, pair, both(1, 2)), "VARIANT", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, err := Value(c.a, ddl(t, "x "+c.typ).Fields[0].Type, 0)
			if c.want == nil {
				var ve *ValueError
				require.ErrorAs(t, err, &ve)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.want, v)
		})
	}
}

// A row is a struct, and errors name the column.
func TestAppendArrowErrors(t *testing.T) {
	s := arrow.StructOf(arrow.Field{Name: "t", Type: &arrow.TimestampType{Unit: arrow.Nanosecond}, Nullable: true})
	a := built(t, s, func(b *array.StructBuilder) {
		b.AppendNull()
		b.Append(true)
		b.FieldBuilder(0).(*array.TimestampBuilder).Append(1)
	}).(*array.Struct)
	_, err := AppendArrow(nil, ddl(t, "t TIMESTAMP"), a, 0)
	require.ErrorContains(t, err, "a row that is null")
	got, err := AppendArrow([]byte{7}, ddl(t, "t TIMESTAMP"), a, 1)
	require.EqualError(t, err, "unsaferow: column t: 1 × 1ns is no whole number of 1µs")
	assert.True(t, bytes.Equal([]byte{7}, got))
	m := built(t, arrow.MapOf(arrow.PrimitiveTypes.Int64, &arrow.TimestampType{Unit: arrow.Nanosecond}), func(b *array.MapBuilder) {
		b.Append(true)
		b.KeyBuilder().(*array.Int64Builder).Append(1)
		b.ItemBuilder().(*array.TimestampBuilder).Append(1)
	})
	_, err = Value(m, &sqltype.Type{Kind: sqltype.Map, Key: &sqltype.Type{Kind: sqltype.Long}, Value: &sqltype.Type{Kind: sqltype.Timestamp}}, 0)
	require.ErrorContains(t, err, "column value: 1 ×")
	_, err = Value(m, &sqltype.Type{Kind: sqltype.Map, Key: &sqltype.Type{Kind: sqltype.Map}, Value: &sqltype.Type{Kind: sqltype.Timestamp}}, 0)
	require.Error(t, err)
}

package portable_test

import (
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/decimal128"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint/portable"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

// schemaOf returns the schema of records with a key of columns and an empty
// value.
func schemaOf(t *testing.T, ddl string) *arrow.Schema {
	t.Helper()
	key, err := sqltype.ParseDDL(ddl)
	require.NoError(t, err)
	return arrow.NewSchema([]arrow.Field{
		{Name: "key", Type: key.Arrow()},
		{Name: "value", Type: arrow.StructOf()},
		{Name: "partition_id", Type: arrow.PrimitiveTypes.Int32},
	}, nil)
}

func TestNames(t *testing.T) {
	for _, c := range []struct {
		names, want []string
	}{
		{[]string{"a", "b"}, []string{"a", "b"}},
		{[]string{"last", "valueSet", "last", "valueSet", "last"}, []string{"last", "valueSet", "last_2", "valueSet_2", "last_3"}},
		{[]string{"a", "A"}, []string{"a", "A_2"}},
		{[]string{"a", "a", "a_2"}, []string{"a", "a_3", "a_2"}},
		{[]string{"a", "A_2", "a"}, []string{"a", "A_2", "a_3"}},
		{[]string{"", "x", ""}, []string{"_1", "x", "_3"}},
		{[]string{"", "_1"}, []string{"_1_2", "_1"}},
		{[]string{"Ä", "ä", "a.b", "a b"}, []string{"Ä", "ä_2", "a.b", "a b"}},
	} {
		st := &sqltype.Type{Kind: sqltype.Struct}
		for _, n := range c.names {
			st.Fields = append(st.Fields, sqltype.Field{Name: n, Type: &sqltype.Type{Kind: sqltype.Long}, Nullable: true})
		}
		s, err := portable.New(arrow.NewSchema([]arrow.Field{{Name: "key", Type: st.Arrow()}}, nil))
		require.NoError(t, err)
		var got []string
		for _, f := range s.Schema().Field(0).Type.(*arrow.StructType).Fields() {
			got = append(got, f.Name)
		}
		assert.Equal(t, c.want, got)
		// What it was is in the schema's metadata.
		key := (&sqltype.Type{Kind: sqltype.Struct, Fields: []sqltype.Field{{Name: "key", Type: st}}}).JSON()
		assert.Equal(t, key, meta(s.Schema(), portable.SchemaKey))
	}
}

func meta(s *arrow.Schema, key string) string {
	m := s.Metadata()
	if at := m.FindKey(key); at >= 0 {
		return m.Values()[at]
	}
	return ""
}

func TestTypes(t *testing.T) {
	s, err := portable.New(schemaOf(t, "m INTERVAL YEAR TO MONTH, d INTERVAL DAY TO SECOND, t TIME(6), n DECIMAL(5,2), c VARCHAR(9),"+
		" l ARRAY<INTERVAL MONTH>, p MAP<STRING, INTERVAL HOUR>, e STRUCT<>, v VOID, i INTERVAL, t9 TIME(9), va VARIANT"))
	require.NoError(t, err)
	var got []string
	for _, f := range s.Schema().Field(0).Type.(*arrow.StructType).Fields() {
		got = append(got, f.Name+" "+f.Type.String())
		assert.True(t, f.Nullable)
	}
	assert.Equal(t, []string{
		"m int32", "d int64", "t time64[us]", "n decimal(5, 2)", "c utf8", "l list<element: int32, nullable>",
		"p map<utf8, int64, items_nullable>", "e struct<_empty: null>", "v null",
		"i struct<months: int32, days: int32, microseconds: int64>", "t9 time64[ns]", "va struct<value: binary, metadata: binary>",
	}, got)
	assert.Equal(t, "struct<_empty: null>", s.Schema().Field(1).Type.String())
	// Spark reads what it knows as what it was, and else what it is made of.
	assert.Equal(t, "m INTERVAL YEAR TO MONTH, d INTERVAL DAY TO SECOND, t TIME(6), n DECIMAL(5,2), c STRING,"+
		" l ARRAY<INTERVAL MONTH>, p MAP<STRING, INTERVAL HOUR>, e STRUCT<_empty: INT>, v INT,"+
		" i STRUCT<months: INT, days: INT, microseconds: BIGINT>, t9 BIGINT, va VARIANT", s.Spark().Fields[0].Type.DDL())
}

// Fields that are null, and slices, stay what they are.
func TestRecord(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	schema := schemaOf(t, "m INTERVAL MONTH, t TIME(3), e STRUCT<>, l ARRAY<INTERVAL SECOND>, p MAP<STRING, TIME(0)>, v VOID")
	b := array.NewRecordBuilder(mem, schema)
	defer b.Release()
	key, value, id := b.Field(0).(*array.StructBuilder), b.Field(1).(*array.StructBuilder), b.Field(2).(*array.Int32Builder)
	months, times := key.FieldBuilder(0).(*array.MonthIntervalBuilder), key.FieldBuilder(1).(*array.Time64Builder)
	empty, list, pairs := key.FieldBuilder(2).(*array.StructBuilder), key.FieldBuilder(3).(*array.ListBuilder), key.FieldBuilder(4).(*array.MapBuilder)
	const rows = 20
	for i := range rows {
		key.Append(true)
		value.Append(true)
		id.Append(7)
		key.FieldBuilder(5).AppendNull()
		if i%3 == 0 {
			months.AppendNull()
			times.AppendNull()
			empty.Append(false)
			list.AppendNull()
			pairs.AppendNull()
			continue
		}
		months.Append(arrow.MonthInterval(i))
		times.Append(arrow.Time64(i * 1e9))
		empty.Append(true)
		list.Append(true)
		pairs.Append(true)
		for j := range i % 4 {
			list.ValueBuilder().(*array.DurationBuilder).Append(arrow.Duration(j))
			pairs.KeyBuilder().(*array.StringBuilder).Append("k")
			pairs.ItemBuilder().(*array.Time64Builder).Append(arrow.Time64(j * 1e9))
		}
	}
	rec := b.NewRecord()
	defer rec.Release()
	s, err := portable.New(schema)
	require.NoError(t, err)
	for from := range rows {
		slice := rec.NewSlice(int64(from), rows)
		out, err := s.Record(slice)
		slice.Release()
		require.NoError(t, err)
		assert.EqualValues(t, rows-from, out.NumRows())
		k := out.Column(0).(*array.Struct)
		for i := range int(out.NumRows()) {
			n := from + i
			for c := range 5 {
				require.Equal(t, n%3 == 0, k.Field(c).IsNull(i), "column %d, row %d", c, n)
			}
			if n%3 == 0 {
				continue
			}
			assert.EqualValues(t, n, k.Field(0).(*array.Int32).Value(i))
			assert.EqualValues(t, n*1e6, k.Field(1).(*array.Time64).Value(i))
			l := k.Field(3).(*array.List)
			first, last := l.ValueOffsets(i)
			assert.EqualValues(t, n%4, last-first)
			m := k.Field(4).(*array.Map)
			first, last = m.ValueOffsets(i)
			for j := first; j < last; j++ {
				assert.EqualValues(t, (j-first)*1e6, m.Items().(*array.Time64).Value(int(j)))
			}
		}
		out.Release()
	}
	wrong := array.NewRecord(arrow.NewSchema(nil, nil), nil, 0)
	_, err = s.Record(wrong)
	assert.ErrorContains(t, err, "0 columns")
}

// Parquet has no negative scales, so the number is written out.
func TestNegativeScale(t *testing.T) {
	dec := &sqltype.Type{Kind: sqltype.Decimal, Precision: 38, Scale: -3}
	key := &sqltype.Type{Kind: sqltype.Struct, Fields: []sqltype.Field{{Name: "d", Type: dec, Nullable: true}}}
	schema := arrow.NewSchema([]arrow.Field{{Name: "key", Type: key.Arrow()}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	st := b.Field(0).(*array.StructBuilder)
	for _, n := range []int64{12, 0, -7} {
		st.Append(true)
		st.FieldBuilder(0).(*array.Decimal128Builder).Append(decimal128.FromI64(n))
	}
	st.Append(true)
	st.FieldBuilder(0).AppendNull()
	s, err := portable.New(schema)
	require.NoError(t, err)
	out, err := s.Record(b.NewRecord())
	require.NoError(t, err)
	assert.Equal(t, `["12000" "0" "-7000" (null)]`, out.Column(0).(*array.Struct).Field(0).String())
}

// A schema must say what its columns are, and say it right.
func TestSchemaErrors(t *testing.T) {
	field := func(name string, t arrow.DataType, spark string) arrow.Field {
		return arrow.Field{Name: name, Type: t, Metadata: arrow.NewMetadata([]string{"spark.type"}, []string{spark})}
	}
	for _, f := range []arrow.Field{
		{Name: "x", Type: arrow.FixedWidthTypes.Float16},
		field("x", arrow.PrimitiveTypes.Int32, "{"),
		field("x", arrow.PrimitiveTypes.Int32, `"string"`),
		{Name: "key", Type: arrow.StructOf(field("x", arrow.BinaryTypes.Binary, `"long"`))},
	} {
		_, err := portable.New(arrow.NewSchema([]arrow.Field{f}, nil))
		assert.ErrorContains(t, err, `column "x"`)
	}
}

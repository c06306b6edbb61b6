package sqltype

import (
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A type comes back from its own Arrow struct, with all that Spark notes.
func TestFromArrowOfOwnFields(t *testing.T) {
	for _, text := range []string{
		"a BOOLEAN NOT NULL, b STRING COLLATE UNICODE_CI COMMENT 'seen', c CHAR(3), d VARCHAR(9) NOT NULL",
		"t TIME(3), n TIMESTAMP_LTZ(7), m TIMESTAMP_NTZ(9), i INTERVAL, d INTERVAL HOUR TO SECOND, y INTERVAL YEAR, v VARIANT",
		"a ARRAY<STRUCT<x: VOID, y: DECIMAL(38, 3)>>, m MAP<STRING, ARRAY<DATE>>, a DOUBLE",
		"",
	} {
		want := mustDDL(t, text)
		got, err := FromArrow(want.Arrow())
		require.NoError(t, err)
		assert.Equal(t, want.JSON(), got.JSON())
	}
	json := `{"type":"struct","fields":[{"name":"w","type":{"type":"array","elementType":"string","containsNull":false},"nullable":true,"metadata":{"__COLLATIONS":{"w.element":"icu.UNICODE"},"spark.watermarkDelayMs":60000}}]}`
	want, err := ParseJSON([]byte(json))
	require.NoError(t, err)
	got, err := FromArrow(want.Arrow())
	require.NoError(t, err)
	assert.Equal(t, json, got.JSON())
}

// Without Spark's notes it is the first type of the table.
func TestFromArrowOfPlainTypes(t *testing.T) {
	for want, typ := range map[string]arrow.DataType{
		"BOOLEAN": arrow.FixedWidthTypes.Boolean, "TINYINT": arrow.PrimitiveTypes.Int8, "SMALLINT": arrow.PrimitiveTypes.Uint8,
		"INT": arrow.PrimitiveTypes.Uint16, "BIGINT": arrow.PrimitiveTypes.Uint32, "FLOAT": arrow.PrimitiveTypes.Float32,
		"STRING": arrow.BinaryTypes.LargeString, "BINARY": &arrow.FixedSizeBinaryType{ByteWidth: 3}, "VOID": arrow.Null,
		"DATE": arrow.FixedWidthTypes.Date32, "TIMESTAMP": arrow.FixedWidthTypes.Timestamp_s, "TIMESTAMP_NTZ": &arrow.TimestampType{Unit: arrow.Nanosecond},
		"TIME(6)": arrow.FixedWidthTypes.Time32ms, "DECIMAL(20,3)": &arrow.Decimal128Type{Precision: 20, Scale: 3},
		"INTERVAL YEAR TO MONTH": arrow.FixedWidthTypes.MonthInterval, "INTERVAL DAY TO SECOND": arrow.FixedWidthTypes.Duration_ns,
		"ARRAY<INT>": arrow.LargeListOf(arrow.PrimitiveTypes.Int32), "ARRAY<BIGINT>": arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Int64),
		"MAP<STRING, DOUBLE>": arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Float64),
		"STRUCT<a: STRING NOT NULL, b: SMALLINT>": arrow.StructOf(arrow.Field{Name: "a", Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}},
			arrow.Field{Name: "b", Type: arrow.PrimitiveTypes.Int16, Nullable: true, Metadata: arrow.NewMetadata([]string{"made by"}, []string{"no JSON"})}),
		"INTERVAL": calendarIntervalType, "VARIANT": variantType, "TIMESTAMP_LTZ(9)": timestampNanosType, "TIMESTAMP_NTZ(9)": wallClockNanosType, "geometry": geoType,
	} {
		got, err := FromArrow(typ)
		require.NoError(t, err)
		assert.Equal(t, want, got.String())
	}
	deep := arrow.DataType(arrow.PrimitiveTypes.Int8)
	for range MaxDepth + 2 {
		deep = arrow.ListOf(deep)
	}
	bad := arrow.Field{Name: "x", Type: arrow.Null, Metadata: arrow.NewMetadata([]string{"spark.type"}, []string{"{"})}
	for _, typ := range []arrow.DataType{deep, arrow.FixedWidthTypes.Float16, arrow.ListOf(arrow.FixedWidthTypes.Float16), arrow.StructOf(bad),
		arrow.MapOf(arrow.FixedWidthTypes.Float16, arrow.Null), arrow.MapOf(arrow.PrimitiveTypes.Int8, arrow.FixedWidthTypes.Float16)} {
		_, err := FromArrow(typ)
		assert.ErrorContains(t, err, "sqltype: ")
	}
}

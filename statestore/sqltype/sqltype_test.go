package sqltype

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func mustJSON(t *testing.T, s string) *Type {
	t.Helper()
	typ, err := ParseJSON([]byte(s))
	require.NoError(t, err, s)
	return typ
}

func mustDDL(t *testing.T, s string) *Type {
	t.Helper()
	typ, err := ParseDDL(s)
	require.NoError(t, err, s)
	return typ
}

// simple is one row of what a type without parts looks like on all sides.
type simple struct {
	json, sql, arrow string
	width            int
	inSlot           bool
}

var simples = []simple{
	{"boolean", "BOOLEAN", "bool", 1, true},
	{"byte", "TINYINT", "int8", 1, true},
	{"short", "SMALLINT", "int16", 2, true},
	{"integer", "INT", "int32", 4, true},
	{"long", "BIGINT", "int64", 8, true},
	{"float", "FLOAT", "float32", 4, true},
	{"double", "DOUBLE", "float64", 8, true},
	{"string", "STRING", "utf8", 8, false},
	{"char(3)", "CHAR(3)", "utf8", 8, false},
	{"varchar(65535)", "VARCHAR(65535)", "utf8", 8, false},
	{"string collate UNICODE_CI", "STRING COLLATE UNICODE_CI", "utf8", 8, false},
	{"char(3) collate de", "CHAR(3) COLLATE de", "utf8", 8, false},
	{"binary", "BINARY", "binary", 8, false},
	{"date", "DATE", "date32", 4, true},
	{"timestamp", "TIMESTAMP", "timestamp[us, tz=UTC]", 8, true},
	{"timestamp_ntz", "TIMESTAMP_NTZ", "timestamp[us]", 8, true},
	{"timestamp_ltz(7)", "TIMESTAMP_LTZ(7)", "struct<timestamp: timestamp[us, tz=UTC], nanoseconds: int16>", 8, false},
	{"timestamp_ltz(9)", "TIMESTAMP_LTZ(9)", "struct<timestamp: timestamp[us, tz=UTC], nanoseconds: int16>", 8, false},
	{"timestamp_ntz(8)", "TIMESTAMP_NTZ(8)", "struct<timestamp: timestamp[us], nanoseconds: int16>", 8, false},
	{"timestamp_ntz(9)", "TIMESTAMP_NTZ(9)", "struct<timestamp: timestamp[us], nanoseconds: int16>", 8, false},
	{"time(0)", "TIME(0)", "time64[ns]", 8, true},
	{"time(6)", "TIME(6)", "time64[ns]", 8, true},
	{"decimal(9,2)", "DECIMAL(9,2)", "decimal(9, 2)", 8, true},
	{"decimal(18,18)", "DECIMAL(18,18)", "decimal(18, 18)", 8, true},
	{"decimal(19,0)", "DECIMAL(19,0)", "decimal(19, 0)", 8, false},
	{"decimal(38,10)", "DECIMAL(38,10)", "decimal(38, 10)", 8, false},
	{"decimal(5,-3)", "DECIMAL(5,-3)", "decimal(5, -3)", 8, true},
	{"void", "VOID", "null", 8, true},
	{"interval", "INTERVAL", "struct<months: int32, days: int32, microseconds: int64>", 8, false},
	{"interval year", "INTERVAL YEAR", "month_interval", 4, true},
	{"interval month", "INTERVAL MONTH", "month_interval", 4, true},
	{"interval year to month", "INTERVAL YEAR TO MONTH", "month_interval", 4, true},
	{"interval day", "INTERVAL DAY", "duration[us]", 8, true},
	{"interval hour", "INTERVAL HOUR", "duration[us]", 8, true},
	{"interval minute", "INTERVAL MINUTE", "duration[us]", 8, true},
	{"interval second", "INTERVAL SECOND", "duration[us]", 8, true},
	{"interval day to hour", "INTERVAL DAY TO HOUR", "duration[us]", 8, true},
	{"interval day to minute", "INTERVAL DAY TO MINUTE", "duration[us]", 8, true},
	{"interval day to second", "INTERVAL DAY TO SECOND", "duration[us]", 8, true},
	{"interval hour to minute", "INTERVAL HOUR TO MINUTE", "duration[us]", 8, true},
	{"interval hour to second", "INTERVAL HOUR TO SECOND", "duration[us]", 8, true},
	{"interval minute to second", "INTERVAL MINUTE TO SECOND", "duration[us]", 8, true},
	{"variant", "VARIANT", "struct<value: binary, metadata: binary>", 8, false},
	{"geometry", "geometry", "struct<srid: int32, wkb: binary>", 8, false},
	{"geometry(OGC:CRS84)", "geometry(OGC:CRS84)", "struct<srid: int32, wkb: binary>", 8, false},
	{"geography(OGC:CRS84, SPHERICAL)", "geography(OGC:CRS84, SPHERICAL)", "struct<srid: int32, wkb: binary>", 8, false},
}

func TestSimpleTypes(t *testing.T) {
	for _, tc := range simples {
		t.Run(tc.json, func(t *testing.T) {
			typ := mustJSON(t, `"`+tc.json+`"`)
			assert.Equal(t, `"`+tc.json+`"`, typ.JSON())
			assert.Equal(t, tc.sql, typ.String())
			assert.Equal(t, tc.arrow, typ.Arrow().String())
			assert.Equal(t, tc.width, typ.ElementWidth())
			assert.Equal(t, tc.inSlot, typ.InSlot())
			assert.NotEqual(t, Unknown, typ.Kind)

			// As a column of DDL, and back.
			s := mustDDL(t, "c "+tc.sql)
			assert.Equal(t, typ.Kind, s.Fields[0].Type.Kind)
			assert.Equal(t, s, mustDDL(t, s.DDL()))
		})
	}
}

func TestNames(t *testing.T) {
	for in, want := range map[string]string{
		// Other names of the same types, as Spark takes them in DDL.
		"INTEGER": "integer", "bigint": "long", "LONG": "long", "smallint": "short", "SHORT": "short",
		"tinyint": "byte", "BYTE": "byte", "real": "float", "FLOAT": "float",
		"dec": "decimal(10,0)", "numeric(7)": "decimal(7,0)", "NUMERIC(7, 3)": "decimal(7,3)", "decimal": "decimal(10,0)",
		"character(2)": "char(2)", "VarChar(9)": "varchar(9)",
		"timestamp_ltz": "timestamp", "TIMESTAMP WITHOUT TIME ZONE": "timestamp_ntz", "timestamp with local time zone": "timestamp",
		"timestamp(9)": "timestamp_ltz(9)", "timestamp( 7 ) with local time zone": "timestamp_ltz(7)", "TIMESTAMP(8) WITHOUT TIME ZONE": "timestamp_ntz(8)",
		"timestamp(6)": "timestamp", "timestamp_ltz(6)": "timestamp", "timestamp_ntz(6)": "timestamp_ntz",
		"time": "time(6)", "TIME(3) without time zone": "time(3)", "time(9)": "time(9)", "null": "void",
		"string collate UTF8_BINARY": "string", "STRING COLLATE system.builtin.UNICODE": "string collate UNICODE",
		"string collate `sr_CI`": "string collate sr_CI",
	} {
		assert.Equal(t, `"`+want+`"`, mustJSON(t, `"`+in+`"`).JSON(), in)
		assert.Equal(t, `"`+want+`"`, (mustDDL(t, "a "+in).Fields[0].Type).JSON(), in)
	}
}

func TestUnknown(t *testing.T) {
	for _, name := range []string{
		"timestamp_ntz(5)", "timestamp_ltz(10)", "timestamp(0)", "timestamp_ntz(-1)", "timestamp_ntz(9) without time zone", "decimal(39,0)", "decimal(0,0)", "decimal(5,6)", "decimal(5,-39)", "time(10)",
		"hologram", "", "interval second to day", "interval month to day", "array<int>", "char(0)", "char", "decimal(1,2,3)", "{}", "string collate",
	} {
		t.Run(name, func(t *testing.T) {
			typ := mustJSON(t, `"`+name+`"`)
			assert.Equal(t, &Type{Kind: Unknown, Text: name}, typ)
			assert.Equal(t, arrow.Null, typ.Arrow())
			assert.Zero(t, typ.ElementWidth())
			assert.False(t, typ.InSlot())
			assert.Equal(t, typ, mustJSON(t, typ.JSON()))
		})
	}
	obj := mustJSON(t, `{"type":"tensor","shape":[1,{"a":2}]}`)
	assert.Equal(t, Unknown, obj.Kind)
	assert.Equal(t, `{"type":"tensor","shape":[1,{"a":2}]}`, obj.JSON())

	// Only the column of unknown type is lost, wherever it is.
	s := mustJSON(t, `{"type":"struct","fields":[
		{"name":"a","type":"hologram"},
		{"name":"b","type":{"type":"array","elementType":"hologram","containsNull":true}},
		{"name":"c","type":{"type":"map","keyType":"hologram","valueType":"long","valueContainsNull":true}},
		{"name":"d","type":{"type":"map","keyType":"long","valueType":"timestamp_ntz(10)","valueContainsNull":true}}]}`)
	assert.Equal(t, "null", s.Fields[0].Type.Arrow().String())
	assert.Equal(t, "list<element: null, nullable>", s.Fields[1].Type.Arrow().String())
	assert.Equal(t, "null", s.Fields[2].Type.Arrow().String())
	assert.Equal(t, "map<int64, null, items_nullable>", s.Fields[3].Type.Arrow().String())
	mark := func(f arrow.Field) string {
		v, _ := f.Metadata.GetValue("spark.unknown")
		return v
	}
	assert.Equal(t, "hologram", mark(s.Fields[0].Arrow()))
	assert.Equal(t, "hologram", mark(s.Fields[1].Type.Arrow().(*arrow.ListType).ElemField()))
	assert.Equal(t, "MAP<hologram, BIGINT>", mark(s.Fields[2].Arrow()))
	assert.Equal(t, "timestamp_ntz(10)", mark(s.Fields[3].Type.Arrow().(*arrow.MapType).ItemField()))
}

func TestDDL(t *testing.T) {
	s := mustDDL(t, "k string NOT NULL, n STRUCT<a: INT NOT NULL COMMENT 'it''s', `b``c` ARRAY<DECIMAL(9,2)>>,\n `odd. name` map<string,int> comment \"a \\\"b\\\"\", 7up BIGINT, e STRUCT<>")
	assert.Equal(t,
		"k STRING NOT NULL, n STRUCT<a: INT NOT NULL COMMENT 'it\\'s', `b``c`: ARRAY<DECIMAL(9,2)>>, `odd. name` MAP<STRING, INT> COMMENT 'a \"b\"', 7up BIGINT, e STRUCT<>",
		s.DDL())
	assert.Equal(t, s, mustDDL(t, s.DDL()))
	assert.Equal(t, s, mustDDL(t, s.String()), "the struct itself")
	comment, ok := s.Fields[1].Type.Fields[0].Comment()
	assert.True(t, ok)
	assert.Equal(t, "it's", comment)
	assert.Equal(t, "`7` INT", mustDDL(t, "7 INT").DDL())
	assert.Equal(t, &Type{Kind: Struct}, mustDDL(t, " "))
	assert.Equal(t, "struct STRING, interval INTERVAL, array INT", mustDDL(t, "struct STRING, interval INTERVAL, array int").DDL(), "keywords as names")

	u := mustDDL(t, "t TIMESTAMP_NTZ(9) NOT NULL, g GEOGRAPHY(4326), m geometry(any)")
	assert.Equal(t, &Type{Kind: TimestampNTZNanos, Precision: 9}, u.Fields[0].Type)
	assert.False(t, u.Fields[0].Nullable)
	assert.Equal(t, &Type{Kind: Geography, Text: "geography(4326)"}, u.Fields[1].Type)
	assert.Equal(t, &Type{Kind: Geometry, Text: "geometry(any)"}, u.Fields[2].Type)
}

func TestDDLErrors(t *testing.T) {
	for in, want := range map[string]string{
		"a":                            `a type is expected, at byte 1`,
		"a INTT":                       `"INTT" is not a type, at byte 2`,
		"a INT,":                       `the name of a column is expected, at byte 6`,
		", a INT":                      `the name of a column is expected, at byte 0`,
		"a INT b INT":                  `unexpected "b", at byte 6`,
		"a ARRAY<INT":                  `the text ends where ">" is expected, at byte 11`,
		"a MAP<INT>":                   `">" where "," is expected, at byte 9`,
		"a ARRAY":                      `the text ends where "<" is expected, at byte 7`,
		"a DECIMAL(40,2)":              `there is no decimal(40,2), at byte 2`,
		"a DECIMAL(":                   `a number is expected, at byte 10`,
		"a DECIMAL(99999999999)":       `the number 99999999999 is too large, at byte 10`,
		"a CHAR":                       `the text ends where "(" is expected, at byte 6`,
		"a VARCHAR(0)":                 `a length of characters is 1 or more, at byte 2`,
		"a TIME(10)":                   `there is no time(10), at byte 2`,
		"a TIMESTAMP(3)":               `there is no timestamp(3), at byte 2`,
		"a TIMESTAMP_NTZ(10)":          `there is no timestamp_ntz(10), at byte 2`,
		"a TIMESTAMP_LTZ()":            `a number is expected, at byte 16`,
		"a INTERVAL DAY TO YEAR":       `there is no interval from day to that, at byte 22`,
		"a INT COMMENT b":              `a comment is a text in quotes, at byte 14`,
		"`a INT":                       `a name in backquotes without its end, at byte 0`,
		"a INT COMMENT 'b":             `a text in quotes without its end, at byte 14`,
		"a STRING COLLATE 5":           `the name of a collation is expected, at byte 17`,
		"a; INT":                       `unexpected ';', at byte 1`,
		"a GEOMETRY(":                  `")" is expected, at byte 11`,
		"STRUCT<a INT> b":              `unexpected "b", at byte 14`,
		"a " + deep("ARRAY<", 200):     `types nested deeper than 128`,
		strings.Repeat(" ", MaxSize+1): `longer than`,
	} {
		_, err := ParseDDL(in)
		var se *SyntaxError
		require.ErrorAs(t, err, &se, "%.40s", in)
		assert.Contains(t, err.Error(), want, "%.40s", in)
	}
}

func deep(open string, n int) string { return strings.Repeat(open, n) + "INT" + strings.Repeat(">", n) }

func TestJSONErrors(t *testing.T) {
	for _, in := range []string{
		"", " ", "nul", "null", "1", "[]", "true", `"string" x`, `"string`, `{`, `{}`, `{"type":1}`, `{"type":{}}`,
		`{"type":"struct"}`, `{"type":"struct","fields":{}}`, `{"type":"struct","fields":[1]}`,
		`{"type":"struct","fields":[{"name":"a"}]}`, `{"type":"struct","fields":[{"type":"long"}]}`,
		`{"type":"struct","fields":[{"name":null,"type":"long"}]}`,
		`{"type":"struct","fields":[{"name":"a","type":"long","nullable":"yes"}]}`,
		`{"type":"struct","fields":[{"name":"a","type":"long","metadata":[]}]}`,
		`{"type":"struct","fields":[{"name":"a","type":"long"}`,
		`{"type":"struct","fields":[{"name":"a","type":"long"}]`,
		`{"type":"array"}`, `{"type":"array","elementType":"long","containsNull":1}`,
		`{"type":"map","keyType":"long"}`, `{"type":"udt","class":"x"}`, `{"type":"udt","class":5,"sqlType":"long"}`,
		strings.Repeat(`{"type":"array","elementType":`, 200) + `"long"` + strings.Repeat("}", 200),
		strings.Repeat(`[`, 100000),
		`{"x":` + strings.Repeat(`[`, 100000),
		`"` + strings.Repeat("x", MaxSize) + `"`,
	} {
		_, err := ParseJSON([]byte(in))
		var se *SyntaxError
		require.ErrorAs(t, err, &se, "%.60s", in)
		require.True(t, strings.HasPrefix(err.Error(), "not a Spark type: "), err)
	}
}

func TestJSONComplex(t *testing.T) {
	const in = `{"type":"struct","fields":[` +
		`{"name":"window","type":{"type":"struct","fields":[{"name":"start","type":"timestamp","nullable":true,"metadata":{}},{"name":"end","type":"timestamp","nullable":true,"metadata":{}}]},"nullable":false,"metadata":{"spark.timeWindow":true,"spark.watermarkDelayMs":60000}},` +
		`{"name":"sum","type":"double","nullable":true,"metadata":{}},{"name":"sum","type":"long","nullable":true,"metadata":{}},{"name":"","type":"void","nullable":true,"metadata":{}},` +
		`{"name":"a.b\"\\ü\u0001","type":{"type":"array","elementType":{"type":"map","keyType":"integer","valueType":"decimal(38,10)","valueContainsNull":false},"containsNull":false},"nullable":true,"metadata":{"comment":"x","list":[1,{"y":2}]}},` +
		`{"name":"v","type":{"type":"udt","class":"org.apache.spark.ml.linalg.VectorUDT","pyClass":"pyspark.ml.linalg.VectorUDT","sqlType":{"type":"array","elementType":"double","containsNull":false}},"nullable":true,"metadata":{}},` +
		`{"name":"p","type":{"type":"udt","pyClass":"m.P","serializedClass":"gAN=","sqlType":"string"},"nullable":true,"metadata":{}},` +
		`{"name":"j","type":{"type":"udt","class":"a.B","pyClass":null,"sqlType":{"type":"udt","class":"a.C","pyClass":null,"sqlType":"date"}},"nullable":true,"metadata":{}}]}`
	s := mustJSON(t, in)
	assert.Equal(t, in, s.JSON())
	b, err := json.Marshal(s)
	require.NoError(t, err)
	assert.JSONEq(t, in, string(b))

	ms, ok := s.Fields[0].WatermarkDelay()
	assert.True(t, ok)
	assert.EqualValues(t, 60000, ms)
	_, ok = s.Fields[1].WatermarkDelay()
	assert.False(t, ok)
	comment, ok := s.Fields[4].Comment()
	assert.True(t, ok)
	assert.Equal(t, "x", comment)
	_, ok = s.Fields[5].Comment()
	assert.False(t, ok)
	assert.Equal(t, Date, s.Fields[7].Type.Resolved().Kind)
	assert.True(t, s.Fields[7].Type.InSlot())

	a := s.Arrow().(*arrow.StructType)
	assert.Equal(t, "struct<window: struct<start: timestamp[us, tz=UTC], end: timestamp[us, tz=UTC]>, sum: float64, sum: int64, : null, "+
		"a.b\"\\ü\x01: list<element: map<int32, decimal(38, 10), items_nullable>, nullable>, v: list<element: float64, nullable>, p: utf8, j: date32>", a.String())
	assert.Equal(t, map[string]string{
		"spark.type":             s.Fields[0].Type.JSON(),
		"spark.nullable":         "false",
		"spark.timeWindow":       "true",
		"spark.watermarkDelayMs": "60000",
	}, a.Field(0).Metadata.ToMap())
	assert.True(t, a.Field(0).Nullable)
	assert.Equal(t, []string{"spark.type", "comment", "list"}, a.Field(4).Metadata.Keys())

	// Keys in any order, some missing, some unknown.
	loose := mustJSON(t, ` {"fields" : [ {"metadata":null, "x":[1,2,{"type":3}], "type":{"elementType":"long","type":"array"}, "name":"n"} ], "type":"struct"} `)
	assert.Equal(t, &Type{Kind: Struct, Fields: []Field{{Name: "n", Nullable: true, Type: &Type{Kind: Array, ContainsNull: true, Element: &Type{Kind: Long}}}}}, loose)
}

func TestStringMetadata(t *testing.T) {
	const in = `{"type":"struct","fields":[` +
		`{"name":"c","type":"string","nullable":true,"metadata":{"__CHAR_VARCHAR_TYPE_STRING":"char(5)"}},` +
		`{"name":"s","type":{"type":"struct","fields":[{"name":"x","type":{"type":"array","elementType":"string","containsNull":true},"nullable":true,"metadata":{}}]},"nullable":true,"metadata":{"__CHAR_VARCHAR_TYPE_STRING":"struct<x:array<varchar(7)>>"}},` +
		`{"name":"tags","type":{"type":"array","elementType":{"type":"map","keyType":"string","valueType":"string","valueContainsNull":true},"containsNull":true},"nullable":true,"metadata":{"__COLLATIONS":{"tags.element.value":"icu.UNICODE_CI"}}},` +
		`{"name":"l","type":"string","nullable":true,"metadata":{"__COLLATIONS":{"l":"spark.UTF8_LCASE"}}},` +
		`{"name":"bad","type":"string","nullable":true,"metadata":{"__CHAR_VARCHAR_TYPE_STRING":"char(","__COLLATIONS":5}},` +
		`{"name":"odd","type":"long","nullable":true,"metadata":{"__CHAR_VARCHAR_TYPE_STRING":"char(5)"}}]}`
	s := mustJSON(t, in)
	assert.Equal(t, &Type{Kind: String, Length: 5, Padded: true}, s.Fields[0].Type)
	assert.Equal(t, &Type{Kind: String, Length: 7}, s.Fields[1].Type.Fields[0].Type.Element)
	assert.Equal(t, "", s.Fields[2].Type.Element.Key.Collation)
	assert.Equal(t, "UNICODE_CI", s.Fields[2].Type.Element.Value.Collation)
	assert.Equal(t, "UTF8_LCASE", s.Fields[3].Type.Collation)
	assert.Equal(t, &Type{Kind: String}, s.Fields[4].Type)
	assert.Equal(t, &Type{Kind: Long}, s.Fields[5].Type)
	assert.Equal(t, in, s.JSON())

	// From DDL there is no metadata yet; it is made for collations, while
	// lengths have a name in JSON.
	d := mustDDL(t, "a STRING COLLATE de, b MAP<STRING COLLATE UTF8_LCASE, VARCHAR(3)>")
	assert.Equal(t, `{"type":"struct","fields":[`+
		`{"name":"a","type":"string","nullable":true,"metadata":{"__COLLATIONS":{"a":"icu.de"}}},`+
		`{"name":"b","type":{"type":"map","keyType":"string","valueType":"varchar(3)","valueContainsNull":true},"nullable":true,"metadata":{"__COLLATIONS":{"b.key":"spark.UTF8_LCASE"}}}]}`, d.JSON())
	again := mustJSON(t, d.JSON())
	assert.Equal(t, d.DDL(), again.DDL())
	assert.Equal(t, d.JSON(), again.JSON())
}

func TestArrowMetadataNames(t *testing.T) {
	f := Field{Name: "a", Type: &Type{Kind: Long}, Nullable: true, Metadata: map[string]json.RawMessage{"spark.type": json.RawMessage(`"mine"`), "k": json.RawMessage(`1`)}}
	md := f.Arrow().Metadata
	assert.Equal(t, []string{"spark.type", "k"}, md.Keys())
	assert.Equal(t, []string{`"long"`, "1"}, md.Values())
}

func TestKindNames(t *testing.T) {
	for k := Unknown; k <= UDT; k++ {
		assert.NotEmpty(t, k.String())
	}
	assert.Equal(t, "Kind(200)", Kind(200).String())
	assert.Equal(t, "IntervalUnit(9)", IntervalUnit(9).String())
}

// TestCorpusSchemas reads every schema file that real Spark versions wrote, and
// writes each schema back.
func TestCorpusSchemas(t *testing.T) {
	root := filepath.Join("..", "..", "..", "shared", "corpus")
	if _, err := os.Stat(root); err != nil {
		t.Skip("../shared/corpus is not beside the module: no schema files of real checkpoints to read")
	}
	files, kinds := 0, map[Kind]int{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "schema" {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, text := range schemaTexts(b) {
			typ, err := ParseJSON([]byte(text))
			if !assert.NoError(t, err, path) {
				continue
			}
			// The order of metadata keys depends on the Spark version.
			assert.JSONEq(t, text, typ.JSON(), path)
			assert.Len(t, typ.JSON(), len(text), path)
			again, err := ParseDDL(typ.DDL())
			if assert.NoError(t, err, typ.DDL()) {
				assert.Equal(t, typ.DDL(), again.DDL(), path)
			}
			count(typ, kinds)
		}
		files++
		return nil
	})
	require.NoError(t, err)
	assert.Zero(t, kinds[Unknown])
	t.Logf("%d schema files, %v", files, kinds)
}

func count(t *Type, n map[Kind]int) {
	n[t.Kind]++
	for _, f := range t.Fields {
		count(f.Type, n)
	}
	for _, c := range []*Type{t.Element, t.Key, t.Value, t.SQLType} {
		if c != nil {
			count(c, n)
		}
	}
}

// schemaTexts takes the two schemas out of a schema file of version 2: a count
// of chunks, then as many texts behind 16-bit lengths, for key and for value.
func schemaTexts(b []byte) []string {
	b, ok := bytes.CutPrefix(b, []byte("\x00\x02v2"))
	if !ok {
		return nil
	}
	var out []string
	for range 2 {
		n := int(binary.BigEndian.Uint32(b))
		b = b[4:]
		var text []byte
		for range n {
			size := int(binary.BigEndian.Uint16(b))
			text, b = append(text, b[2:2+size]...), b[2+size:]
		}
		out = append(out, string(text))
	}
	return out
}

func FuzzParseJSON(f *testing.F) {
	for _, tc := range simples {
		f.Add([]byte(`"` + tc.json + `"`))
	}
	f.Add([]byte(`{"type":"struct","fields":[{"name":"a","type":{"type":"array","elementType":"string","containsNull":false},"nullable":false,"metadata":{"__COLLATIONS":{"a.element":"icu.de"},"comment":"c"}}]}`))
	f.Add([]byte(`{"type":"map","keyType":"char(3)","valueType":{"type":"udt","class":"c","sqlType":"binary"},"valueContainsNull":true}`))
	f.Add([]byte(`{"type":"x","y":[1]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		typ, err := ParseJSON(b)
		if err != nil {
			var se *SyntaxError
			if !errors.As(err, &se) {
				t.Fatalf("error of another type: %v", err)
			}
			return
		}
		text := typ.JSON()
		again, err := ParseJSON([]byte(text))
		if err != nil {
			t.Fatalf("%s does not read what it wrote: %v", text, err)
		}
		if again.JSON() != text || again.String() != typ.String() {
			t.Fatalf("%s became %s", text, again.JSON())
		}
		if typ.Arrow().String() != again.Arrow().String() {
			t.Fatalf("Arrow types differ: %v, %v", typ.Arrow(), again.Arrow())
		}
	})
}

func FuzzParseDDL(f *testing.F) {
	for _, tc := range simples {
		f.Add("c " + tc.sql)
	}
	f.Add("k STRING NOT NULL, n STRUCT<a: INT, b: ARRAY<DECIMAL(9,2)>>, `odd ``name` MAP<STRING, INT> COMMENT 'it''s \\\\ \"'")
	f.Add("`0`MAP<STRING,INT>COMMENT''")
	f.Add("a STRUCT<>, 7 TIMESTAMP_NTZ(9), `` VOID")
	f.Fuzz(func(t *testing.T, s string) {
		typ, err := ParseDDL(s)
		if err != nil {
			var se *SyntaxError
			if !errors.As(err, &se) {
				t.Fatalf("error of another type: %v", err)
			}
			return
		}
		again, err := ParseDDL(typ.DDL())
		if err != nil {
			t.Fatalf("%s does not read what it wrote: %v", typ.DDL(), err)
		}
		if again.DDL() != typ.DDL() || again.JSON() != typ.JSON() {
			t.Fatalf("%s became %s", typ.DDL(), again.DDL())
		}
		_ = typ.Arrow()
	})
}

func ExampleParseDDL() {
	t, err := ParseDDL("adviser_id STRING, window STRUCT<start: TIMESTAMP, end: TIMESTAMP> NOT NULL, cost DECIMAL(20,4)")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range t.Fields {
		fmt.Println(f.Name, "|", f.Type, "|", f.Type.Arrow())
	}
	// Output:
	// adviser_id | STRING | utf8
	// window | STRUCT<start: TIMESTAMP, end: TIMESTAMP> | struct<start: timestamp[us, tz=UTC], end: timestamp[us, tz=UTC]>
	// cost | DECIMAL(20,4) | decimal(20, 4)
}

func ExampleType_JSON() {
	t, err := ParseDDL("k STRING, n BIGINT NOT NULL")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(t.JSON())
	// Output:
	// {"type":"struct","fields":[{"name":"k","type":"string","nullable":true,"metadata":{}},{"name":"n","type":"long","nullable":false,"metadata":{}}]}
}

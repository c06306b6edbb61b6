package sparkjson

import (
	"encoding/base64"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"

	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

// Writer appends the JSON of the i-th value of an array to b.
type Writer func(b []byte, i int) []byte

// For returns the writer of an array that holds values of a Spark type. The
// array must be of the Arrow type that sqltype gives for it.
func For(t *sqltype.Type, a arrow.Array) (Writer, error) {
	w, err := valueOf(t.Resolved(), a)
	if err != nil {
		return nil, err
	}
	return func(b []byte, i int) []byte {
		if a.IsNull(i) {
			return append(b, "null"...)
		}
		return w(b, i)
	}, nil
}

// valueOf returns the writer of the values that are not null.
func valueOf(t *sqltype.Type, a arrow.Array) (Writer, error) {
	switch a := a.(type) {
	case *array.Null:
		return func(b []byte, _ int) []byte { return append(b, "null"...) }, nil
	case *array.Boolean:
		return func(b []byte, i int) []byte { return strconv.AppendBool(b, a.Value(i)) }, nil
	case *array.Int8:
		return func(b []byte, i int) []byte { return strconv.AppendInt(b, int64(a.Value(i)), 10) }, nil
	case *array.Int16:
		return func(b []byte, i int) []byte { return strconv.AppendInt(b, int64(a.Value(i)), 10) }, nil
	case *array.Int32:
		return func(b []byte, i int) []byte { return strconv.AppendInt(b, int64(a.Value(i)), 10) }, nil
	case *array.Int64:
		return func(b []byte, i int) []byte { return strconv.AppendInt(b, a.Value(i), 10) }, nil
	case *array.Float32:
		return func(b []byte, i int) []byte { return appendFloat(b, float64(a.Value(i)), 32) }, nil
	case *array.Float64:
		return func(b []byte, i int) []byte { return appendFloat(b, a.Value(i), 64) }, nil
	case *array.String:
		return func(b []byte, i int) []byte { return AppendString(b, a.Value(i)) }, nil
	case *array.Binary:
		return func(b []byte, i int) []byte {
			b = append(b, '"')
			b = base64.StdEncoding.AppendEncode(b, a.Value(i))
			return append(b, '"')
		}, nil
	case *array.Date32:
		return func(b []byte, i int) []byte {
			b = append(b, '"')
			b = appendDate(b, time.Unix(int64(a.Value(i))*86400, 0).UTC())
			return append(b, '"')
		}, nil
	case *array.Timestamp:
		zone := a.DataType().(*arrow.TimestampType).TimeZone
		return func(b []byte, i int) []byte { return appendTimestamp(b, int64(a.Value(i)), zone != "") }, nil
	case *array.Time64:
		return func(b []byte, i int) []byte { return appendTime(b, int64(a.Value(i))) }, nil
	case *array.Decimal128:
		scale := int(a.DataType().(*arrow.Decimal128Type).Scale)
		return func(b []byte, i int) []byte { return appendDecimal(b, a.Value(i).BigInt(), scale) }, nil
	case *array.MonthInterval:
		return func(b []byte, i int) []byte { return appendYearMonth(b, int32(a.Value(i)), t.Start, t.End) }, nil
	case *array.Duration:
		return func(b []byte, i int) []byte { return appendDayTime(b, int64(a.Value(i)), t.Start, t.End) }, nil
	case *array.Map:
		return mapOf(t, a)
	case *array.List:
		return listOf(t, a)
	case *array.Struct:
		switch t.Kind {
		case sqltype.CalendarInterval:
			return calendarOf(a), nil
		case sqltype.TimestampNanos, sqltype.TimestampNTZNanos:
			return nanosOf(a), nil
		case sqltype.Variant:
			value, metadata := a.Field(0).(*array.Binary), a.Field(1).(*array.Binary)
			return func(b []byte, i int) []byte { return appendVariant(b, value.Value(i), metadata.Value(i)) }, nil
		case sqltype.Geometry, sqltype.Geography:
			return structOf([]sqltype.Field{
				{Name: "srid", Type: &sqltype.Type{Kind: sqltype.Integer}},
				{Name: "wkb", Type: &sqltype.Type{Kind: sqltype.Binary}},
			}, a)
		}
		return structOf(t.Fields, a)
	}
	return nil, fmt.Errorf("no JSON for an array of %s", a.DataType())
}

func structOf(fields []sqltype.Field, a *array.Struct) (Writer, error) {
	if len(fields) != a.NumField() {
		return nil, fmt.Errorf("a struct of %d columns for a type of %d", a.NumField(), len(fields))
	}
	names := make([][]byte, len(fields))
	columns := make([]Writer, len(fields))
	for i, f := range fields {
		w, err := For(f.Type, a.Field(i))
		if err != nil {
			return nil, err
		}
		names[i], columns[i] = append(AppendString(nil, f.Name), ':'), w
	}
	return func(b []byte, i int) []byte {
		b = append(b, '{')
		for c, w := range columns {
			if c > 0 {
				b = append(b, ',')
			}
			b = append(b, names[c]...)
			b = w(b, i)
		}
		return append(b, '}')
	}, nil
}

func listOf(t *sqltype.Type, a *array.List) (Writer, error) {
	w, err := For(t.Element, a.ListValues())
	if err != nil {
		return nil, err
	}
	return func(b []byte, i int) []byte {
		b = append(b, '[')
		from, to := a.ValueOffsets(i)
		for j := from; j < to; j++ {
			if j > from {
				b = append(b, ',')
			}
			b = w(b, int(j))
		}
		return append(b, ']')
	}, nil
}

// mapOf writes maps as objects. JSON's names are strings, so keys of other
// types are written as Spark does: as the text of the value that it keeps
// inside, which for dates and timestamps is a number, and for timestamps of 7 to
// 9 digits the name of a class with two.
func mapOf(t *sqltype.Type, a *array.Map) (Writer, error) {
	key, err := keyText(t.Key.Resolved(), a.Keys())
	if err != nil {
		return nil, err
	}
	value, err := For(t.Value, a.Items())
	if err != nil {
		return nil, err
	}
	return func(b []byte, i int) []byte {
		b = append(b, '{')
		from, to := a.ValueOffsets(i)
		for j := from; j < to; j++ {
			if j > from {
				b = append(b, ',')
			}
			b = AppendString(b, key(int(j)))
			b = append(b, ':')
			b = value(b, int(j))
		}
		return append(b, '}')
	}, nil
}

// nanosKey is the text of a key that is a timestamp of 7 to 9 digits:
// microseconds, and the nanoseconds since.
const nanosKey = "TimestampNanosVal(%d, %d)"

func keyText(t *sqltype.Type, a arrow.Array) (func(i int) string, error) {
	switch a := a.(type) {
	case *array.String:
		return a.Value, nil
	case *array.Date32:
		return func(i int) string { return strconv.Itoa(int(a.Value(i))) }, nil
	case *array.Timestamp:
		return func(i int) string { return strconv.FormatInt(int64(a.Value(i)), 10) }, nil
	case *array.Time64:
		return func(i int) string { return strconv.FormatInt(int64(a.Value(i)), 10) }, nil
	case *array.Struct:
		if t.Kind == sqltype.TimestampNanos || t.Kind == sqltype.TimestampNTZNanos {
			micros, nanos := a.Field(0).(*array.Timestamp), a.Field(1).(*array.Int16)
			return func(i int) string { return fmt.Sprintf(nanosKey, micros.Value(i), nanos.Value(i)) }, nil
		}
	}
	w, err := For(t, a)
	if err != nil {
		return nil, err
	}
	return func(i int) string {
		s := string(w(nil, i))
		if len(s) > 1 && s[0] == '"' && s[len(s)-1] == '"' && !strings.ContainsRune(s, '\\') {
			return s[1 : len(s)-1] // an interval, a NaN
		}
		return s
	}, nil
}

// appendFloat writes the shortest text that reads back as the same number.
func appendFloat(b []byte, v float64, bits int) []byte {
	switch {
	case math.IsNaN(v):
		return append(b, `"NaN"`...)
	case math.IsInf(v, 1):
		return append(b, `"Infinity"`...)
	case math.IsInf(v, -1):
		return append(b, `"-Infinity"`...)
	}
	format := byte('f')
	if abs := math.Abs(v); abs != 0 && (abs < 1e-3 || abs >= 1e7) { // where Java changes, too
		format = 'e'
	}
	start := len(b)
	b = strconv.AppendFloat(b, v, format, -1, bits)
	if format == 'f' && !strings.ContainsRune(string(b[start:]), '.') {
		b = append(b, ".0"...)
	}
	return b
}

func appendDecimal(b []byte, unscaled *big.Int, scale int) []byte {
	digits := new(big.Int).Abs(unscaled).String()
	if unscaled.Sign() < 0 {
		b = append(b, '-')
	}
	switch {
	case scale <= 0:
		b = append(b, digits...)
		if digits != "0" {
			b = append(b, strings.Repeat("0", -scale)...)
		}
		return b
	case len(digits) <= scale:
		digits = strings.Repeat("0", scale-len(digits)+1) + digits
	}
	b = append(b, digits[:len(digits)-scale]...)
	b = append(b, '.')
	return append(b, digits[len(digits)-scale:]...)
}

const hex = "0123456789abcdef"

// AppendString appends s as a JSON string. Bytes that are not UTF-8 become
// U+FFFD.
func AppendString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' {
				i++
				continue
			}
			b = append(b, s[start:i]...)
			switch c {
			case '"', '\\':
				b = append(b, '\\', c)
			case '\n':
				b = append(b, `\n`...)
			case '\r':
				b = append(b, `\r`...)
			case '\t':
				b = append(b, `\t`...)
			default:
				b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			}
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			b = append(b, s[start:i]...)
			b = append(b, "\ufffd"...)
			start = i + 1
		}
		i += size
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}

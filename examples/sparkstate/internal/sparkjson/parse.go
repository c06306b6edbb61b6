package sparkjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/sparkstate/sparkstate/statestore/sqltype"
	"github.com/sparkstate/sparkstate/statestore/unsaferow"
)

// ParseError says in what JSON does not fit the type that it is read as.
type ParseError struct {
	// Column is the path to the column, such as window.start; a column without
	// a name is its position, [3]. It is empty for the row as a whole.
	Column string
	// Reason says what was expected, and what was found instead.
	Reason string
}

// Error returns one line.
func (e *ParseError) Error() string {
	if e.Column == "" {
		return e.Reason
	}
	return "column " + e.Column + ": " + e.Reason
}

// ParseRow reads a row from JSON: an object with a member for each column of
// the struct, in any order, or an array with their values by position. It
// returns the values as [unsaferow.Append] takes them.
//
// It reads what this package writes: what was written of a row gives the same
// row, with two exceptions. A variant is written as the JSON that it stands
// for, which has several encodings, and a value of unknown type is not written
// at all; so neither is read. (NaN is read as Java's own NaN, whatever its bits
// were, and U+FFFD stays U+FFFD.)
//
// Beyond that it takes what people type: decimals also as strings; timestamps
// also with a space for the T, as a date alone, with fewer digits of the second
// or none, with an offset such as +02:00, and without a zone, which means UTC;
// intervals also without INTERVAL and units, which are then those of the type;
// and a number for everything that is kept as one: days for a date,
// microseconds for timestamps (of 6 digits) and day-time intervals, nanoseconds
// for a time, months for a year-month interval.
//
// Where a name repeats, the first member of that name is the first such
// column. The error is a [*ParseError].
func ParseRow(t *sqltype.Type, text []byte) ([]any, error) {
	t = t.Resolved()
	if t.Kind != sqltype.Struct {
		return nil, &ParseError{Reason: fmt.Sprintf("a row is a struct, not a %v", t.Kind)}
	}
	v, err := parseText(t, text, "")
	if err != nil {
		return nil, err
	}
	if v == nil {
		return nil, &ParseError{Reason: expected(t) + ", not null"}
	}
	return v.([]any), nil
}

// parseText reads a text that is one JSON value.
func parseText(t *sqltype.Type, text []byte, path string) (any, error) {
	p := parser{json.NewDecoder(bytes.NewReader(text))}
	p.d.UseNumber()
	v, err := p.value(t, path)
	if err != nil {
		return nil, err
	}
	if _, err := p.d.Token(); err != io.EOF {
		return nil, &ParseError{path, "something follows the end of the value"}
	}
	return v, nil
}

type parser struct{ d *json.Decoder }

func (p parser) token(path string) (json.Token, error) {
	tok, err := p.d.Token()
	switch {
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return nil, &ParseError{path, "the JSON ends too early"}
	case err != nil:
		return nil, &ParseError{path, fmt.Sprintf("this is not JSON: %v", err)}
	}
	return tok, nil
}

func (p parser) value(t *sqltype.Type, path string) (any, error) {
	tok, err := p.token(path)
	if err != nil {
		return nil, err
	}
	t = t.Resolved()
	switch t.Kind {
	case sqltype.Unknown:
		return nil, &ParseError{path, fmt.Sprintf("its type is not known (%s), so it cannot be given as JSON", t)}
	case sqltype.Variant:
		if tok != nil {
			return nil, &ParseError{path, "a variant cannot be given as JSON, which does not say how it is encoded"}
		}
	}
	switch v := tok.(type) {
	case nil:
		return nil, nil
	case json.Delim:
		switch {
		case t.Kind == sqltype.Struct && v == '{':
			return p.object(t.Fields, path)
		case t.Kind == sqltype.Struct && v == '[':
			return p.tuple(t.Fields, path)
		case t.Kind == sqltype.Array && v == '[':
			return p.array(t, path)
		case t.Kind == sqltype.Map && v == '{':
			return p.mapOf(t, path)
		case (t.Kind == sqltype.Geometry || t.Kind == sqltype.Geography) && v == '{':
			return p.geo(path)
		}
	case bool:
		if t.Kind == sqltype.Boolean {
			return v, nil
		}
	case json.Number:
		if t.Kind != sqltype.String && t.Kind != sqltype.Binary {
			if n, ok := scalar(t, v.String(), true); ok {
				return n, nil
			}
		}
	case string:
		if s, ok := scalar(t, v, false); ok {
			return s, nil
		}
	}
	return nil, mismatch(t, path, tok)
}

// mismatch says what was expected of the type.
func mismatch(t *sqltype.Type, path string, tok json.Token) error {
	return &ParseError{path, expected(t) + ", not " + shown(tok)}
}

// shown writes a token for a message.
func shown(tok json.Token) string {
	switch v := tok.(type) {
	case json.Delim:
		if v == '{' {
			return "an object"
		}
		return "an array"
	case string:
		const most = 40
		if r := []rune(v); len(r) > most {
			v = string(r[:most-1]) + "…"
		}
		return strconv.Quote(v)
	}
	return fmt.Sprint(tok)
}

// expected says how a value of the type is written.
func expected(t *sqltype.Type) string {
	of := func(form string) string { return fmt.Sprintf("expected %v: %s", t, form) }
	switch t.Kind {
	case sqltype.Boolean:
		return "expected true or false"
	case sqltype.Byte, sqltype.Short, sqltype.Integer, sqltype.Long:
		return of("a whole number")
	case sqltype.Float, sqltype.Double:
		return of(`a number, "NaN", "Infinity" or "-Infinity"`)
	case sqltype.String:
		return "expected a string"
	case sqltype.Binary:
		return "expected a string of base64"
	case sqltype.Date:
		return `expected a date such as "2026-01-08"`
	case sqltype.Timestamp, sqltype.TimestampNanos:
		return `expected a timestamp such as "2026-01-08T06:57:29.000000Z"`
	case sqltype.TimestampNTZ, sqltype.TimestampNTZNanos:
		return `expected a timestamp without a zone, such as "2026-01-08T06:57:29.000000"`
	case sqltype.Time:
		return `expected a time such as "06:57:29.5"`
	case sqltype.Decimal:
		return of(fmt.Sprintf("a number or a string of at most %d digits, %d of them after the point", t.Precision, max(t.Scale, 0)))
	case sqltype.YearMonthInterval:
		return of(`for example ` + string(appendYearMonth(nil, 14, t.Start, t.End)))
	case sqltype.DayTimeInterval:
		return of(`for example ` + string(appendDayTime(nil, 93784e6, t.Start, t.End)))
	case sqltype.CalendarInterval:
		return `expected an interval such as "1 years 2 months 3 days 4.5 seconds"`
	case sqltype.Void:
		return "expected null"
	case sqltype.Geometry, sqltype.Geography:
		return of(`an object of srid, a number, and wkb, a string of base64`)
	case sqltype.Struct:
		return "expected an object of its columns, or an array of their values"
	case sqltype.Array:
		return "expected an array"
	case sqltype.Map:
		return "expected an object of keys and values"
	}
	return "expected " + t.String()
}

// object reads the members of an object as the fields of a struct.
func (p parser) object(fields []sqltype.Field, path string) (any, error) {
	values := make([]any, len(fields))
	given := make([]bool, len(fields))
	for p.d.More() {
		tok, err := p.token(path)
		if err != nil {
			return nil, err
		}
		name := tok.(string) // so the decoder promises
		i, named := -1, false
		for f := range fields {
			if fields[f].Name == name {
				named = true
				if !given[f] {
					i = f
					break
				}
			}
		}
		switch {
		case i < 0 && named:
			return nil, &ParseError{within(path, name, 0), "it is given more often than there are columns of this name"}
		case i < 0:
			return nil, &ParseError{path, fmt.Sprintf("there is no column %q; there is: %s", name, names(fields))}
		}
		given[i] = true
		if values[i], err = p.value(fields[i].Type, within(path, name, i)); err != nil {
			return nil, err
		}
	}
	if _, err := p.token(path); err != nil { // it may be the JSON that ends here
		return nil, err
	}
	if i := slices.Index(given, false); i >= 0 {
		return nil, missing(path, fields, i)
	}
	return values, nil
}

// tuple reads the elements of an array as the fields of a struct.
func (p parser) tuple(fields []sqltype.Field, path string) (any, error) {
	values := make([]any, 0, len(fields))
	for p.d.More() {
		i := len(values)
		if i == len(fields) {
			return nil, &ParseError{path, fmt.Sprintf("there are more than %d values; the columns are: %s", i, names(fields))}
		}
		v, err := p.value(fields[i].Type, within(path, fields[i].Name, i))
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	if _, err := p.token(path); err != nil { // it may be the JSON that ends here
		return nil, err
	}
	if i := len(values); i < len(fields) {
		return nil, missing(path, fields, i)
	}
	return values, nil
}

func missing(path string, fields []sqltype.Field, i int) error {
	return &ParseError{within(path, fields[i].Name, i), "it is missing; " + expected(fields[i].Type.Resolved()) + " or null"}
}

// within returns the path to a field of a struct.
func within(path, name string, i int) string {
	switch {
	case name == "":
		return path + "[" + strconv.Itoa(i) + "]"
	case path == "":
		return name
	}
	return path + "." + name
}

func names(fields []sqltype.Field) string {
	if len(fields) == 0 {
		return "none"
	}
	all := make([]string, len(fields))
	for i, f := range fields {
		all[i] = f.Name
	}
	return strings.Join(all, ", ")
}

func (p parser) array(t *sqltype.Type, path string) (any, error) {
	values := []any{}
	for p.d.More() {
		v, err := p.value(t.Element, within(path, "", len(values)))
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	_, err := p.token(path)
	return values, err
}

// mapOf reads a map, whose keys are texts: of strings themselves, of other
// types as mapOf of the writer makes them.
func (p parser) mapOf(t *sqltype.Type, path string) (any, error) {
	entries := [][2]any{}
	keys := t.Key.Resolved()
	for p.d.More() {
		tok, err := p.token(path)
		if err != nil {
			return nil, err
		}
		text := tok.(string) // so the decoder promises
		var key any
		switch keys.Kind {
		case sqltype.Struct, sqltype.Array, sqltype.Map, sqltype.Geometry, sqltype.Geography, sqltype.Unknown, sqltype.Variant:
			key, err = parseText(keys, []byte(text), within(path, "key", 0))
		default:
			var ok bool
			if key, ok = scalar(keys, text, true); !ok {
				err = mismatch(keys, within(path, "key", 0), tok)
			}
		}
		if err != nil {
			return nil, err
		}
		value, err := p.value(t.Value, within(path, text, 0))
		if err != nil {
			return nil, err
		}
		entries = append(entries, [2]any{key, value})
	}
	_, err := p.token(path)
	return entries, err
}

// geoFields are the parts of a geometry or geography.
var geoFields = []sqltype.Field{
	{Name: "srid", Type: &sqltype.Type{Kind: sqltype.Integer}},
	{Name: "wkb", Type: &sqltype.Type{Kind: sqltype.Binary}},
}

func (p parser) geo(path string) (any, error) {
	v, err := p.object(geoFields, path)
	if err != nil {
		return nil, err
	}
	parts := v.([]any)
	srid, ok1 := parts[0].(int64)
	wkb, ok2 := parts[1].([]byte)
	if !ok1 || !ok2 {
		return nil, &ParseError{path, "neither srid nor wkb can be null"}
	}
	return unsaferow.Geo{SRID: int32(srid), WKB: wkb}, nil
}

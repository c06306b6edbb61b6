package sqltype

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

const (
	// MaxDepth is how deep types may be nested for ParseJSON and ParseDDL.
	MaxDepth = 128
	// MaxSize is the longest text, in bytes, that ParseJSON and ParseDDL take.
	// A struct of ten thousand columns needs about a quarter of it.
	MaxSize = 4 << 20
)

// SyntaxError says why a text is not a Spark type.
type SyntaxError struct {
	// Offset is the position in the text, in bytes, at which it was noticed.
	Offset int
	Detail string
}

// Error returns one line.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("not a Spark type: %s, at byte %d", e.Detail, e.Offset)
}

// ParseJSON reads a type as Spark writes it into schema files: an object such
// as {"type":"struct","fields":[…]}, or a bare name such as "string".
//
// The order of keys is free, unknown keys are skipped, nullable and metadata
// may be missing. A type name that is not known becomes a type of kind Unknown
// and is no error. Names are taken in any case, and the names of DDL are taken
// too ("bigint"), so that schemas written by hand may use them. Any other
// deviation is a [*SyntaxError].
func ParseJSON(b []byte) (*Type, error) {
	if len(b) > MaxSize {
		return nil, &SyntaxError{MaxSize, fmt.Sprintf("longer than %d bytes", MaxSize)}
	}
	p := &jsonParser{src: b, dec: json.NewDecoder(bytes.NewReader(b))}
	t, err := p.typ(0)
	if err != nil {
		return nil, err
	}
	if _, err := p.dec.Token(); err != io.EOF {
		return nil, p.fail("more text after the type")
	}
	return t, nil
}

// jsonParser reads tokens in one pass, because the kind of a type may come after
// its parts.
type jsonParser struct {
	src []byte
	dec *json.Decoder
}

func (p *jsonParser) fail(format string, args ...any) error {
	return &SyntaxError{int(p.dec.InputOffset()), fmt.Sprintf(format, args...)}
}

func (p *jsonParser) token() (json.Token, error) {
	t, err := p.dec.Token()
	if err == io.EOF {
		return nil, p.fail("the text ends too early")
	}
	if err != nil {
		return nil, p.fail("%v", err)
	}
	return t, nil
}

func (p *jsonParser) string(what string) (string, error) {
	tok, err := p.token()
	if err != nil {
		return "", err
	}
	s, ok := tok.(string)
	if !ok {
		return "", p.fail("%s is not a string", what)
	}
	return s, nil
}

func (p *jsonParser) bool(what string) (bool, error) {
	tok, err := p.token()
	if err != nil {
		return false, err
	}
	v, ok := tok.(bool)
	if !ok {
		return false, p.fail("%s is not true or false", what)
	}
	return v, nil
}

// optionalString reads a string or null.
func (p *jsonParser) optionalString(what string) (string, error) {
	tok, err := p.token()
	if err != nil || tok == nil {
		return "", err
	}
	s, ok := tok.(string)
	if !ok {
		return "", p.fail("%s is not a string", what)
	}
	return s, nil
}

func (p *jsonParser) skip() error {
	var raw json.RawMessage
	if err := p.dec.Decode(&raw); err != nil {
		return p.fail("%v", err)
	}
	return nil
}

// object calls member for each key of an object whose brace has been read.
func (p *jsonParser) object(member func(key string) error) error {
	for p.dec.More() {
		key, err := p.string("a key")
		if err != nil {
			return err
		}
		if err := member(key); err != nil {
			return err
		}
	}
	_, err := p.token()
	return err
}

func (p *jsonParser) typ(depth int) (*Type, error) {
	if depth > MaxDepth {
		return nil, p.fail("types nested deeper than %d", MaxDepth)
	}
	tok, err := p.token()
	if err != nil {
		return nil, err
	}
	switch v := tok.(type) {
	case string:
		return parseName(v), nil
	case json.Delim:
		if v == '{' {
			return p.complex(depth, int(p.dec.InputOffset())-1)
		}
	}
	return nil, p.fail("a type is a name or an object")
}

// complex reads an object type whose brace, at position start, has been read.
func (p *jsonParser) complex(depth, start int) (*Type, error) {
	// null containment defaults to true, as nullable does.
	t := &Type{ContainsNull: true, ValueContainsNull: true}
	var kind string
	var hasFields, hasKind bool
	err := p.object(func(key string) (err error) {
		switch key {
		case "type":
			kind, err = p.string("the kind of a type")
			hasKind = true
		case "fields":
			hasFields = true
			t.Fields, err = p.fields(depth + 1)
		case "elementType":
			t.Element, err = p.typ(depth + 1)
		case "containsNull":
			t.ContainsNull, err = p.bool(key)
		case "keyType":
			t.Key, err = p.typ(depth + 1)
		case "valueType":
			t.Value, err = p.typ(depth + 1)
		case "valueContainsNull":
			t.ValueContainsNull, err = p.bool(key)
		case "sqlType":
			t.SQLType, err = p.typ(depth + 1)
		case "class":
			t.Class, err = p.optionalString(key)
		case "pyClass":
			t.PyClass, err = p.optionalString(key)
		case "serializedClass":
			t.SerializedClass, err = p.optionalString(key)
		default:
			err = p.skip()
		}
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case !hasKind:
		return nil, p.fail("an object without the key type")
	}
	// A new value in each case, so that keys which belong to another kind leave
	// no trace.
	switch kind {
	case "struct":
		if !hasFields {
			return nil, p.fail("a struct without fields")
		}
		return &Type{Kind: Struct, Fields: t.Fields}, nil
	case "array":
		if t.Element == nil {
			return nil, p.fail("an array without elementType")
		}
		return &Type{Kind: Array, Element: t.Element, ContainsNull: t.ContainsNull}, nil
	case "map":
		if t.Key == nil || t.Value == nil {
			return nil, p.fail("a map without keyType or valueType")
		}
		return &Type{Kind: Map, Key: t.Key, Value: t.Value, ValueContainsNull: t.ValueContainsNull}, nil
	case "udt":
		if t.SQLType == nil {
			return nil, p.fail("a udt without sqlType")
		}
		return &Type{Kind: UDT, SQLType: t.SQLType, Class: t.Class, PyClass: t.PyClass, SerializedClass: t.SerializedClass}, nil
	}
	return &Type{Kind: Unknown, Text: string(p.src[start:p.dec.InputOffset()]), object: true}, nil
}

func (p *jsonParser) fields(depth int) ([]Field, error) {
	if tok, err := p.token(); err != nil {
		return nil, err
	} else if tok != json.Delim('[') {
		return nil, p.fail("fields is not an array")
	}
	var out []Field
	for p.dec.More() {
		f, err := p.field(depth)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	_, err := p.token()
	return out, err
}

func (p *jsonParser) field(depth int) (Field, error) {
	if tok, err := p.token(); err != nil {
		return Field{}, err
	} else if tok != json.Delim('{') {
		return Field{}, p.fail("a field is not an object")
	}
	f := Field{Nullable: true}
	var named bool
	err := p.object(func(key string) (err error) {
		switch key {
		case "name":
			named = true
			f.Name, err = p.string("the name of a field")
		case "type":
			f.Type, err = p.typ(depth)
		case "nullable":
			f.Nullable, err = p.bool(key)
		case "metadata":
			f.Metadata = nil
			if err := p.dec.Decode(&f.Metadata); err != nil {
				return p.fail("metadata: %v", err)
			}
			if len(f.Metadata) == 0 {
				f.Metadata = nil
			}
		default:
			err = p.skip()
		}
		return err
	})
	switch {
	case err != nil:
		return Field{}, err
	case f.Type == nil || !named:
		return Field{}, p.fail("a field without a name or a type")
	}
	f.takeMetadata()
	return f, nil
}

// takeMetadata moves what metadata says about strings into the types: Spark
// writes char, varchar and collated strings as plain ones and notes beside them
// what they are, so that older versions can read the schema. Notes that cannot
// be understood stay what they are: notes.
func (f *Field) takeMetadata() {
	if raw, ok := f.Metadata[metaCharVarchar]; ok {
		var s string
		if json.Unmarshal(raw, &s) == nil {
			if t, err := parseType(s); err == nil {
				f.Type.takeLengths(t)
			}
		}
	}
	if raw, ok := f.Metadata[metaCollations]; ok {
		var of map[string]string
		if json.Unmarshal(raw, &of) == nil {
			f.Type.eachString(f.Name, func(path string, t *Type) {
				if name, ok := of[path]; ok {
					// "icu.UNICODE_CI": provider and name.
					_, after, found := strings.Cut(name, ".")
					if !found {
						after = name
					}
					t.setCollation(after)
				}
			})
		}
	}
}

// takeLengths copies lengths of characters from a type of the same shape.
func (t *Type) takeLengths(from *Type) {
	if t.Kind != from.Kind {
		return
	}
	switch t.Kind {
	case String:
		t.Length, t.Padded = from.Length, from.Padded
	case Array:
		t.Element.takeLengths(from.Element)
	case Map:
		t.Key.takeLengths(from.Key)
		t.Value.takeLengths(from.Value)
	case Struct:
		if len(t.Fields) == len(from.Fields) {
			for i := range t.Fields {
				t.Fields[i].Type.takeLengths(from.Fields[i].Type)
			}
		}
	}
}

func (t *Type) setCollation(name string) {
	if strings.EqualFold(name, "UTF8_BINARY") {
		name = ""
	}
	t.Collation = name
}

// eachString visits the strings that a field's collation notes speak of: the
// field itself, and what arrays and maps contain; fields of structs have notes
// of their own.
func (t *Type) eachString(path string, visit func(path string, t *Type)) {
	switch t.Kind {
	case String:
		visit(path, t)
	case Array:
		t.Element.eachString(path+".element", visit)
	case Map:
		t.Key.eachString(path+".key", visit)
		t.Value.eachString(path+".value", visit)
	}
}

// MarshalJSON writes the type as Spark does; see [Type.JSON].
func (t *Type) MarshalJSON() ([]byte, error) {
	return t.appendJSON(nil, jsonStyle{}), nil
}

// JSON returns the type as Spark writes it into schema files: compact, not
// ASCII-escaped, metadata keys in ascending order. Inside a struct, a collation
// is written as the field's metadata, as Spark does; elsewhere, where Spark
// drops it, as "string collate NAME".
func (t *Type) JSON() string {
	return string(t.appendJSON(nil, jsonStyle{}))
}

// jsonStyle says what a surrounding field's metadata already tells.
type jsonStyle struct {
	plainLength    bool // char(n), varchar(n) become string
	plainCollation bool // so do collated strings
}

func (t *Type) appendJSON(b []byte, s jsonStyle) []byte {
	switch t.Kind {
	case Struct:
		b = append(b, `{"type":"struct","fields":[`...)
		for i, f := range t.Fields {
			if i > 0 {
				b = append(b, ',')
			}
			b = f.appendJSON(b, s)
		}
		return append(b, "]}"...)
	case Array:
		b = append(b, `{"type":"array","elementType":`...)
		b = t.Element.appendJSON(b, s)
		b = append(b, `,"containsNull":`...)
		b = strconv.AppendBool(b, t.ContainsNull)
		return append(b, '}')
	case Map:
		b = append(b, `{"type":"map","keyType":`...)
		b = t.Key.appendJSON(b, s)
		b = append(b, `,"valueType":`...)
		b = t.Value.appendJSON(b, s)
		b = append(b, `,"valueContainsNull":`...)
		b = strconv.AppendBool(b, t.ValueContainsNull)
		return append(b, '}')
	case UDT:
		b = append(b, `{"type":"udt",`...)
		if t.Class != "" || t.PyClass == "" {
			b = append(b, `"class":`...)
			b = appendString(b, t.Class)
			b = append(b, `,"pyClass":`...)
			if t.PyClass == "" {
				b = append(b, "null"...)
			} else {
				b = appendString(b, t.PyClass)
			}
		} else {
			b = append(b, `"pyClass":`...)
			b = appendString(b, t.PyClass)
			b = append(b, `,"serializedClass":`...)
			b = appendString(b, t.SerializedClass)
		}
		b = append(b, `,"sqlType":`...)
		b = t.SQLType.appendJSON(b, s)
		return append(b, '}')
	case Unknown:
		if t.object {
			return append(b, t.Text...)
		}
	}
	return appendString(b, t.jsonName(s))
}

// jsonName is the name in JSON of a type that has no parts.
func (t *Type) jsonName(s jsonStyle) string {
	switch t.Kind {
	case String:
		name := "string"
		if t.Length > 0 && !s.plainLength {
			name = charName(t)
		}
		if t.Collation != "" && !s.plainCollation {
			name += " collate " + t.Collation
		}
		return name
	case Decimal:
		return fmt.Sprintf("decimal(%d,%d)", t.Precision, t.Scale)
	case Time:
		return fmt.Sprintf("time(%d)", t.Precision)
	case TimestampNanos:
		return fmt.Sprintf("timestamp_ltz(%d)", t.Precision)
	case TimestampNTZNanos:
		return fmt.Sprintf("timestamp_ntz(%d)", t.Precision)
	case YearMonthInterval, DayTimeInterval:
		if t.Start == t.End {
			return "interval " + t.Start.String()
		}
		return "interval " + t.Start.String() + " to " + t.End.String()
	case Unknown, Geometry, Geography:
		return t.Text
	}
	return t.Kind.String()
}

func charName(t *Type) string {
	if t.Padded {
		return fmt.Sprintf("char(%d)", t.Length)
	}
	return fmt.Sprintf("varchar(%d)", t.Length)
}

func (f Field) appendJSON(b []byte, s jsonStyle) []byte {
	if _, ok := f.Metadata[metaCharVarchar]; ok {
		// The note covers everything below, structs included.
		s.plainLength = true
	}
	s.plainCollation = true
	b = append(b, `{"name":`...)
	b = appendString(b, f.Name)
	b = append(b, `,"type":`...)
	b = f.Type.appendJSON(b, s)
	b = append(b, `,"nullable":`...)
	b = strconv.AppendBool(b, f.Nullable)
	b = append(b, `,"metadata":{`...)
	meta := f.metadata()
	for i, k := range sortedKeys(meta) {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, k)
		b = append(b, ':')
		b = append(b, meta[k]...)
	}
	return append(b, "}}"...)
}

// metadata is the field's metadata together with a note about collations, if
// the type has some that no note speaks of.
func (f Field) metadata() map[string]json.RawMessage {
	if _, ok := f.Metadata[metaCollations]; ok {
		return f.Metadata
	}
	var note []byte
	f.Type.eachString(f.Name, func(path string, t *Type) {
		if t.Collation == "" {
			return
		}
		note = append(note, ',')
		note = appendString(note, path)
		note = append(note, ':')
		note = appendString(note, collationProvider(t.Collation)+"."+t.Collation)
	})
	if note == nil {
		return f.Metadata
	}
	note[0] = '{'
	out := map[string]json.RawMessage{metaCollations: append(note, '}')}
	for k, v := range f.Metadata {
		out[k] = v
	}
	return out
}

// collationProvider returns who implements a collation: Spark those that compare
// bytes or lower-cased text, ICU all others.
func collationProvider(name string) string {
	if strings.HasPrefix(strings.ToUpper(name), "UTF8_") {
		return "spark"
	}
	return "icu"
}

func sortedKeys(m map[string]json.RawMessage) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// appendString writes a JSON string as Spark's writer does: only quotes,
// backslashes and control characters are escaped.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r == '\t':
			b = append(b, `\t`...)
		case r == '\b':
			b = append(b, `\b`...)
		case r == '\f':
			b = append(b, `\f`...)
		case r < 0x20:
			b = fmt.Appendf(b, `\u%04X`, r)
		default:
			b = append(b, string(r)...)
		}
	}
	return append(b, '"')
}

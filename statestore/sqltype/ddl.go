package sqltype

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ParseDDL reads a struct from Spark's DDL: a list of columns such as
//
//	k STRING NOT NULL, n STRUCT<a: INT, b: ARRAY<DECIMAL(9,2)>>, `odd name` MAP<STRING, INT> COMMENT 'seen'
//
// or the struct itself, STRUCT<…>. The empty text is a struct without fields,
// such as the key of an aggregation without grouping columns.
//
// Keywords are taken in any case, with all the aliases that Spark knows. A name
// that is no type is a [*SyntaxError]: here it is more likely a slip of the
// hand than a type of tomorrow.
func ParseDDL(s string) (*Type, error) {
	p, err := newDDLParser(s)
	if err != nil {
		return nil, err
	}
	if p.isWord("struct") && p.next < len(p.toks)-1 && p.toks[p.next+1].text == "<" {
		t, err := p.typ(0)
		if err != nil {
			return nil, err
		}
		return t, p.end()
	}
	t := &Type{Kind: Struct}
	if p.peek().kind == tokEnd {
		return t, nil
	}
	if t.Fields, err = p.columns(0); err != nil {
		return nil, err
	}
	return t, p.end()
}

// parseType reads one type.
func parseType(s string) (*Type, error) {
	p, err := newDDLParser(s)
	if err != nil {
		return nil, err
	}
	t, err := p.typ(0)
	if err != nil {
		return nil, err
	}
	return t, p.end()
}

// parseName reads a type's name as JSON has it. It never fails: what is not
// known is of kind Unknown.
func parseName(s string) *Type {
	// The text between the brackets of a geometry is not made of words.
	switch name, _, _ := strings.Cut(strings.ToLower(s), "("); strings.TrimSpace(name) {
	case "geometry":
		return &Type{Kind: Geometry, Text: s}
	case "geography":
		return &Type{Kind: Geography, Text: s}
	case "array", "map", "struct":
		return &Type{Kind: Unknown, Text: s}
	}
	t, err := parseType(s)
	if err != nil || t.Kind == Unknown || t.Kind == Array || t.Kind == Map || t.Kind == Struct {
		return &Type{Kind: Unknown, Text: s}
	}
	return t
}

type tokKind uint8

const (
	tokEnd tokKind = iota
	tokWord
	tokQuoted // `name`
	tokNumber
	tokString
	tokPunct
)

type tok struct {
	kind tokKind
	text string // without quotes
	pos  int
	end  int
}

func lexDDL(s string) ([]tok, error) {
	var out []tok
	for i := 0; ; {
		r, size := utf8.DecodeRuneInString(s[i:])
		for size > 0 && unicode.IsSpace(r) {
			i += size
			r, size = utf8.DecodeRuneInString(s[i:])
		}
		switch {
		case size == 0:
			return append(out, tok{tokEnd, "", i, i}), nil
		case r == '`':
			text, n, ok := quoted(s[i:], '`', false)
			if !ok {
				return nil, &SyntaxError{i, "a name in backquotes without its end"}
			}
			out = append(out, tok{tokQuoted, text, i, i + n})
			i += n
		case r == '\'' || r == '"':
			text, n, ok := quoted(s[i:], byte(r), true)
			if !ok {
				return nil, &SyntaxError{i, "a text in quotes without its end"}
			}
			out = append(out, tok{tokString, text, i, i + n})
			i += n
		case r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			n, word := 0, false
			for _, r := range s[i:] {
				if r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
					break
				}
				word = word || r < '0' || r > '9'
				n += utf8.RuneLen(r)
			}
			kind := tokNumber
			if word {
				kind = tokWord
			}
			out = append(out, tok{kind, s[i : i+n], i, i + n})
			i += n
		case strings.ContainsRune("<>(),:-.", r):
			out = append(out, tok{tokPunct, s[i : i+1], i, i + 1})
			i++
		default:
			return nil, &SyntaxError{i, fmt.Sprintf("unexpected %q", r)}
		}
	}
}

// quoted reads a quoted text at the start of s, in which the quote is written
// twice, or after a backslash where escapes are known.
func quoted(s string, quote byte, escapes bool) (text string, n int, ok bool) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == quote:
			if i+1 == len(s) || s[i+1] != quote {
				return b.String(), i + 1, true
			}
			i++
			b.WriteByte(quote)
		case c == '\\' && escapes && i+1 < len(s):
			i++
			if e := strings.IndexByte(`0bnrtZ`, s[i]); e >= 0 {
				b.WriteByte("\x00\b\n\r\t\x1a"[e])
			} else {
				b.WriteByte(s[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", 0, false
}

type ddlParser struct {
	src  string
	toks []tok
	next int
}

func newDDLParser(s string) (*ddlParser, error) {
	if len(s) > MaxSize {
		return nil, &SyntaxError{MaxSize, fmt.Sprintf("longer than %d bytes", MaxSize)}
	}
	toks, err := lexDDL(s)
	if err != nil {
		return nil, err
	}
	return &ddlParser{src: s, toks: toks}, nil
}

func (p *ddlParser) peek() tok { return p.toks[p.next] }

func (p *ddlParser) fail(format string, args ...any) error {
	return &SyntaxError{p.peek().pos, fmt.Sprintf(format, args...)}
}

func (p *ddlParser) end() error {
	if p.peek().kind != tokEnd {
		return p.fail("unexpected %q", p.peek().text)
	}
	return nil
}

func (p *ddlParser) isWord(w string) bool {
	t := p.peek()
	return t.kind == tokWord && strings.EqualFold(t.text, w)
}

// words takes all the words if they come next in this order, and none otherwise.
func (p *ddlParser) words(ws ...string) bool {
	start := p.next
	for _, w := range ws {
		if !p.isWord(w) {
			p.next = start
			return false
		}
		p.next++
	}
	return true
}

func (p *ddlParser) punct(c string) bool {
	if t := p.peek(); t.kind != tokPunct || t.text != c {
		return false
	}
	p.next++
	return true
}

func (p *ddlParser) expect(c string) error {
	if !p.punct(c) {
		if p.peek().kind == tokEnd {
			return p.fail("the text ends where %q is expected", c)
		}
		return p.fail("%q where %q is expected", p.peek().text, c)
	}
	return nil
}

// columns reads one column or more, separated by commas.
func (p *ddlParser) columns(depth int) ([]Field, error) {
	var out []Field
	for {
		name := p.peek()
		switch name.kind {
		case tokWord, tokQuoted, tokNumber:
			p.next++
		default:
			return nil, p.fail("the name of a column is expected")
		}
		p.punct(":")
		t, err := p.typ(depth + 1)
		if err != nil {
			return nil, err
		}
		f := Field{Name: name.text, Type: t, Nullable: true}
		for more := true; more; {
			switch {
			case p.words("not", "null"):
				f.Nullable = false
			case p.words("comment"):
				if p.peek().kind != tokString {
					return nil, p.fail("a comment is a text in quotes")
				}
				f.Metadata = map[string]json.RawMessage{metaComment: appendString(nil, p.peek().text)}
				p.next++
			default:
				more = false
			}
		}
		out = append(out, f)
		if !p.punct(",") {
			return out, nil
		}
	}
}

// simpleNames are the types that are one word, with all their aliases.
var simpleNames = map[string]Kind{
	"boolean": Boolean,
	"tinyint": Byte, "byte": Byte,
	"smallint": Short, "short": Short,
	"int": Integer, "integer": Integer,
	"bigint": Long, "long": Long,
	"float": Float, "real": Float,
	"double":  Double,
	"binary":  Binary,
	"date":    Date,
	"void":    Void,
	"null":    Void, // Spark before 3.2
	"variant": Variant,
}

func (p *ddlParser) typ(depth int) (*Type, error) {
	if depth > MaxDepth {
		return nil, p.fail("types nested deeper than %d", MaxDepth)
	}
	start := p.peek()
	if start.kind != tokWord {
		return nil, p.fail("a type is expected")
	}
	p.next++
	name := strings.ToLower(start.text)
	if k, ok := simpleNames[name]; ok {
		return &Type{Kind: k}, nil
	}
	switch name {
	case "string":
		return p.collated(&Type{Kind: String})
	case "char", "character", "varchar":
		n, err := p.numbers(1, 1)
		if err != nil {
			return nil, err
		}
		if n[0] < 1 {
			return nil, &SyntaxError{start.pos, "a length of characters is 1 or more"}
		}
		return p.collated(&Type{Kind: String, Length: n[0], Padded: name != "varchar"})
	case "decimal", "dec", "numeric":
		n, err := p.numbers(0, 2)
		if err != nil {
			return nil, err
		}
		t := &Type{Kind: Decimal, Precision: 10}
		if len(n) > 0 {
			t.Precision = n[0]
		}
		if len(n) > 1 {
			t.Scale = n[1]
		}
		if t.Precision < 1 || t.Precision > 38 || t.Scale > t.Precision || t.Scale < -38 {
			return nil, &SyntaxError{start.pos, fmt.Sprintf("there is no decimal(%d,%d)", t.Precision, t.Scale)}
		}
		return t, nil
	case "time":
		n, err := p.numbers(0, 1)
		if err != nil {
			return nil, err
		}
		t := &Type{Kind: Time, Precision: 6}
		if len(n) > 0 {
			t.Precision = n[0]
		}
		if t.Precision < 0 || t.Precision > 9 { // 7 to 9 since Spark 4.3
			return nil, &SyntaxError{start.pos, fmt.Sprintf("there is no time(%d)", t.Precision)}
		}
		p.words("without", "time", "zone")
		return t, nil
	case "timestamp", "timestamp_ltz", "timestamp_ntz":
		return p.timestamp(start, name)
	case "interval":
		return p.interval()
	case "geometry", "geography":
		return p.geo(start, name)
	case "array":
		return p.array(depth)
	case "map":
		return p.mapOf(depth)
	case "struct":
		return p.structOf(depth)
	}
	return nil, &SyntaxError{start.pos, fmt.Sprintf("%q is not a type", start.text)}
}

// numbers reads a list of numbers in brackets, which may be missing if none is
// needed.
func (p *ddlParser) numbers(least, most int) ([]int, error) {
	if least == 0 && (p.peek().kind != tokPunct || p.peek().text != "(") {
		return nil, nil
	}
	if err := p.expect("("); err != nil {
		return nil, err
	}
	var out []int
	for {
		sign := ""
		if p.punct("-") {
			sign = "-"
		}
		if p.peek().kind != tokNumber {
			return nil, p.fail("a number is expected")
		}
		n, err := strconv.ParseInt(sign+p.peek().text, 10, 32)
		if err != nil {
			return nil, p.fail("the number %s is too large", p.peek().text)
		}
		p.next++
		out = append(out, int(n))
		if len(out) < most && p.punct(",") {
			continue
		}
		return out, p.expect(")")
	}
}

func (p *ddlParser) collated(t *Type) (*Type, error) {
	if !p.words("collate") {
		return t, nil
	}
	for {
		name := p.peek()
		if name.kind != tokWord && name.kind != tokQuoted {
			return nil, p.fail("the name of a collation is expected")
		}
		p.next++
		if !p.punct(".") { // system.builtin.UNICODE
			t.setCollation(name.text)
			return t, nil
		}
	}
}

// timestamp reads what may follow the name: digits of the second, of which 6
// are the same as none at all, and for timestamp itself words about the zone.
func (p *ddlParser) timestamp(start tok, name string) (*Type, error) {
	n, err := p.numbers(0, 1)
	if err != nil {
		return nil, err
	}
	digits := 6
	if len(n) > 0 {
		digits = n[0]
	}
	if digits < 6 || digits > 9 {
		return nil, &SyntaxError{start.pos, fmt.Sprintf("there is no %s(%d)", name, digits)}
	}
	wallClock := name == "timestamp_ntz" || name == "timestamp" && p.words("without", "time", "zone")
	if name == "timestamp" && !wallClock {
		p.words("with", "local", "time", "zone")
	}
	switch {
	case digits == 6 && wallClock:
		return &Type{Kind: TimestampNTZ}, nil
	case digits == 6:
		return &Type{Kind: Timestamp}, nil
	case wallClock:
		return &Type{Kind: TimestampNTZNanos, Precision: digits}, nil
	}
	return &Type{Kind: TimestampNanos, Precision: digits}, nil
}

// since returns the text from a token up to the last one taken, in lower case
// as JSON would have it.
func (p *ddlParser) since(start tok) string {
	return strings.ToLower(p.src[start.pos:p.toks[p.next-1].end])
}

func (p *ddlParser) unit() (IntervalUnit, bool) {
	for u, name := range unitNames {
		if p.words(name) {
			return IntervalUnit(u), true
		}
	}
	return 0, false
}

func (p *ddlParser) interval() (*Type, error) {
	from, ok := p.unit()
	if !ok {
		return &Type{Kind: CalendarInterval}, nil
	}
	t := &Type{Kind: DayTimeInterval, Start: from, End: from}
	if from <= Month {
		t.Kind = YearMonthInterval
	}
	if p.words("to") {
		to, ok := p.unit()
		if !ok || to <= from || (from <= Month) != (to <= Month) {
			return nil, p.fail("there is no interval from %s to that", from)
		}
		t.End = to
	}
	return t, nil
}

// geo reads what may stand in brackets behind geometry and geography: a spatial
// reference, and for the latter also an algorithm.
func (p *ddlParser) geo(start tok, name string) (*Type, error) {
	t := &Type{Kind: Geometry}
	if name == "geography" {
		t.Kind = Geography
	}
	if p.punct("(") {
		for !p.punct(")") {
			if k := p.peek(); k.kind == tokEnd || k.text == "(" {
				return nil, p.fail("%q is expected", ")")
			}
			p.next++
		}
	}
	t.Text = p.since(start)
	return t, nil
}

func (p *ddlParser) array(depth int) (*Type, error) {
	if err := p.expect("<"); err != nil {
		return nil, err
	}
	e, err := p.typ(depth + 1)
	if err != nil {
		return nil, err
	}
	return &Type{Kind: Array, Element: e, ContainsNull: true}, p.expect(">")
}

func (p *ddlParser) mapOf(depth int) (*Type, error) {
	if err := p.expect("<"); err != nil {
		return nil, err
	}
	k, err := p.typ(depth + 1)
	if err != nil {
		return nil, err
	}
	if err := p.expect(","); err != nil {
		return nil, err
	}
	v, err := p.typ(depth + 1)
	if err != nil {
		return nil, err
	}
	return &Type{Kind: Map, Key: k, Value: v, ValueContainsNull: true}, p.expect(">")
}

func (p *ddlParser) structOf(depth int) (*Type, error) {
	if err := p.expect("<"); err != nil {
		return nil, err
	}
	if p.punct(">") {
		return &Type{Kind: Struct}, nil
	}
	fields, err := p.columns(depth)
	if err != nil {
		return nil, err
	}
	return &Type{Kind: Struct, Fields: fields}, p.expect(">")
}

// DDL returns a struct as the list of columns that [ParseDDL] reads, and any
// other type as [Type.String] does. DDL cannot say that an array or a map holds
// no nulls, nor name a user-defined type: it stands as its SQL type.
func (t *Type) DDL() string {
	if t.Kind != Struct {
		return t.String()
	}
	var b strings.Builder
	for i, f := range t.Fields {
		if i > 0 {
			b.WriteString(", ")
		}
		f.writeDDL(&b, " ")
	}
	return b.String()
}

// String returns the type in SQL, such as STRUCT<a: INT NOT NULL>.
func (t *Type) String() string {
	var b strings.Builder
	t.writeSQL(&b)
	return b.String()
}

var sqlNames = map[Kind]string{
	Byte: "TINYINT", Short: "SMALLINT", Integer: "INT", Long: "BIGINT",
}

func (t *Type) writeSQL(b *strings.Builder) {
	switch t.Kind {
	case Struct:
		b.WriteString("STRUCT<")
		for i, f := range t.Fields {
			if i > 0 {
				b.WriteString(", ")
			}
			f.writeDDL(b, ": ")
		}
		b.WriteByte('>')
	case Array:
		b.WriteString("ARRAY<")
		t.Element.writeSQL(b)
		b.WriteByte('>')
	case Map:
		b.WriteString("MAP<")
		t.Key.writeSQL(b)
		b.WriteString(", ")
		t.Value.writeSQL(b)
		b.WriteByte('>')
	case UDT:
		t.SQLType.writeSQL(b)
	case String:
		if t.Length > 0 {
			b.WriteString(strings.ToUpper(charName(t)))
		} else {
			b.WriteString("STRING")
		}
		if t.Collation != "" {
			b.WriteString(" COLLATE ")
			b.WriteString(quoteName(t.Collation))
		}
	case Unknown, Geometry, Geography:
		b.WriteString(t.Text)
	default:
		if name, ok := sqlNames[t.Kind]; ok {
			b.WriteString(name)
		} else {
			b.WriteString(strings.ToUpper(t.jsonName(jsonStyle{})))
		}
	}
}

func (f Field) writeDDL(b *strings.Builder, sep string) {
	b.WriteString(quoteName(f.Name))
	b.WriteString(sep)
	f.Type.writeSQL(b)
	if !f.Nullable {
		b.WriteString(" NOT NULL")
	}
	if c, ok := f.Comment(); ok {
		b.WriteString(" COMMENT '")
		b.WriteString(strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(c))
		b.WriteByte('\'')
	}
}

// quoteName puts a name into backquotes unless it is plainly a word.
func quoteName(s string) string {
	word := false
	for _, r := range s {
		switch {
		case r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z':
			word = true
		case r >= '0' && r <= '9':
		default:
			return "`" + strings.ReplaceAll(s, "`", "``") + "`"
		}
	}
	if word {
		return s
	}
	return "`" + s + "`"
}

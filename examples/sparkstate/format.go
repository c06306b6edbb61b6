package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sparkstate/sparkstate/examples/sparkstate/internal/sparkjson"
)

// format is an output format; the zero value is the table.
type format string

const (
	asTable format = ""
	asJSON  format = "json"
	asJSONL format = "jsonl"
	asCSV   format = "csv"
)

// String, Set and Type make it a flag.
func (f *format) String() string {
	if *f == asTable {
		return "table"
	}
	return string(*f)
}

// Set is described at String.
func (f *format) Set(s string) error {
	switch v := format(strings.ToLower(s)); v {
	case "table":
		*f = asTable
	case asJSON, asJSONL, asCSV:
		*f = v
	default:
		return fmt.Errorf("%q is none of table, json, jsonl, csv", s)
	}
	return nil
}

// Type is described at String.
func (f *format) Type() string { return "format" }

// cell is a value as JSON text.
type cell []byte

func jsonCell(v any) cell {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	must(e.Encode(v))
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}

func textCell(s string) cell { return sparkjson.AppendString(nil, s) }

// plain returns the cell as text: strings without their quotes, null as the
// given text.
func (c cell) plain(null string) string {
	switch {
	case string(c) == "null":
		return null
	case len(c) > 1 && c[0] == '"':
		if bytes.IndexByte(c, '\\') < 0 { // nearly all
			return string(c[1 : len(c)-1])
		}
		var s string
		if json.Unmarshal(c, &s) == nil {
			return s
		}
	}
	return string(c)
}

// column is a column of a sheet.
type column struct {
	name string
	// number columns are right-aligned in tables.
	number bool
}

// sheet writes rows in any of the formats, as they come.
type sheet struct {
	format  format
	camel   bool // snake_case names of columns become camelCase
	columns []column
	// header holds the fields of a JSON document before its rows.
	header []field
	// footer holds those after them.
	footer []field

	w    *bufio.Writer
	text [][]string // the rows of a table, kept until their widths are known
	rows int64
}

type field struct {
	name  string
	value any
}

// maxCell is how wide a cell of a table gets, in characters.
const maxCell = 84

func (s *sheet) begin(w io.Writer) error {
	s.w = bufio.NewWriterSize(w, 64<<10)
	if s.camel {
		for i := range s.columns {
			s.columns[i].name = camel(s.columns[i].name)
		}
	}
	switch s.format {
	case asTable:
		s.text = [][]string{s.names()}
	case asCSV:
		b := s.w.AvailableBuffer()
		for _, name := range s.names() {
			b = append(appendCSV(b, name), ',')
		}
		_, err := s.w.Write(endCSV(b))
		return output(err)
	case asJSON:
		b := []byte{'{'}
		for _, f := range s.header {
			b = append(sparkjson.AppendString(b, f.name), ':')
			b = append(append(b, jsonCell(f.value)...), ',')
		}
		b = append(b, `"rows":[`...)
		_, err := s.w.Write(b)
		return output(err)
	}
	return nil
}

// camel returns a column's name in camel case. One with a dot, as
// key.profile_id, has the name of a column of the query's, which stays as it is.
func camel(name string) string {
	if strings.Contains(name, ".") {
		return name
	}
	words := strings.Split(name, "_")
	for i, w := range words[1:] {
		words[i+1] = strings.ToUpper(w[:min(1, len(w))]) + w[min(1, len(w)):]
	}
	return strings.Join(words, "")
}

func (s *sheet) names() []string {
	names := make([]string, len(s.columns))
	for i, c := range s.columns {
		names[i] = c.name
	}
	return names
}

// table aligns the rows kept: numbers to the right, all else to the left.
func (s *sheet) table() string {
	width := make([]int, len(s.columns))
	for _, row := range s.text {
		for i, t := range row {
			width[i] = max(width[i], utf8.RuneCountInString(t))
		}
	}
	var all strings.Builder
	for _, row := range s.text {
		var line strings.Builder
		for i, t := range row {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(t))
			if s.columns[i].number {
				t, pad = pad+t, ""
			}
			line.WriteString(t + pad + "  ")
		}
		all.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return all.String()
}

func (s *sheet) row(cells ...cell) error {
	s.rows++
	var err error
	switch s.format {
	case asTable:
		text := make([]string, len(cells))
		for i, c := range cells {
			text[i] = short(c.plain("–"))
		}
		s.text = append(s.text, text)
	case asCSV:
		b := s.w.AvailableBuffer()
		for _, c := range cells {
			if string(c) != "null" {
				b = appendCSV(b, c.plain(""))
			}
			b = append(b, ',')
		}
		_, err = s.w.Write(endCSV(b))
	default:
		if s.format == asJSON && s.rows > 1 {
			err = s.w.WriteByte(',')
		}
		if s.format == asJSON && err == nil {
			err = s.w.WriteByte('\n')
		}
		b := append(s.w.AvailableBuffer(), '{')
		for i, c := range cells {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(sparkjson.AppendString(b, s.columns[i].name), ':')
			b = append(b, c...)
		}
		b = append(b, '}')
		if s.format == asJSONL {
			b = append(b, '\n')
		}
		if err == nil {
			_, err = s.w.Write(b)
		}
	}
	return output(err)
}

func (s *sheet) end() error {
	switch s.format {
	case asTable:
		if _, err := s.w.WriteString(s.table()); err != nil {
			return output(err)
		}
	case asJSON:
		b := []byte("]")
		for _, f := range s.footer {
			b = append(sparkjson.AppendString(append(b, ','), f.name), ':')
			b = append(b, jsonCell(f.value)...)
		}
		if _, err := s.w.Write(append(b, "}\n"...)); err != nil {
			return output(err)
		}
	}
	return output(s.w.Flush())
}

// appendCSV appends a field. One that is empty is quoted, so that it is not a
// null: of that there is nothing between the commas.
func appendCSV(b []byte, text string) []byte {
	if text != "" && !strings.ContainsAny(text, ",\"\r\n") && text[0] != ' ' && text[0] != '\t' {
		return append(b, text...)
	}
	b = append(b, '"')
	b = append(b, strings.ReplaceAll(text, `"`, `""`)...)
	return append(b, '"')
}

// endCSV makes a line end of the comma behind the last field.
func endCSV(b []byte) []byte {
	if n := len(b); n > 0 {
		b[n-1] = '\n'
	}
	return b
}

// visible takes out what would move the cursor or turn the direction of text.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || !unicode.IsPrint(r) && r != ' ' {
			return '·'
		}
		return r
	}, s)
}

// short cuts a cell of a table, and takes out what is not visible.
func short(s string) string {
	s = visible(s)
	if utf8.RuneCountInString(s) <= maxCell {
		return s
	}
	return string([]rune(s)[:maxCell-1]) + "…"
}

// document returns the fields that every JSON document begins with.
func document(path string, batch any) []field {
	return []field{{"schemaVersion", 1}, {"checkpoint", path}, {"batch", batch}}
}

package statetest

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow/go/v17/arrow/decimal128"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

// report is in what the rows of a store are not those that are wanted.
type report struct {
	key, value     *sqltype.Type // nil where they are not known
	times          map[int]checkpoint.Unit
	missing, extra []encoded
	other          [][2]encoded // of one key: what is wanted, what is there
}

// How much of a difference is shown: rows of each kind, and bytes of a value.
const (
	shownRows  = 10
	shownBytes = 200
)

// write appends what is not the same; nothing if all is.
func (r *report) write(out *strings.Builder, name string) {
	if len(r.missing)+len(r.extra)+len(r.other) == 0 {
		return
	}
	if out.Len() > 0 {
		out.WriteByte('\n')
	}
	fmt.Fprintf(out, "%s: the rows are not those wanted: %d missing, %d extra, %d different", name, len(r.missing), len(r.extra), len(r.other))
	for i, e := range r.missing {
		if r.more(out, "missing", i, len(r.missing)) {
			break
		}
		fmt.Fprintf(out, "\n  missing  %s → %s", text(r.key, e.key, nil), text(r.value, e.value, r.times))
	}
	for i, e := range r.extra {
		if r.more(out, "extra", i, len(r.extra)) {
			break
		}
		fmt.Fprintf(out, "\n  extra    %s → %s in partition %d", text(r.key, e.key, nil), text(r.value, e.value, r.times), e.partition)
	}
	for i, pair := range r.other {
		if r.more(out, "different", i, len(r.other)) {
			break
		}
		fmt.Fprintf(out, "\n  differs  %s: %s in partition %d", text(r.key, pair[0].key, nil), r.fields(pair[0].value, pair[1].value), pair[1].partition)
	}
}

func (r *report) more(out *strings.Builder, what string, shown, all int) bool {
	if shown < shownRows {
		return false
	}
	fmt.Fprintf(out, "\n  and %d more %s", all-shown, what)
	return true
}

// fields says in which columns two values differ.
func (r *report) fields(want, got []byte) string {
	plain := fmt.Sprintf("%s, wanted %s", text(r.value, got, r.times), text(r.value, want, r.times))
	if r.value == nil {
		return plain
	}
	a, aerr := decodeTimes(r.value, want, r.times)
	b, berr := decodeTimes(r.value, got, r.times)
	if aerr != nil || berr != nil {
		return plain
	}
	var out []string
	for i, f := range r.value.Fields {
		if x, y := cut(show(f.Type, a[i])), cut(show(f.Type, b[i])); x != y {
			out = append(out, fmt.Sprintf("%s is %s, wanted %s", column(f.Name), y, x))
		}
	}
	if out == nil { // in what is not shown
		return plain
	}
	return strings.Join(out, "; ")
}

// decodeTimes decodes a row with the numbers that are times as such. Negative
// ones stand for never.
func decodeTimes(t *sqltype.Type, row []byte, times map[int]checkpoint.Unit) ([]any, error) {
	v, err := decode(t, row)
	for i, unit := range times {
		if err != nil || i >= len(v) {
			break
		}
		if n, ok := v[i].(int64); ok && n >= 0 {
			if v[i] = time.UnixMilli(n).UTC(); unit == checkpoint.Microseconds {
				v[i] = time.UnixMicro(n).UTC()
			}
		}
	}
	return v, err
}

// text shows a row, as bytes if it cannot be decoded.
func text(t *sqltype.Type, row []byte, times map[int]checkpoint.Unit) string {
	if t != nil {
		if v, err := decodeTimes(t, row, times); err == nil {
			return cut(show(t, v))
		}
	}
	return cut(fmt.Sprintf("0x%x", row))
}

// column shows a name, which may hold anything.
func column(name string) string {
	q := strconv.Quote(name)
	return q[1 : len(q)-1]
}

// cut bounds a text.
func cut(s string) string {
	if len(s) <= shownBytes {
		return s
	}
	return strings.ToValidUTF8(s[:shownBytes], "") + fmt.Sprintf("… (%d bytes)", len(s))
}

// show writes a value that was decoded, so that people see what it is.
func show(t *sqltype.Type, v any) string {
	t = t.Resolved()
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return strconv.Quote(v)
	case []byte:
		return fmt.Sprintf("0x%x", v)
	case time.Time:
		return v.Format("2006-01-02T15:04:05.999999Z")
	case decimal128.Num:
		return v.ToString(int32(t.Scale))
	case int64:
		switch t.Kind {
		case sqltype.Date:
			return time.Unix(v*86400, 0).UTC().Format(time.DateOnly)
		case sqltype.Timestamp:
			return time.UnixMicro(v).UTC().Format("2006-01-02T15:04:05.999999Z")
		case sqltype.TimestampNTZ:
			return time.UnixMicro(v).UTC().Format("2006-01-02T15:04:05.999999")
		case sqltype.Time:
			return time.Unix(0, v).UTC().Format("15:04:05.999999999")
		}
		return strconv.FormatInt(v, 10)
	case []any:
		parts := make([]string, len(v))
		for i, x := range v {
			if t.Kind == sqltype.Struct {
				parts[i] = column(t.Fields[i].Name) + ": " + show(t.Fields[i].Type, x)
			} else {
				parts[i] = show(t.Element, x)
			}
		}
		if t.Kind == sqltype.Struct {
			return "{" + strings.Join(parts, ", ") + "}"
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case [][2]any:
		parts := make([]string, len(v))
		for i, x := range v {
			parts[i] = show(t.Key, x[0]) + ": " + show(t.Value, x[1])
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return fmt.Sprintf("%+v", v)
}

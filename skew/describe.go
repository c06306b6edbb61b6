package skew

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sparkstate/sparkstate/statestore/sqltype"
	"github.com/sparkstate/sparkstate/statestore/unsaferow"
)

// describe writes a key for a sentence: column = value, for each column. Values
// that take more than a word are left as an ellipsis; [TopKey.Row] has them.
func describe(row []byte, t *sqltype.Type) string {
	r, err := unsaferow.View(row, len(t.Fields))
	if err != nil {
		return "…"
	}
	var parts []string
	for i, f := range t.Fields {
		parts = append(parts, f.Name+" = "+describeField(r, i, f.Type.Resolved()))
	}
	return strings.Join(parts, ", ")
}

// maxDescribed is how much of a string is quoted, in characters.
const maxDescribed = 40

func describeField(r unsaferow.Row, i int, t *sqltype.Type) string {
	if r.IsNull(i) {
		return "null"
	}
	switch t.Kind {
	case sqltype.Boolean:
		return strconv.FormatBool(r.Bool(i))
	case sqltype.Byte:
		return strconv.Itoa(int(r.Int8(i)))
	case sqltype.Short:
		return strconv.Itoa(int(r.Int16(i)))
	case sqltype.Integer:
		return strconv.Itoa(int(r.Int32(i)))
	case sqltype.Long:
		return strconv.FormatInt(r.Int64(i), 10)
	case sqltype.Date:
		return time.Unix(int64(r.Int32(i))*86400, 0).UTC().Format(time.DateOnly)
	case sqltype.Timestamp:
		return time.UnixMicro(r.Int64(i)).UTC().Format(time.RFC3339Nano)
	}
	b, err := r.Bytes(i)
	if err != nil {
		return "…"
	}
	switch {
	case t.Kind == sqltype.String:
		s := strings.ToValidUTF8(string(b), "\ufffd")
		if utf8.RuneCountInString(s) > maxDescribed {
			s = string([]rune(s)[:maxDescribed]) + "…"
		}
		return strconv.Quote(s)
	case t.Kind == sqltype.Struct && len(t.Fields) == 2 && t.Fields[0].Type.Resolved().Kind == sqltype.Timestamp:
		w, err := unsaferow.View(b, 2) // a window, by its start
		if err == nil && !w.IsNull(0) {
			return "[" + describeField(w, 0, t.Fields[0].Type.Resolved()) + " …)"
		}
	}
	return "…"
}

package unsaferow

import (
	"strconv"
	"strings"

	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

// fieldNames returns what the fields of a struct are called in a path: their
// names where those are there and unique, else their positions.
func fieldNames(fields []sqltype.Field) []string {
	uses := map[string]int{}
	for _, f := range fields {
		uses[f.Name]++
	}
	out := make([]string, len(fields))
	for i, f := range fields {
		switch {
		case f.Name == "" || uses[f.Name] > 1:
			out[i] = ordinal(i)
		case strings.ContainsAny(f.Name, ".`["):
			out[i] = "`" + strings.ReplaceAll(f.Name, "`", "``") + "`"
		default:
			out[i] = f.Name
		}
	}
	return out
}

func ordinal(i int) string { return "[" + strconv.Itoa(i) + "]" }

// join joins two parts of a path.
func join(outer, inner string) string {
	if outer == "" || inner == "" || inner[0] == '[' {
		return outer + inner
	}
	return outer + "." + inner
}

package unsaferow

import (
	"strconv"
	"strings"

	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

// fieldPaths returns the path of each field of a struct that has the path
// itself.
func fieldPaths(parent string, fields []sqltype.Field) []string {
	uses := map[string]int{}
	for _, f := range fields {
		uses[f.Name]++
	}
	out := make([]string, len(fields))
	for i, f := range fields {
		name := f.Name
		switch {
		case name == "" || uses[name] > 1:
			out[i] = parent + ordinal(i)
			continue
		case strings.ContainsAny(name, ".`["):
			name = "`" + strings.ReplaceAll(name, "`", "``") + "`"
		}
		out[i] = part(parent, name)
	}
	return out
}

func part(parent, name string) string {
	if parent == "" {
		return name
	}
	return parent + "." + name
}

func ordinal(i int) string { return "[" + strconv.Itoa(i) + "]" }

package portable

import (
	"strconv"
	"strings"

	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

// emptyColumn is the only column of a struct that has none.
const emptyColumn = "_empty"

// uniqueNames returns portable names of columns.
func uniqueNames(fields []sqltype.Field) []string {
	taken := make(map[string]bool, len(fields))
	for _, f := range fields {
		taken[strings.ToLower(f.Name)] = true
	}
	seen := make(map[string]bool, len(fields))
	names := make([]string, len(fields))
	for i, f := range fields {
		name := f.Name
		if name == "" {
			name = "_" + strconv.Itoa(i+1)
		}
		lower := strings.ToLower(name)
		if f.Name == "" && taken[lower] || seen[lower] {
			for n := 2; ; n++ {
				next := name + "_" + strconv.Itoa(n)
				if l := strings.ToLower(next); !taken[l] && !seen[l] {
					name, lower = next, l
					break
				}
			}
		}
		seen[lower] = true
		names[i] = name
	}
	return names
}

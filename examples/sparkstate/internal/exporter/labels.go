package exporter

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxLabel is how long a label value gets, in bytes: names come from files.
const maxLabel = 100

// labels makes names that no two stores share: two series with the same labels
// would make a whole scrape fail.
type labels map[[2]string]bool

func newLabels() labels { return make(labels) }

// pair returns two names as label values.
func (l labels) pair(first, second string) (string, string) {
	p := [2]string{clean(first), clean(second)}
	for n, base := 2, p[0]; l[p]; n++ {
		p[0] = fmt.Sprintf("%s~%d", base, n)
	}
	l[p] = true
	return p[0], p[1]
}

// clean returns a name as a label value: UTF-8, and not too long.
func clean(s string) string {
	if len(s) > maxLabel {
		end := maxLabel
		for end > maxLabel-utf8.UTFMax && !utf8.RuneStart(s[end]) {
			end--
		}
		s = s[:end] + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

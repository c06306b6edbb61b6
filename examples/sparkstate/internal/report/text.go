package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// Text is a text from input: a key, a path, an error. It is shown by way of
// [Text.String].
type Text string

// maxText bounds a text, in characters: a page is to be read.
const maxText = 2000

// String returns the text with everything that has no shape of its own spelled
// out, such as \u202e: controls, the marks that turn the direction of writing,
// spaces that are not the usual one. What is too long is cut.
func (t Text) String() string { return visible(string(t), maxText) }

// Key is a key of the state, or a value of a key column, as JSON.
type Key string

// maxKey is how much of a key is shown, in characters.
const maxKey = 160

// String is [Text.String] with a shorter limit.
func (k Key) String() string { return visible(string(k), maxKey) }

// visible is described at [Text.String].
func visible(s string, limit int) string {
	var b strings.Builder
	n := 0
	for _, r := range s {
		if n == limit {
			fmt.Fprintf(&b, "… (%s bytes in all)", Count(float64(len(s))))
			break
		}
		n++
		switch {
		case r == ' ', unicode.IsPrint(r):
			b.WriteRune(r) // a byte that is no UTF-8 comes as U+FFFD
		case r == '\n':
			b.WriteString(" ")
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// none is what stands for a number that is not known.
const none = "–"

func unknown(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }

// Count writes a number of things: 1,234,567, and parts of one where it is not
// whole.
func Count(v float64) string {
	if unknown(v) {
		return none
	}
	if v != math.Trunc(v) && math.Abs(v) < 100 {
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	digits := strconv.FormatFloat(math.Abs(math.Round(v)), 'f', 0, 64)
	var b strings.Builder
	if v < 0 {
		b.WriteString("−")
	}
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}

// Bytes writes a size: 6.1 KiB.
func Bytes(v float64) string {
	if unknown(v) {
		return none
	}
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"}
	i := 0
	for math.Abs(v) >= 1023.95 && i < len(units)-1 {
		v /= 1024
		i++
	}
	if i == 0 {
		return Count(v) + " bytes"
	}
	return strconv.FormatFloat(v, 'f', 1, 64) + " " + units[i]
}

// Percent writes a share: 27.3 %.
func Percent(v float64) string {
	if unknown(v) {
		return none
	}
	switch p := 100 * v; {
	case p != 0 && math.Abs(p) < 0.05:
		return "< 0.1 %"
	default:
		return strconv.FormatFloat(p, 'f', 1, 64) + " %"
	}
}

// Ratio writes a quotient or a rate with three digits.
func Ratio(v float64) string {
	switch {
	case unknown(v):
		return none
	case math.Abs(v) >= 100:
		return Count(math.Round(v))
	case v != 0 && math.Abs(v) < 0.001:
		return strconv.FormatFloat(v, 'g', 2, 64)
	}
	return strings.TrimRight(strings.TrimRight(strconv.FormatFloat(v, 'f', 3-digitsBefore(v), 64), "0"), ".")
}

// digitsBefore is how many digits a number below 100 has before the point, but
// for a single 0.
func digitsBefore(v float64) int {
	switch v = math.Abs(v); {
	case v >= 10:
		return 2
	case v >= 1:
		return 1
	}
	return 0
}

// Plural writes a number of things, as of 2,000 partitions.
func Plural(n int, one string) string {
	return quantity(float64(n), one)
}

func quantity(n float64, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + one + "s"
}

// span writes a range with both ends, or the only number in it.
func span(from, to int64) string {
	if from == to {
		return strconv.FormatInt(from, 10)
	}
	return fmt.Sprintf("%d–%d", from, to)
}

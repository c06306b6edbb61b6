package unsaferow

import "unicode/utf8"

// appendText appends a string, with U+FFFD in the place of each malformed
// sequence. It reports whether there was none.
func appendText(dst, b []byte) ([]byte, bool) {
	if utf8.Valid(b) {
		return append(dst, b...), true
	}
	for len(b) > 0 {
		if r, n := utf8.DecodeRune(b); r != utf8.RuneError || n > 1 {
			dst, b = append(dst, b[:n]...), b[n:]
			continue
		}
		dst = utf8.AppendRune(dst, utf8.RuneError)
		b = b[malformed(b):]
	}
	return dst, false
}

// malformed returns how many bytes of the malformed sequence at the start of b
// Java replaces by one U+FFFD when it makes a String of UTF-8 bytes: those that
// could have begun a character, up to the first that fits no longer. Of a
// surrogate in three bytes, which UTF-8 forbids, Java replaces all three at once.
func malformed(b []byte) int {
	follows := func(i int) bool { return i < len(b) && b[i]&0xc0 == 0x80 }
	switch c := b[0]; {
	case c >= 0xe0 && c < 0xf0:
		switch {
		case !follows(1) || c == 0xe0 && b[1] < 0xa0:
			return 1
		case !follows(2):
			return 2
		}
		return 3
	case c >= 0xf0 && c <= 0xf4:
		switch {
		case !follows(1) || c == 0xf0 && b[1] < 0x90 || c == 0xf4 && b[1] > 0x8f:
			return 1
		case !follows(2):
			return 2
		}
		return 3
	}
	return 1
}

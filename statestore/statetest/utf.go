package statetest

import (
	"encoding/binary"
	"unicode/utf16"
)

// split cuts a text as Spark does, into pieces of at most 65,535 UTF-16 units.
// Where units take more than a byte the pieces are shorter, so that each fits
// the length of two bytes (Spark's own writer fails there).
func split(s string) []string {
	units := utf16.Encode([]rune(s))
	maxUnits := 65535
	if len(units) < len(s) {
		maxUnits /= 3
	}
	if len(units) <= maxUnits {
		return []string{s}
	}
	var out []string
	for len(units) > 0 {
		n := min(maxUnits, len(units))
		if n < len(units) && utf16.IsSurrogate(rune(units[n])) && utf16.IsSurrogate(rune(units[n-1])) {
			n-- // a pair stays together, so that each piece is a Go string
		}
		out = append(out, string(utf16.Decode(units[:n])))
		units = units[n:]
	}
	return out
}

// appendUTF appends a string as Java's writeUTF does: a length of two bytes
// and modified UTF-8, in which NUL has two bytes and a character above U+FFFF
// is two surrogates of three bytes each.
func appendUTF(b []byte, s string) []byte {
	at := len(b)
	b = append(b, 0, 0)
	for _, u := range utf16.Encode([]rune(s)) {
		switch {
		case u != 0 && u < 0x80:
			b = append(b, byte(u))
		case u < 0x800:
			b = append(b, 0xc0|byte(u>>6), 0x80|byte(u&0x3f))
		default:
			b = append(b, 0xe0|byte(u>>12), 0x80|byte(u>>6&0x3f), 0x80|byte(u&0x3f))
		}
	}
	binary.BigEndian.PutUint16(b[at:], uint16(len(b)-at-2))
	return b
}

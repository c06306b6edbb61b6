package unsaferow

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

var le = binary.LittleEndian

// FixedSize returns the size in bytes of the part of a row of n fields that
// comes before the region: null bits and slots.
func FixedSize(n int) int { return bitsSize(n) + 8*n }

// bitsSize returns the size of the null bits for n fields or elements.
func bitsSize(n int) int { return (n + 63) / 64 * 8 }

func roundUp8(n int) int { return (n + 7) &^ 7 }

// nullRule says what the slot of a null field may hold.
type nullRule uint8

const (
	nullZero    nullRule = iota
	nullDecimal          // size 0, offset 0 or within the row
	nullSized            // the same, or size 16
)

// shape is what the layout of rows and arrays needs to know about a type.
type shape struct {
	// opaque: nothing is known about the bytes, which are left alone.
	opaque bool
	void   bool
	inSlot bool
	// width of an element in an array.
	width int
	// spare are the bits of the slot that must be 0 when the field is not null.
	spare uint64
	null  nullRule
	// kept is how much of a row's region the value takes at least.
	kept int
}

func shapeOf(t *sqltype.Type) shape {
	t = t.Resolved()
	s := shape{inSlot: t.InSlot(), width: t.ElementWidth(), void: t.Kind == sqltype.Void, opaque: opaque(t)}
	switch t.Kind {
	case sqltype.Boolean:
		s.spare = ^uint64(1)
	case sqltype.Byte:
		s.spare = ^uint64(math.MaxUint8)
	case sqltype.Short:
		s.spare = ^uint64(math.MaxUint16)
	case sqltype.Integer, sqltype.Float:
		s.spare = ^uint64(math.MaxUint32)
	case sqltype.Decimal:
		if !s.inSlot {
			s.null, s.kept = nullDecimal, 16
		}
	case sqltype.CalendarInterval, sqltype.TimestampNanos, sqltype.TimestampNTZNanos:
		s.null, s.kept = nullSized, 16
	}
	return s
}

// opaque reports whether values of the type cannot be decoded: of the unknown
// types, and of maps with keys of such a type, which Arrow cannot represent.
func opaque(t *sqltype.Type) bool {
	t = t.Resolved()
	return t.Kind == sqltype.Unknown || t.Kind == sqltype.Map && opaque(t.Key)
}

// nullSlot checks the slot of a null field in a row of the given size. It
// returns what is wrong, or nothing, and how much of the region the null keeps.
func (s *shape) nullSlot(word uint64, size int) (kept int, reason string) {
	if word == 0 || s.opaque {
		return 0, ""
	}
	off, n := int(int32(word>>32)), int(int32(word))
	switch s.null {
	case nullDecimal:
		if n == 0 && off >= 0 && off <= size {
			return 16, ""
		}
	case nullSized:
		if (n == 0 || n == 16) && off >= 0 && off+n <= size {
			return 16, ""
		}
	}
	return 0, fmt.Sprintf("the slot of a null holds %#x", word)
}

// span takes apart the slot of a value in the region. It holds bytes at to end
// of its container, which must lie behind the fixed part and within the size.
func span(word uint64, fixed, size int) (at, end int, ok bool) {
	at = int(int32(word >> 32))
	end = at + int(int32(word))
	return at, end, at >= fixed && end >= at && end <= size
}

func spanReason(word uint64, fixed, size int) string {
	return fmt.Sprintf("offset %d and size %d do not lie within bytes %d to %d", int32(word>>32), int32(word), fixed, size)
}

const (
	reasonVoid    = "a void is not null"
	reasonCrowded = "the sizes of its values add up to more than the whole"
	reasonNullKey = "a key of a map is null"
)

func reasonSpare(word uint64) string {
	return fmt.Sprintf("the unused bytes of the slot %#x are not 0", word)
}

// checkFixed checks the size of a row of n fields.
func checkFixed(size, n int) (reason string) {
	switch {
	case size%8 != 0:
		return fmt.Sprintf("a size of %d bytes is not a multiple of 8", size)
	case size < FixedSize(n):
		return fmt.Sprintf("a size of %d bytes is too small for %d fields", size, n)
	case n == 0 && size != 0:
		return fmt.Sprintf("a row without fields has %d bytes", size)
	case size > math.MaxInt32:
		return fmt.Sprintf("a size of %d bytes is too large", size)
	}
	return ""
}

// arrayHead is where the parts of an array are.
type arrayHead struct {
	n      int // elements
	first  int // position of the first element
	region int // where the elements end, filler included
}

// readArrayHead reads and checks the head of an array whose elements have the
// width, or one that is not known (0).
func readArrayHead(b []byte, width int) (h arrayHead, reason string) {
	if len(b) < 8 || len(b)%8 != 0 {
		return h, fmt.Sprintf("a size of %d bytes is not that of an array", len(b))
	}
	count := int64(le.Uint64(b))
	// An element takes a byte or more, so that a count which passes here
	// cannot overflow what follows.
	if count < 0 || count > int64(len(b)) {
		return h, fmt.Sprintf("an array of %d bytes cannot hold %d elements", len(b), count)
	}
	h.n = int(count)
	h.first = 8 + bitsSize(h.n)
	h.region = h.first + roundUp8(h.n*max(width, 1))
	if h.region > len(b) {
		return h, fmt.Sprintf("an array of %d bytes cannot hold %d elements", len(b), count)
	}
	return h, ""
}

// readMap cuts a map into its array of keys and its array of values.
func readMap(b []byte) (keys, values []byte, reason string) {
	if len(b) < 8 {
		return nil, nil, fmt.Sprintf("a size of %d bytes is not that of a map", len(b))
	}
	size := int64(le.Uint64(b))
	if size < 8 || size > int64(len(b)-8) {
		return nil, nil, fmt.Sprintf("a map of %d bytes cannot hold keys of %d bytes", len(b), size)
	}
	return b[8 : 8+size], b[8+size:], ""
}

func isNull(bits []byte, i int) bool { return bits[i>>3]>>(i&7)&1 != 0 }

// element reads the little-endian number of a fixed-width element.
func element(b []byte, at, width int) uint64 {
	switch width {
	case 1:
		return uint64(b[at])
	case 2:
		return uint64(le.Uint16(b[at:]))
	case 4:
		return uint64(le.Uint32(b[at:]))
	}
	return le.Uint64(b[at:])
}

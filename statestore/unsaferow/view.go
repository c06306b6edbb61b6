package unsaferow

import (
	"fmt"
	"math"
)

// Row looks at the fields of one row, without Arrow and without allocating. It
// refers to the bytes it was made of.
//
// Like a slice, it panics when asked for a field that it does not have.
type Row struct {
	b []byte
	n int
}

// View makes a row of n fields of its bytes, after checking that they are
// enough. The error is a [*RowError].
func View(b []byte, n int) (Row, error) {
	if reason := checkFixed(len(b), n); reason != "" {
		return Row{}, &RowError{Row: -1, Reason: reason}
	}
	return Row{b, n}, nil
}

// Len returns the number of fields.
func (r Row) Len() int { return r.n }

func (r Row) check(i int) {
	if uint(i) >= uint(r.n) {
		panic(fmt.Sprintf("unsaferow: field %d of a row of %d", i, r.n))
	}
}

// IsNull reports whether field i is null. Other methods do not look at this: a
// null mostly reads as 0 or as no bytes.
func (r Row) IsNull(i int) bool {
	r.check(i)
	return isNull(r.b, i)
}

// Word returns the 8 bytes of the slot of field i.
func (r Row) Word(i int) uint64 {
	r.check(i)
	return le.Uint64(r.b[bitsSize(r.n)+8*i:])
}

// Int64 returns field i of a type that fills its slot: long, timestamp,
// timestamp_ntz, time, day-time interval, decimal of up to 18 digits.
func (r Row) Int64(i int) int64 { return int64(r.Word(i)) }

// Int32 returns field i of type integer, date or year-month interval.
func (r Row) Int32(i int) int32 { return int32(r.Word(i)) }

// Int16 returns field i of type short.
func (r Row) Int16(i int) int16 { return int16(r.Word(i)) }

// Int8 returns field i of type byte.
func (r Row) Int8(i int) int8 { return int8(r.Word(i)) }

// Bool returns field i of type boolean.
func (r Row) Bool(i int) bool { return r.Word(i)&1 != 0 }

// Float32 returns field i of type float.
func (r Row) Float32(i int) float32 { return math.Float32frombits(uint32(r.Word(i))) }

// Float64 returns field i of type double.
func (r Row) Float64(i int) float64 { return math.Float64frombits(r.Word(i)) }

// Bytes returns what field i holds in the region: the bytes of a string or a
// binary, the number of a decimal of more than 18 digits, a struct to be viewed
// with [View], an array to be viewed with [ViewArray]. They are those of the
// row, not a copy. The error is a [*RowError].
func (r Row) Bytes(i int) ([]byte, error) {
	word, fixed := r.Word(i), FixedSize(r.n)
	at, end, ok := span(word, fixed, len(r.b))
	if !ok {
		return nil, &RowError{Row: -1, Column: ordinal(i), Offset: bitsSize(r.n) + 8*i, Reason: spanReason(word, fixed, len(r.b))}
	}
	return r.b[at:end:end], nil
}

// Array looks at the elements of an array, as [Row] does at fields.
type Array struct {
	b     []byte
	head  arrayHead
	width int
}

// ViewArray makes an array of its bytes, with elements of the width that their
// type has in an array (sqltype's ElementWidth). The error is a [*RowError].
func ViewArray(b []byte, width int) (Array, error) {
	head, reason := readArrayHead(b, width)
	if reason == "" && width != 1 && width != 2 && width != 4 && width != 8 {
		reason = fmt.Sprintf("no type has elements of %d bytes", width)
	}
	if reason != "" {
		return Array{}, &RowError{Row: -1, Reason: reason}
	}
	return Array{b, head, width}, nil
}

// Len returns the number of elements.
func (a Array) Len() int { return a.head.n }

func (a Array) check(i int) {
	if uint(i) >= uint(a.head.n) {
		panic(fmt.Sprintf("unsaferow: element %d of an array of %d", i, a.head.n))
	}
}

// IsNull reports whether element i is null.
func (a Array) IsNull(i int) bool {
	a.check(i)
	return isNull(a.b[8:], i)
}

// Word returns element i as an unsigned number of the array's width.
func (a Array) Word(i int) uint64 {
	a.check(i)
	return element(a.b, a.head.first+i*a.width, a.width)
}

// Bytes returns what element i, of a type that lies in the region, holds there.
// The error is a [*RowError].
func (a Array) Bytes(i int) ([]byte, error) {
	word := a.Word(i)
	at, end, ok := span(word, a.head.region, len(a.b))
	if !ok {
		return nil, &RowError{Row: -1, Column: ordinal(i), Offset: a.head.first + i*a.width, Reason: spanReason(word, a.head.region, len(a.b))}
	}
	return a.b[at:end:end], nil
}

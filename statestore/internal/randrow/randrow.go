// Package randrow makes rows of random types for tests.
package randrow

import (
	"math/big"
	"math/rand/v2"
	"strings"

	"github.com/apache/arrow/go/v17/arrow/decimal128"

	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

// Type returns a type, nested up to depth.
func Type(r *rand.Rand, depth int) *sqltype.Type {
	kinds := []sqltype.Kind{
		sqltype.Boolean, sqltype.Byte, sqltype.Short, sqltype.Integer, sqltype.Long, sqltype.Float, sqltype.Double,
		sqltype.String, sqltype.Binary, sqltype.Date, sqltype.Timestamp, sqltype.TimestampNTZ, sqltype.Time,
		sqltype.Decimal, sqltype.Decimal, sqltype.YearMonthInterval, sqltype.DayTimeInterval, sqltype.CalendarInterval,
		sqltype.TimestampNanos, sqltype.TimestampNTZNanos, sqltype.Void, sqltype.Variant, sqltype.Geometry, sqltype.Geography,
	}
	if depth > 0 {
		kinds = append(kinds, sqltype.Struct, sqltype.Struct, sqltype.Array, sqltype.Array, sqltype.Map, sqltype.Map, sqltype.UDT)
	}
	t := &sqltype.Type{Kind: kinds[r.IntN(len(kinds))]}
	switch t.Kind {
	case sqltype.Decimal:
		t.Precision = 1 + r.IntN(38)
		t.Scale = r.IntN(t.Precision + 1)
	case sqltype.TimestampNanos, sqltype.TimestampNTZNanos:
		t.Precision = 7 + r.IntN(3)
	case sqltype.Time:
		t.Precision = r.IntN(7)
	case sqltype.YearMonthInterval:
		t.Start, t.End = sqltype.Year, sqltype.Month
	case sqltype.DayTimeInterval:
		t.Start, t.End = sqltype.Day, sqltype.Second
	case sqltype.Geometry, sqltype.Geography:
		t.Text = t.Kind.String()
	case sqltype.Struct:
		*t = *Struct(r, depth-1)
	case sqltype.Array:
		t.Element = Type(r, depth-1)
	case sqltype.Map:
		t.Key, t.Value = Type(r, depth-1), Type(r, depth-1)
	case sqltype.UDT:
		t.SQLType = Type(r, depth-1)
	}
	return t
}

// Struct returns the type of a row: up to five columns of types nested up to
// depth, and now and then so many that their null bits fill more than a word.
func Struct(r *rand.Rand, depth int) *sqltype.Type {
	t := &sqltype.Type{Kind: sqltype.Struct}
	n := r.IntN(6)
	if r.IntN(20) == 0 {
		n = 60 + r.IntN(80) // more than one word of null bits
	}
	for range n {
		t.Fields = append(t.Fields, sqltype.Field{Name: string(rune('a' + r.IntN(8))), Type: Type(r, depth), Nullable: true})
	}
	return t
}

// Special makes the values of types that have a Go type of their own in package
// unsaferow, which cannot be imported here: its own tests use this package.
type Special struct {
	Interval func(months, days int32, microseconds int64) any
	Nanos    func(microseconds int64, nanoseconds int16) any
	Variant  func(value, metadata []byte) any
	Geo      func(srid int32, wkb []byte) any
}

// Value returns a value of the type as unsaferow.Value does, null one time in
// four if it may be, at any depth below.
func (s Special) Value(r *rand.Rand, t *sqltype.Type, nullable bool) any {
	if nullable && r.IntN(4) == 0 {
		return nil
	}
	number := func(bits int) int64 {
		n := int64(r.Uint64()) >> (64 - bits)
		if r.IntN(4) == 0 {
			n >>= r.IntN(bits)
		}
		return n
	}
	text := func() []byte {
		b := make([]byte, r.IntN(20))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	switch t = t.Resolved(); t.Kind {
	case sqltype.Boolean:
		return r.IntN(2) == 0
	case sqltype.Byte:
		return number(8)
	case sqltype.Short:
		return number(16)
	case sqltype.Integer, sqltype.Date, sqltype.YearMonthInterval:
		return number(32)
	case sqltype.Long, sqltype.Timestamp, sqltype.TimestampNTZ, sqltype.Time, sqltype.DayTimeInterval:
		return number(64)
	case sqltype.Float:
		return float32(r.NormFloat64())
	case sqltype.Double:
		return r.NormFloat64()
	case sqltype.String:
		return strings.Repeat([]string{"", "a", "é", "日本", "😀", "\x00"}[r.IntN(6)], r.IntN(8))
	case sqltype.Binary:
		return text()
	case sqltype.Decimal:
		limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.Precision)), nil)
		n := decimal128.New(number(64), r.Uint64()).BigInt()
		for range r.IntN(3) {
			n.Rsh(n, uint(r.IntN(100)))
		}
		return decimal128.FromBigInt(n.Rem(n, limit))
	case sqltype.CalendarInterval:
		return s.Interval(int32(number(32)), int32(number(32)), number(64))
	case sqltype.TimestampNanos, sqltype.TimestampNTZNanos:
		return s.Nanos(number(64), int16(r.IntN(1000)))
	case sqltype.Variant:
		return s.Variant(text(), text())
	case sqltype.Geometry, sqltype.Geography:
		return s.Geo(int32(number(32)), text())
	case sqltype.Struct:
		out := make([]any, len(t.Fields))
		for i, f := range t.Fields {
			out[i] = s.Value(r, f.Type, true)
		}
		return out
	case sqltype.Array:
		out := []any{}
		n := r.IntN(5)
		if r.IntN(20) == 0 {
			n = r.IntN(150)
		}
		for range n {
			out = append(out, s.Value(r, t.Element, true))
		}
		return out
	case sqltype.Map:
		out := [][2]any{}
		for range r.IntN(4) {
			k := s.Value(r, t.Key, false)
			if k == nil {
				break // a void cannot be a key
			}
			out = append(out, [2]any{k, s.Value(r, t.Value, true)})
		}
		return out
	}
	return nil // void
}

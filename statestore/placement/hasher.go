package placement

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/sparkstate/sparkstate/statestore/provider"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
	"github.com/sparkstate/sparkstate/statestore/unsaferow"
)

// Hasher hashes key rows of one type. It has no state and may be used from
// several goroutines.
type Hasher struct {
	fields  int
	columns []column
}

type column struct {
	index int
	hash  field
}

// field hashes field i of a row that is not null there.
type field func(r unsaferow.Row, i int, seed uint32) (uint32, error)

// element hashes element i of an array that is not null there.
type element func(a unsaferow.Array, i int, seed uint32) (uint32, error)

// NewHasher returns the hasher of some columns of a struct type, in the order
// in which they are hashed; nil stands for all of them. Types that Spark does
// not hash, or hashes by rules that are not in the bytes (collated strings),
// are provider.ErrUnsupported.
func NewHasher(t *sqltype.Type, columns []int) (*Hasher, error) {
	h := &Hasher{fields: len(t.Fields)}
	if columns == nil {
		for i := range t.Fields {
			columns = append(columns, i)
		}
	}
	for _, i := range columns {
		if i < 0 || i >= len(t.Fields) {
			return nil, fmt.Errorf("placement: column %d of %d", i, len(t.Fields))
		}
		f, err := fieldOf(t.Fields[i].Type)
		if err != nil {
			return nil, fmt.Errorf("key column %s: %w", t.Fields[i].Name, err)
		}
		h.columns = append(h.columns, column{i, f})
	}
	return h, nil
}

// Hash returns the hash of a row. The error is that of a row that is shorter
// than its fields.
func (h *Hasher) Hash(row []byte) (int32, error) {
	r, err := unsaferow.View(row, h.fields)
	if err != nil {
		return 0, err
	}
	seed := Seed
	for _, c := range h.columns {
		if r.IsNull(c.index) {
			continue // a null leaves the hash as it is
		}
		if seed, err = c.hash(r, c.index, seed); err != nil {
			return 0, err
		}
	}
	return int32(seed), nil
}

// The bits of Java's canonical NaN, which stands for all of them.
const (
	nan32 = 0x7fc00000
	nan64 = 0x7ff8000000000000
)

func hashFloat(v float32, seed uint32) uint32 {
	switch {
	case v == 0: // and -0
		return HashInt(0, seed)
	case v != v:
		return HashInt(nan32, seed)
	}
	return HashInt(int32(math.Float32bits(v)), seed)
}

func hashDouble(v float64, seed uint32) uint32 {
	switch {
	case v == 0:
		return HashLong(0, seed)
	case v != v:
		return HashLong(nan64, seed)
	}
	return HashLong(int64(math.Float64bits(v)), seed)
}

// word hashes a value of up to 8 bytes by the unsigned number that its bytes
// make; nil for types that lie in the region.
func word(t *sqltype.Type) func(w uint64, seed uint32) uint32 {
	switch t.Kind {
	case sqltype.Boolean:
		return func(w uint64, seed uint32) uint32 { return HashInt(int32(w&1), seed) }
	case sqltype.Byte:
		return func(w uint64, seed uint32) uint32 { return HashInt(int32(int8(w)), seed) }
	case sqltype.Short:
		return func(w uint64, seed uint32) uint32 { return HashInt(int32(int16(w)), seed) }
	case sqltype.Integer, sqltype.Date, sqltype.YearMonthInterval:
		return func(w uint64, seed uint32) uint32 { return HashInt(int32(w), seed) }
	case sqltype.Float:
		return func(w uint64, seed uint32) uint32 { return hashFloat(math.Float32frombits(uint32(w)), seed) }
	case sqltype.Double:
		return func(w uint64, seed uint32) uint32 { return hashDouble(math.Float64frombits(w), seed) }
	case sqltype.Long, sqltype.Timestamp, sqltype.TimestampNTZ, sqltype.Time, sqltype.DayTimeInterval:
		return func(w uint64, seed uint32) uint32 { return HashLong(int64(w), seed) }
	case sqltype.Decimal:
		if t.InSlot() {
			return func(w uint64, seed uint32) uint32 { return HashLong(int64(w), seed) }
		}
	case sqltype.Void:
		return func(_ uint64, seed uint32) uint32 { return seed }
	}
	return nil
}

// hashNanos hashes a timestamp of 7 to 9 digits: its microseconds, and the
// nanoseconds since as an int. Spark takes the latter from the lower two of
// their eight bytes.
func hashNanos(b []byte, seed uint32) (uint32, error) {
	if len(b) != 16 {
		return 0, &unsaferow.RowError{Row: -1, Reason: fmt.Sprintf("a nanosecond timestamp has %d bytes, not 16", len(b))}
	}
	micros, nanos := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint16(b[8:])
	return HashInt(int32(int16(nanos)), HashLong(int64(micros), seed)), nil
}

// hashCalendar hashes a calendar interval: its microseconds, days and months,
// one with the other as its seed.
func hashCalendar(b []byte, seed uint32) (uint32, error) {
	if len(b) != 16 {
		return 0, &unsaferow.RowError{Row: -1, Reason: fmt.Sprintf("a calendar interval has %d bytes, not 16", len(b))}
	}
	months, days := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
	h := HashLong(int64(binary.LittleEndian.Uint64(b[8:])), seed)
	return HashInt(int32(months), HashInt(int32(days), h)), nil
}

// content hashes what a value holds in the region.
func content(t *sqltype.Type) (func(b []byte, seed uint32) (uint32, error), error) {
	switch t.Kind {
	case sqltype.String:
		if t.Collation != "" && t.Collation != "UTF8_BINARY" && t.Collation != "spark.UTF8_BINARY" {
			return nil, unsupported(t, "its hash is that of a collation key")
		}
		fallthrough
	case sqltype.Binary, sqltype.Decimal:
		return func(b []byte, seed uint32) (uint32, error) { return HashBytes(b, seed), nil }, nil
	case sqltype.TimestampNanos, sqltype.TimestampNTZNanos:
		return hashNanos, nil
	case sqltype.CalendarInterval:
		return hashCalendar, nil
	case sqltype.Struct:
		fields := make([]field, len(t.Fields))
		for i, f := range t.Fields {
			var err error
			if fields[i], err = fieldOf(f.Type); err != nil {
				return nil, err
			}
		}
		return func(b []byte, seed uint32) (uint32, error) {
			r, err := unsaferow.View(b, len(fields))
			if err != nil {
				return 0, err
			}
			for i, f := range fields {
				if r.IsNull(i) {
					continue
				}
				if seed, err = f(r, i, seed); err != nil {
					return 0, err
				}
			}
			return seed, nil
		}, nil
	case sqltype.Array:
		e, err := elementOf(t.Element)
		if err != nil {
			return nil, err
		}
		width := t.Element.ElementWidth()
		return func(b []byte, seed uint32) (uint32, error) {
			a, err := unsaferow.ViewArray(b, width)
			if err != nil {
				return 0, err
			}
			for i := range a.Len() {
				if a.IsNull(i) {
					continue
				}
				if seed, err = e(a, i, seed); err != nil {
					return 0, err
				}
			}
			return seed, nil
		}, nil
	}
	return nil, unsupported(t, "Spark does not partition by it")
}

func fieldOf(t *sqltype.Type) (field, error) {
	t = t.Resolved()
	if w := word(t); w != nil {
		return func(r unsaferow.Row, i int, seed uint32) (uint32, error) { return w(r.Word(i), seed), nil }, nil
	}
	c, err := content(t)
	if err != nil {
		return nil, err
	}
	return func(r unsaferow.Row, i int, seed uint32) (uint32, error) {
		b, err := r.Bytes(i)
		if err != nil {
			return 0, err
		}
		return c(b, seed)
	}, nil
}

func elementOf(t *sqltype.Type) (element, error) {
	t = t.Resolved()
	if w := word(t); w != nil {
		return func(a unsaferow.Array, i int, seed uint32) (uint32, error) { return w(a.Word(i), seed), nil }, nil
	}
	c, err := content(t)
	if err != nil {
		return nil, err
	}
	return func(a unsaferow.Array, i int, seed uint32) (uint32, error) {
		b, err := a.Bytes(i)
		if err != nil {
			return 0, err
		}
		return c(b, seed)
	}, nil
}

func unsupported(t *sqltype.Type, why string) error {
	return &provider.FileError{Offset: -1, Kind: provider.ErrUnsupported, Detail: fmt.Sprintf("the hash of a %s is not known: %s", t.DDL(), why)}
}

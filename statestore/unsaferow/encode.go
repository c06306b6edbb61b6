package unsaferow

import (
	"fmt"
	"math"
	"math/big"
	"time"

	"github.com/apache/arrow/go/v17/arrow/decimal128"

	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

// Interval is a value of Spark's calendar interval.
type Interval struct {
	Months, Days int32
	Microseconds int64
}

// TimestampNanos is a value of a timestamp_ltz or timestamp_ntz of 7 to 9 digits
// of the second: microseconds since 1970, as a timestamp of 6 digits has them,
// and the nanoseconds, 0 to 999, that have passed since.
type TimestampNanos struct {
	Microseconds int64
	Nanoseconds  int16
}

// Variant is a value of type variant: the two parts of its encoding.
type Variant struct {
	Value, Metadata []byte
}

// Geo is a value of type geometry or geography.
type Geo struct {
	SRID int32
	WKB  []byte
}

// ValueError says why a value cannot be written as its type.
type ValueError struct {
	// Column is the path to the column, as in a RowError.
	Column string
	Reason string
}

// Error returns one line.
func (e *ValueError) Error() string {
	if e.Column == "" {
		return "unsaferow: " + e.Reason
	}
	return "unsaferow: column " + e.Column + ": " + e.Reason
}

// Append appends the row that Spark's own projection writes for the values, one
// for each field of the type, which is a struct. The bytes are those by which a
// state store knows a key, so a row made of a key's values finds it.
//
// There is one exception. Where a field of a row is null and its type is the
// calendar interval or a nanosecond timestamp, Spark keeps 16 bytes for a value
// and does not clear them: they may hold what was there before. Spark then takes
// keys of the same values for different ones. Append writes zeros, so that what
// it makes of such a key is only one of the forms in which the key may occur.
//
// A value is nil for null, or by type of column
//
//	boolean                         bool
//	byte, short, integer, long      any Go integer
//	float, double                   float32, float64, any Go integer
//	string                          string, []byte
//	binary                          []byte, string
//	date                            time.Time (its calendar date), or an integer: days since 1970
//	timestamp                       time.Time, or an integer: microseconds since 1970 in UTC
//	timestamp_ntz                   time.Time (its wall clock), or an integer: microseconds
//	timestamp_ltz(7), (8), (9)      TimestampNanos, or time.Time, cut down to so many digits
//	timestamp_ntz(7), (8), (9)      the same of a time.Time's wall clock
//	time                            time.Duration since midnight, or an integer: nanoseconds
//	decimal                         decimal128.Num, *big.Int or an integer: the unscaled value
//	year-month interval             an integer: months
//	day-time interval               time.Duration, or an integer: microseconds
//	calendar interval               Interval
//	variant, geometry, geography    Variant, Geo
//	struct, array                   []any
//	map                             [][2]any, keys and values in the order in which they are written
//	user-defined type               a value of its SQL type
//
// A void, and a value of unknown type, can only be nil. Numbers that their type
// cannot hold, a null key of a map, and any other mismatch are a [*ValueError];
// then dst is returned as it was.
//
// Floating-point numbers are written as they are. Grouping and join keys went
// through a normalisation before they were stored: -0.0 became 0.0, and every
// NaN the same one.
func Append(dst []byte, t *sqltype.Type, values []any) ([]byte, error) {
	if err := checkType(t, 0); err != nil {
		return dst, err
	}
	e := encoder{dst}
	if err := e.row(t.Resolved().Fields, values); err != nil {
		return dst, err
	}
	return e.b, nil
}

// encoder appends to its bytes. Nested values are written where they will stay:
// their own offsets count from where they start.
type encoder struct {
	b []byte
}

func (e *encoder) zeros(n int) { e.b = append(e.b, make([]byte, n)...) }

// pad fills up to a multiple of 8 bytes from the start of a container.
func (e *encoder) pad(start int) { e.zeros(roundUp8(len(e.b)-start) - (len(e.b) - start)) }

// word makes the slot of what has been written from at on.
func (e *encoder) word(start, at int) uint64 {
	return uint64(at-start)<<32 | uint64(len(e.b)-at)
}

func (e *encoder) row(fields []sqltype.Field, values []any) error {
	if len(values) != len(fields) {
		return &ValueError{"", fmt.Sprintf("%d values for %d fields", len(values), len(fields))}
	}
	start, bits := len(e.b), bitsSize(len(fields))
	e.zeros(FixedSize(len(fields)))
	for i, f := range fields {
		slot := start + bits + 8*i
		s := shapeOf(f.Type)
		if values[i] == nil {
			e.b[start+i>>3] |= 1 << (i & 7)
			if s.kept > 0 {
				// Room for a value that may be set later in place.
				word := e.word(start, len(e.b))
				if s.null == nullSized {
					word |= 16
				}
				e.zeros(s.kept)
				le.PutUint64(e.b[slot:], word)
			}
			continue
		}
		word, err := e.value(start, f.Type, values[i])
		if err != nil {
			return inside(err, fieldNames(fields)[i], 0)
		}
		if n := int(uint32(word)); s.kept > n {
			e.zeros(s.kept - roundUp8(n))
		}
		le.PutUint64(e.b[slot:], word)
	}
	return e.small(start)
}

// small checks the size of a container: offsets and sizes have 31 bits.
func (e *encoder) small(start int) error {
	if len(e.b)-start > math.MaxInt32 {
		return &ValueError{"", "more than 2 GiB"}
	}
	return nil
}

func (e *encoder) array(t *sqltype.Type, values []any, keys bool) error {
	s := shapeOf(t)
	if s.opaque && len(values) > 0 {
		return &ValueError{"", "the width of an element of unknown type is not known"}
	}
	start, first := len(e.b), 8+bitsSize(len(values))
	e.zeros(first + roundUp8(len(values)*s.width))
	le.PutUint64(e.b[start:], uint64(len(values)))
	for i, v := range values {
		if v == nil {
			if keys {
				return &ValueError{"", reasonNullKey}
			}
			e.b[start+8+i>>3] |= 1 << (i & 7)
			continue
		}
		word, err := e.value(start, t, v)
		if err != nil {
			return err
		}
		at := start + first + i*s.width
		switch s.width {
		case 1:
			e.b[at] = byte(word)
		case 2:
			le.PutUint16(e.b[at:], uint16(word))
		case 4:
			le.PutUint32(e.b[at:], uint32(word))
		default:
			le.PutUint64(e.b[at:], word)
		}
	}
	return e.small(start)
}

// value writes what a value has in the region of the container that begins at
// start, filled up to 8, and returns its slot.
func (e *encoder) value(start int, t *sqltype.Type, v any) (uint64, error) {
	t = t.Resolved()
	mismatch := func() (uint64, error) {
		return 0, &ValueError{"", fmt.Sprintf("cannot write a %T as %v", v, t)}
	}
	if t.InSlot() {
		word, ok, reason := slotWord(t, v)
		switch {
		case reason != "":
			return 0, &ValueError{"", reason}
		case !ok:
			return mismatch()
		}
		return word, nil
	}
	at := len(e.b)
	switch t.Kind {
	case sqltype.String, sqltype.Binary:
		switch v := v.(type) {
		case string:
			e.b = append(e.b, v...)
		case []byte:
			e.b = append(e.b, v...)
		default:
			return mismatch()
		}
	case sqltype.Decimal:
		n, ok, reason := unscaled(v, t.Precision)
		switch {
		case reason != "":
			return 0, &ValueError{"", reason}
		case !ok:
			return mismatch()
		}
		e.b = appendDecimal(e.b, n)
	case sqltype.CalendarInterval:
		iv, ok := v.(Interval)
		if !ok {
			return mismatch()
		}
		e.b = le.AppendUint32(e.b, uint32(iv.Months))
		e.b = le.AppendUint32(e.b, uint32(iv.Days))
		e.b = le.AppendUint64(e.b, uint64(iv.Microseconds))
	case sqltype.TimestampNanos, sqltype.TimestampNTZNanos:
		n, ok, reason := toNanos(t, v)
		switch {
		case reason != "":
			return 0, &ValueError{"", reason}
		case !ok:
			return mismatch()
		}
		e.b = le.AppendUint64(e.b, uint64(n.Microseconds))
		e.b = le.AppendUint64(e.b, uint64(n.Nanoseconds))
	case sqltype.Variant:
		vv, ok := v.(Variant)
		if !ok {
			return mismatch()
		}
		e.b = le.AppendUint32(e.b, uint32(len(vv.Value)))
		e.b = append(append(e.b, vv.Value...), vv.Metadata...)
	case sqltype.Geometry, sqltype.Geography:
		g, ok := v.(Geo)
		if !ok {
			return mismatch()
		}
		e.b = le.AppendUint32(e.b, uint32(g.SRID))
		e.b = append(e.b, g.WKB...)
	case sqltype.Struct:
		vs, ok := v.([]any)
		if !ok {
			return mismatch()
		}
		if err := e.row(t.Fields, vs); err != nil {
			return 0, err
		}
	case sqltype.Array:
		vs, ok := v.([]any)
		if !ok {
			return mismatch()
		}
		if err := e.array(t.Element, vs, false); err != nil {
			return 0, inside(err, "element", 0)
		}
	case sqltype.Map:
		vs, ok := v.([][2]any)
		if !ok {
			return mismatch()
		}
		if err := e.mapOf(t, vs); err != nil {
			return 0, err
		}
	default:
		return mismatch()
	}
	word := e.word(start, at)
	e.pad(at)
	return word, e.small(start)
}

func (e *encoder) mapOf(t *sqltype.Type, pairs [][2]any) error {
	start := len(e.b)
	keys, values := make([]any, len(pairs)), make([]any, len(pairs))
	for i, p := range pairs {
		keys[i], values[i] = p[0], p[1]
	}
	e.zeros(8)
	if err := e.array(t.Key, keys, true); err != nil {
		return inside(err, "key", 0)
	}
	le.PutUint64(e.b[start:], uint64(len(e.b)-start-8))
	if err := e.array(t.Value, values, false); err != nil {
		return inside(err, "value", 0)
	}
	return nil
}

// slotWord returns the slot of a value that lies in it. ok is false if the
// value's Go type is not one for the type.
func slotWord(t *sqltype.Type, v any) (word uint64, ok bool, reason string) {
	switch t.Kind {
	case sqltype.Boolean:
		b, ok := v.(bool)
		if b {
			return 1, ok, ""
		}
		return 0, ok, ""
	case sqltype.Float:
		f, ok := toFloat(v)
		if f32, is := v.(float32); is {
			// As it is, since a NaN would lose its bits on the way through
			// 64 bits.
			return uint64(math.Float32bits(f32)), true, ""
		}
		return uint64(math.Float32bits(float32(f))), ok, ""
	case sqltype.Double:
		f, ok := toFloat(v)
		return math.Float64bits(f), ok, ""
	case sqltype.Decimal:
		n, ok, reason := unscaled(v, t.Precision)
		return n.LowBits(), ok, reason
	}
	bits := 64
	switch t.Kind {
	case sqltype.Byte:
		bits = 8
	case sqltype.Short:
		bits = 16
	case sqltype.Integer, sqltype.Date, sqltype.YearMonthInterval:
		bits = 32
	case sqltype.Void:
		return 0, false, ""
	}
	n, ok := toInt(t.Kind, v)
	if ok && n != n<<(64-bits)>>(64-bits) {
		return 0, true, fmt.Sprintf("%d does not fit into %v", n, t)
	}
	return uint64(n) << (64 - bits) >> (64 - bits), ok, ""
}

func toFloat(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case float32:
		return float64(v), true
	}
	n, ok := goInt(v)
	return float64(n), ok
}

// toInt returns the number that stands for a value of an integral or temporal
// type.
func toInt(k sqltype.Kind, v any) (int64, bool) {
	switch v := v.(type) {
	case time.Time:
		switch k {
		case sqltype.Date:
			y, m, d := v.Date()
			return time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix() / 86400, true
		case sqltype.Timestamp:
			return v.UnixMicro(), true
		case sqltype.TimestampNTZ:
			return wallClock(v).UnixMicro(), true
		}
		return 0, false
	case time.Duration:
		switch k {
		case sqltype.Time:
			return v.Nanoseconds(), true
		case sqltype.DayTimeInterval:
			return v.Microseconds(), true
		}
		return 0, false
	}
	return goInt(v)
}

// wallClock returns the time at which UTC shows the same date and time of day.
func wallClock(t time.Time) time.Time {
	y, mo, d := t.Date()
	h, mi, s := t.Clock()
	return time.Date(y, mo, d, h, mi, s, t.Nanosecond(), time.UTC)
}

// toNanos returns the value of a nanosecond timestamp. ok is false if v is not
// of a Go type for it.
func toNanos(t *sqltype.Type, v any) (n TimestampNanos, ok bool, reason string) {
	switch v := v.(type) {
	case TimestampNanos:
		if v.Nanoseconds < 0 || v.Nanoseconds > maxNanos {
			return n, true, reasonNanos(int64(v.Nanoseconds))
		}
		return v, true, ""
	case time.Time:
		if t.Kind == sqltype.TimestampNTZNanos {
			v = wallClock(v)
		}
		n.Microseconds = v.UnixMicro()
		if time.UnixMicro(n.Microseconds).Unix() != v.Unix() {
			return n, true, fmt.Sprintf("%v does not fit into %v", v, t)
		}
		unit := 1 // nanoseconds that the last digit counts
		switch t.Precision {
		case 7:
			unit = 100
		case 8:
			unit = 10
		}
		n.Nanoseconds = int16(v.Nanosecond() % 1000 / unit * unit)
		return n, true, ""
	}
	return n, false, ""
}

func goInt(v any) (int64, bool) {
	switch v := v.(type) {
	case int:
		return int64(v), true
	case int8:
		return int64(v), true
	case int16:
		return int64(v), true
	case int32:
		return int64(v), true
	case int64:
		return v, true
	case uint8:
		return int64(v), true
	case uint16:
		return int64(v), true
	case uint32:
		return int64(v), true
	case uint:
		return int64(v), uint64(v) <= math.MaxInt64
	case uint64:
		return int64(v), v <= math.MaxInt64
	}
	return 0, false
}

// unscaled returns the unscaled value of a decimal.
func unscaled(v any, precision int) (n decimal128.Num, ok bool, reason string) {
	switch v := v.(type) {
	case decimal128.Num:
		n = v
	case *big.Int:
		// FromBigInt panics beyond 128 bits.
		switch {
		case v == nil:
			return n, false, ""
		case v.BitLen() > 127:
			return n, true, fmt.Sprintf("the unscaled value %v has more than %d digits", v, precision)
		}
		n = decimal128.FromBigInt(v)
	default:
		i, ok := goInt(v)
		if !ok {
			return n, false, ""
		}
		n = decimal128.FromI64(i)
	}
	if !fits(n, precision) {
		return n, true, reasonDigits(n, precision)
	}
	return n, true, ""
}

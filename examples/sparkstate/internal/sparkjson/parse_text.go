package sparkjson

import (
	"encoding/base64"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/sparkstate/sparkstate/statestore/sqltype"
	"github.com/sparkstate/sparkstate/statestore/unsaferow"
)

// scalar reads the text of a value without parts. With bare set, the text may
// be what the type keeps inside: a number of days, months, micro- or
// nanoseconds, or the two of a timestamp of 7 to 9 digits. It reports whether
// the text is one of the type.
func scalar(t *sqltype.Type, text string, bare bool) (any, bool) {
	if bare {
		switch t.Kind {
		case sqltype.Date, sqltype.Timestamp, sqltype.TimestampNTZ, sqltype.Time, sqltype.YearMonthInterval, sqltype.DayTimeInterval:
			if n, ok := integer(text, 64); ok {
				return n, true
			}
		case sqltype.TimestampNanos, sqltype.TimestampNTZNanos:
			var at unsaferow.TimestampNanos
			if _, err := fmt.Sscanf(text, nanosKey, &at.Microseconds, &at.Nanoseconds); err == nil {
				return at, text == fmt.Sprintf(nanosKey, at.Microseconds, at.Nanoseconds)
			}
		}
	}
	switch t.Kind {
	case sqltype.Boolean:
		return text == "true", text == "true" || text == "false"
	case sqltype.Byte:
		return integer(text, 8)
	case sqltype.Short:
		return integer(text, 16)
	case sqltype.Integer:
		return integer(text, 32)
	case sqltype.Long:
		return integer(text, 64)
	case sqltype.Float:
		f, ok := float(text, 32)
		if f != f {
			return math.Float32frombits(nan32), ok
		}
		return float32(f), ok
	case sqltype.Double:
		return float(text, 64)
	case sqltype.String:
		return text, true
	case sqltype.Binary:
		b, err := base64.StdEncoding.DecodeString(text)
		return b, err == nil
	case sqltype.Date:
		return date(text)
	case sqltype.Timestamp, sqltype.TimestampNTZ:
		at, ok := timestamp(text, t.Kind == sqltype.Timestamp)
		return at.Microseconds, ok && at.Nanoseconds == 0
	case sqltype.TimestampNanos, sqltype.TimestampNTZNanos:
		return timestamp(text, t.Kind == sqltype.TimestampNanos)
	case sqltype.Time:
		return timeOfDay(text)
	case sqltype.Decimal:
		return decimal(text, t.Scale)
	case sqltype.YearMonthInterval, sqltype.DayTimeInterval:
		return ansiInterval(text, t)
	case sqltype.CalendarInterval:
		return calendarInterval(text)
	}
	return nil, false
}

func integer(text string, bits int) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, bits)
	return n, err == nil
}

// The bits of Java's NaN. Go's has one more set.
const (
	nan32 = 0x7fc00000
	nan64 = 0x7ff8000000000000
)

func float(text string, bits int) (float64, bool) {
	switch text {
	case "NaN":
		return math.Float64frombits(nan64), true
	case "Infinity":
		return math.Inf(1), true
	case "-Infinity":
		return math.Inf(-1), true
	}
	if strings.Trim(text, "0123456789+-.eE") != "" { // Go reads more than JSON has
		return 0, false
	}
	f, err := strconv.ParseFloat(text, bits)
	return f, err == nil
}

// maxExponent bounds what has to be multiplied out of a decimal's exponent.
const maxExponent = 100

var decimalText = regexp.MustCompile(`^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,3}))?$`)

// decimal returns the unscaled value; not for a number that has more digits
// than the scale.
func decimal(text string, scale int) (*big.Int, bool) {
	m := decimalText.FindStringSubmatch(text)
	if m == nil || m[2]+m[3] == "" || len(text) > 2*maxExponent {
		return nil, false
	}
	exponent := 0
	if m[4] != "" {
		exponent, _ = strconv.Atoi(m[4]) // three digits are a number
	}
	n, ok := new(big.Int).SetString(m[1]+m[2]+m[3], 10)
	if !ok || exponent < -maxExponent || exponent > maxExponent {
		return nil, false
	}
	shift := scale + exponent - len(m[3])
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(shift, -shift))), nil)
	if shift >= 0 {
		return n.Mul(n, power), true
	}
	n, rest := n.QuoRem(n, power, new(big.Int))
	return n, rest.Sign() == 0
}

const (
	dateForm  = `([+-]?\d{4,7})-(\d\d)-(\d\d)`
	clockForm = `(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?`
)

var (
	dateText      = regexp.MustCompile(`^` + dateForm + `$`)
	clockText     = regexp.MustCompile(`^` + clockForm + `$`)
	timestampText = regexp.MustCompile(`^` + dateForm + `(?:[T ]` + clockForm + `)?(Z|[+-]\d\d:\d\d)?$`)
)

// date returns days since 1970.
func date(text string) (int64, bool) {
	m := dateText.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	return days(m[1:])
}

// days takes year, month and day, and refuses a day that is not in the
// calendar.
func days(m []string) (int64, bool) {
	year, month, day := number(m[0]), number(m[1]), number(m[2])
	d := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	n := d.Unix() / 86400
	return n, d.Year() == year && int(d.Month()) == month && d.Day() == day
}

// nanos takes hour, minute, second and the digits after its point; all of them
// may be missing.
func nanos(m []string) (int64, bool) {
	hour, minute, second := number(m[0]), number(m[1]), number(m[2])
	n := (int64(hour*60+minute)*60 + int64(second)) * 1e9
	return n + int64(number((m[3] + "000000000")[:9])), hour < 24 && minute < 60 && second < 60
}

// number reads what a pattern has matched: digits, few enough, or nothing.
func number(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}

func timeOfDay(text string) (int64, bool) {
	m := clockText.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	return nanos(m[1:])
}

// timestamp returns the time since 1970. A wall clock has no zone.
func timestamp(text string, instant bool) (at unsaferow.TimestampNanos, ok bool) {
	m := timestampText.FindStringSubmatch(text)
	if m == nil || m[8] != "" && !instant {
		return at, false
	}
	day, ok := days(m[1:])
	clock, inDay := nanos(m[4:])
	if !ok || !inDay {
		return at, false
	}
	offset := int64(0)
	if zone := m[8]; len(zone) == len("+hh:mm") {
		offset = int64(number(zone[1:3])*60+number(zone[4:])) * 60
		if zone[0] == '-' {
			offset = -offset
		}
	}
	t := time.Unix(day*86400-offset, clock)
	at = unsaferow.TimestampNanos{Microseconds: t.UnixMicro(), Nanoseconds: int16(clock % 1000)}
	return at, time.UnixMicro(at.Microseconds).Unix() == t.Unix() // not beyond 64 bits
}

var intervalText = regexp.MustCompile(`^(?i:INTERVAL\s+)'([^']*)'\s+([A-Za-z]+)(?:\s+(?i:TO)\s+([A-Za-z]+))?$`)

// ansiInterval reads a literal of Spark SQL, or what stands between its quotes:
// months for a year-month interval, microseconds for a day-time interval.
func ansiInterval(text string, t *sqltype.Type) (int64, bool) {
	start, end := t.Start, t.End
	if m := intervalText.FindStringSubmatch(text); m != nil {
		var ok1, ok2 bool
		text = m[1]
		start, ok1 = unitNamed(m[2])
		end, ok2 = start, true
		if m[3] != "" {
			end, ok2 = unitNamed(m[3])
		}
		if !ok1 || !ok2 || start > end || (end <= sqltype.Month) != (t.Kind == sqltype.YearMonthInterval) {
			return 0, false
		}
	}
	negative := false
	if rest, ok := strings.CutPrefix(text, "-"); ok {
		text, negative = rest, true
	}
	n, ok := sumOf(text, start, end)
	switch {
	case !ok || n > 1<<63 || n == 1<<63 && !negative:
		return 0, false
	case negative:
		return -int64(n), true
	}
	return int64(n), true
}

func unitNamed(name string) (sqltype.IntervalUnit, bool) {
	for u := sqltype.Year; u <= sqltype.Second; u++ {
		if strings.EqualFold(name, u.String()) {
			return u, true
		}
	}
	return 0, false
}

// unitSize is how many months or microseconds a unit has.
var unitSize = [...]uint64{
	sqltype.Year: 12, sqltype.Month: 1,
	sqltype.Day: 86400e6, sqltype.Hour: 3600e6, sqltype.Minute: 60e6, sqltype.Second: 1e6,
}

// unitsIn is how many of a unit the next larger one has, for units that are not
// the first of their interval.
var unitsIn = [...]uint64{sqltype.Month: 12, sqltype.Hour: 24, sqltype.Minute: 60, sqltype.Second: 60}

// sumOf adds up the units from start to end of text such as 6 10:10:49.753502
// or 1-2; not beyond 2^63.
func sumOf(text string, start, end sqltype.IntervalUnit) (total uint64, ok bool) {
	for u := start; u <= end; u++ {
		part := text
		if u < end {
			mark := ":"
			switch u {
			case sqltype.Year:
				mark = "-"
			case sqltype.Day:
				mark = " "
			}
			if part, text, ok = strings.Cut(text, mark); !ok {
				return 0, false
			}
		}
		fraction := uint64(0)
		if whole, digits, point := strings.Cut(part, "."); point && u == sqltype.Second {
			if len(digits) > 6 {
				return 0, false
			}
			f, err := strconv.ParseUint((digits + "000000")[:6], 10, 64)
			if err != nil {
				return 0, false
			}
			part, fraction = whole, f
		}
		n, err := strconv.ParseUint(part, 10, 64)
		if err != nil || u > start && n >= unitsIn[u] || n > (1<<63-total)/unitSize[u] {
			return 0, false
		}
		if total += n * unitSize[u]; fraction > 1<<63-total {
			return 0, false
		}
		total += fraction
	}
	return total, true
}

// calendarInterval reads pairs of a number and a unit.
func calendarInterval(text string) (unsaferow.Interval, bool) {
	var months, days, micros int64
	words := strings.Fields(text)
	if len(words) == 0 || len(words)%2 != 0 {
		return unsaferow.Interval{}, false
	}
	for i := 0; i < len(words); i += 2 {
		scale := 0
		to, size := &micros, int64(1)
		switch strings.TrimSuffix(words[i+1], "s") {
		case "year":
			to, size = &months, 12
		case "month":
			to = &months
		case "day":
			to = &days
		case "hour":
			size = 3600e6
		case "minute":
			size = 60e6
		case "second":
			scale = 6
		default:
			return unsaferow.Interval{}, false
		}
		n, ok := decimal(words[i], scale)
		if !ok {
			return unsaferow.Interval{}, false
		}
		n.Mul(n, big.NewInt(size))
		if n.Add(n, big.NewInt(*to)); !n.IsInt64() {
			return unsaferow.Interval{}, false
		}
		*to = n.Int64()
	}
	if months != int64(int32(months)) || days != int64(int32(days)) {
		return unsaferow.Interval{}, false
	}
	return unsaferow.Interval{Months: int32(months), Days: int32(days), Microseconds: micros}, true
}

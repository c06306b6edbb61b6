package sparkjson

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"

	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

// appendDate writes yyyy-MM-dd; years beyond 9999 get a sign, as in ISO 8601.
func appendDate(b []byte, t time.Time) []byte {
	switch y := t.Year(); {
	case y > 9999:
		b = fmt.Appendf(b, "+%d", y)
	case y < 0:
		b = fmt.Appendf(b, "-%04d", -y)
	default:
		b = fmt.Appendf(b, "%04d", y)
	}
	return t.AppendFormat(b, "-01-02")
}

func appendTimestamp(b []byte, micros int64, instant bool) []byte {
	return appendInstant(b, time.UnixMicro(micros), "T15:04:05.000000", instant)
}

func appendInstant(b []byte, t time.Time, clock string, instant bool) []byte {
	t = t.UTC()
	b = append(b, '"')
	b = appendDate(b, t)
	b = t.AppendFormat(b, clock)
	if instant {
		b = append(b, 'Z')
	}
	return append(b, '"')
}

// nanosOf writes timestamps of 7 to 9 digits, with all 9.
func nanosOf(a *array.Struct) Writer {
	micros, nanos := a.Field(0).(*array.Timestamp), a.Field(1).(*array.Int16)
	instant := micros.DataType().(*arrow.TimestampType).TimeZone != ""
	return func(b []byte, i int) []byte {
		t := time.UnixMicro(int64(micros.Value(i))).Add(time.Duration(nanos.Value(i)))
		return appendInstant(b, t, "T15:04:05.000000000", instant)
	}
}

// appendTime writes HH:mm:ss and then as many digits of the second as there
// are.
func appendTime(b []byte, nanos int64) []byte {
	b = append(b, '"')
	b = time.Unix(0, nanos).UTC().AppendFormat(b, "15:04:05.999999999")
	return append(b, '"')
}

// appendYearMonth writes an ANSI interval of months as Spark SQL's literal.
func appendYearMonth(b []byte, months int32, start, end sqltype.IntervalUnit) []byte {
	n := int64(months)
	sign := ""
	if n < 0 {
		sign, n = "-", -n
	}
	var text string
	switch {
	case start == end && start == sqltype.Year:
		text = strconv.FormatInt(n/12, 10)
	case start == end:
		text = strconv.FormatInt(n, 10)
	default:
		text = fmt.Sprintf("%d-%d", n/12, n%12)
	}
	return appendInterval(b, sign+text, start, end)
}

// appendDayTime writes an ANSI interval of microseconds as Spark SQL's
// literal: only the units of the type are shown, and the first of them takes
// in whatever is larger.
func appendDayTime(b []byte, micros int64, start, end sqltype.IntervalUnit) []byte {
	n := uint64(micros)
	var text strings.Builder
	if micros < 0 {
		text.WriteByte('-')
		n = -n
	}
	size := map[sqltype.IntervalUnit]uint64{sqltype.Day: 86400e6, sqltype.Hour: 3600e6, sqltype.Minute: 60e6, sqltype.Second: 1e6}
	for u := start; u <= end; u++ {
		v := n / size[u]
		n %= size[u]
		switch u {
		case start:
			if u == sqltype.Day {
				fmt.Fprintf(&text, "%d", v)
			} else {
				fmt.Fprintf(&text, "%02d", v)
			}
		case sqltype.Hour:
			fmt.Fprintf(&text, " %02d", v)
		default:
			fmt.Fprintf(&text, ":%02d", v)
		}
		if u == sqltype.Second && n > 0 {
			text.WriteString("." + strings.TrimRight(fmt.Sprintf("%06d", n), "0"))
		}
	}
	return appendInterval(b, text.String(), start, end)
}

func appendInterval(b []byte, text string, start, end sqltype.IntervalUnit) []byte {
	b = fmt.Appendf(b, `"INTERVAL '%s' %s`, text, strings.ToUpper(start.String()))
	if end != start {
		b = append(b, " TO "+strings.ToUpper(end.String())...)
	}
	return append(b, '"')
}

// calendarOf writes calendar intervals as Spark shows them: the units that are
// not zero, in words.
func calendarOf(a *array.Struct) Writer {
	months, days, micros := a.Field(0).(*array.Int32), a.Field(1).(*array.Int32), a.Field(2).(*array.Int64)
	return func(b []byte, i int) []byte {
		var parts []string
		add := func(n int64, unit string) {
			if n != 0 {
				parts = append(parts, strconv.FormatInt(n, 10)+" "+unit)
			}
		}
		m, us := int64(months.Value(i)), micros.Value(i)
		add(m/12, "years")
		add(m%12, "months")
		add(int64(days.Value(i)), "days")
		add(us/3600e6, "hours")
		add(us/60e6%60, "minutes")
		if rest := us % 60e6; rest != 0 {
			parts = append(parts, strings.TrimSuffix(string(appendSeconds(nil, rest)), ".")+" seconds")
		}
		if len(parts) == 0 {
			parts = []string{"0 seconds"}
		}
		return AppendString(b, strings.Join(parts, " "))
	}
}

// appendSeconds writes microseconds as seconds without trailing zeros.
func appendSeconds(b []byte, micros int64) []byte {
	if micros < 0 {
		b, micros = append(b, '-'), -micros
	}
	b = fmt.Appendf(b, "%d.%s", micros/1e6, strings.TrimRight(fmt.Sprintf("%06d", micros%1e6), "0"))
	return b
}

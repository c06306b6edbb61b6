package sqltype

import (
	"encoding/json"
	"strconv"
)

// Kind is the family that a type belongs to.
type Kind uint8

const (
	// Unknown is a type of which only the name is known; see the package
	// documentation.
	Unknown Kind = iota
	Boolean
	Byte
	Short
	Integer
	Long
	Float
	Double
	// String is every character type: string with or without a collation,
	// char(n) and varchar(n).
	String
	Binary
	// Date counts days since 1970-01-01.
	Date
	// Timestamp is an instant, in microseconds since 1970-01-01T00:00:00Z.
	Timestamp
	// TimestampNTZ is a wall clock without a time zone, in the microseconds it
	// would be if the zone were UTC.
	TimestampNTZ
	// TimestampNanos is an instant like Timestamp, with 7 to 9 digits of the
	// second: microseconds since 1970-01-01T00:00:00Z, counted down to the
	// earlier one, and the 0 to 999 nanoseconds that have passed since.
	TimestampNanos
	// TimestampNTZNanos is to TimestampNTZ as TimestampNanos is to Timestamp.
	TimestampNTZNanos
	// Time is a time of day, in nanoseconds since midnight.
	Time
	Decimal
	// YearMonthInterval is a number of months.
	YearMonthInterval
	// DayTimeInterval is a number of microseconds.
	DayTimeInterval
	// CalendarInterval is Spark's older interval of months, days and
	// microseconds.
	CalendarInterval
	// Void is the type of a bare NULL.
	Void
	Variant
	Geometry
	Geography
	Struct
	Array
	Map
	// UDT is a user-defined type, stored as its SQLType.
	UDT
)

var kindNames = [...]string{
	Unknown: "unknown", Boolean: "boolean", Byte: "byte", Short: "short", Integer: "integer", Long: "long",
	Float: "float", Double: "double", String: "string", Binary: "binary", Date: "date",
	Timestamp: "timestamp", TimestampNTZ: "timestamp_ntz",
	TimestampNanos: "nanosecond timestamp_ltz", TimestampNTZNanos: "nanosecond timestamp_ntz",
	Time: "time", Decimal: "decimal",
	YearMonthInterval: "year-month interval", DayTimeInterval: "day-time interval", CalendarInterval: "interval",
	Void: "void", Variant: "variant", Geometry: "geometry", Geography: "geography",
	Struct: "struct", Array: "array", Map: "map", UDT: "udt",
}

// String returns a word for people, which is Spark's own where it has one.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "Kind(" + strconv.Itoa(int(k)) + ")"
}

// IntervalUnit is a field of an ANSI interval.
type IntervalUnit uint8

const (
	Year IntervalUnit = iota
	Month
	Day
	Hour
	Minute
	Second
)

var unitNames = [...]string{Year: "year", Month: "month", Day: "day", Hour: "hour", Minute: "minute", Second: "second"}

// String returns the unit as Spark writes it in JSON.
func (u IntervalUnit) String() string {
	if int(u) < len(unitNames) {
		return unitNames[u]
	}
	return "IntervalUnit(" + strconv.Itoa(int(u)) + ")"
}

// MaxSlotPrecision is the greatest precision of a decimal whose unscaled value
// is stored as a 64-bit integer.
const MaxSlotPrecision = 18

// Type is a Spark SQL type. Only the fields that belong to its kind are set.
//
// Types are trees and are read-only once made: whoever wants another type makes
// a new one that shares what stays the same.
type Type struct {
	Kind Kind

	// Precision and Scale are those of a Decimal; Precision is also the number
	// of digits after the second: of a Time, 0 to 9, of a TimestampNanos or
	// TimestampNTZNanos, 7 to 9.
	Precision, Scale int

	// Start and End are the first and last field of a YearMonthInterval or
	// DayTimeInterval; equal where there is only one.
	Start, End IntervalUnit

	// Length is the n of char(n) and varchar(n), 0 for plain strings; Padded
	// tells char from varchar.
	Length int
	Padded bool
	// Collation names the collation of a String; empty for UTF8_BINARY, the
	// default. The bytes of the string are not affected by it.
	Collation string

	// Fields are those of a Struct, in the order of their values in a row.
	// Names may repeat, be empty, and contain dots.
	Fields []Field

	// Element is the element type of an Array.
	Element      *Type
	ContainsNull bool

	// Key and Value are those of a Map.
	Key, Value        *Type
	ValueContainsNull bool

	// SQLType is the type under which values of a UDT are stored. Class is the
	// JVM class; PyClass and SerializedClass describe a Python one.
	SQLType                         *Type
	Class, PyClass, SerializedClass string

	// Text is the type as it was written, for Unknown, Geometry and Geography.
	Text string
	// object: Text is a JSON object, not a name.
	object bool
}

// Field is a column of a Struct.
type Field struct {
	Name     string
	Type     *Type
	Nullable bool
	// Metadata is what Spark noted about the column, as JSON values; nil where
	// there is nothing. Keys that this package understands:
	// __CHAR_VARCHAR_TYPE_STRING and __COLLATIONS (already taken into account
	// in Type by ParseJSON), comment, spark.watermarkDelayMs.
	Metadata map[string]json.RawMessage
}

// Keys in the metadata of a field.
const (
	metaCharVarchar = "__CHAR_VARCHAR_TYPE_STRING"
	metaCollations  = "__COLLATIONS"
	metaComment     = "comment"
	metaWatermark   = "spark.watermarkDelayMs"
)

// WatermarkDelay returns the delay of the watermark, in milliseconds, that is
// declared on the column, and whether there is one: only event-time columns
// have it.
func (f Field) WatermarkDelay() (ms int64, ok bool) {
	raw, ok := f.Metadata[metaWatermark]
	if !ok {
		return 0, false
	}
	ms, err := strconv.ParseInt(string(raw), 10, 64)
	return ms, err == nil
}

// Comment returns the column's comment, and whether it has one.
func (f Field) Comment() (text string, ok bool) {
	raw, ok := f.Metadata[metaComment]
	if !ok || json.Unmarshal(raw, &text) != nil {
		return "", false
	}
	return text, true
}

// Resolved returns the type as which values are stored: the SQL type of a
// user-defined type, at any depth of definition, and every other type itself.
// Children are not resolved.
func (t *Type) Resolved() *Type {
	for t.Kind == UDT && t.SQLType != nil {
		t = t.SQLType
	}
	return t
}

// InSlot reports whether a value of the type lies in the 8-byte slot of its
// row, or directly among the elements of its array. If not, the slot holds an
// offset and a size, and the value lies in the variable-length region. It is
// false for unknown types.
func (t *Type) InSlot() bool {
	switch t = t.Resolved(); t.Kind {
	case Boolean, Byte, Short, Integer, Long, Float, Double, Date, Timestamp, TimestampNTZ, Time,
		YearMonthInterval, DayTimeInterval, Void:
		return true
	case Decimal:
		return t.Precision <= MaxSlotPrecision
	}
	return false
}

// ElementWidth returns how many bytes an element of the type takes in the fixed
// part of an array: 1, 2, 4 or 8. (In a row every field takes 8.) For an
// unknown type, the width of which is unknown too, it is 0.
func (t *Type) ElementWidth() int {
	switch t.Resolved().Kind {
	case Boolean, Byte:
		return 1
	case Short:
		return 2
	case Integer, Float, Date, YearMonthInterval:
		return 4
	case Unknown:
		return 0
	}
	return 8
}

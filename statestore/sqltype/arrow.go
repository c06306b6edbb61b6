package sqltype

import (
	"github.com/apache/arrow/go/v17/arrow"
)

// Arrow types of the values that Spark keeps as bytes with an inner structure.
var (
	calendarIntervalType = arrow.StructOf(
		arrow.Field{Name: "months", Type: arrow.PrimitiveTypes.Int32},
		arrow.Field{Name: "days", Type: arrow.PrimitiveTypes.Int32},
		arrow.Field{Name: "microseconds", Type: arrow.PrimitiveTypes.Int64},
	)
	variantType = arrow.StructOf(
		arrow.Field{Name: "value", Type: arrow.BinaryTypes.Binary},
		// The mark by which Spark itself tells a variant from a struct of two
		// binaries.
		arrow.Field{Name: "metadata", Type: arrow.BinaryTypes.Binary, Metadata: arrow.NewMetadata([]string{"variant"}, []string{"true"})},
	)
	geoType = arrow.StructOf(
		arrow.Field{Name: "srid", Type: arrow.PrimitiveTypes.Int32},
		arrow.Field{Name: "wkb", Type: arrow.BinaryTypes.Binary},
	)
	timestampType = &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
	wallClockType = &arrow.TimestampType{Unit: arrow.Microsecond}

	timestampNanosType = nanosOf(timestampType)
	wallClockNanosType = nanosOf(wallClockType)
)

// nanosOf returns the type that adds nanoseconds to a timestamp.
func nanosOf(t arrow.DataType) arrow.DataType {
	return arrow.StructOf(
		arrow.Field{Name: "timestamp", Type: t},
		arrow.Field{Name: "nanoseconds", Type: arrow.PrimitiveTypes.Int16},
	)
}

// Arrow returns the Arrow type that holds values of the type; the package
// documentation has the table.
func (t *Type) Arrow() arrow.DataType {
	t = t.Resolved()
	switch t.Kind {
	case Boolean:
		return arrow.FixedWidthTypes.Boolean
	case Byte:
		return arrow.PrimitiveTypes.Int8
	case Short:
		return arrow.PrimitiveTypes.Int16
	case Integer:
		return arrow.PrimitiveTypes.Int32
	case Long:
		return arrow.PrimitiveTypes.Int64
	case Float:
		return arrow.PrimitiveTypes.Float32
	case Double:
		return arrow.PrimitiveTypes.Float64
	case String:
		return arrow.BinaryTypes.String
	case Binary:
		return arrow.BinaryTypes.Binary
	case Date:
		return arrow.FixedWidthTypes.Date32
	case Timestamp:
		return timestampType
	case TimestampNTZ:
		return wallClockType
	case TimestampNanos:
		return timestampNanosType
	case TimestampNTZNanos:
		return wallClockNanosType
	case Time:
		return arrow.FixedWidthTypes.Time64ns
	case Decimal:
		return &arrow.Decimal128Type{Precision: int32(t.Precision), Scale: int32(t.Scale)}
	case YearMonthInterval:
		return arrow.FixedWidthTypes.MonthInterval
	case DayTimeInterval:
		return arrow.FixedWidthTypes.Duration_us
	case CalendarInterval:
		return calendarIntervalType
	case Variant:
		return variantType
	case Geometry, Geography:
		return geoType
	case Struct:
		fields := make([]arrow.Field, len(t.Fields))
		for i, f := range t.Fields {
			fields[i] = f.Arrow()
		}
		return arrow.StructOf(fields...)
	case Array:
		return arrow.ListOfField(arrow.Field{Name: "element", Type: t.Element.Arrow(), Nullable: true, Metadata: t.Element.unknownMark()})
	case Map:
		if t.unknown() {
			return arrow.Null
		}
		return arrow.MapOfWithMetadata(t.Key.Arrow(), arrow.Metadata{}, t.Value.Arrow(), t.Value.unknownMark())
	}
	return arrow.Null // Void and Unknown
}

// unknown reports whether the type's column holds nothing but nulls for want of
// knowledge.
func (t *Type) unknown() bool {
	t = t.Resolved()
	return t.Kind == Unknown || t.Kind == Map && t.Key.unknown()
}

func (t *Type) unknownMark() arrow.Metadata {
	if !t.unknown() {
		return arrow.Metadata{}
	}
	return arrow.NewMetadata([]string{"spark.unknown"}, []string{t.Resolved().String()})
}

// Arrow returns the Arrow field of a column, with the metadata that the package
// documentation names.
func (f Field) Arrow() arrow.Field {
	keys := []string{"spark.type"}
	values := []string{f.Type.JSON()}
	if !f.Nullable {
		keys, values = append(keys, "spark.nullable"), append(values, "false")
	}
	if f.Type.unknown() {
		keys, values = append(keys, "spark.unknown"), append(values, f.Type.Resolved().String())
	}
	own := len(keys)
	meta := f.metadata()
	for _, k := range sortedKeys(meta) {
		taken := false
		for _, mine := range keys[:own] {
			taken = taken || mine == k
		}
		if !taken {
			keys, values = append(keys, k), append(values, string(meta[k]))
		}
	}
	return arrow.Field{Name: f.Name, Type: f.Type.Arrow(), Nullable: true, Metadata: arrow.NewMetadata(keys, values)}
}

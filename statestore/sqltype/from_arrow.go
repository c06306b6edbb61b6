package sqltype

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/apache/arrow/go/v17/arrow"
)

// FromArrow returns the type whose values an Arrow type holds. It reads the
// table of the package documentation backwards: of several Spark types for an
// Arrow type it is the first, so that text is a string; a variant is told by its
// mark. Larger and narrower types for the same values, and timestamps in other
// units, count as what they hold; unsigned numbers become the next larger type.
//
// Fields of structs may carry the metadata that [Field.Arrow] writes, which is
// believed then.
func FromArrow(t arrow.DataType) (*Type, error) { return fromArrow(t, 0) }

var fromArrowKinds = map[arrow.Type]Kind{
	arrow.NULL: Void, arrow.BOOL: Boolean, arrow.INT8: Byte, arrow.INT16: Short, arrow.INT32: Integer, arrow.INT64: Long,
	arrow.UINT8: Short, arrow.UINT16: Integer, arrow.UINT32: Long,
	arrow.FLOAT32: Float, arrow.FLOAT64: Double, arrow.STRING: String, arrow.LARGE_STRING: String,
	arrow.BINARY: Binary, arrow.LARGE_BINARY: Binary, arrow.FIXED_SIZE_BINARY: Binary, arrow.DATE32: Date,
	arrow.TIME32: Time, arrow.TIME64: Time,
}

func fromArrow(t arrow.DataType, depth int) (*Type, error) {
	if depth > MaxDepth {
		return nil, fmt.Errorf("sqltype: an Arrow type nested more than %d deep", MaxDepth)
	}
	if k, ok := fromArrowKinds[t.ID()]; ok {
		out := &Type{Kind: k}
		if k == Time {
			out.Precision = 6
		}
		return out, nil
	}
	switch t := t.(type) {
	case *arrow.TimestampType:
		if t.TimeZone == "" {
			return &Type{Kind: TimestampNTZ}, nil
		}
		return &Type{Kind: Timestamp}, nil
	case *arrow.Decimal128Type:
		return &Type{Kind: Decimal, Precision: int(t.Precision), Scale: int(t.Scale)}, nil
	case *arrow.MonthIntervalType:
		return &Type{Kind: YearMonthInterval, Start: Year, End: Month}, nil
	case *arrow.DurationType:
		return &Type{Kind: DayTimeInterval, Start: Day, End: Second}, nil
	case *arrow.DictionaryType:
		return fromArrow(t.ValueType, depth+1)
	case *arrow.MapType:
		key, err := fromArrow(t.KeyType(), depth+1)
		if err != nil {
			return nil, err
		}
		value, err := fromArrow(t.ItemType(), depth+1)
		return &Type{Kind: Map, Key: key, Value: value, ValueContainsNull: true}, err
	case arrow.ListLikeType:
		element, err := fromArrow(t.Elem(), depth+1)
		return &Type{Kind: Array, Element: element, ContainsNull: true}, err
	case *arrow.StructType:
		return structFromArrow(t, depth)
	}
	return nil, fmt.Errorf("sqltype: no type of Spark for Arrow's %v", t)
}

// bundles are the types that Arrow has as structs.
var bundles = []struct {
	arrow arrow.DataType
	typ   *Type
}{
	{calendarIntervalType, &Type{Kind: CalendarInterval}},
	{variantType, &Type{Kind: Variant}},
	{timestampNanosType, &Type{Kind: TimestampNanos, Precision: 9}},
	{wallClockNanosType, &Type{Kind: TimestampNTZNanos, Precision: 9}},
	{geoType, &Type{Kind: Geometry, Text: "geometry"}},
}

func structFromArrow(t *arrow.StructType, depth int) (*Type, error) {
	for _, b := range bundles {
		if arrow.TypeEqual(t, b.arrow, arrow.CheckMetadata()) {
			return b.typ, nil
		}
	}
	out := &Type{Kind: Struct}
	for _, f := range t.Fields() {
		field, err := fieldFromArrow(f, depth+1)
		if err != nil {
			return nil, err
		}
		out.Fields = append(out.Fields, field)
	}
	return out, nil
}

func fieldFromArrow(f arrow.Field, depth int) (Field, error) {
	out := Field{Name: f.Name, Nullable: f.Nullable}
	for i, key := range f.Metadata.Keys() {
		value := f.Metadata.Values()[i]
		switch key {
		case "spark.type":
			var err error
			if out.Type, err = ParseJSON([]byte(value)); err != nil {
				return out, fmt.Errorf("sqltype: field %s: spark.type: %w", strconv.Quote(f.Name), err)
			}
		case "spark.nullable":
			out.Nullable = value != "false"
		case "spark.unknown":
		default:
			if json.Valid([]byte(value)) {
				if out.Metadata == nil {
					out.Metadata = make(map[string]json.RawMessage)
				}
				out.Metadata[key] = json.RawMessage(value)
			}
		}
	}
	if out.Type != nil {
		out.takeMetadata()
		return out, nil
	}
	var err error
	out.Type, err = fromArrow(f.Type, depth)
	return out, err
}

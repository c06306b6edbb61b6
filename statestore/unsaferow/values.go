package unsaferow

import (
	"fmt"
	"time"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"

	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

// Value returns element i of an Arrow array as the Go value that [Append] takes
// for the type. Binary values are the array's own memory.
//
// The array is of the type that [sqltype.Type.Arrow] returns, or of one that
// holds the same values otherwise: text, binaries and lists with 64-bit offsets
// or of a fixed size, dictionaries, numbers of another width, and times in
// another unit, as long as they are whole in Spark's. Fields of a struct go by
// position. Where that does not help the error is a [*ValueError]; values that
// their type cannot hold are left for Append to refuse.
func Value(a arrow.Array, t *sqltype.Type, i int) (any, error) {
	if a.IsNull(i) || a.DataType().ID() == arrow.NULL {
		return nil, nil
	}
	t = t.Resolved()
	switch a := a.(type) {
	case *array.Dictionary:
		return Value(a.Dictionary(), t, a.GetValueIndex(i))
	case *array.Map:
		if t.Kind == sqltype.Map {
			return mapValue(a, t, i)
		}
	case array.ListLike:
		if t.Kind == sqltype.Array {
			from, to := a.ValueOffsets(i)
			return listValue(a.ListValues(), t.Element, int(from), int(to))
		}
	case *array.Struct:
		return structValue(a, t, i)
	case *array.Decimal128:
		// The unscaled value means another number where the scale is another.
		if scale := a.DataType().(*arrow.Decimal128Type).Scale; t.Kind == sqltype.Decimal && int(scale) == t.Scale {
			return a.Value(i), nil
		}
	case *array.Timestamp:
		return rescaled(int64(a.Value(i)), a.DataType().(*arrow.TimestampType).Unit.Multiplier(), t)
	case *array.Duration:
		return rescaled(int64(a.Value(i)), a.DataType().(*arrow.DurationType).Unit.Multiplier(), t)
	case *array.Time64:
		return rescaled(int64(a.Value(i)), a.DataType().(*arrow.Time64Type).Unit.Multiplier(), t)
	case *array.Time32:
		return rescaled(int64(a.Value(i)), a.DataType().(*arrow.Time32Type).Unit.Multiplier(), t)
	default:
		if v, ok := flatValue(a, i); ok {
			return v, nil
		}
	}
	return nil, &ValueError{"", fmt.Sprintf("cannot take a %v from an Arrow %v", t, a.DataType())}
}

// AppendArrow appends the row of element i of an array of structs, as [Append]
// does with its values.
func AppendArrow(dst []byte, t *sqltype.Type, a *array.Struct, i int) ([]byte, error) {
	v, err := Value(a, t, i)
	if err != nil {
		return dst, err
	}
	values, ok := v.([]any)
	if !ok {
		return dst, &ValueError{"", "a row that is null"}
	}
	return Append(dst, t, values)
}

// flatValue returns what one Go value holds.
func flatValue(a arrow.Array, i int) (v any, ok bool) {
	switch a := a.(type) {
	case *array.Boolean:
		return a.Value(i), true
	case *array.Int8:
		return int64(a.Value(i)), true
	case *array.Int16:
		return int64(a.Value(i)), true
	case *array.Int32:
		return int64(a.Value(i)), true
	case *array.Int64:
		return a.Value(i), true
	case *array.Uint8:
		return int64(a.Value(i)), true
	case *array.Uint16:
		return int64(a.Value(i)), true
	case *array.Uint32:
		return int64(a.Value(i)), true
	case *array.Uint64:
		return a.Value(i), true
	case *array.Float32:
		return a.Value(i), true
	case *array.Float64:
		return a.Value(i), true
	case *array.String:
		return a.Value(i), true
	case *array.LargeString:
		return a.Value(i), true
	case *array.Binary:
		return a.Value(i), true
	case *array.LargeBinary:
		return a.Value(i), true
	case *array.FixedSizeBinary:
		return a.Value(i), true
	case *array.Date32:
		return int64(a.Value(i)), true
	case *array.MonthInterval:
		return int64(a.Value(i)), true
	}
	return nil, false
}

// rescaled turns a number of units into those of the type; others than times
// are taken for microseconds.
func rescaled(n int64, unit time.Duration, t *sqltype.Type) (any, error) {
	own := time.Microsecond
	if t.Kind == sqltype.Time {
		own = time.Nanosecond
	}
	if unit < own {
		per := int64(own / unit)
		if n%per != 0 {
			return nil, &ValueError{"", fmt.Sprintf("%d × %v is no whole number of %v", n, unit, own)}
		}
		return n / per, nil
	}
	per := int64(unit / own)
	if n*per/per != n {
		return nil, &ValueError{"", fmt.Sprintf("%d × %v does not fit into %v", n, unit, t)}
	}
	return n * per, nil
}

func listValue(a arrow.Array, t *sqltype.Type, from, to int) (any, error) {
	out := make([]any, 0, to-from)
	for i := from; i < to; i++ {
		v, err := Value(a, t, i)
		if err != nil {
			return nil, inside(err, "element", 0)
		}
		out = append(out, v)
	}
	return out, nil
}

func mapValue(a *array.Map, t *sqltype.Type, i int) (any, error) {
	from, to := a.ValueOffsets(i)
	out := make([][2]any, 0, to-from)
	for j := int(from); j < int(to); j++ {
		k, err := Value(a.Keys(), t.Key, j)
		if err != nil {
			return nil, inside(err, "key", 0)
		}
		v, err := Value(a.Items(), t.Value, j)
		if err != nil {
			return nil, inside(err, "value", 0)
		}
		out = append(out, [2]any{k, v})
	}
	return out, nil
}

// parts are the types of the children that stand for a value of which Arrow
// knows nothing.
var parts = map[sqltype.Kind][]sqltype.Kind{
	sqltype.CalendarInterval:  {sqltype.Integer, sqltype.Integer, sqltype.Long},
	sqltype.TimestampNanos:    {sqltype.Timestamp, sqltype.Short},
	sqltype.TimestampNTZNanos: {sqltype.TimestampNTZ, sqltype.Short},
	sqltype.Variant:           {sqltype.Binary, sqltype.Binary},
	sqltype.Geometry:          {sqltype.Integer, sqltype.Binary},
	sqltype.Geography:         {sqltype.Integer, sqltype.Binary},
}

func structValue(a *array.Struct, t *sqltype.Type, i int) (any, error) {
	fields := t.Fields
	for _, k := range parts[t.Kind] {
		fields = append(fields, sqltype.Field{Type: &sqltype.Type{Kind: k}})
	}
	if t.Kind != sqltype.Struct && fields == nil || a.NumField() != len(fields) {
		return nil, &ValueError{"", fmt.Sprintf("cannot take a %v from an Arrow %v", t, a.DataType())}
	}
	out := make([]any, len(fields))
	for j, f := range fields {
		v, err := Value(a.Field(j), f.Type, i)
		if err != nil {
			return nil, inside(err, fieldNames(fields)[j], 0)
		}
		out[j] = v
	}
	if t.Kind == sqltype.Struct {
		return out, nil
	}
	return joined(t, out)
}

// joined puts the parts of a value together.
func joined(t *sqltype.Type, part []any) (any, error) {
	ok := true
	number := func(p any, bits int) int64 {
		n, is := p.(int64)
		ok = ok && is && n == n<<(64-bits)>>(64-bits)
		return n
	}
	data := func(p any) []byte {
		b, is := p.([]byte)
		ok = ok && is
		return b
	}
	var v any
	switch t.Kind {
	case sqltype.CalendarInterval:
		v = Interval{int32(number(part[0], 32)), int32(number(part[1], 32)), number(part[2], 64)}
	case sqltype.TimestampNanos, sqltype.TimestampNTZNanos:
		v = TimestampNanos{number(part[0], 64), int16(number(part[1], 16))}
	case sqltype.Variant:
		v = Variant{data(part[0]), data(part[1])}
	default:
		v = Geo{int32(number(part[0], 32)), data(part[1])}
	}
	if !ok {
		return nil, &ValueError{"", fmt.Sprintf("the parts of a %v are not all there, or too large", t)}
	}
	return v, nil
}

package portable

import (
	"math/big"
	"strings"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

// shape says how values of a Spark type are portable.
type shape struct {
	// spark is the type as which Spark reads them back.
	spark *sqltype.Type
	// arrow is the type that they get.
	arrow arrow.DataType
	// convert makes an array of that type of one of the type that sqltype
	// gives. The caller releases it.
	convert func(arrow.ArrayData) arrow.ArrayData
}

// shapeOf returns the shape of a type; the package documentation has the rules.
func shapeOf(t *sqltype.Type) shape {
	t = t.Resolved()
	as := t.Arrow()
	if as.ID() == arrow.NULL { // also a map of which the keys are not known
		return nulls()
	}
	switch t.Kind {
	case sqltype.Struct:
		return structShape(t)
	case sqltype.Array:
		e := shapeOf(t.Element)
		to := arrow.ListOfField(arrow.Field{Name: "element", Type: e.arrow, Nullable: true})
		return shape{&sqltype.Type{Kind: sqltype.Array, Element: e.spark, ContainsNull: t.ContainsNull}, to, children(to, e.convert)}
	case sqltype.Map:
		k, v := shapeOf(t.Key), shapeOf(t.Value)
		to := arrow.MapOf(k.arrow, v.arrow)
		return shape{
			&sqltype.Type{Kind: sqltype.Map, Key: k.spark, Value: v.spark, ValueContainsNull: t.ValueContainsNull},
			to, children(to, children(to.Elem(), k.convert, v.convert)),
		}
	case sqltype.YearMonthInterval:
		return shape{t, arrow.PrimitiveTypes.Int32, retype(arrow.PrimitiveTypes.Int32)}
	case sqltype.DayTimeInterval:
		return shape{t, arrow.PrimitiveTypes.Int64, retype(arrow.PrimitiveTypes.Int64)}
	case sqltype.CalendarInterval:
		return group(as, "months", sqltype.Integer, "days", sqltype.Integer, "microseconds", sqltype.Long)
	case sqltype.Geometry, sqltype.Geography:
		return group(as, "srid", sqltype.Integer, "wkb", sqltype.Binary)
	case sqltype.TimestampNanos:
		return group(as, "timestamp", sqltype.Timestamp, "nanoseconds", sqltype.Short)
	case sqltype.TimestampNTZNanos:
		return group(as, "timestamp", sqltype.TimestampNTZ, "nanoseconds", sqltype.Short)
	case sqltype.Time:
		if t.Precision <= 6 {
			return shape{t, arrow.FixedWidthTypes.Time64us, toMicros}
		}
		// No Spark reads a TIME in nanoseconds as such.
		return shape{&sqltype.Type{Kind: sqltype.Long}, as, retype(as)}
	case sqltype.Decimal:
		if t.Scale < 0 {
			return shape{&sqltype.Type{Kind: sqltype.String}, arrow.BinaryTypes.String, toText}
		}
	case sqltype.String: // char and varchar are string to Spark's readers, too
		return shape{&sqltype.Type{Kind: sqltype.String, Collation: t.Collation}, as, retype(as)}
	}
	return shape{t, as, retype(as)}
}

// nulls is the shape of a column that holds nothing. Spark's readers of files
// know no void.
func nulls() shape {
	return shape{&sqltype.Type{Kind: sqltype.Integer}, arrow.Null, retype(arrow.Null)}
}

// group is the shape of a type that Arrow has as a struct of parts already;
// parts are their names and kinds by turns.
func group(as arrow.DataType, parts ...any) shape {
	t := &sqltype.Type{Kind: sqltype.Struct}
	for i := 0; i < len(parts); i += 2 {
		t.Fields = append(t.Fields, sqltype.Field{Name: parts[i].(string), Type: &sqltype.Type{Kind: parts[i+1].(sqltype.Kind)}, Nullable: true})
	}
	return shape{t, as, retype(as)}
}

func structShape(t *sqltype.Type) shape {
	if len(t.Fields) == 0 {
		to := arrow.StructOf(arrow.Field{Name: emptyColumn, Type: arrow.Null, Nullable: true})
		spark := &sqltype.Type{Kind: sqltype.Struct, Fields: []sqltype.Field{{Name: emptyColumn, Type: nulls().spark, Nullable: true}}}
		return shape{spark, to, func(d arrow.ArrayData) arrow.ArrayData {
			empty := array.NewData(arrow.Null, d.Offset()+d.Len(), []*memory.Buffer{nil}, nil, d.Offset()+d.Len(), 0)
			defer empty.Release()
			return array.NewData(to, d.Len(), d.Buffers(), []arrow.ArrayData{empty}, d.NullN(), d.Offset())
		}}
	}
	names := uniqueNames(t.Fields)
	spark := &sqltype.Type{Kind: sqltype.Struct, Fields: make([]sqltype.Field, len(names))}
	fields := make([]arrow.Field, len(names))
	converts := make([]func(arrow.ArrayData) arrow.ArrayData, len(names))
	for i, f := range t.Fields {
		s := shapeOf(f.Type)
		spark.Fields[i] = sqltype.Field{Name: names[i], Type: s.spark, Nullable: true}
		fields[i] = f.Arrow()
		fields[i].Name, fields[i].Type = names[i], s.arrow
		converts[i] = s.convert
	}
	to := arrow.StructOf(fields...)
	return shape{spark, to, children(to, converts...)}
}

// retype gives an array another type of the same layout.
func retype(to arrow.DataType) func(arrow.ArrayData) arrow.ArrayData {
	return func(d arrow.ArrayData) arrow.ArrayData {
		return array.NewData(to, d.Len(), d.Buffers(), d.Children(), d.NullN(), d.Offset())
	}
}

// children converts the children of an array, one function for each.
func children(to arrow.DataType, converts ...func(arrow.ArrayData) arrow.ArrayData) func(arrow.ArrayData) arrow.ArrayData {
	return func(d arrow.ArrayData) arrow.ArrayData {
		out := make([]arrow.ArrayData, len(converts))
		for i, c := range d.Children() {
			out[i] = converts[i](c)
			defer out[i].Release()
		}
		return array.NewData(to, d.Len(), d.Buffers(), out, d.NullN(), d.Offset())
	}
}

// toMicros makes times in microseconds of such in nanoseconds, the last three
// digits of which are zeros.
func toMicros(d arrow.ArrayData) arrow.ArrayData {
	from := array.NewTime64Data(d)
	defer from.Release()
	nanos := from.Time64Values()
	micros := make([]int64, len(nanos))
	for i, n := range nanos {
		micros[i] = int64(n) / 1000
	}
	return withValues(arrow.FixedWidthTypes.Time64us, from, memory.NewBufferBytes(arrow.Int64Traits.CastToBytes(micros)))
}

// withValues returns an array that is null where another is, with buffers of
// its own behind.
func withValues(to arrow.DataType, like arrow.Array, values ...*memory.Buffer) arrow.ArrayData {
	var valid []byte
	if like.NullN() > 0 {
		valid = make([]byte, (like.Len()+7)/8)
		for i := range like.Len() {
			if like.IsValid(i) {
				valid[i/8] |= 1 << (i % 8)
			}
		}
	}
	buffers := []*memory.Buffer{nil}
	if valid != nil {
		buffers[0] = memory.NewBufferBytes(valid)
	}
	return array.NewData(to, like.Len(), append(buffers, values...), nil, like.NullN(), 0)
}

// toText makes texts of decimals that are multiples of a power of ten.
func toText(d arrow.ArrayData) arrow.ArrayData {
	from := array.NewDecimal128Data(d)
	defer from.Release()
	zeros := strings.Repeat("0", int(-from.DataType().(*arrow.Decimal128Type).Scale))
	offsets := make([]int32, from.Len()+1)
	var text []byte
	for i := range from.Len() {
		if from.IsValid(i) {
			n := from.Value(i).BigInt()
			text = n.Append(text, 10)
			if n.Cmp(new(big.Int)) != 0 {
				text = append(text, zeros...)
			}
		}
		offsets[i+1] = int32(len(text))
	}
	return withValues(arrow.BinaryTypes.String, from,
		memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(offsets)), memory.NewBufferBytes(text))
}

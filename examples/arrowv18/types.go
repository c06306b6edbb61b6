package arrowv18

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	v17 "github.com/apache/arrow/go/v17/arrow"
)

// Schema converts a schema with all its metadata.
func Schema(s *v17.Schema) (*arrow.Schema, error) {
	f, err := fields(s.Fields())
	if err != nil {
		return nil, err
	}
	m := metadata(s.Metadata())
	return arrow.NewSchema(f, &m), nil
}

func fields(in []v17.Field) ([]arrow.Field, error) {
	out := make([]arrow.Field, len(in))
	for i, f := range in {
		var err error
		if out[i], err = field(f); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func field(f v17.Field) (arrow.Field, error) {
	t, err := DataType(f.Type)
	if err != nil {
		return arrow.Field{}, fmt.Errorf("column %q: %w", f.Name, err)
	}
	return arrow.Field{Name: f.Name, Type: t, Nullable: f.Nullable, Metadata: metadata(f.Metadata)}, nil
}

func metadata(m v17.Metadata) arrow.Metadata { return arrow.NewMetadata(m.Keys(), m.Values()) }

// DataType converts a type. It knows those that sparkstate's records are of,
// nested to any depth; every other one is an error.
func DataType(t v17.DataType) (arrow.DataType, error) {
	switch t := t.(type) {
	case *v17.NullType:
		return arrow.Null, nil
	case *v17.BooleanType:
		return arrow.FixedWidthTypes.Boolean, nil
	case *v17.Int8Type:
		return arrow.PrimitiveTypes.Int8, nil
	case *v17.Int16Type:
		return arrow.PrimitiveTypes.Int16, nil
	case *v17.Int32Type:
		return arrow.PrimitiveTypes.Int32, nil
	case *v17.Int64Type:
		return arrow.PrimitiveTypes.Int64, nil
	case *v17.Float32Type:
		return arrow.PrimitiveTypes.Float32, nil
	case *v17.Float64Type:
		return arrow.PrimitiveTypes.Float64, nil
	case *v17.StringType:
		return arrow.BinaryTypes.String, nil
	case *v17.BinaryType:
		return arrow.BinaryTypes.Binary, nil
	case *v17.Date32Type:
		return arrow.FixedWidthTypes.Date32, nil
	case *v17.TimestampType:
		return &arrow.TimestampType{Unit: arrow.TimeUnit(t.Unit), TimeZone: t.TimeZone}, nil
	case *v17.Time64Type:
		return &arrow.Time64Type{Unit: arrow.TimeUnit(t.Unit)}, nil
	case *v17.DurationType:
		return &arrow.DurationType{Unit: arrow.TimeUnit(t.Unit)}, nil
	case *v17.MonthIntervalType:
		return arrow.FixedWidthTypes.MonthInterval, nil
	case *v17.Decimal128Type:
		return &arrow.Decimal128Type{Precision: t.Precision, Scale: t.Scale}, nil
	case *v17.StructType:
		f, err := fields(t.Fields())
		if err != nil {
			return nil, err
		}
		return arrow.StructOf(f...), nil
	case *v17.MapType: // before the list that it is made of
		pair, err := fields([]v17.Field{t.KeyField(), t.ItemField()})
		if err != nil {
			return nil, err
		}
		m := arrow.MapOfFields(pair[0], pair[1])
		m.KeysSorted = t.KeysSorted
		return m, nil
	case *v17.ListType:
		e, err := field(t.ElemField())
		if err != nil {
			return nil, err
		}
		return arrow.ListOfField(e), nil
	}
	return nil, fmt.Errorf("arrowv18: no record of sparkstate is of %s", t)
}

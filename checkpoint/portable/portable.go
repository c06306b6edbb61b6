package portable

import (
	"fmt"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"

	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

// SchemaKey is the key under which the metadata of a portable schema has the
// schema that Spark recorded.
const SchemaKey = "sparkstate.schema"

// Shape makes portable records of those of one schema. It may be used from
// several goroutines.
type Shape struct {
	from   *arrow.Schema
	schema *arrow.Schema
	spark  *sqltype.Type
	shapes []shape
}

// New returns the shape of records of a schema: of statestore.Store.Schema or
// ChangeSchema, or checkpoint.JoinSide.Schema, with or without metadata of its
// own. A schema of other makers must say in the metadata of its columns which
// Spark type they are of, as sqltype.Field.Arrow does.
func New(schema *arrow.Schema) (*Shape, error) {
	columns, err := sparkFields(schema.Fields())
	if err != nil {
		return nil, err
	}
	names := uniqueNames(columns)
	s := &Shape{from: schema, spark: &sqltype.Type{Kind: sqltype.Struct}, shapes: make([]shape, len(columns))}
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		s.shapes[i] = shapeOf(c.Type)
		fields[i] = schema.Field(i)
		fields[i].Name, fields[i].Type = names[i], s.shapes[i].arrow
		s.spark.Fields = append(s.spark.Fields, sqltype.Field{Name: names[i], Type: s.shapes[i].spark, Nullable: fields[i].Nullable})
	}
	recorded := &sqltype.Type{Kind: sqltype.Struct, Fields: columns}
	meta := schema.Metadata()
	all := arrow.NewMetadata(append(meta.Keys(), SchemaKey), append(meta.Values(), recorded.JSON()))
	s.schema = arrow.NewSchema(fields, &all)
	return s, nil
}

// Schema returns the schema of the portable records.
func (s *Shape) Schema() *arrow.Schema { return s.schema }

// Spark returns the type as which Spark reads portable records out of a Parquet
// file: intervals, times, variants and collations as such, and what Spark's
// readers do not know as what it is made of.
func (s *Shape) Spark() *sqltype.Type { return s.spark }

// Record makes a portable record. Most of it shares the memory of the given
// one, which stays the caller's. The caller releases the result.
func (s *Shape) Record(rec arrow.Record) (arrow.Record, error) {
	if int(rec.NumCols()) != len(s.shapes) {
		return nil, fmt.Errorf("portable: a record of %d columns for a schema of %d", rec.NumCols(), len(s.shapes))
	}
	columns := make([]arrow.Array, len(s.shapes))
	for i, sh := range s.shapes {
		if t := rec.Column(i).DataType(); !arrow.TypeEqual(t, s.from.Field(i).Type) {
			return nil, fmt.Errorf("portable: column %d of a record is of %s, and the schema's of %s", i, t, s.from.Field(i).Type)
		}
		data := sh.convert(rec.Column(i).Data())
		defer data.Release()
		columns[i] = array.MakeFromData(data)
		defer columns[i].Release()
	}
	return array.NewRecord(s.schema, columns, rec.NumRows()), nil
}

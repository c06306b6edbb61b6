package portable

import (
	"encoding/json"
	"fmt"

	"github.com/apache/arrow/go/v17/arrow"

	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

// sparkFields returns the Spark columns that a schema of the library stands
// for.
func sparkFields(fields []arrow.Field) ([]sqltype.Field, error) {
	out := make([]sqltype.Field, len(fields))
	for i, f := range fields {
		t, err := sparkType(f)
		if err != nil {
			return nil, err
		}
		out[i] = sqltype.Field{Name: f.Name, Type: t, Nullable: f.Nullable && !hasPair(f.Metadata, "spark.nullable", "false"), Metadata: sparkMetadata(f.Metadata)}
	}
	return out, nil
}

// sparkType returns the Spark type of a field: what its metadata says, and of
// the columns that the library adds (key and value, which are structs of such
// fields, and the numbers around them) what they are.
func sparkType(f arrow.Field) (*sqltype.Type, error) {
	if at := f.Metadata.FindKey("spark.type"); at >= 0 {
		t, err := sqltype.ParseJSON([]byte(f.Metadata.Values()[at]))
		if err != nil {
			return nil, fmt.Errorf("portable: column %q: %w", f.Name, err)
		}
		if !arrow.TypeEqual(t.Arrow(), f.Type) {
			return nil, fmt.Errorf("portable: column %q is of %s, which no %s is", f.Name, f.Type, t.DDL())
		}
		return t, nil
	}
	switch t := f.Type.(type) {
	case *arrow.StructType:
		fields, err := sparkFields(t.Fields())
		return &sqltype.Type{Kind: sqltype.Struct, Fields: fields}, err
	case *arrow.Int32Type:
		return &sqltype.Type{Kind: sqltype.Integer}, nil
	case *arrow.Int64Type:
		return &sqltype.Type{Kind: sqltype.Long}, nil
	case *arrow.StringType:
		return &sqltype.Type{Kind: sqltype.String}, nil
	}
	return nil, fmt.Errorf("portable: column %q of %s has no spark.type in its metadata", f.Name, f.Type)
}

func hasPair(m arrow.Metadata, key, value string) bool {
	at := m.FindKey(key)
	return at >= 0 && m.Values()[at] == value
}

// sparkMetadata returns what Spark noted about a column; the library's own
// notes are no JSON, or are taken into account already.
func sparkMetadata(m arrow.Metadata) map[string]json.RawMessage {
	var out map[string]json.RawMessage
	for i, k := range m.Keys() {
		if k == "spark.type" || k == "spark.nullable" || k == "spark.unknown" || !json.Valid([]byte(m.Values()[i])) {
			continue
		}
		if out == nil {
			out = make(map[string]json.RawMessage)
		}
		out[k] = json.RawMessage(m.Values()[i])
	}
	return out
}

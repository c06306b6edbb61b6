package checkpoint

import "github.com/sparkstate/sparkstate/statestore/sqltype"

// Role is the part that a column plays in its operator.
type Role string

const (
	// EventTime: the column that the watermark is declared on; of a window,
	// its end.
	EventTime Role = "eventTime"
	// Timeout: when the group times out, in milliseconds; -1 for never.
	Timeout Role = "timeout"
	// ExpiresAt: from which watermark on the row is removed, in microseconds.
	ExpiresAt Role = "expiresAt"
)

// Unit is the unit of a time column.
type Unit string

const (
	Milliseconds Unit = "ms"
	Microseconds Unit = "us"
)

// Column is a column that plays a part.
type Column struct {
	Role Role
	// Side is "key" or "value".
	Side string
	// Index is the position of the column within the side, followed by the
	// positions within nested structs.
	Index []int
	// Unit is that of the number in the column.
	Unit Unit
	// Expires says that a row can go once the watermark has reached the time.
	// It is false for the event times of joined rows, which stay as long as the
	// join's condition may need them.
	Expires bool
}

// Columns returns the columns of the store that play a part in its operator;
// none where no schema is known.
func (s *Store) Columns() []Column {
	var out []Column
	for _, side := range []struct {
		name string
		t    *sqltype.Type
	}{{"key", s.types.key}, {"value", s.types.value}} {
		if side.t != nil {
			out = append(out, eventTime(side.name, side.t)...)
		}
	}
	for i := range out {
		out[i].Expires = out[i].Side == "key" || s.op.kind != nil && s.op.kind.valuesExpire
	}
	if s.op.kind != nil && s.op.kind.roles != nil {
		out = append(out, s.op.kind.roles(s)...)
	}
	return out
}

// eventTime finds the columns that carry Spark's mark of a watermark.
func eventTime(side string, t *sqltype.Type) []Column {
	var out []Column
	for i, f := range t.Fields {
		if _, ok := f.WatermarkDelay(); !ok {
			continue
		}
		c := Column{Role: EventTime, Side: side, Index: []int{i}, Unit: Microseconds}
		if s := f.Type.Resolved(); s.Kind == sqltype.Struct && len(s.Fields) == 2 { // window: start, end
			c.Index = append(c.Index, 1)
		}
		out = append(out, c)
	}
	return out
}

// valueColumn returns the value's column of that name as one that plays a
// part; none where the value has no such column.
func (s *Store) valueColumn(name string, r Role, u Unit) []Column {
	if s.types.value == nil {
		return nil
	}
	for i, f := range s.types.value.Fields {
		if f.Name == name {
			return []Column{{Role: r, Side: "value", Index: []int{i}, Unit: u, Expires: true}}
		}
	}
	return nil
}

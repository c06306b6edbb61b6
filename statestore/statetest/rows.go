package statetest

import (
	"context"
	"fmt"
	"iter"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
	"github.com/sparkstate/sparkstate/statestore/unsaferow"
)

// Row is a row of a store in Go values, as unsaferow.Append takes them; nil
// stands for columns that can only be null.
type Row struct {
	Key, Value []any
	// Partition is where a row was read. Of rows that are wanted it means
	// nothing.
	Partition int
}

// Rows returns the rows of a store, in the order in which they are read. The
// options say of which batch; without any it is the last committed one. The
// store called "" is the default one.
func Rows(ctx context.Context, cp *checkpoint.Checkpoint, operator int, store string, opts ...checkpoint.Option) ([]Row, error) {
	v, err := storeView(ctx, cp, operator, store, opts)
	if err != nil {
		return nil, err
	}
	return v.read()
}

// JoinRows returns the rows that a side of a join holds: the join key, and the
// columns of the input.
func JoinRows(ctx context.Context, cp *checkpoint.Checkpoint, operator int, side checkpoint.Side, opts ...checkpoint.Option) ([]Row, error) {
	v, err := joinView(ctx, cp, operator, side, opts)
	if err != nil {
		return nil, err
	}
	return v.read()
}

// view is what rows are read from: a store, or a side of a join.
type view struct {
	name       string
	key, value *sqltype.Type
	times      map[int]checkpoint.Unit // see numberedTimes
	records    iter.Seq2[arrow.Record, error]
}

func storeView(ctx context.Context, cp *checkpoint.Checkpoint, operator int, store string, opts []checkpoint.Option) (*view, error) {
	if store == "" {
		store = "default"
	}
	s, err := cp.Store(operator, store)
	if err != nil {
		return nil, err
	}
	at, err := s.At(ctx, opts...)
	if err != nil {
		return nil, err
	}
	v := &view{name: fmt.Sprintf("operator %s, store %s, batch %d", s.Operator().Label(), s.Name(), at.Batch), records: s.Records(ctx, opts...)}
	v.key, _ = s.Key()
	v.value, _ = s.Value()
	v.times = numberedTimes(s)
	return v, nil
}

// numberedTimes returns the columns of the value that hold a time as a number:
// when a row expires or times out.
func numberedTimes(s *checkpoint.Store) map[int]checkpoint.Unit {
	times := make(map[int]checkpoint.Unit)
	for _, c := range s.Columns() {
		if c.Role != checkpoint.EventTime && c.Side == "value" && len(c.Index) == 1 {
			times[c.Index[0]] = c.Unit
		}
	}
	return times
}

func joinView(ctx context.Context, cp *checkpoint.Checkpoint, operator int, side checkpoint.Side, opts []checkpoint.Option) (*view, error) {
	op, err := cp.Operator(operator)
	if err != nil {
		return nil, err
	}
	j, err := op.JoinSide(side)
	if err != nil {
		return nil, err
	}
	at, err := j.At(ctx, opts...)
	if err != nil {
		return nil, err
	}
	var loss checkpoint.JoinLoss
	return &view{name: fmt.Sprintf("operator %s, %s side, batch %d", op.Label(), side, at.Batch),
		key: j.Key(), value: j.Value(), records: j.Records(ctx, &loss, opts...)}, nil
}

// read returns all rows of a view. Without schemas the records are an error.
func (v *view) read() ([]Row, error) {
	var rows []Row
	for rec, err := range v.records {
		if err != nil {
			return nil, err
		}
		rows, err = appendRows(rows, rec, v.key, v.value)
		rec.Release()
		if err != nil {
			return nil, err
		}
	}
	return rows, nil
}

func appendRows(rows []Row, rec arrow.Record, key, value *sqltype.Type) ([]Row, error) {
	partitions, ok := rec.Column(2).(*array.Int32)
	if !ok {
		return nil, fmt.Errorf("statetest: no rows of a store but %v", rec.Schema())
	}
	for i := range int(rec.NumRows()) {
		k, err := values(rec.Column(0), key, i)
		if err != nil {
			return nil, err
		}
		v, err := values(rec.Column(1), value, i)
		if err != nil {
			return nil, err
		}
		rows = append(rows, Row{k, v, int(partitions.Value(i))})
	}
	return rows, nil
}

// values returns a row that stays valid without its record.
func values(a arrow.Array, t *sqltype.Type, i int) ([]any, error) {
	v, err := unsaferow.Value(a, t, i)
	if err != nil {
		return nil, err
	}
	row, ok := owned(v).([]any)
	if !ok {
		return nil, fmt.Errorf("statetest: a row that is null")
	}
	return row, nil
}

// owned copies what lies in the memory of an array.
func owned(v any) any {
	switch v := v.(type) {
	case string:
		return string([]byte(v))
	case []byte:
		return append([]byte{}, v...)
	case unsaferow.Variant:
		return unsaferow.Variant{Value: append([]byte{}, v.Value...), Metadata: append([]byte{}, v.Metadata...)}
	case unsaferow.Geo:
		return unsaferow.Geo{SRID: v.SRID, WKB: append([]byte{}, v.WKB...)}
	case []any:
		for i, x := range v {
			v[i] = owned(x)
		}
	case [][2]any:
		for i, x := range v {
			v[i] = [2]any{owned(x[0]), owned(x[1])}
		}
	}
	return v
}

// decode returns the values of a row.
func decode(t *sqltype.Type, row []byte) ([]any, error) {
	d, err := unsaferow.NewDecoder(t, memory.DefaultAllocator)
	if err != nil {
		return nil, err
	}
	a, _, err := d.Decode([][]byte{row})
	if err != nil {
		return nil, err
	}
	defer a.Release()
	return values(a, t, 0)
}

package skew

import (
	"encoding/binary"

	"github.com/sparkstate/sparkstate/statestore/sqltype"
	"github.com/sparkstate/sparkstate/statestore/unsaferow"
)

// fieldAt returns a finder of a column, by its positions through structs, and
// the column's type. The finder returns the row that the column is in and its
// position there; false where it, or a struct around it, is null.
func fieldAt(t *sqltype.Type, index []int) (func(row []byte) (unsaferow.Row, int, bool, error), *sqltype.Type) {
	n, i := len(t.Fields), index[0]
	ft := t.Fields[i].Type.Resolved()
	view := func(row []byte) (unsaferow.Row, int, bool, error) {
		r, err := unsaferow.View(row, n)
		return r, i, err == nil && !r.IsNull(i), err
	}
	if len(index) == 1 {
		return view, ft
	}
	inner, leaf := fieldAt(ft, index[1:])
	return func(row []byte) (unsaferow.Row, int, bool, error) {
		r, _, ok, err := view(row)
		if !ok {
			return r, i, false, err
		}
		b, err := r.Bytes(i)
		if err != nil {
			return r, i, false, err
		}
		return inner(b)
	}, leaf
}

// columnReader takes the value of one column out of key rows, as a row of that
// column alone: so that it can be counted by its bytes, and shown.
type columnReader struct {
	fields, index int
	inSlot        bool
	reserve       int // bytes that the region keeps at least
	row           []byte
}

func newColumnReader(t *sqltype.Type, i int) *columnReader {
	c := &columnReader{fields: len(t.Fields), index: i, inSlot: t.Fields[i].Type.InSlot()}
	if r := t.Fields[i].Type.Resolved(); r.Kind == sqltype.Decimal && !c.inSlot {
		c.reserve = 16
	}
	return c
}

// columnType returns the struct type of the rows that a columnReader returns.
func columnType(t *sqltype.Type, i int) *sqltype.Type {
	return &sqltype.Type{Kind: sqltype.Struct, Fields: t.Fields[i : i+1]}
}

// value returns the column as a row, valid until the next call, and whether it
// is null.
func (c *columnReader) value(key []byte) (row []byte, null bool, err error) {
	r, err := unsaferow.View(key, c.fields)
	if err != nil {
		return nil, false, err
	}
	b := append(c.row[:0], make([]byte, unsaferow.FixedSize(1))...)
	switch {
	case r.IsNull(c.index):
		b[0] = 1
		null = true
	case c.inSlot:
		binary.LittleEndian.PutUint64(b[8:], r.Word(c.index))
	default:
		v, err := r.Bytes(c.index)
		if err != nil {
			return nil, false, err
		}
		binary.LittleEndian.PutUint32(b[8:], uint32(len(v)))
		binary.LittleEndian.PutUint32(b[12:], uint32(len(b)))
		b = append(b, v...)
		for len(b)%8 != 0 || len(b) < unsaferow.FixedSize(1)+c.reserve {
			b = append(b, 0)
		}
	}
	c.row = b
	return b, null, nil
}

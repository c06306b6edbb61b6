package skew

import (
	"encoding/binary"

	"github.com/sparkstate/sparkstate/statestore/sqltype"
	"github.com/sparkstate/sparkstate/statestore/unsaferow"
)

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

package unsaferow

import (
	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/bitutil"
	"github.com/apache/arrow/go/v17/arrow/decimal128"
	"github.com/apache/arrow/go/v17/arrow/memory"
)

// nullColumn holds nothing but nulls: for void, and for types of which the
// bytes are unknown.
type nullColumn struct {
	*node
	n int
}

func (c *nullColumn) begin(int, int) { c.n = 0 }
func (c *nullColumn) discard()       {}

func (c *nullColumn) add(in cells) error {
	c.n += len(in.at)
	return nil
}

func (c *nullColumn) finish() *array.Data {
	return array.NewData(c.dtype, c.n, []*memory.Buffer{nil}, nil, c.n, 0)
}

// numberColumn holds numbers of 1, 2, 4 or 8 bytes that Arrow keeps as Spark
// does.
type numberColumn struct {
	*node
	width  int
	valid  validity
	values buffer
}

func (c *numberColumn) begin(n, _ int) {
	c.valid.begin(c.mem, n)
	c.values.begin(c.mem, n*c.width)
}

func (c *numberColumn) add(in cells) error {
	c.valid.add(in)
	out := c.values.more(len(in.at) * c.width)
	base := in.base[:len(in.at)]
	switch c.width {
	case 1:
		for i, p := range in.at {
			out[i] = 0
			if p >= 0 {
				out[i] = base[i][p]
			}
		}
	case 2:
		out := asUint16(out)[:len(in.at)]
		for i, p := range in.at {
			out[i] = 0
			if p >= 0 {
				out[i] = le.Uint16(base[i][p:])
			}
		}
	case 4:
		out := asUint32(out)[:len(in.at)]
		for i, p := range in.at {
			out[i] = 0
			if p >= 0 {
				out[i] = le.Uint32(base[i][p:])
			}
		}
	default:
		out := asUint64(out)[:len(in.at)]
		if in.dense {
			for i, p := range in.at {
				out[i] = le.Uint64(base[i][p:])
			}
			break
		}
		for i, p := range in.at {
			out[i] = 0
			if p >= 0 {
				out[i] = le.Uint64(base[i][p:])
			}
		}
	}
	return nil
}

func (c *numberColumn) finish() *array.Data {
	bufs := []*memory.Buffer{c.valid.take(), c.values.take()}
	defer release(bufs...)
	return array.NewData(c.dtype, c.valid.n, bufs, nil, c.valid.nulls, 0)
}

func (c *numberColumn) discard() {
	c.valid.discard()
	c.values.discard()
}

type boolColumn struct {
	*node
	valid  validity
	values buffer
}

func (c *boolColumn) begin(n, _ int) {
	c.valid.begin(c.mem, n)
	c.values.begin(c.mem, int(bitutil.BytesForBits(int64(n))))
}

func (c *boolColumn) add(in cells) error {
	from := c.valid.n
	c.valid.add(in)
	clear(c.values.more(int(bitutil.BytesForBits(int64(c.valid.n))) - c.values.size))
	bits := c.values.buf.Bytes()
	for i, p := range in.at {
		var v byte
		if p >= 0 {
			v = in.base[i][p]
		}
		if v > 1 {
			return c.errorAt(from+i, int(p), reasonBool(uint64(v)))
		}
		bitutil.SetBitTo(bits, from+i, v != 0)
	}
	return nil
}

func (c *boolColumn) finish() *array.Data {
	bufs := []*memory.Buffer{c.valid.take(), c.values.take()}
	defer release(bufs...)
	return array.NewData(c.dtype, c.valid.n, bufs, nil, c.valid.nulls, 0)
}

func (c *boolColumn) discard() {
	c.valid.discard()
	c.values.discard()
}

// decimalColumn holds decimals of both sizes.
type decimalColumn struct {
	*node
	precision int
	inSlot    bool
	valid     validity
	values    buffer
}

func (c *decimalColumn) begin(n, _ int) {
	c.valid.begin(c.mem, n)
	c.values.begin(c.mem, n*arrow.Decimal128SizeBytes)
}

func (c *decimalColumn) add(in cells) error {
	from := c.valid.n
	c.valid.add(in)
	out := arrow.Decimal128Traits.CastFromBytes(c.values.more(len(in.at) * arrow.Decimal128SizeBytes))
	if c.inSlot {
		return c.addLongs(in, out, from)
	}
	for i, p := range in.at {
		if p < 0 {
			out[i] = decimal128.Num{}
			continue
		}
		v, reason := readDecimal(in.base[i][p:in.end[i]], c.precision)
		if reason != "" {
			return c.errorAt(from+i, int(p), reason)
		}
		out[i] = v
	}
	return nil
}

func (c *decimalColumn) addLongs(in cells, out []decimal128.Num, from int) error {
	for i, p := range in.at {
		if p < 0 {
			out[i] = decimal128.Num{}
			continue
		}
		v := int64(le.Uint64(in.base[i][p:]))
		if !fitsLong(v, c.precision) {
			return c.errorAt(from+i, int(p), reasonDigitsLong(v, c.precision))
		}
		out[i] = decimal128.FromI64(v)
	}
	return nil
}

func (c *decimalColumn) finish() *array.Data {
	bufs := []*memory.Buffer{c.valid.take(), c.values.take()}
	defer release(bufs...)
	return array.NewData(c.dtype, c.valid.n, bufs, nil, c.valid.nulls, 0)
}

func (c *decimalColumn) discard() {
	c.valid.discard()
	c.values.discard()
}

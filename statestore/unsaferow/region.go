package unsaferow

import (
	"fmt"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
)

// What lies in the region for types that are neither text nor nested.

func checkInterval(b []byte) (reason string) {
	if len(b) != 16 {
		return fmt.Sprintf("a calendar interval has %d bytes, not 16", len(b))
	}
	return ""
}

// readNanos takes apart a timestamp of more digits than microseconds have.
func readNanos(b []byte) (micros, nanos uint64, reason string) {
	if len(b) != 16 {
		return 0, 0, fmt.Sprintf("a nanosecond timestamp has %d bytes, not 16", len(b))
	}
	micros, nanos = le.Uint64(b), le.Uint64(b[8:])
	if nanos > maxNanos {
		return 0, 0, reasonNanos(int64(nanos))
	}
	return micros, nanos, ""
}

// maxNanos is how many nanoseconds a timestamp can have beside microseconds.
const maxNanos = 999

func reasonNanos(n int64) string {
	return fmt.Sprintf("a timestamp has %d nanoseconds beside its microseconds, not 0 to %d", n, maxNanos)
}

// readVariant cuts a variant into its value and its metadata.
func readVariant(b []byte) (value, metadata []byte, reason string) {
	if len(b) < 4 {
		return nil, nil, fmt.Sprintf("a variant has %d bytes", len(b))
	}
	n := int(int32(le.Uint32(b)))
	if n < 0 || n > len(b)-4 {
		return nil, nil, fmt.Sprintf("a variant of %d bytes cannot hold a value of %d", len(b), n)
	}
	return b[4 : 4+n], b[4+n:], ""
}

func checkGeo(b []byte) (reason string) {
	if len(b) < 4 {
		return fmt.Sprintf("a geometry has %d bytes", len(b))
	}
	return ""
}

func reasonBool(word uint64) string { return fmt.Sprintf("a boolean is %d", word) }

func reasonCounts(keys, values int) string {
	return fmt.Sprintf("a map has %d keys and %d values", keys, values)
}

func reasonNullElement(word uint64) string { return fmt.Sprintf("a null element holds %#x", word) }

// partsColumn holds values that Arrow keeps as a struct of fixed parts. The
// parts are null where the whole is.
type partsColumn struct {
	*node
	valid validity
}

// finishParts makes the struct of its parts; each part is a list of buffers that
// follow the validity bitmap. It releases them all.
func (c *partsColumn) finishParts(parts ...[]*memory.Buffer) *array.Data {
	valid := c.valid.take()
	children := make([]arrow.ArrayData, len(parts))
	for i, bufs := range parts {
		children[i] = array.NewData(c.dtype.(*arrow.StructType).Field(i).Type, c.valid.n,
			append([]*memory.Buffer{valid}, bufs...), nil, c.valid.nulls, 0)
		release(bufs...)
	}
	out := array.NewData(c.dtype, c.valid.n, []*memory.Buffer{valid}, children, c.valid.nulls, 0)
	for _, child := range children {
		child.Release()
	}
	release(valid)
	return out
}

type intervalColumn struct {
	partsColumn
	months, days, micros buffer
}

func newIntervalColumn(n *node) *intervalColumn {
	return &intervalColumn{partsColumn: partsColumn{node: n}}
}

func (c *intervalColumn) begin(n, _ int) {
	c.valid.begin(c.mem, n)
	c.months.begin(c.mem, 4*n)
	c.days.begin(c.mem, 4*n)
	c.micros.begin(c.mem, 8*n)
}

func (c *intervalColumn) add(in cells) error {
	from := c.valid.n
	c.valid.add(in)
	months := asUint32(c.months.more(4 * len(in.at)))
	days := asUint32(c.days.more(4 * len(in.at)))
	micros := asUint64(c.micros.more(8 * len(in.at)))
	for i, p := range in.at {
		if p < 0 {
			months[i], days[i], micros[i] = 0, 0, 0
			continue
		}
		b := in.base[i][p:in.end[i]]
		if reason := checkInterval(b); reason != "" {
			return c.errorAt(from+i, int(p), reason)
		}
		months[i], days[i], micros[i] = le.Uint32(b), le.Uint32(b[4:]), le.Uint64(b[8:])
	}
	return nil
}

func (c *intervalColumn) finish() *array.Data {
	return c.finishParts([]*memory.Buffer{c.months.take()}, []*memory.Buffer{c.days.take()}, []*memory.Buffer{c.micros.take()})
}

func (c *intervalColumn) discard() {
	c.valid.discard()
	c.months.discard()
	c.days.discard()
	c.micros.discard()
}

type nanosColumn struct {
	partsColumn
	micros, nanos buffer
}

func newNanosColumn(n *node) *nanosColumn {
	return &nanosColumn{partsColumn: partsColumn{node: n}}
}

func (c *nanosColumn) begin(n, _ int) {
	c.valid.begin(c.mem, n)
	c.micros.begin(c.mem, 8*n)
	c.nanos.begin(c.mem, 2*n)
}

func (c *nanosColumn) add(in cells) error {
	from := c.valid.n
	c.valid.add(in)
	micros := asUint64(c.micros.more(8 * len(in.at)))
	nanos := asUint16(c.nanos.more(2 * len(in.at)))
	for i, p := range in.at {
		if p < 0 {
			micros[i], nanos[i] = 0, 0
			continue
		}
		us, ns, reason := readNanos(in.base[i][p:in.end[i]])
		if reason != "" {
			return c.errorAt(from+i, int(p), reason)
		}
		micros[i], nanos[i] = us, uint16(ns)
	}
	return nil
}

func (c *nanosColumn) finish() *array.Data {
	return c.finishParts([]*memory.Buffer{c.micros.take()}, []*memory.Buffer{c.nanos.take()})
}

func (c *nanosColumn) discard() {
	c.valid.discard()
	c.micros.discard()
	c.nanos.discard()
}

type variantColumn struct {
	partsColumn
	value, metadata text
	at, end         []int32
}

func newVariantColumn(n *node) *variantColumn {
	return &variantColumn{partsColumn: partsColumn{node: n}, value: text{node: n}, metadata: text{node: n}}
}

func (c *variantColumn) begin(n, bytes int) {
	c.valid.begin(c.mem, n)
	c.value.begin(n, bytes)
	c.metadata.begin(n, bytes/8)
}

func (c *variantColumn) add(in cells) error {
	from := c.valid.n
	c.valid.add(in)
	c.at, c.end = scratch(c.at, len(in.at)), scratch(c.end, len(in.at))
	at, end := c.at, c.end
	for i, p := range in.at {
		at[i] = p
		if p < 0 {
			continue
		}
		value, _, reason := readVariant(in.base[i][p:in.end[i]])
		if reason != "" {
			return c.errorAt(from+i, int(p), reason)
		}
		at[i] += 4
		end[i] = at[i] + int32(len(value))
	}
	if err := c.value.add(in.base, at, end); err != nil {
		return err
	}
	for i, p := range at {
		if p >= 0 {
			at[i] = end[i]
		}
	}
	return c.metadata.add(in.base, at, in.end)
}

func (c *variantColumn) finish() *array.Data {
	vo, vd := c.value.take()
	mo, md := c.metadata.take()
	return c.finishParts([]*memory.Buffer{vo, vd}, []*memory.Buffer{mo, md})
}

func (c *variantColumn) discard() {
	c.valid.discard()
	c.value.discard()
	c.metadata.discard()
}

type geoColumn struct {
	partsColumn
	srid buffer
	wkb  text
	at   []int32
}

func newGeoColumn(n *node) *geoColumn {
	return &geoColumn{partsColumn: partsColumn{node: n}, wkb: text{node: n}}
}

func (c *geoColumn) begin(n, bytes int) {
	c.valid.begin(c.mem, n)
	c.srid.begin(c.mem, 4*n)
	c.wkb.begin(n, bytes)
}

func (c *geoColumn) add(in cells) error {
	from := c.valid.n
	c.valid.add(in)
	srid := asUint32(c.srid.more(4 * len(in.at)))
	c.at = scratch(c.at, len(in.at))
	at := c.at
	for i, p := range in.at {
		at[i], srid[i] = p, 0
		if p < 0 {
			continue
		}
		b := in.base[i][p:in.end[i]]
		if reason := checkGeo(b); reason != "" {
			return c.errorAt(from+i, int(p), reason)
		}
		at[i], srid[i] = p+4, le.Uint32(b)
	}
	return c.wkb.add(in.base, at, in.end)
}

func (c *geoColumn) finish() *array.Data {
	o, d := c.wkb.take()
	return c.finishParts([]*memory.Buffer{c.srid.take()}, []*memory.Buffer{o, d})
}

func (c *geoColumn) discard() {
	c.valid.discard()
	c.srid.discard()
	c.wkb.discard()
}

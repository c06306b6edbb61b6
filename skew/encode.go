package skew

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// The form in which parts travel. Numbers are varints, weights and sums the 8
// bytes of a float64, little-endian; text and keys have their length in front.
//
//	version 1, origin
//	partitions walked: their number, and for each its index and what was found
//	heavy hitters: keys, and of each column
//	sizes of keys, sizes of rows, spill
//	values: for each number of partitions tried those that are not 0
//
// It is for two programs of the same version of this library: what a later one
// needs is not what an earlier one has gathered.
const partVersion = 1

// Bounds on what is believed of bytes that somebody sent.
const (
	maxPartPartitions = 1 << 17 // as of a checkpoint
	maxPartValues     = 1 << 22 // over all numbers of partitions tried
)

// MarshalBinary implements [encoding.BinaryMarshaler]. Numbers of partitions to
// try that are more than 4,194,304 together are ErrPart.
func (p *Part) MarshalBinary() ([]byte, error) { return p.AppendBinary(nil) }

// AppendBinary implements [encoding.BinaryAppender].
func (p *Part) AppendBinary(b []byte) ([]byte, error) {
	e := encoder{append(b, partVersion)}
	if p.of == nil {
		e.bool(false)
		return e.b, nil
	}
	e.bool(true)
	o := p.of
	e.uint(uint64(o.operator))
	e.bytes([]byte(o.store))
	e.int(o.batch)
	e.bytes([]byte(o.measure))
	e.int(int64(o.exact))
	e.uint(uint64(len(o.counts)))
	values := 0
	for _, n := range o.counts {
		e.uint(uint64(n))
		if values += n; values > maxPartValues {
			return nil, fmt.Errorf("%w: what if %v: too many partitions to try", ErrPart, o.counts)
		}
	}
	e.uint(uint64(o.columns))
	e.uint(uint64(o.subsets))
	e.uint(uint64(o.n))
	e.parts(p.parts)
	e.heavy(p.keys)
	for _, c := range p.cols {
		e.heavy(c)
	}
	e.keySizes(&p.sizes)
	e.keySizes(&p.sized)
	e.bool(p.spill)
	for _, values := range p.values {
		e.sparse(values)
	}
	return e.b, nil
}

// UnmarshalBinary implements [encoding.BinaryUnmarshaler]. Bytes that are no part
// are ErrPart.
func (p *Part) UnmarshalBinary(b []byte) error {
	*p = Part{}
	d := decoder{b: b}
	if v := d.byte(); d.err == nil && v != partVersion {
		return fmt.Errorf("%w: version %d", ErrPart, v)
	}
	if !d.bool() {
		return d.end()
	}
	o := &origin{operator: int(d.uint(math.MaxInt32)), store: string(d.bytes()), batch: d.int(), measure: string(d.bytes()), exact: int(d.int())}
	values := 0
	for range d.length(1) {
		n := int(d.uint(maxPartValues))
		o.counts = append(o.counts, n)
		if values += n; values > maxPartValues {
			return fmt.Errorf("%w: too many values", ErrPart)
		}
	}
	o.columns = d.length(1)
	o.subsets = int(d.uint(1 << 16))
	o.n = int(d.uint(maxPartPartitions))
	if d.err != nil {
		return d.err
	}
	out := Part{of: o}
	out.parts = d.parts(o)
	out.keys = d.heavy(o.n)
	for range o.columns {
		out.cols = append(out.cols, d.heavy(1))
	}
	d.keySizes(&out.sizes)
	d.keySizes(&out.sized)
	out.spill = d.bool()
	for _, n := range o.counts {
		if d.err != nil {
			break
		}
		out.values = append(out.values, d.sparse(n))
	}
	if err := d.end(); err != nil {
		return err
	}
	*p = out
	return nil
}

func (e *encoder) parts(parts []partial) {
	walked := 0
	for _, p := range parts {
		if p.walked {
			walked++
		}
	}
	e.uint(uint64(walked))
	for i, p := range parts {
		if !p.walked {
			continue
		}
		e.uint(uint64(i))
		e.floats(p.rows, p.bytes, p.value, p.nullKey)
		e.ints(p.distinct, p.counted, p.checked, p.misplaced, p.sampled)
		e.bool(p.lossy)
		e.floats(p.nulls...)
		e.ints(p.fits...)
		e.uint(uint64(len(p.missing)))
		e.ints(p.missing...)
		e.uint(uint64(len(p.examples)))
		for _, x := range p.examples {
			e.bytes(x.Row)
			e.uint(uint64(x.Belongs))
		}
	}
}

func (d *decoder) parts(o *origin) []partial {
	parts := make([]partial, o.n)
	for range d.length(1) {
		i := int(d.uint(uint64(max(o.n, 1) - 1)))
		if d.err == nil && (i >= len(parts) || parts[i].walked) {
			d.fail("partition %d", i)
		}
		if d.err != nil {
			return nil
		}
		p := &parts[i]
		p.walked = true
		p.rows, p.bytes, p.value, p.nullKey = d.float(), d.float(), d.float(), d.float()
		p.distinct, p.counted, p.checked, p.misplaced, p.sampled = d.int(), d.int(), d.int(), d.int(), d.int()
		p.lossy = d.bool()
		for range o.columns {
			p.nulls = append(p.nulls, d.float())
		}
		for k := 0; k < o.subsets && d.err == nil; k++ {
			p.fits = append(p.fits, d.int())
		}
		for range d.length(1) {
			p.missing = append(p.missing, d.int())
		}
		for range d.length(2) {
			p.examples = append(p.examples, MisplacedKey{Row: slices.Clone(d.bytes()), Partition: i, Belongs: int(d.uint(maxPartPartitions))})
		}
	}
	return parts
}

func (e *encoder) heavy(h *HeavyHitters) {
	h.settle()
	e.ints(int64(h.exact), int64(h.counters), int64(h.limit), h.most)
	e.bool(h.lossy)
	e.floats(h.lowered, h.total)
	e.uint(uint64(h.table.len()))
	h.each(func(key []byte, weight float64, tag int) {
		e.bytes(key)
		e.floats(weight)
		e.uint(uint64(tag))
	})
}

// heavy reads heavy hitters, the tags of which are below a number.
func (d *decoder) heavy(tags int) *HeavyHitters {
	exact, counters, limit, most := d.int(), d.int(), d.int(), d.int()
	lossy := d.bool()
	lowered, total := d.float(), d.float()
	n := d.length(10) // of a key its length, 8 bytes of weight and a tag
	if d.err == nil && (exact < 1 || counters < 1 || counters > maxPartValues || limit != exact && limit != counters || int64(n) > limit) {
		d.fail("%d keys, of which %d are counted exactly and %d kept", n, exact, counters)
	}
	h := NewHeavyHitters(int(exact), int(counters))
	h.limit = int(limit)
	for range n {
		key, weight, tag := d.bytes(), d.float(), int(d.uint(uint64(max(tags, 1)-1)))
		if d.err != nil {
			return h
		}
		h.add(key, weight, tag)
	}
	h.settle()
	h.lossy, h.lowered, h.total, h.most = lossy, lowered, total, most
	return h
}

func (e *encoder) keySizes(k *KeySizes) {
	e.bool(k.unknown)
	e.floats(k.min, k.max)
	e.sums(&k.rest)
	e.sums(&k.all)
	e.uint(uint64(len(k.largest)))
	e.floats(k.largest...)
}

func (d *decoder) keySizes(k *KeySizes) {
	k.unknown = d.bool()
	k.min, k.max = d.float(), d.float()
	d.sums(&k.rest)
	d.sums(&k.all)
	n := d.length(8)
	if n > maxLargest {
		d.fail("%d sizes", n)
		return
	}
	for range n {
		k.largest = append(k.largest, d.float())
	}
	if n == maxLargest {
		slices.Sort(k.largest) // as a heap, which it is if it was one
	}
}

func (e *encoder) sums(s *sizes) {
	e.int(s.count)
	e.floats(s.total.high, s.total.low, s.squares.high, s.squares.low)
}

func (d *decoder) sums(s *sizes) {
	s.count = d.int()
	s.total = sum{d.float(), d.float()}
	s.squares = sum{d.float(), d.float()}
}

// sparse writes the values that are not 0: a partition's keys are in few
// partitions of any other number.
func (e *encoder) sparse(values []float64) {
	n := 0
	for _, v := range values {
		if v != 0 {
			n++
		}
	}
	e.uint(uint64(n))
	for i, v := range values {
		if v != 0 {
			e.uint(uint64(i))
			e.floats(v)
		}
	}
}

func (d *decoder) sparse(n int) []float64 {
	values := make([]float64, n)
	for range d.length(9) {
		i, v := int(d.uint(uint64(max(n, 1)-1))), d.float()
		if d.err != nil || i >= n {
			d.fail("value %d of %d", i, n)
			break
		}
		values[i] = v
	}
	return values
}

// encoder appends to bytes.
type encoder struct{ b []byte }

func (e *encoder) uint(v uint64) { e.b = binary.AppendUvarint(e.b, v) }
func (e *encoder) int(v int64)   { e.b = binary.AppendVarint(e.b, v) }

func (e *encoder) ints(vs ...int64) {
	for _, v := range vs {
		e.int(v)
	}
}

func (e *encoder) floats(vs ...float64) {
	for _, v := range vs {
		e.b = binary.LittleEndian.AppendUint64(e.b, math.Float64bits(v))
	}
}

func (e *encoder) bytes(v []byte) {
	e.uint(uint64(len(v)))
	e.b = append(e.b, v...)
}

func (e *encoder) bool(v bool) {
	b := byte(0)
	if v {
		b = 1
	}
	e.b = append(e.b, b)
}

// decoder reads from bytes. After the first error everything is 0.
type decoder struct {
	b   []byte
	err error
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: %s", ErrPart, fmt.Sprintf(format, args...))
	}
	d.b = nil
}

// end returns the error, and that there is more where there should not be.
func (d *decoder) end() error {
	if d.err == nil && len(d.b) > 0 {
		d.fail("%d bytes too many", len(d.b))
	}
	return d.err
}

func (d *decoder) byte() byte {
	if len(d.b) == 0 {
		d.fail("it ends too soon")
		return 0
	}
	v := d.b[0]
	d.b = d.b[1:]
	return v
}

func (d *decoder) bool() bool { return d.byte() != 0 }

func (d *decoder) uint(limit uint64) uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 || v > limit {
		d.fail("a number is cut off or above %d", limit)
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) int() int64 {
	v, n := binary.Varint(d.b)
	if n <= 0 {
		d.fail("a number is cut off")
		return 0
	}
	d.b = d.b[n:]
	return v
}

// length reads the number of things to come, each of which takes at least so
// many bytes.
func (d *decoder) length(size int) int {
	n := d.uint(math.MaxInt64)
	if n > uint64(len(d.b)/size) {
		d.fail("it ends too soon")
		return 0
	}
	return int(n)
}

func (d *decoder) float() float64 {
	if len(d.b) < 8 {
		d.fail("it ends too soon")
		return 0
	}
	v := math.Float64frombits(binary.LittleEndian.Uint64(d.b))
	d.b = d.b[8:]
	return v
}

// bytes returns bytes that are part of what is decoded.
func (d *decoder) bytes() []byte {
	n := d.length(1)
	v := d.b[:n:n]
	d.b = d.b[n:]
	return v
}

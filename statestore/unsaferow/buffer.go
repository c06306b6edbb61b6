package unsaferow

import (
	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/bitutil"
	"github.com/apache/arrow/go/v17/arrow/memory"
)

// buffer is an Arrow buffer that grows.
type buffer struct {
	buf  *memory.Buffer
	size int
}

func (b *buffer) begin(mem memory.Allocator, capacity int) {
	b.buf, b.size = memory.NewResizableBuffer(mem), 0
	b.buf.Reserve(capacity)
}

// more makes room for n bytes more and returns them. What they hold is not
// known.
func (b *buffer) more(n int) []byte {
	need := b.size + n
	if need > b.buf.Cap() {
		b.buf.Reserve(max(need, 2*b.buf.Cap()))
	}
	b.buf.ResizeNoShrink(need)
	out := b.buf.Bytes()[b.size:need]
	b.size = need
	return out
}

// take returns the buffer, which the caller releases.
func (b *buffer) take() *memory.Buffer {
	out := b.buf
	out.Resize(b.size)
	b.buf = nil
	return out
}

func (b *buffer) discard() {
	if b.buf != nil {
		b.buf.Release()
		b.buf = nil
	}
}

// validity gathers which values are not null. Its bitmap is made when the first
// null comes, and there is none without.
type validity struct {
	mem      memory.Allocator
	bits     buffer
	capacity int
	n, nulls int
}

func (v *validity) begin(mem memory.Allocator, capacity int) {
	v.mem, v.capacity, v.n, v.nulls = mem, capacity, 0, 0
}

// add takes in which of the values are null.
func (v *validity) add(in cells) {
	at, nulls := in.at, 0
	if !in.dense {
		for _, p := range at {
			nulls += int(uint32(p) >> 31)
		}
	}
	v.nulls += nulls
	from := v.n
	v.n += len(at)
	if v.bits.buf == nil {
		if nulls == 0 {
			return
		}
		v.bits.begin(v.mem, int(bitutil.BytesForBits(int64(max(v.capacity, v.n)))))
		before := v.bits.more(int(bitutil.BytesForBits(int64(from))))
		clear(before)
		bitutil.SetBitsTo(before, 0, int64(from), true)
	}
	// The bits behind the last one are part of the buffer too, and are to be the
	// same every time.
	clear(v.bits.more(int(bitutil.BytesForBits(int64(v.n))) - v.bits.size))
	bits := v.bits.buf.Bytes()
	if nulls == 0 {
		bitutil.SetBitsTo(bits, int64(from), int64(len(at)), true)
		return
	}
	for i, p := range at {
		bitutil.SetBitTo(bits, from+i, p >= 0)
	}
}

// take returns the bitmap, which the caller releases, or nil.
func (v *validity) take() *memory.Buffer {
	if v.bits.buf == nil {
		return nil
	}
	return v.bits.take()
}

func (v *validity) discard() { v.bits.discard() }

func release(bufs ...*memory.Buffer) {
	for _, b := range bufs {
		if b != nil {
			b.Release()
		}
	}
}

func asInt32(b []byte) []int32   { return arrow.Int32Traits.CastFromBytes(b) }
func asUint16(b []byte) []uint16 { return arrow.Uint16Traits.CastFromBytes(b) }
func asUint32(b []byte) []uint32 { return arrow.Uint32Traits.CastFromBytes(b) }
func asUint64(b []byte) []uint64 { return arrow.Uint64Traits.CastFromBytes(b) }

// scratch returns a slice of n elements, the given one if it is large enough.
// What they hold is not known.
func scratch[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

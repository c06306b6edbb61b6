package unsaferow

import (
	"math"
	"unicode/utf8"

	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
)

// maxText is how many bytes 32-bit offsets can reach.
const maxText = math.MaxInt32

// text gathers the offsets and the bytes of strings or binaries.
type text struct {
	*node
	utf8    bool
	offsets buffer
	data    buffer
	// perValue is the average size in the batch before: the best guess for the
	// next.
	perValue float64
}

func (t *text) begin(n, bytes int) {
	if t.perValue > 0 {
		bytes = int(t.perValue * float64(n) * 9 / 8)
	}
	t.offsets.begin(t.mem, (n+1)*4)
	asInt32(t.offsets.more(4))[0] = 0
	t.data.begin(t.mem, min(bytes, maxText))
}

// add appends bytes at[i] to end[i] of base[i], or nothing where at[i] is
// negative. It does not look at the bytes before or behind.
func (t *text) add(base [][]byte, at, end []int32) error {
	n, size := len(at), 0
	base, end = base[:n], end[:n]
	for i, p := range at {
		if p >= 0 {
			size += int(end[i] - p)
		}
	}
	start := t.data.size
	if start+size > t.run.maxText {
		return ErrBatchTooLarge
	}
	data := t.data.more(size + wordSlack)
	t.data.size -= wordSlack
	offsets := asInt32(t.offsets.more(4 * n))[:n]
	o, split := 0, false
	for i, p := range at {
		if p >= 0 {
			from := base[i][p:end[i]]
			if len(from) > 0 {
				// A string that starts in the middle of a character.
				split = split || from[0]&0xc0 == 0x80
				copyText(data[o:], base[i][p:], len(from))
				o += len(from)
			}
		}
		offsets[i] = int32(start + o)
	}
	// If all the text together is valid and no string starts in the middle of
	// a character, then each string is valid.
	if t.utf8 && (split || !utf8.Valid(data[:size])) {
		return t.repair(base, at, end, offsets, start)
	}
	return nil
}

// wordSlack is how far behind a text copyText may write.
const wordSlack = 7

// copyText copies the text of n bytes at the start of src to that of dst, which
// has room for wordSlack bytes more. Texts are short mostly, and begin with a
// word of their row and are filled up to the next: whole words are copied then,
// which is faster than to ask how many bytes there are.
func copyText(dst, src []byte, n int) {
	words := roundUp8(n)
	if words > 32 || words > len(src) || words > len(dst) {
		copy(dst, src[:n])
		return
	}
	src, dst = src[:words], dst[:words]
	for len(src) >= 8 && len(dst) >= 8 {
		le.PutUint64(dst, le.Uint64(src))
		src, dst = src[8:], dst[8:]
	}
}

// repair appends the strings of a chunk again, one by one, replacing what is
// not UTF-8.
func (t *text) repair(base [][]byte, at, end []int32, offsets []int32, start int) error {
	t.data.size = start
	var fixed []byte
	for i, p := range at {
		if p >= 0 {
			var ok bool
			if fixed, ok = appendText(fixed[:0], base[i][p:end[i]]); !ok {
				t.run.stats.InvalidUTF8++
			}
			// Three bytes can come from one.
			if t.data.size+len(fixed) > t.run.maxText {
				return ErrBatchTooLarge
			}
			copy(t.data.more(len(fixed)), fixed)
		}
		offsets[i] = int32(t.data.size)
	}
	return nil
}

// take returns offsets and bytes, which the caller releases.
func (t *text) take() (offsets, data *memory.Buffer) {
	if n := t.offsets.size/4 - 1; n > 0 {
		t.perValue = float64(t.data.size) / float64(n)
	}
	return t.offsets.take(), t.data.take()
}

func (t *text) discard() {
	t.offsets.discard()
	t.data.discard()
}

// textColumn holds strings or binaries.
type textColumn struct {
	*node
	valid validity
	text  text
}

func (c *textColumn) begin(n, bytes int) {
	c.valid.begin(c.mem, n)
	c.text.begin(n, bytes)
}

func (c *textColumn) add(in cells) error {
	c.valid.add(in)
	return c.text.add(in.base, in.at, in.end)
}

func (c *textColumn) finish() *array.Data {
	offsets, data := c.text.take()
	bufs := []*memory.Buffer{c.valid.take(), offsets, data}
	defer release(bufs...)
	return array.NewData(c.dtype, c.valid.n, bufs, nil, c.valid.nulls, 0)
}

func (c *textColumn) discard() {
	c.valid.discard()
	c.text.discard()
}

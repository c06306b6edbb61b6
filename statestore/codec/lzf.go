package codec

import (
	"encoding/binary"
	"io"

	"github.com/sparkstate/sparkstate/statestore/provider"
)

// The chunk stream of ning/compress-lzf; the package comment has a picture of
// it.
const (
	lzfMagic = "ZV"

	lzfTypePlain  = 0
	lzfTypePacked = 1

	// Header lengths of the two types.
	lzfPlainHeader  = 5
	lzfPackedHeader = 7

	// lzfMaxChunk is what a chunk's 16-bit lengths can say, which is also how
	// far writers fill one: 65,535 bytes, not 65,536.
	lzfMaxChunk = 1<<16 - 1

	// Limits of a back reference: three bits of length count from 3, 7 means
	// that a byte more is added; 13 bits of distance count from 1.
	lzfMinMatch = 3
	lzfMaxMatch = 7 + 255 + 2
	lzfMaxDist  = 1 << 13
	lzfMaxRun   = 1 << 5

	// Writers leave a chunk plain that is shorter than lzfMinPack or would
	// shrink by less than lzfMinGain.
	lzfMinPack = 16
	lzfMinGain = 3

	// lzfSlack is how far past the end of a chunk the decoder may write, so
	// that short copies are done in one piece.
	lzfSlack = 32
)

var lzfFormat = format{
	name:  "lzf",
	class: "org.apache.spark.io.LZFCompressionCodec",
	magic: lzfMagic,
	sniff: func(head []byte, _ int64) bool {
		return len(head) > len(lzfMagic) && string(head[:len(lzfMagic)]) == lzfMagic && head[len(lzfMagic)] <= lzfTypePacked
	},
	newDecoder: func(src *source, _ config) decoder { return &lzfDecoder{src: src} },
	blocks:     sizes{1, lzfMaxChunk, lzfMaxChunk},
	newEncoder: func(int) (encoder, error) { return &lzfEncoder{}, nil },
}

// lzfDecoder decodes LZF chunk streams.
type lzfDecoder struct {
	src *source
	out []byte
}

func (d *lzfDecoder) reset() {}
func (d *lzfDecoder) close() {}

func (d *lzfDecoder) next() ([]byte, error) {
	src := d.src
	src.begin()
	h, err := src.peek(lzfPackedHeader)
	if err != nil {
		return nil, err
	}
	if len(h) == 0 {
		return nil, io.EOF
	}
	if m := min(len(h), len(lzfMagic)); string(h[:m]) != lzfMagic[:m] {
		return nil, src.fail(provider.ErrCorrupt, "lzf: no chunk starts with %s", hexBytes(h))
	}
	if len(h) < lzfPlainHeader {
		return nil, src.fail(provider.ErrTruncated, "lzf: %d bytes of a chunk header", len(h))
	}
	var stored, plain, header int
	switch typ := h[2]; typ {
	case lzfTypePlain:
		header = lzfPlainHeader
		stored = int(binary.BigEndian.Uint16(h[3:]))
		plain = stored
	case lzfTypePacked:
		if len(h) < lzfPackedHeader {
			return nil, src.fail(provider.ErrTruncated, "lzf: %d of the %d bytes of a chunk header", len(h), lzfPackedHeader)
		}
		header = lzfPackedHeader
		stored = int(binary.BigEndian.Uint16(h[3:]))
		plain = int(binary.BigEndian.Uint16(h[5:]))
	default:
		return nil, src.fail(provider.ErrCorrupt, "lzf: chunk of type %d", typ)
	}
	if stored == 0 || plain == 0 {
		// Java's reader takes such a chunk for the end; no writer makes one.
		return nil, src.refuse(provider.ErrCorrupt, "lzf: chunk of %d stored bytes for %d", stored, plain)
	}
	p, err := src.peek(header + stored)
	if err != nil {
		return nil, err
	}
	if len(p) < header+stored {
		return nil, src.fail(provider.ErrTruncated, "lzf: %d of the %d bytes of a chunk", len(p)-header, stored)
	}
	src.advance(len(p))
	p = p[header:]
	if h[2] == lzfTypePlain {
		return p, nil
	}
	d.out = grow(d.out, lzfMaxChunk+lzfSlack)
	if !lzfDecode(d.out[:plain+lzfSlack], p) {
		return nil, src.fail(provider.ErrCorrupt, "lzf: chunk does not decode to its %d bytes", plain)
	}
	return d.out[:plain], nil
}

// lzfDecode decodes src into dst without its last lzfSlack bytes, which it may
// overwrite with anything. It reports whether all of src gave exactly that many
// bytes.
//
// A control byte below 32 announces that many literals plus one. A larger one
// starts a back reference: length in its upper three bits, with one more byte
// if they are all set, distance in the lower five and the byte that follows.
func lzfDecode(dst, src []byte) bool {
	want := len(dst) - lzfSlack
	n := 0 // bytes out
	for i := 0; i < len(src); {
		ctrl := int(src[i])
		i++
		if ctrl < lzfMaxRun {
			run := ctrl + 1
			if run > len(src)-i || run > want-n {
				return false
			}
			if len(src)-i >= lzfMaxRun {
				// As many as there can be: a copy of fixed size is two moves.
				*(*[lzfMaxRun]byte)(dst[n:]) = *(*[lzfMaxRun]byte)(src[i:])
			} else {
				copy(dst[n:], src[i:i+run])
			}
			i += run
			n += run
			continue
		}
		length := ctrl >> 5
		if length == 7 {
			if i == len(src) {
				return false
			}
			length += int(src[i])
			i++
		}
		length += lzfMinMatch - 1
		if i == len(src) {
			return false
		}
		dist := (ctrl&31)<<8 | int(src[i]) + 1
		i++
		if dist > n || length > want-n {
			return false
		}
		from := n - dist
		switch {
		case dist >= 16:
			// No 16 bytes overlap with their source, whatever the length.
			for k := 0; k < length; k += 16 {
				*(*[16]byte)(dst[n+k:]) = *(*[16]byte)(dst[from+k:])
			}
		case dist >= 8:
			for k := 0; k < length; k += 8 {
				*(*[8]byte)(dst[n+k:]) = *(*[8]byte)(dst[from+k:])
			}
		default:
			// A short period: every copy doubles what there is of it.
			for k := 0; k < length; {
				k += copy(dst[n+k:n+length], dst[from:n+k])
			}
		}
		n += length
	}
	return n == want
}

// lzfEncoder writes LZF chunk streams.
type lzfEncoder struct {
	w   io.Writer
	buf []byte
	// table maps hashes of three bytes to where they stood last, plus one.
	table [1 << lzfHashBits]uint16
}

const lzfHashBits = 13

func (e *lzfEncoder) start(w io.Writer) error {
	e.w = w
	return nil
}

func (e *lzfEncoder) block(p []byte) error {
	b := append(e.buf[:0], lzfMagic...)
	b = append(b, lzfTypePacked, 0, 0, 0, 0)
	packed := false
	if len(p) >= lzfMinPack {
		b, packed = e.pack(b, p)
	}
	if packed {
		binary.BigEndian.PutUint16(b[3:], uint16(len(b)-lzfPackedHeader))
		binary.BigEndian.PutUint16(b[5:], uint16(len(p)))
	} else {
		b[2] = lzfTypePlain
		binary.BigEndian.PutUint16(b[3:], uint16(len(p)))
		b = append(b[:lzfPlainHeader], p...)
	}
	e.buf = b
	_, err := e.w.Write(b)
	return err
}

// pack appends p, compressed, to b. It gives up where nothing is gained.
func (e *lzfEncoder) pack(b, p []byte) ([]byte, bool) {
	limit := len(b) + len(p) - lzfMinGain
	clear(e.table[:])
	literals := 0 // start of those not written yet
	for i := 0; i+lzfMinMatch <= len(p); {
		key := uint32(p[i])<<16 | uint32(p[i+1])<<8 | uint32(p[i+2])
		slot := &e.table[key*2654435761>>(32-lzfHashBits)]
		at := int(*slot) - 1
		*slot = uint16(i + 1)
		if at < 0 || i-at > lzfMaxDist || string(p[at:at+lzfMinMatch]) != string(p[i:i+lzfMinMatch]) {
			i++
			continue
		}
		length := lzfMinMatch
		for most := min(len(p)-i, lzfMaxMatch); length < most && p[at+length] == p[i+length]; {
			length++
		}
		b = appendLZFLiterals(b, p[literals:i])
		dist := i - at - 1
		if l := length - 2; l < 7 {
			b = append(b, byte(l<<5|dist>>8), byte(dist))
		} else {
			b = append(b, byte(7<<5|dist>>8), byte(l-7), byte(dist))
		}
		if len(b) > limit {
			return b, false
		}
		i += length
		literals = i
	}
	b = appendLZFLiterals(b, p[literals:])
	return b, len(b) <= limit
}

func appendLZFLiterals(b, p []byte) []byte {
	for len(p) > 0 {
		n := min(len(p), lzfMaxRun)
		b = append(b, byte(n-1))
		b = append(b, p[:n]...)
		p = p[n:]
	}
	return b
}

func (e *lzfEncoder) finish() error { return nil }

package codec

import (
	"encoding/binary"
	"io"
)

// maxPlainKey is the longest first key that a plain record stream is believed
// to have. It keeps text files and the magics of other formats, which read as
// lengths of hundreds of millions, from passing for one.
const maxPlainKey = 16 << 20

// minPlainRecord is the length of the shortest stream that starts with a
// record: two lengths, no key, no value, end mark.
const minPlainRecord = 12

var noneFormat = format{
	name:       "none",
	magic:      "\xff\xff\xff\xff",
	sniff:      sniffPlain,
	newDecoder: func(src *source, _ config) decoder { return &noneDecoder{src} },
	newEncoder: func(int) (encoder, error) { return &noneEncoder{}, nil },
}

// sniffPlain recognises the record stream itself. It starts with the end mark
// or with the length of the first key, and keys are rows: their lengths are
// multiples of 8, or 4 more with a row checksum in front.
func sniffPlain(head []byte, size int64) bool {
	if len(head) < 4 {
		return false
	}
	n := int32(binary.BigEndian.Uint32(head))
	if n == -1 {
		return true
	}
	if len(head) < minPlainRecord || !plainLength(n, size) {
		return false
	}
	if n == 0 {
		// A key without columns. A value of no bytes as well would be legal,
		// but nothing writes it, while damaged disks are full of zeros.
		v := int32(binary.BigEndian.Uint32(head[4:]))
		return v == -1 || v != 0 && plainLength(v, size)
	}
	return true
}

func plainLength(n int32, size int64) bool {
	return n >= 0 && n%4 == 0 && n <= maxPlainKey && (size < 0 || int64(n) <= size-minPlainRecord)
}

// noneDecoder hands out the file as it is read.
type noneDecoder struct{ src *source }

func (d *noneDecoder) next() ([]byte, error) {
	d.src.begin()
	p, err := d.src.peek(1)
	if err != nil {
		return nil, err
	}
	if len(p) == 0 {
		return nil, io.EOF
	}
	p = d.src.buf[d.src.pos:d.src.end]
	d.src.advance(len(p))
	return p, nil
}

func (d *noneDecoder) reset() {}
func (d *noneDecoder) close() {}

// noneEncoder writes what it is given.
type noneEncoder struct{ w io.Writer }

func (e *noneEncoder) start(w io.Writer) error {
	e.w = w
	return nil
}

func (e *noneEncoder) block(p []byte) error {
	_, err := e.w.Write(p)
	return err
}

func (e *noneEncoder) finish() error { return nil }

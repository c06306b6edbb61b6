package codec

import (
	"encoding/binary"
	"io"

	"github.com/golang/snappy"

	"github.com/sparkstate/sparkstate/statestore/provider"
)

// The stream of snappy-java's SnappyOutputStream; the package comment has a
// picture of it.
const (
	xerialMagic   = "\x82SNAPPY\x00"
	xerialHeader  = 16
	xerialVersion = 1

	xerialMinBlockSize = 1 << 10

	// A copy element of three bytes yields up to 64, nothing yields more.
	snappyMaxRatio = 22
)

// xerialMagicLength is what the magic's first four bytes are as a chunk length.
// It is negative, so that no chunk has it.
var xerialMagicLength = int32(binary.BigEndian.Uint32([]byte(xerialMagic)))

var xerialFormat = format{
	name:       "snappy",
	class:      "org.apache.spark.io.SnappyCompressionCodec",
	magic:      xerialMagic,
	sniff:      startsWith(xerialMagic),
	newDecoder: func(src *source, cfg config) decoder { return &xerialDecoder{src: src, maxBlock: cfg.maxBlock} },
	blocks:     sizes{xerialMinBlockSize, defaultBlockSize, DefaultMaxBlock},
	newEncoder: func(int) (encoder, error) { return &xerialEncoder{}, nil },
}

// xerialDecoder decodes xerial Snappy streams.
type xerialDecoder struct {
	src      *source
	maxBlock int
	out      []byte
}

func (d *xerialDecoder) reset() {}
func (d *xerialDecoder) close() {}

func (d *xerialDecoder) next() ([]byte, error) {
	for {
		d.src.begin()
		h, err := d.src.peek(4)
		switch {
		case err != nil:
			return nil, err
		case len(h) == 0:
			return nil, io.EOF
		case len(h) < 4:
			// Java's reader takes these for the end.
			return nil, d.src.trailing(h, false)
		}
		stored := int32(binary.BigEndian.Uint32(h))
		if stored == xerialMagicLength {
			// The header at the start, or that of a stream which was appended.
			if err := d.header(); err != nil {
				return nil, err
			}
			continue
		}
		p, err := d.chunk(stored)
		if err != nil {
			return nil, err
		}
		if len(p) > 0 {
			return p, nil
		}
	}
}

// header consumes the 16 bytes in front of a stream.
func (d *xerialDecoder) header() error {
	h, err := d.src.peek(xerialHeader)
	if err != nil {
		return err
	}
	if m := min(len(h), len(xerialMagic)); string(h[:m]) != xerialMagic[:m] {
		return d.src.fail(provider.ErrCorrupt, "snappy: no header or chunk starts with %s", hexBytes(h[:m]))
	}
	if len(h) < xerialHeader {
		return d.src.fail(provider.ErrTruncated, "snappy: %d of the %d bytes of the header", len(h), xerialHeader)
	}
	version, compatible := binary.BigEndian.Uint32(h[8:]), binary.BigEndian.Uint32(h[12:])
	if version != xerialVersion || compatible != xerialVersion {
		return d.src.refuse(provider.ErrUnsupported, "snappy: stream version %d, compatible with %d; only 1 is known", version, compatible)
	}
	d.src.advance(xerialHeader)
	return nil
}

// chunk consumes a chunk of stored bytes and returns what it decodes to.
func (d *xerialDecoder) chunk(stored int32) ([]byte, error) {
	src := d.src
	if stored <= 0 {
		return nil, src.fail(provider.ErrCorrupt, "snappy: chunk length %d", stored)
	}
	if most := snappy.MaxEncodedLen(d.maxBlock); int(stored) > most {
		return nil, src.refuse(provider.ErrTooLarge, "snappy: chunk of %d bytes, over the limit of %d", stored, most)
	}
	p, err := src.peek(4 + int(stored))
	if err != nil {
		return nil, err
	}
	if len(p) < 4+int(stored) {
		return nil, src.fail(provider.ErrTruncated, "snappy: %d of the %d bytes of a chunk", len(p)-4, stored)
	}
	src.advance(len(p))
	p = p[4:]
	plain, err := snappy.DecodedLen(p)
	if err != nil {
		return nil, d.bad(err)
	}
	if int64(plain) > int64(stored)*snappyMaxRatio {
		return nil, src.fail(provider.ErrCorrupt, "snappy: chunk of %d bytes cannot hold %d", stored, plain)
	}
	if plain > d.maxBlock {
		return nil, src.refuse(provider.ErrTooLarge, "snappy: %d bytes in a chunk, over the limit of %d", plain, d.maxBlock)
	}
	d.out = grow(d.out, plain)
	out, err := snappy.Decode(d.out, p)
	if err != nil {
		return nil, d.bad(err)
	}
	return out, nil
}

func (d *xerialDecoder) bad(err error) error {
	e := d.src.fail(provider.ErrCorrupt, "snappy: chunk does not decode")
	e.Err = err
	return e
}

// xerialEncoder writes xerial Snappy streams.
type xerialEncoder struct {
	w   io.Writer
	buf []byte
}

func (e *xerialEncoder) start(w io.Writer) error {
	e.w = w
	h := []byte(xerialMagic)
	h = binary.BigEndian.AppendUint32(h, xerialVersion)
	h = binary.BigEndian.AppendUint32(h, xerialVersion)
	_, err := w.Write(h)
	return err
}

func (e *xerialEncoder) block(p []byte) error {
	e.buf = grow(e.buf, 4+snappy.MaxEncodedLen(len(p)))
	n := len(snappy.Encode(e.buf[4:], p))
	binary.BigEndian.PutUint32(e.buf, uint32(n))
	_, err := e.w.Write(e.buf[:4+n])
	return err
}

func (e *xerialEncoder) finish() error { return nil }

package codec

import (
	"encoding/binary"
	"io"
	"math/bits"

	"github.com/pierrec/lz4/v4"

	"github.com/sparkstate/sparkstate/statestore/provider"
)

// The block stream of lz4-java's LZ4BlockOutputStream; the package comment
// has a picture of it.
const (
	lz4Magic  = "LZ4Block"
	lz4Header = 21

	// The method is the high nibble of the token.
	lz4MethodRaw = 1
	lz4MethodLZ4 = 2

	// The low nibble counts block sizes up from 1 KiB.
	lz4MinLog       = 10
	lz4MinBlockSize = 64
	lz4MaxBlockSize = 1 << (lz4MinLog + 15)

	// lz4Seed is the seed of the block checksums, lz4SumMask what lz4-java
	// keeps of them: its java.util.zip.Checksum view drops the top four bits.
	lz4Seed    = 0x9747B28C
	lz4SumMask = 0x0FFFFFFF

	// lz4MaxRatio is the most that LZ4 can make of a byte: a match whose
	// length is continued by bytes that count 255 each.
	lz4MaxRatio = 255
)

// lz4MagicWord is the magic as one little-endian word.
var lz4MagicWord = binary.LittleEndian.Uint64([]byte(lz4Magic))

var lz4Format = format{
	name:        "lz4",
	class:       "org.apache.spark.io.LZ4CompressionCodec",
	magic:       lz4Magic,
	sniff:       startsWith(lz4Magic),
	checksummed: true,
	newDecoder:  func(src *source, cfg config) decoder { return &lz4Decoder{src: src, maxBlock: cfg.maxBlock} },
	blocks:      sizes{lz4MinBlockSize, defaultBlockSize, lz4MaxBlockSize},
	newEncoder:  newLZ4Encoder,
}

// lz4Decoder decodes LZ4 block streams.
type lz4Decoder struct {
	src      *source
	maxBlock int
	out      []byte
	// ended is whether the block before was an end mark.
	ended bool
}

func (d *lz4Decoder) reset() { d.ended = false }
func (d *lz4Decoder) close() {}

func (d *lz4Decoder) next() ([]byte, error) {
	for {
		d.src.begin()
		h, err := d.src.peek(lz4Header)
		if err != nil {
			return nil, err
		}
		if len(h) < lz4Header || binary.LittleEndian.Uint64(h) != lz4MagicWord {
			return nil, d.noBlock(h)
		}
		token := h[8]
		var (
			stored = int32(binary.LittleEndian.Uint32(h[9:]))
			plain  = int32(binary.LittleEndian.Uint32(h[13:]))
			sum    = binary.LittleEndian.Uint32(h[17:])
		)
		if err := d.checkHeader(token, stored, plain, sum); err != nil {
			return nil, err
		}
		d.src.advance(lz4Header)
		if plain == 0 {
			d.ended = true
			continue
		}
		d.ended = false
		p, err := d.payload(token>>4, int(stored), int(plain))
		if err != nil {
			return nil, err
		}
		if got := xxh32(p, lz4Seed) & lz4SumMask; got != sum {
			return nil, d.src.fail(provider.ErrChecksum, "lz4 block: its checksum is %08x, its bytes give %08x", sum, got)
		}
		return p, nil
	}
}

// noBlock says what a place is where a block header should be and isn't: h is
// what is there, lz4Header bytes or less.
func (d *lz4Decoder) noBlock(h []byte) error {
	magic := len(h) >= len(lz4Magic) && string(h[:len(lz4Magic)]) == lz4Magic
	switch {
	case len(h) == 0 && d.ended:
		return io.EOF
	case len(h) == 0:
		// Spark takes this for the end, and fails only if the records have
		// not ended either. So with the next one.
		return d.src.refuse(provider.ErrTruncated, "lz4: no end mark")
	case magic, !d.ended && len(h) < len(lz4Magic) && lz4Magic[:len(h)] == string(h):
		return d.src.refuse(provider.ErrTruncated, "lz4: %d of the %d bytes of a block header", len(h), lz4Header)
	case d.ended:
		// Java's reader looks only at as much as a header has.
		return d.src.trailing(h, len(h) == lz4Header)
	}
	return d.src.fail(provider.ErrCorrupt, "lz4: no block starts with %s", hexBytes(h[:min(len(h), len(lz4Magic))]))
}

// checkHeader holds a block header against the rules, before a byte is
// allocated for it.
func (d *lz4Decoder) checkHeader(token byte, stored, plain int32, sum uint32) error {
	method, limit := token>>4, int64(1)<<(lz4MinLog+token&0x0F)
	src := d.src
	switch {
	case method != lz4MethodRaw && method != lz4MethodLZ4:
		return src.fail(provider.ErrCorrupt, "lz4 block: compression method %d", method)
	case stored < 0 || plain < 0:
		return src.fail(provider.ErrCorrupt, "lz4 block: lengths %d and %d", stored, plain)
	case (stored == 0) != (plain == 0):
		return src.fail(provider.ErrCorrupt, "lz4 block: %d stored bytes for %d", stored, plain)
	case method == lz4MethodRaw && stored != plain:
		return src.fail(provider.ErrCorrupt, "lz4 block: not compressed, but %d stored bytes for %d", stored, plain)
	case plain == 0 && sum != 0:
		return src.fail(provider.ErrCorrupt, "lz4 end mark: checksum %08x of no bytes", sum)
	case int64(plain) > limit:
		return src.fail(provider.ErrCorrupt, "lz4 block: %d bytes in a stream of blocks of %d", plain, limit)
	case int(plain) > d.maxBlock:
		return src.refuse(provider.ErrTooLarge, "lz4 block: %d bytes, over the limit of %d", plain, d.maxBlock)
	case int64(plain) > int64(stored)*lz4MaxRatio:
		return src.fail(provider.ErrCorrupt, "lz4 block: %d stored bytes cannot hold %d", stored, plain)
	case int64(stored) > int64(lz4.CompressBlockBound(int(plain))):
		return src.fail(provider.ErrCorrupt, "lz4 block: %d stored bytes for only %d", stored, plain)
	}
	return nil
}

// payload consumes a block's payload and returns what it decodes to.
func (d *lz4Decoder) payload(method byte, stored, plain int) ([]byte, error) {
	p, err := d.src.peek(stored)
	if err != nil {
		return nil, err
	}
	if len(p) < stored {
		return nil, d.src.fail(provider.ErrTruncated, "lz4 block: %d of its %d stored bytes", len(p), stored)
	}
	d.src.advance(stored)
	if method == lz4MethodRaw {
		return p, nil
	}
	d.out = grow(d.out, plain)
	out := d.out[:plain]
	// The library uses up all input or fails.
	n, err := lz4.UncompressBlock(p, out)
	if err != nil || n != plain {
		e := d.src.fail(provider.ErrCorrupt, "lz4 block: does not decode to its %d bytes", plain)
		e.Err = err
		return nil, e
	}
	return out, nil
}

// grow returns a buffer of at least n bytes, p if it is that large. What was in
// it is lost. Callers have checked n against what the file can hold.
func grow(p []byte, n int) []byte {
	if len(p) >= n {
		return p
	}
	return make([]byte, n)
}

// lz4Encoder writes LZ4 block streams. Blocks are compressed as the C library
// does it by default, which is what lz4-java calls where it can.
type lz4Encoder struct {
	w   io.Writer
	log byte
	c   lz4.CompressorCCompat
	buf []byte
}

func newLZ4Encoder(blockSize int) (encoder, error) {
	// The least power of two that holds a block.
	log := max(bits.Len(uint(blockSize-1)), lz4MinLog) - lz4MinLog
	return &lz4Encoder{log: byte(log)}, nil
}

func (e *lz4Encoder) start(w io.Writer) error {
	e.w = w
	return nil
}

func (e *lz4Encoder) block(p []byte) error {
	e.buf = grow(e.buf, lz4Header+lz4.CompressBlockBound(len(p)))
	n, err := e.c.CompressBlock(p, e.buf[lz4Header:])
	if err != nil {
		return err
	}
	method := byte(lz4MethodLZ4)
	if n == 0 || n >= len(p) {
		method, n = lz4MethodRaw, copy(e.buf[lz4Header:], p)
	}
	return e.write(method, n, len(p), xxh32(p, lz4Seed)&lz4SumMask)
}

func (e *lz4Encoder) finish() error {
	e.buf = grow(e.buf, lz4Header)
	return e.write(lz4MethodRaw, 0, 0, 0)
}

// write puts the header in front of the payload in buf, and writes both.
func (e *lz4Encoder) write(method byte, stored, plain int, sum uint32) error {
	copy(e.buf, lz4Magic)
	e.buf[8] = method<<4 | e.log
	binary.LittleEndian.PutUint32(e.buf[9:], uint32(stored))
	binary.LittleEndian.PutUint32(e.buf[13:], uint32(plain))
	binary.LittleEndian.PutUint32(e.buf[17:], sum)
	_, err := e.w.Write(e.buf[:lz4Header+stored])
	return err
}

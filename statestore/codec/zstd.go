package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/sparkstate/sparkstate/statestore/provider"
)

// Zstandard as RFC 8878 describes it; the package comment has a picture of
// what Spark writes.
const (
	zstdMagic = "\x28\xb5\x2f\xfd"
	// A skippable frame starts with 5x 2A 4D 18 and a 32-bit length.
	zstdSkipMagic  = 0x184D2A50
	zstdSkipMask   = 0xFFFFFFF0
	zstdSkipHeader = 8

	// zstdMaxHeader is the longest frame header: magic, descriptor, window, 4
	// bytes of dictionary id and 8 of content size.
	zstdMaxHeader   = 18
	zstdBlockHeader = 3

	// Bits of the frame header descriptor.
	zstdSingleSegment = 1 << 5
	zstdReservedBit   = 1 << 3
	zstdHasChecksum   = 1 << 2

	zstdBlockRLE = 1

	// zstdMaxBlock is the most that one block decodes to.
	zstdMaxBlock  = 128 << 10
	zstdMinWindow = 1 << 10

	// A decoder for windows up to zstdPooledWindow is kept and shared; one
	// for a larger window lives for one frame, and one at a time.
	zstdPooledWindow = 8 << 20

	// Windows are believed of files with more than zstdSmallFile bytes. Of
	// the others a window of zstdSmallWindow plus zstdSmallRatio for each
	// byte is.
	zstdSmallFile   = 64 << 10
	zstdSmallWindow = 768 << 10
	zstdSmallRatio  = 128
)

// zstdEncoderWindow is the window that zstd's level 1, Spark's default, uses
// for a stream of unknown length.
const zstdEncoderWindow = 512 << 10

var zstdFormat = format{
	name:  "zstd",
	class: "org.apache.spark.io.ZStdCompressionCodec",
	magic: zstdMagic,
	sniff: func(head []byte, _ int64) bool {
		return len(head) >= len(zstdMagic) && (string(head[:len(zstdMagic)]) == zstdMagic || isSkippable(head))
	},
	newDecoder: func(src *source, cfg config) decoder {
		return &zstdDecoder{src: src, cfg: cfg, frame: zstdFrame{src: src}}
	},
	blocks:     sizes{zstdMinWindow, zstdMaxBlock, zstdMaxBlock},
	newEncoder: newZstdEncoder,
}

// isSkippable reports whether a skippable frame starts with the four bytes.
func isSkippable(head []byte) bool {
	return binary.LittleEndian.Uint32(head)&zstdSkipMask == zstdSkipMagic
}

// zstdDecoder decodes Zstandard files frame by frame. It reads headers itself,
// which tells a cut file from a corrupt one, gives errors their place, and
// decides on the memory for a frame before the library sees it.
type zstdDecoder struct {
	src   *source
	cfg   config
	frame zstdFrame
	// in is the library's decoder of the current frame, nil between frames.
	in *zstd.Decoder
	// kept is the decoder for windows of usual size, from the pool.
	kept *zstd.Decoder
	// big is held while in has a window beyond the usual.
	big bigWindow
	out []byte
	// held is an error that came along with bytes, for the next call.
	held error
}

// zstdDecoders are decoders that no Reader uses, of windows up to
// zstdPooledWindow.
var zstdDecoders sync.Pool

func newZstdReader(maxWindow int64) (*zstd.Decoder, error) {
	return zstd.NewReader(nil,
		// One block after the other, in the goroutine of the caller.
		zstd.WithDecoderConcurrency(1),
		// Buffers of the size of the largest block from the start. To save on
		// them means to replace them for every block that is larger than the
		// ones before, and a file can be made of such blocks.
		zstd.WithDecoderLowmem(false),
		zstd.WithDecoderMaxWindow(uint64(maxWindow)),
		zstd.WithDecoderMaxMemory(uint64(maxWindow)))
}

// zstdPrimer is a frame of one byte with a window of 896 KiB, which is what a
// file of 1 KiB can ask for. The library replaces its window as well for
// every frame that needs more than those before. Having seen this one first,
// it has room enough for all frames of a file that small.
const zstdPrimer = zstdMagic + "\x00\x4e" + "\x09\x00\x00x"

// pooledZstdReader returns a decoder for windows up to zstdPooledWindow.
func pooledZstdReader() (*zstd.Decoder, error) {
	if dec, ok := zstdDecoders.Get().(*zstd.Decoder); ok {
		return dec, nil
	}
	dec, err := newZstdReader(zstdPooledWindow + zstdPooledWindow/8)
	if err != nil {
		return nil, err
	}
	// A bare io.Reader: the library would decode what it knows to be in
	// memory in another way.
	if err := dec.Reset(io.LimitReader(strings.NewReader(zstdPrimer), int64(len(zstdPrimer)))); err != nil {
		return nil, err
	}
	if _, err := io.Copy(io.Discard, dec); err != nil {
		return nil, err
	}
	return dec, nil
}

func (d *zstdDecoder) reset() {
	d.endFrame()
	d.held = nil
}

func (d *zstdDecoder) close() {
	d.endFrame()
	if d.kept != nil {
		zstdDecoders.Put(d.kept)
		d.kept = nil
	}
}

// endFrame lets go of the current frame's decoder.
func (d *zstdDecoder) endFrame() {
	if d.in == nil {
		return
	}
	if d.in == d.kept {
		// Without a reader, so that the pool keeps no file alive.
		if d.in.Reset(nil) != nil {
			d.kept = nil
		}
	} else {
		d.in.Close()
		d.big.release()
	}
	d.in = nil
}

func (d *zstdDecoder) next() ([]byte, error) {
	if d.held != nil {
		return nil, d.held
	}
	for {
		if d.in == nil {
			if err := d.nextFrame(); err != nil {
				return nil, err
			}
		}
		d.big.working()
		// A read ends with the block that it started, so that it never waits
		// for more of the file than it needs.
		n, err := d.in.Read(d.out)
		switch err {
		case nil:
		case io.EOF:
			d.endFrame()
			if !d.frame.done() {
				d.held = d.src.fail(provider.ErrCorrupt, "zstd: the frame ends before its last block")
			}
		default:
			d.held = d.failure(err)
			d.endFrame()
		}
		if n > 0 {
			return d.out[:n], nil
		}
		if d.held != nil {
			return nil, d.held
		}
	}
}

// failure makes a file error of what the library says.
func (d *zstdDecoder) failure(err error) error {
	if d.frame.err != nil {
		// It could not read on, and why is known.
		return d.frame.err
	}
	kind := provider.ErrCorrupt
	if errors.Is(err, zstd.ErrCRCMismatch) {
		kind = provider.ErrChecksum
	}
	e := d.src.fail(kind, "zstd: block does not decode")
	if d.frame.window < d.frame.claimed {
		e.Detail = fmt.Sprintf("zstd: block does not decode with the %d bytes of window that a file of this size is given, of the %d it claims", d.frame.window, d.frame.claimed)
	}
	e.Err = err
	return e
}

// nextFrame finds the next frame and readies a decoder for it. At the end of
// the file it returns io.EOF.
func (d *zstdDecoder) nextFrame() error {
	for {
		d.src.begin()
		h, err := d.src.peek(zstdMaxHeader)
		switch {
		case err != nil:
			return err
		case len(h) == 0:
			return io.EOF
		case len(h) < len(zstdMagic):
			return d.src.trailing(h, true)
		case isSkippable(h):
			if err := d.skipFrame(h); err != nil {
				return err
			}
			continue
		case string(h[:len(zstdMagic)]) != zstdMagic:
			return d.src.trailing(h, true)
		}
		return d.openFrame(h)
	}
}

func (d *zstdDecoder) skipFrame(h []byte) error {
	if len(h) < zstdSkipHeader {
		return d.src.fail(provider.ErrTruncated, "zstd: %d of the %d bytes of a skippable frame's header", len(h), zstdSkipHeader)
	}
	n := int64(binary.LittleEndian.Uint32(h[4:]))
	got, err := d.src.skip(zstdSkipHeader + n)
	if err != nil {
		return err
	}
	if got < zstdSkipHeader+n {
		return d.src.fail(provider.ErrTruncated, "zstd: %d of the %d bytes of a skippable frame", got-zstdSkipHeader, n)
	}
	return nil
}

// openFrame reads the frame header at h and gives the frame to a decoder.
func (d *zstdDecoder) openFrame(h []byte) error {
	head, err := d.parseHeader(h)
	if err != nil {
		return err
	}
	d.src.advance(head.length)

	window := head.window
	if !d.cfg.believe && window > zstdSmallWindow {
		// What is left of the file decides, not what it is said to have.
		rest, err := d.src.peek(zstdSmallFile + 1)
		if err != nil {
			return err
		}
		if len(rest) <= zstdSmallFile {
			window = min(window, zstdSmallWindow+zstdSmallRatio*int64(len(rest)))
		}
	}
	if window <= zstdPooledWindow {
		if d.kept == nil {
			if d.kept, err = pooledZstdReader(); err != nil {
				d.kept = nil
				return d.noDecoder(err)
			}
		}
		d.in = d.kept
	} else {
		d.big.acquire()
		// Room for what rounding the window up can add.
		if d.in, err = newZstdReader(window + window/8); err != nil {
			d.in = nil
			d.big.release()
			return d.noDecoder(err)
		}
	}
	d.out = grow(d.out, zstdMaxBlock)
	d.frame.start(head, window)
	if err := d.in.Reset(&d.frame); err != nil {
		d.endFrame()
		return d.noDecoder(err)
	}
	return nil
}

// noDecoder is the error for a frame that the library did not even begin.
func (d *zstdDecoder) noDecoder(err error) error {
	e := d.src.refuse(nil, "zstd: no decoder for the frame")
	e.Err = err
	return e
}

// zstdHeader is what a frame header says.
type zstdHeader struct {
	length   int
	window   int64
	content  uint64
	sized    bool // content is known
	checksum bool
}

func (d *zstdDecoder) parseHeader(h []byte) (head zstdHeader, err error) {
	src := d.src
	short := func() (zstdHeader, error) {
		return head, src.fail(provider.ErrTruncated, "zstd: ends within a frame header, after %s", hexBytes(h))
	}
	at := len(zstdMagic)
	if len(h) <= at {
		return short()
	}
	desc := h[at]
	at++
	if desc&zstdReservedBit != 0 {
		return head, src.fail(provider.ErrCorrupt, "zstd: reserved bit in frame header descriptor %02x", desc)
	}
	head.checksum = desc&zstdHasChecksum != 0
	single := desc&zstdSingleSegment != 0
	windowLen := 1
	if single {
		windowLen = 0
	}
	dictLen := [...]int{0, 1, 2, 4}[desc&3]
	contentLen := [...]int{0, 2, 4, 8}[desc>>6]
	if contentLen == 0 && single {
		contentLen = 1
	}
	head.length = at + windowLen + dictLen + contentLen
	if len(h) < head.length {
		return short()
	}
	if !single {
		head.window = zstdWindow(h[at])
		at++
	}
	var dict [8]byte
	copy(dict[:], h[at:at+dictLen])
	at += dictLen
	if id := binary.LittleEndian.Uint64(dict[:]); id != 0 {
		return head, src.refuse(provider.ErrUnsupported, "zstd: frame needs dictionary %d", id)
	}
	var content [8]byte
	copy(content[:], h[at:at+contentLen])
	head.content = binary.LittleEndian.Uint64(content[:])
	head.sized = contentLen > 0
	if contentLen == 2 {
		head.content += 256
	}
	if single {
		head.window = int64(min(head.content, math.MaxInt64))
		head.window = max(head.window, zstdMinWindow)
	}
	if head.window > d.cfg.maxWindow {
		return head, src.refuse(provider.ErrTooLarge, "zstd: window of %d bytes, over the limit of %d", head.window, d.cfg.maxWindow)
	}
	return head, nil
}

// zstdWindow returns the window that a window descriptor stands for: a power
// of two and eighths of it.
func zstdWindow(b byte) int64 {
	base := int64(1) << (10 + b>>3)
	return base + base/8*int64(b&7)
}

// zstdWindowByte returns the descriptor of the least window of n bytes or
// more.
func zstdWindowByte(n int64) byte {
	log := max(bits.Len64(uint64(n)), 11) - 11
	for b := byte(log << 3); ; b++ {
		if zstdWindow(b) >= n {
			return b
		}
	}
}

// zstdFrame is the reader through which the library sees one frame. It passes
// on the file's blocks, and knows where each of them starts and which is the
// last; the header in front is a new one, with the window that was decided on.
type zstdFrame struct {
	src *source
	// claimed is the window in the file, window the one in use.
	claimed, window int64
	// head[at:] of the new header is not yet read.
	head []byte
	// left is how much of the current block or of the checksum is not.
	left     int
	last     bool // the current block is the last one
	checksum bool // a checksum is to follow the last block
	// err is why the frame could not be read on, where that was not the end
	// of the frame.
	err error
	buf [len(zstdMagic) + 2 + 8]byte
}

func (f *zstdFrame) start(h zstdHeader, window int64) {
	b := append(f.buf[:0], zstdMagic...)
	var desc byte
	if h.checksum {
		desc |= zstdHasChecksum
	}
	if h.sized {
		desc |= 3 << 6
	}
	b = append(b, desc, zstdWindowByte(window))
	if h.sized {
		b = binary.LittleEndian.AppendUint64(b, h.content)
	}
	f.head, f.claimed, f.window = b, h.window, window
	f.left, f.last, f.checksum, f.err = 0, false, h.checksum, nil
}

// done reports whether the frame was read to its end.
func (f *zstdFrame) done() bool {
	return len(f.head) == 0 && f.left == 0 && f.last && !f.checksum
}

// Read implements io.Reader for the library. It does not return bytes of two
// blocks at once: offsets are kept in step with what is decoded.
func (f *zstdFrame) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if len(f.head) > 0 {
		n := copy(p, f.head)
		f.head = f.head[n:]
		return n, nil
	}
	if f.left == 0 {
		if f.done() {
			return 0, io.EOF
		}
		if f.err = f.nextPart(); f.err != nil {
			return 0, f.err
		}
	}
	b, err := f.src.peek(min(f.left, len(p)))
	if err == nil && len(b) == 0 {
		err = f.src.fail(provider.ErrTruncated, "zstd: ends within a block, %d bytes short", f.left)
	}
	if err != nil {
		f.err = err
		return 0, err
	}
	n := copy(p, b)
	f.src.advance(n)
	f.left -= n
	return n, nil
}

// nextPart finds the length of what comes next: a block with its header, or
// the checksum.
func (f *zstdFrame) nextPart() error {
	if f.last {
		f.checksum = false
		f.left = 4
		return nil
	}
	f.src.begin()
	h, err := f.src.peek(zstdBlockHeader)
	if err != nil {
		return err
	}
	if len(h) < zstdBlockHeader {
		return f.src.fail(provider.ErrTruncated, "zstd: no last block")
	}
	v := int(h[0]) | int(h[1])<<8 | int(h[2])<<16
	f.last = v&1 != 0
	size := v >> 3
	if v>>1&3 == zstdBlockRLE {
		size = 1
	}
	f.left = zstdBlockHeader + size
	return nil
}

// bigWindows is the one place for a decoder with a window of more than
// zstdPooledWindow bytes. bigWork counts the blocks that its holder decodes.
var (
	bigWindows = make(chan struct{}, 1)
	bigWork    atomic.Int64
)

// bigPatience is how long the holder of the place may do nothing before
// another decoder no longer waits for it. A variable for the test.
var bigPatience = time.Second

// bigWindow is the place, or not. The zero value does not hold it.
type bigWindow struct{ held bool }

// acquire waits for the place as long as its holder is at work. A holder that
// rests may well wait for the very caller, who reads two files in turn or wants
// an earlier one's output first; then the bound on memory gives way, since to
// stand still would be worse.
func (w *bigWindow) acquire() {
	select {
	case bigWindows <- struct{}{}:
		w.held = true
		return
	default:
	}
	tick := time.NewTicker(bigPatience)
	defer tick.Stop()
	for seen := bigWork.Load(); ; {
		select {
		case bigWindows <- struct{}{}:
			w.held = true
			return
		case <-tick.C:
			now := bigWork.Load()
			if now == seen {
				return
			}
			seen = now
		}
	}
}

// working tells those who wait that the holder is not idle.
func (w *bigWindow) working() {
	if w.held {
		bigWork.Add(1)
	}
}

// release gives the place up, if it is held.
func (w *bigWindow) release() {
	if w.held {
		w.held = false
		<-bigWindows
	}
}

// zstdEncoder writes one frame as zstd-jni's stream does: no content size, no
// checksum, and an empty last block where the data ended with a full flush.
type zstdEncoder struct {
	enc *zstd.Encoder
}

func newZstdEncoder(int) (encoder, error) {
	enc, err := zstd.NewWriter(nil,
		// The window comes first: by itself the level would halve the blocks.
		zstd.WithWindowSize(zstdEncoderWindow),
		zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderCRC(false),
		zstd.WithLowerEncoderMem(true),
		zstd.WithZeroFrames(true))
	if err != nil {
		return nil, err
	}
	return &zstdEncoder{enc: enc}, nil
}

func (e *zstdEncoder) start(w io.Writer) error {
	e.enc.Reset(w)
	return nil
}

func (e *zstdEncoder) block(p []byte) error {
	if _, err := e.enc.Write(p); err != nil {
		return err
	}
	// The flush keeps the encoder from gathering a larger block, and from
	// seeing all of a short file at once: it would write its size then.
	return e.enc.Flush()
}

func (e *zstdEncoder) finish() error { return e.enc.Close() }

package codec

import (
	"io"
	"io/fs"

	"github.com/sparkstate/sparkstate/statestore/provider"
)

// The limits that hold where no option says otherwise.
const (
	// DefaultMaxBlock is the largest block that lz4-java can write.
	DefaultMaxBlock = 32 << 20
	// DefaultMaxWindow is the window of zstd's highest level.
	DefaultMaxWindow = 128 << 20
)

// largestLimit is where the options end: how far the zstd library here can look
// back, and what no block comes near.
const largestLimit = 1 << 30

// config is what the options set.
type config struct {
	maxBlock  int
	maxWindow int64
	// believe is whether zstd windows are taken as claimed, whatever the size
	// of the file.
	believe bool
}

var defaultConfig = config{maxBlock: DefaultMaxBlock, maxWindow: DefaultMaxWindow}

// Option changes a limit of a [Reader].
type Option func(*config)

// WithMaxBlock sets the largest decoded size of a block, in bytes, that an LZ4
// or Snappy stream may contain; a larger one is [provider.ErrTooLarge]. The
// default is [DefaultMaxBlock], the largest n 1 GiB. LZF chunks and zstd blocks
// are small by format.
func WithMaxBlock(n int) Option {
	return func(c *config) { c.maxBlock = min(n, largestLimit) }
}

// WithMaxWindow sets the largest window of a zstd frame, in bytes, and has
// windows up to it believed of every file.
//
// The default is [DefaultMaxWindow], which only a file of more than 64 KiB can
// make use of. In a smaller one the frame is decoded with a window of at most
// 768 KiB and 128 bytes for each of the file's bytes, since a few bytes must not
// be able to claim all memory; a frame that does reach back further, which
// takes a compression of more than 128:1 with matches over such a distance,
// is then reported as corrupt. The largest n is 1 GiB.
func WithMaxWindow(n int64) Option {
	return func(c *config) { c.maxWindow, c.believe = min(n, largestLimit), true }
}

// Reader decodes the codec stream of one state store file. It is not safe for
// concurrent use. It does not allocate per block, and not per file either when
// it is reused with Reset. The zero value has the default limits and waits for
// a Reset.
type Reader struct {
	src   source
	cfg   config
	codec Codec
	dec   decoder
	// made holds the decoder of every codec met so far, for the next Reset.
	made [len(formats)]decoder
	err  error
}

// NewReader returns a Reader of the file that r reads from its first byte, and
// finds out how the file is compressed. size is the stored size of the file in
// bytes, -1 if that is not known; it decides whether the plain record stream is
// plausible ([Sniff]) and how large the first buffer is, and is not otherwise
// believed.
//
// The error is [provider.ErrTruncated] for a file of 0 bytes or one that ends
// within its magic, [provider.ErrCodec] for one of unknown kind, or a failure
// of r.
func NewReader(r io.Reader, size int64, opts ...Option) (*Reader, error) {
	d := &Reader{cfg: defaultConfig}
	for _, o := range opts {
		o(&d.cfg)
	}
	if err := d.Reset(r, size); err != nil {
		return nil, err
	}
	return d, nil
}

// Reset starts on another file, of any codec, with the buffers and options of
// the one before. The errors are those of [NewReader]; after one the Reader
// can be Reset again.
func (d *Reader) Reset(r io.Reader, size int64) error {
	if d.cfg == (config{}) {
		d.cfg = defaultConfig
	}
	if d.dec != nil {
		d.dec.reset()
	}
	d.src.reset(r, size)
	d.codec, d.dec = Unknown, nil
	d.err = d.open(size)
	return d.err
}

func (d *Reader) open(size int64) error {
	head, err := d.src.peek(HeadLen)
	if err != nil {
		return err
	}
	if len(head) == 0 {
		return d.src.fail(provider.ErrTruncated, "0 bytes: no codec writes an empty file here")
	}
	c := Sniff(head, size)
	if c == Unknown {
		if cutMagic(head) {
			return d.src.fail(provider.ErrTruncated, "ends after %s, within the first bytes of a stream", hexBytes(head))
		}
		return d.src.fail(provider.ErrCodec, "starts with %s: not %s or a plain record stream", hexBytes(head), names(Compressions()))
	}
	if d.made[c] == nil {
		d.made[c] = c.lookup().newDecoder(&d.src, d.cfg)
	} else {
		d.made[c].reset()
	}
	d.codec, d.dec = c, d.made[c]
	return nil
}

// Codec returns how the file is compressed.
func (d *Reader) Codec() Codec { return d.codec }

// Next returns the next block of decoded bytes. The block is never empty, and
// valid until the following call of Next, Reset or Close. Blocks are of any
// size that the format allows (32 KiB is usual), and records straddle them.
//
// At a proper end of the codec stream the error is io.EOF. That says that no
// more was written only where the format has an end mark, which LZ4 and zstd
// have; a Snappy or LZF file that was cut between two blocks ends properly, so
// the end mark of the records has to be looked for as well. Other errors are of
// type [*provider.FileError], and are returned again by later calls: kind
// ErrTruncated, ErrChecksum, ErrCorrupt (with [ErrTrailing] as cause for bytes
// after the end), ErrTooLarge or ErrUnsupported, or no kind where the reader
// below failed. The blocks before the error are as they were written, as far as
// the codec can tell.
func (d *Reader) Next() ([]byte, error) {
	if d.err != nil {
		return nil, d.err
	}
	if d.dec == nil {
		return nil, fs.ErrClosed // the zero value
	}
	p, err := d.dec.next()
	if err != nil {
		d.err = err
		return nil, err
	}
	return p, nil
}

// Offset returns where in the stored file the block starts that Next returned
// last, or in which it met its error.
func (d *Reader) Offset() int64 { return d.src.at }

// Close gives back what the Reader shares with others, such as the place of the
// one decoder with a large window. It does not close the reader below. A closed
// Reader returns [fs.ErrClosed] from Next and can be
// used again after Reset.
func (d *Reader) Close() error {
	for _, dec := range d.made {
		if dec != nil {
			dec.close()
		}
	}
	d.src.r = nil
	d.dec = nil
	d.err = fs.ErrClosed
	return nil
}

package codec

import (
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/sparkstate/sparkstate/statestore/provider"
)

// Codec is one of the stream compressions that Spark can put around a state
// store file. The zero value is Unknown.
type Codec uint8

const (
	// Unknown is what [Sniff] answers for bytes that start none of the others.
	Unknown Codec = iota
	// None is a file that is not compressed. Spark writes no such file; it is
	// one that somebody unpacked.
	None
	// LZ4 is the block stream of lz4-java, which is not the LZ4 frame format.
	// It is Spark's default, and the only one with checksums.
	LZ4
	// LZF is a sequence of chunks as compress-lzf writes them.
	LZF
	// Snappy is the stream of snappy-java (xerial), which is not Snappy's own
	// framing format.
	Snappy
	// Zstd is standard Zstandard.
	Zstd
)

// formats is the table of what the package reads and writes. A new codec is a
// file with its format, a name above and a line here; whatever goes through all
// of them asks [All] or [Compressions].
var formats = [...]format{
	None:   noneFormat,
	LZ4:    lz4Format,
	LZF:    lzfFormat,
	Snappy: xerialFormat,
	Zstd:   zstdFormat,
}

// format is everything that the package has to know of a codec.
type format struct {
	// name is Spark's short name, as it stands in a conf.
	name string
	// class is the class name that Spark accepts in the name's place; empty
	// for what cannot be configured.
	class string
	// magic is what every file of the format starts with, for telling a file
	// that was cut within its first bytes from one of another kind.
	magic string
	// sniff judges the first bytes of a file; size is -1 where unknown.
	sniff func(head []byte, size int64) bool
	// checksummed is whether the format notices a changed payload.
	checksummed bool

	// blocks are the sizes of block, in bytes, that a writer can be asked for.
	blocks sizes

	newDecoder func(src *source, cfg config) decoder
	// newEncoder makes an encoder for blocks of one of those sizes.
	newEncoder func(blockSize int) (encoder, error)
}

// sizes are the least, the usual and the largest size of something.
type sizes struct{ least, usual, most int }

// decoder decodes files of one format, one after the other.
type decoder interface {
	// next returns the next block, which is not empty and lives until the
	// following call; io.EOF at a proper end. It marks what it is about to
	// read with source.begin.
	next() ([]byte, error)
	// reset forgets the file before. What the new one is read from is in the
	// source already.
	reset()
	// close gives back what is shared with others.
	close()
}

// encoder encodes the blocks of one format. It keeps no bytes between calls.
type encoder interface {
	// start begins a new file in w.
	start(w io.Writer) error
	// block writes one block, full but for the last one of a file.
	block(p []byte) error
	// finish ends the file.
	finish() error
}

// lookup returns the codec's line of the table, nil where it has none.
func (c Codec) lookup() *format {
	if int(c) >= len(formats) || formats[c].name == "" {
		return nil
	}
	return &formats[c]
}

// String returns Spark's short name: lz4, lzf, snappy or zstd; "none" and
// "unknown" for the other two.
func (c Codec) String() string {
	if c == Unknown {
		return "unknown"
	}
	if f := c.lookup(); f != nil {
		return f.name
	}
	return "Codec(" + strconv.Itoa(int(c)) + ")"
}

// Checksummed reports whether the codec itself notices a flipped bit in what
// it carries. That is so for LZ4 alone: with the others a changed byte can
// reach the rows, and only a sidecar file or a row checksum tells.
func (c Codec) Checksummed() bool {
	f := c.lookup()
	return f != nil && f.checksummed
}

// All returns every codec that can be read and written, [None] included.
func All() []Codec {
	var out []Codec
	for c := range formats {
		if Codec(c).lookup() != nil {
			out = append(out, Codec(c))
		}
	}
	return out
}

// Compressions returns the codecs that Spark can be told to use, those whose
// names [Parse] reads: all but [None].
func Compressions() []Codec {
	return slices.DeleteFunc(All(), func(c Codec) bool { return formats[c].class == "" })
}

// BlockSizes returns the least size, Spark's own choice and the largest size, in
// bytes, of the blocks that [NewWriter] makes; Snappy and LZF call them chunks.
// They are 0 for what has no blocks.
func (c Codec) BlockSizes() (least, usual, most int) {
	if f := c.lookup(); f != nil {
		return f.blocks.least, f.blocks.usual, f.blocks.most
	}
	return 0, 0, 0
}

// Parse reads the value of Spark's conf
// spark.sql.streaming.stateStore.compression.codec: a short name in upper or
// lower case, or the name of one of Spark's codec classes. The empty string
// stands for a conf that was not recorded, as before Spark 3.1, and means LZ4.
// Anything else names a class of the user's, whose format nobody can know; the
// error is [provider.ErrUnsupported].
func Parse(name string) (Codec, error) {
	if name == "" {
		return LZ4, nil
	}
	for c, f := range formats {
		if f.class != "" && (strings.EqualFold(name, f.name) || name == f.class) {
			return Codec(c), nil
		}
	}
	return Unknown, fmt.Errorf("compression codec %q: %w", name, provider.ErrUnsupported)
}

// HeadLen is how many bytes from the start of a file [Sniff] looks at.
const HeadLen = 16

// Sniff tells from the first bytes of a file how it is compressed. Give it
// HeadLen bytes, or all of a shorter file; size is the stored size of the
// file, -1 where it is not known.
//
// The answer is None for bytes that look like the plain record stream: the
// end mark, or a length that a key in a file of that size can have. It is
// Unknown for everything else, an empty file included. The recorded conf is no
// substitute: copies get unpacked, and Spark itself goes by the conf and fails.
func Sniff(head []byte, size int64) Codec {
	for c, f := range formats {
		if f.sniff != nil && f.sniff(head, size) {
			return Codec(c)
		}
	}
	return Unknown
}

// startsWith returns a sniff function for a format with a fixed magic.
func startsWith(magic string) func([]byte, int64) bool {
	return func(head []byte, _ int64) bool {
		return len(head) >= len(magic) && string(head[:len(magic)]) == magic
	}
}

// names lists codecs for people: lz4, lzf, snappy, zstd.
func names(codecs []Codec) string {
	out := make([]string, len(codecs))
	for i, c := range codecs {
		out[i] = c.String()
	}
	return strings.Join(out, ", ")
}

// cutMagic reports whether head, all of a file and of no known kind, is some
// format's magic or the beginning of it.
func cutMagic(head []byte) bool {
	for _, f := range formats {
		if len(head) <= len(f.magic) && f.magic[:len(head)] == string(head) {
			return true
		}
	}
	return false
}

// hexBytes shows bytes as people read them in a dump: "4c 5a 34 42".
func hexBytes(p []byte) string {
	s := make([]byte, 0, 3*len(p))
	for i, b := range p {
		if i > 0 {
			s = append(s, ' ')
		}
		s = hex.AppendEncode(s, []byte{b})
	}
	return string(s)
}

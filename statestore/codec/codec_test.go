package codec

import (
	"encoding/binary"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/statestore/provider"
)

func TestParse(t *testing.T) {
	for name, want := range map[string]Codec{
		"":       LZ4,
		"lz4":    LZ4,
		"LZ4":    LZ4,
		"lzf":    LZF,
		"Snappy": Snappy,
		"zstd":   Zstd,
		"ZSTD":   Zstd,
		"org.apache.spark.io.LZ4CompressionCodec":    LZ4,
		"org.apache.spark.io.LZFCompressionCodec":    LZF,
		"org.apache.spark.io.SnappyCompressionCodec": Snappy,
		"org.apache.spark.io.ZStdCompressionCodec":   Zstd,
	} {
		got, err := Parse(name)
		require.NoError(t, err, name)
		require.Equal(t, want, got, name)
	}
	for _, name := range []string{"none", "gzip", "lz4 ", "org.apache.spark.io.lz4compressioncodec", "com.example.Codec"} {
		got, err := Parse(name)
		require.ErrorIs(t, err, provider.ErrUnsupported, name)
		require.ErrorContains(t, err, name)
		require.Equal(t, Unknown, got)
	}
}

func TestString(t *testing.T) {
	for c, want := range map[Codec]string{
		Unknown: "unknown", None: "none", LZ4: "lz4", LZF: "lzf", Snappy: "snappy", Zstd: "zstd", 99: "Codec(99)",
	} {
		require.Equal(t, want, c.String())
	}
	// What Parse reads is what String writes.
	for _, c := range compressed {
		got, err := Parse(c.String())
		require.NoError(t, err)
		require.Equal(t, c, got)
	}
}

// What the writer says of its blocks it keeps to.
func TestBlockSizes(t *testing.T) {
	for _, c := range compressed {
		least, usual, most := c.BlockSizes()
		for _, size := range []int{least, usual, most, 0} {
			_, err := NewWriter(io.Discard, c, size)
			require.NoError(t, err, "%v %d", c, size)
		}
		for _, size := range []int{-1, least - 1, most + 1} {
			if size == 0 {
				continue // that is the usual one
			}
			_, err := NewWriter(io.Discard, c, size)
			require.ErrorContains(t, err, fmt.Sprintf("codec: %v blocks are of %d to %d bytes, not %d", c, least, most, size))
		}
		require.Equal(t, encode(t, c, usual, rows(3000)), encode(t, c, 0, rows(3000)))
	}
	for _, c := range []Codec{Unknown, None, 99} {
		least, usual, most := c.BlockSizes()
		require.Zero(t, least+usual+most, c)
	}
}

func TestAll(t *testing.T) {
	require.Subset(t, All(), []Codec{None, LZ4, LZF, Snappy, Zstd})
	require.NotContains(t, All(), Unknown)
	require.Equal(t, All(), append([]Codec{None}, Compressions()...))
}

func TestChecksummed(t *testing.T) {
	for _, c := range []Codec{Unknown, None, LZF, Snappy, Zstd, 99} {
		require.False(t, c.Checksummed(), c)
	}
	require.True(t, LZ4.Checksummed())
}

func TestSniff(t *testing.T) {
	const sized = 1000
	for _, test := range []struct {
		name string
		head string // hex
		size int64
		want Codec
	}{
		{"nothing", "", 0, Unknown},
		{"lz4", "4c5a34426c6f636b 15 04000000 040000", sized, LZ4},
		{"lz4, size unknown", "4c5a34426c6f636b 15 04000000 040000", -1, LZ4},
		{"lz4, magic cut", "4c5a34426c6f63", 7, Unknown},
		{"lz4, a bit flipped", "4c5a34426c6f636a 15 04000000 040000", sized, Unknown},
		{"lz4 frame format", "04224d18 6440a7 00000000 00000000 00", sized, Unknown},
		{"lzf plain", "5a5600 0004 ffffffff", 9, LZF},
		{"lzf packed", "5a5601 0012 002c 03000000102003e007", sized, LZF},
		{"lzf, unknown type", "5a5602 0012 002c 03000000102003e007", sized, Unknown},
		{"lzf, cut", "5a56", 2, Unknown},
		{"snappy", "82534e4150505900 00000001 00000001", sized, Snappy},
		{"snappy framing format", "ff060000 734e61507059 0000", sized, Unknown},
		{"zstd", "28b52ffd 00 48 200000 ffffffff 010000", 16, Zstd},
		{"zstd, skippable frame first", "5a2a4d18 00000000 28b52ffd 00 48 00", sized, Zstd},
		{"gzip", "1f8b0800 00000000 00000000 00000000", sized, Unknown},
		{"end mark", "ffffffff", 4, None},
		{"end mark, cut", "ffffff", 3, Unknown},
		{"key of 16 bytes", "00000010 0000000000000000 00000000", sized, None},
		{"key with a row checksum", "00000014 cde74c0b 00000000 00000000", sized, None},
		{"key of odd length", "00000011 0000000000000000 00000000", sized, Unknown},
		{"key as large as the file", "000003e8 0000000000000000 00000000", sized, Unknown},
		{"largest key in the file", "000003dc 0000000000000000 00000000", sized, None},
		{"key of 1 GiB, size unknown", "40000000 0000000000000000 00000000", -1, Unknown},
		{"key of 1 MiB, size unknown", "00100000 0000000000000000 00000000", -1, None},
		{"no key columns", "00000000 00000010 0000000000000000", sized, None},
		{"no key columns, removed", "00000000 ffffffff ffffffff", 12, None},
		{"zeros", "00000000 00000000 00000000 00000000", sized, Unknown},
		{"negative length", "fffffffe 00000010 0000000000000000", sized, Unknown},
		{"text", "76310a7b 22626174 63685761 7465726d", sized, Unknown},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want, Sniff(unhex(t, test.head), test.size))
		})
	}
}

// More than HeadLen bytes change nothing.
func TestSniffLong(t *testing.T) {
	for _, c := range allCodecs {
		file := encode(t, c, 0, rows(100))
		require.Equal(t, c, Sniff(file[:HeadLen], int64(len(file))))
		require.Equal(t, c, Sniff(file, int64(len(file))))
	}
}

// No magic may read as a key length of a plain stream, even with one bit of it
// flipped: such a file has to be called damaged, not plain.
func TestSniffDamagedMagic(t *testing.T) {
	for _, c := range compressed {
		file := encode(t, c, 0, rows(1000))
		for bit := range 32 {
			head := append([]byte(nil), file[:HeadLen]...)
			head[bit/8] ^= 0x80 >> (bit % 8)
			got := Sniff(head, int64(len(file)))
			if c == LZF && bit == 23 {
				// From a compressed chunk to a plain one.
				require.Equal(t, LZF, got)
				continue
			}
			if c == LZF && bit >= 24 {
				// Behind the magic already.
				continue
			}
			require.Equal(t, Unknown, got, "%v, bit %d, %08x", c, bit, binary.BigEndian.Uint32(head))
		}
	}
}

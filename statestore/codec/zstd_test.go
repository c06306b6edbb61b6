package codec

import (
	"bytes"
	"encoding/binary"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/statestore/provider"
)

// Places in what the Writer writes.
const (
	zstdWindowAt = 5
	zstdFirst    = 6 // the first block

	window8MiB   = 13 << 3
	window128MiB = 17 << 3
)

// zstdWith compresses with options of the library's encoder.
func zstdWith(t testing.TB, body []byte, opts ...zstd.EOption) []byte {
	t.Helper()
	enc, err := zstd.NewWriter(nil, opts...)
	require.NoError(t, err)
	return enc.EncodeAll(body, nil)
}

// zstdBlock builds a block of a type: 0 raw, 1 RLE, 2 compressed.
func zstdBlock(typ, size int, last bool, p ...byte) []byte {
	v := size<<3 | typ<<1
	if last {
		v |= 1
	}
	return append([]byte{byte(v), byte(v >> 8), byte(v >> 16)}, p...)
}

func skippable(n int) []byte {
	b := []byte{0x5a, 0x2a, 0x4d, 0x18}
	b = binary.LittleEndian.AppendUint32(b, uint32(n))
	return append(b, make([]byte, n)...)
}

func TestZstdFrames(t *testing.T) {
	body := rows(5000)
	plain := encode(t, Zstd, 0, body)
	for name, file := range map[string][]byte{
		"checksum":           zstdWith(t, body, zstd.WithEncoderCRC(true)),
		"content size":       zstdWith(t, body, zstd.WithEncoderCRC(false)),
		"single segment":     zstdWith(t, body, zstd.WithSingleSegment(true)),
		"large window":       zstdWith(t, body, zstd.WithWindowSize(8<<20), zstd.WithEncoderLevel(zstd.SpeedBestCompression)),
		"skippable in front": join(skippable(0), skippable(300_000), plain),
		"skippable behind":   join(plain, skippable(1)),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := decode(file)
			require.NoError(t, err)
			sameBytes(t, body, got)
		})
	}
	// Frames of one byte and of 256 have content sizes of other widths.
	for _, n := range []int{1, 255, 256, 257, 65_791, 65_792} {
		for _, single := range []bool{false, true} {
			file := zstdWith(t, body[:n], zstd.WithSingleSegment(single))
			got, err := decode(file)
			require.NoError(t, err)
			sameBytes(t, body[:n], got)
		}
	}
	got, err := decode(skippable(9))
	require.NoError(t, err)
	require.Empty(t, got)
}

func TestZstdRules(t *testing.T) {
	good := encode(t, Zstd, 0, []byte(endMark))
	head := func(desc byte, rest ...byte) []byte {
		return append([]byte{0x28, 0xb5, 0x2f, 0xfd, desc}, rest...)
	}
	summed := zstdWith(t, []byte("0123456789"), zstd.WithEncoderCRC(true))
	wrong := bytes.Clone(summed)
	wrong[len(wrong)-1] ^= 1
	cut := summed[:len(summed)-2]

	for _, test := range []struct {
		name string
		bad  []byte
		at   int64 // offset within bad
		kind error
	}{
		{"magic alone", head(0)[:4], 0, provider.ErrTruncated},
		{"window missing", head(0), 0, provider.ErrTruncated},
		{"content size missing", head(0xc0, 0, 1, 2, 3), 0, provider.ErrTruncated},
		{"no block", head(0, 0x48), 6, provider.ErrTruncated},
		{"half a block header", head(0, 0x48, 1, 0), 6, provider.ErrTruncated},
		{"block missing", join(head(0, 0x48), zstdBlock(0, 4, true)), 6, provider.ErrTruncated},
		{"no last block", join(head(0, 0x48), zstdBlock(0, 1, false, 'x')), 10, provider.ErrTruncated},
		{"checksum cut", cut, 6, provider.ErrTruncated},
		{"wrong checksum", wrong, 6, provider.ErrChecksum},
		{"reserved bit", head(8, 0x48, 1, 0, 0), 0, provider.ErrCorrupt},
		{"reserved block type", join(head(0, 0x48), zstdBlock(3, 1, true, 0)), 6, provider.ErrCorrupt},
		{"block too large", join(head(0, 0x48), zstdBlock(0, 128<<10+1, true, make([]byte, 128<<10+1)...)), 6, provider.ErrCorrupt},
		{"run too large", join(head(0, 0x48), zstdBlock(1, 128<<10+1, true, 'x')), 6, provider.ErrCorrupt},
		{"block larger than the window", join(head(0, 0), zstdBlock(1, 1<<10+1, true, 'x')), 6, provider.ErrCorrupt},
		{"no compressed block", join(head(0, 0x48), zstdBlock(2, 4, true, 0xff, 0xff, 0xff, 0xff)), 6, provider.ErrCorrupt},
		{"content shorter than said", join(head(0x20, 9), zstdBlock(1, 8, true, 'x')), 6, provider.ErrCorrupt},
		{"content longer than said", join(head(0x20, 7), zstdBlock(1, 8, true, 'x')), 6, provider.ErrCorrupt},
		{"dictionary", head(1, 0x48, 7, 1, 0, 0), 0, provider.ErrUnsupported},
		{"window of 256 MiB", head(0, 18<<3, 1, 0, 0), 0, provider.ErrTooLarge},
		{"window of the largest", head(0, 0xff, 1, 0, 0), 0, provider.ErrTooLarge},
		{"content of 16 EiB", head(0xe0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0, 0), 0, provider.ErrTooLarge},
		{"skippable header cut", skippable(0)[:7], 0, provider.ErrTruncated},
		{"skippable cut", skippable(200_000)[:150_000], 0, provider.ErrTruncated},
		{"other bytes", []byte("PK\x03\x04"), 0, ErrTrailing},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := decode(join(good, test.bad))
			require.True(t, bytes.HasPrefix(got, []byte(endMark)))
			requireFileError(t, err, test.kind, int64(len(good))+test.at)
			require.NotErrorIs(t, err, zstd.ErrMagicMismatch)
		})
	}
}

func TestZstdWindowByte(t *testing.T) {
	for b := range 256 {
		n := zstdWindow(byte(b))
		require.Equal(t, byte(b), zstdWindowByte(n))
		if b < 255 {
			require.Equal(t, byte(b+1), zstdWindowByte(n+1))
		}
	}
	require.Equal(t, int64(1<<10), zstdWindow(0))
	require.Equal(t, int64(512<<10), zstdWindow(0x48))
	require.Equal(t, int64(128<<20), zstdWindow(window128MiB))
	require.Equal(t, byte(0), zstdWindowByte(1))
}

// A small file written at a high level claims a large window. It is decoded
// with a smaller one.
func TestZstdSmallFileLargeWindow(t *testing.T) {
	body := rows(400)
	file := encode(t, Zstd, 0, body)
	require.Less(t, len(file), zstdSmallFile)
	file[zstdWindowAt] = window128MiB
	got, err := decode(file)
	require.NoError(t, err)
	sameBytes(t, body, got)
	_, err = decode(file, WithMaxWindow(64<<20))
	requireFileError(t, err, provider.ErrTooLarge, 0)
}

// A match that reaches back further than is believed of so small a file is an
// error by default, and found where the caller says so.
func TestZstdFarMatch(t *testing.T) {
	head := noise(4 << 10)
	body := join(head, make([]byte, 4<<20), head)
	file := zstdWith(t, body, zstd.WithWindowSize(8<<20), zstd.WithEncoderLevel(zstd.SpeedBestCompression))
	require.Less(t, len(file), 6<<10, "no far match was made")

	got, err := decode(file)
	require.ErrorIs(t, err, provider.ErrCorrupt)
	require.ErrorContains(t, err, "bytes of window")
	require.True(t, bytes.HasPrefix(body, got))

	got, err = decode(file, WithMaxWindow(8<<20))
	require.NoError(t, err)
	sameBytes(t, body, got)
}

// largeWindowFile returns a file that is long enough to have its window of 128
// MiB believed.
func largeWindowFile(t testing.TB, body []byte) []byte {
	file := encode(t, Zstd, 0, body)
	require.Greater(t, len(file), zstdSmallFile+zstdFirst)
	file[zstdWindowAt] = window128MiB
	return file
}

func TestZstdLargeWindow(t *testing.T) {
	body := noise(300_000)
	file := largeWindowFile(t, body)
	r, err := NewReader(bytes.NewReader(file), int64(len(file)))
	require.NoError(t, err)
	dec := r.dec.(*zstdDecoder)
	for range 3 {
		_, err := r.Next()
		require.NoError(t, err)
		require.True(t, dec.big.held)
		require.Nil(t, dec.kept)
	}
	// Whatever ends the frame gives the place back: its end,
	_, err = r.Next()
	require.Equal(t, io.EOF, err)
	require.False(t, dec.big.held)
	// another file,
	require.NoError(t, r.Reset(bytes.NewReader(file), -1))
	_, err = r.Next()
	require.NoError(t, err)
	require.True(t, dec.big.held)
	require.NoError(t, r.Reset(bytes.NewReader([]byte(endMark)), 4))
	require.False(t, dec.big.held)
	// an error,
	require.NoError(t, r.Reset(bytes.NewReader(file[:len(file)-1]), -1))
	got, err := drain(r)
	require.ErrorIs(t, err, provider.ErrTruncated)
	sameBytes(t, body, got)
	require.False(t, dec.big.held)
	// and Close.
	require.NoError(t, r.Reset(bytes.NewReader(file), -1))
	_, err = r.Next()
	require.NoError(t, err)
	require.NoError(t, r.Close())
	require.False(t, dec.big.held)
	require.Empty(t, bigWindows)
}

// Several goroutines with large windows take turns.
func TestZstdLargeWindowsInTurn(t *testing.T) {
	body := noise(300_000)
	file := largeWindowFile(t, body)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			got, err := decode(file)
			if err != nil || !bytes.Equal(body, got) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
		})
	}
	wg.Wait()
	require.Empty(t, bigWindows)
}

// One goroutine with two large windows at once must not wait for itself.
func TestZstdLargeWindowsNested(t *testing.T) {
	defer func(d time.Duration) { bigPatience = d }(bigPatience)
	bigPatience = time.Millisecond

	body := noise(300_000)
	file := largeWindowFile(t, body)
	a, err := NewReader(bytes.NewReader(file), int64(len(file)))
	require.NoError(t, err)
	b, err := NewReader(bytes.NewReader(file), int64(len(file)))
	require.NoError(t, err)
	first, err := a.Next()
	require.NoError(t, err)
	got, err := drain(b)
	require.NoError(t, err)
	sameBytes(t, body, got)
	first = bytes.Clone(first)
	rest, err := drain(a)
	require.NoError(t, err)
	sameBytes(t, body, join(first, rest))
	require.NoError(t, a.Close())
	require.NoError(t, b.Close())
	require.Empty(t, bigWindows)
}

// The frame has what Spark's frames have: nothing but a window.
func TestZstdWriterStructure(t *testing.T) {
	for _, n := range []int{1, 100, 128 << 10, 128<<10 + 1, 400_000} {
		file := encode(t, Zstd, 0, rows(8000)[:n])
		require.Equal(t, []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x48}, file[:zstdFirst])
		require.Equal(t, []byte{1, 0, 0}, file[len(file)-3:], "empty raw last block")
	}
	for _, size := range []int{-1, 1, 1<<10 - 1, 128<<10 + 1} {
		_, err := NewWriter(&bytes.Buffer{}, Zstd, size)
		require.Error(t, err)
	}
}

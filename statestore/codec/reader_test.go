package codec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/statestore/provider"
)

// Two bodies and what the Java libraries make of them: an empty delta, and one
// put of a 16-byte key and a 16-byte value.
const (
	emptyBody = "ffffffff"
	putBody   = "00000010 00000000000000000000000000000000 00000010 00000000000000000000000000000000 ffffffff"
)

var vectors = []struct {
	codec      Codec
	empty, put string
}{
	{LZ4,
		"4c5a34426c6f636b 15 04000000 04000000 db804d08 ffffffff  4c5a34426c6f636b 15 00000000 00000000 00000000",
		"4c5a34426c6f636b 25 11000000 2c000000 5a9cfd06 5e000000100001000c14005000ffffffff  4c5a34426c6f636b 15 000000000000000000000000"},
	{LZF,
		"5a5600 0004 ffffffff",
		"5a5601 0012 002c 03000000102003e00700e0081303ffffffff"},
	{Snappy,
		"82534e4150505900 00000001 00000001 00000006 040cffffffff",
		"82534e4150505900 00000001 00000001 00000012 2c1000000010004601004214000cffffffff"},
	{Zstd,
		"28b52ffd 00 48 200000 ffffffff 010000",
		"28b52ffd 00 48 9c0000 5800000010001000ffffffff0200a0c31ed002 010000"},
	{None, emptyBody, putBody},
}

func TestVectors(t *testing.T) {
	for _, v := range vectors {
		t.Run(v.codec.String(), func(t *testing.T) {
			for _, pair := range [][2]string{{v.empty, emptyBody}, {v.put, putBody}} {
				file, body := unhex(t, pair[0]), unhex(t, pair[1])
				r, err := NewReader(bytes.NewReader(file), int64(len(file)))
				require.NoError(t, err)
				require.Equal(t, v.codec, r.Codec())
				got, err := drain(r)
				require.NoError(t, err)
				require.Equal(t, body, got)
				_, err = r.Next()
				require.Equal(t, io.EOF, err, "again")
				require.NoError(t, r.Close())
			}
			// The empty delta leaves a compressor no choice.
			require.Equal(t, unhex(t, v.empty), encode(t, v.codec, 0, unhex(t, emptyBody)))
		})
	}
}

// roundTripSizes are block sizes and bodies around them.
func roundTripSizes(c Codec) []int {
	switch c {
	case LZ4:
		return []int{64, 65, 1000, 1 << 10, 1<<10 + 1, 1 << 11, 1 << 12, 1 << 13, 1 << 14, 1 << 15, 1 << 16, 1 << 17}
	case LZF:
		return []int{1, 2, 15, 16, 17, 1000, 65_534, 65_535}
	case Snappy:
		return []int{1 << 10, 1<<10 + 1, 1 << 15, 1 << 16, 1<<16 + 1, 1 << 17}
	case Zstd:
		return []int{1 << 10, 1 << 15, 1<<15 + 1, 1 << 17}
	}
	return []int{0}
}

func TestRoundTrip(t *testing.T) {
	plain, hard := rows(8000), noise(600_000)
	zeros := make([]byte, 600_000)
	var r Reader
	_, err := r.Next()
	require.ErrorIs(t, err, fs.ErrClosed)
	for _, c := range allCodecs {
		for _, size := range roundTripSizes(c) {
			t.Run(fmt.Sprintf("%v/%d", c, size), func(t *testing.T) {
				block := max(size, 16)
				for _, n := range []int{1, 2, 3, 4, 15, 16, 17, 31, 32, 33, block - 1, block, block + 1, 2*block - 1, 2 * block, 2*block + 1, 4*block + 7} {
					for _, source := range [][]byte{plain, hard, zeros} {
						body := source[:min(n, len(source))]
						file := encode(t, c, size, body)
						if c == None {
							// Not what a record stream starts with; see Sniff.
							body = join([]byte(endMark), body)
							file = encode(t, c, size, body)
						}
						require.NoError(t, r.Reset(bytes.NewReader(file), int64(len(file))))
						require.Equal(t, c, r.Codec())
						got, err := drain(&r)
						require.NoError(t, err)
						sameBytes(t, body, got)
						require.Equal(t, int64(len(file)), r.src.offset())
					}
				}
			})
		}
	}
	require.NoError(t, r.Close())
}

// Nothing written: LZ4 and Snappy still have something to say, and zstd here
// writes an empty frame, where Java's zstd and LZF write nothing at all.
func TestRoundTripNothing(t *testing.T) {
	for c, size := range map[Codec]int{LZ4: 21, Snappy: 16, Zstd: 9} {
		file := encode(t, c, 0, nil)
		require.Len(t, file, size, c)
		got, err := decode(file)
		require.NoError(t, err)
		require.Empty(t, got)
	}
	require.Empty(t, encode(t, LZF, 0, nil))
}

func TestConcatenated(t *testing.T) {
	a, b := rows(10), rows(5000)
	for _, c := range compressed {
		t.Run(c.String(), func(t *testing.T) {
			file := join(encode(t, c, 0, a), encode(t, c, 0, b), encode(t, c, 0, a))
			got, err := decode(file)
			require.NoError(t, err)
			sameBytes(t, join(a, b, a), got)
		})
	}
}

// TestOffsets has every block start where the one before ended.
func TestOffsets(t *testing.T) {
	body := noise(10 << 10)
	for c, want := range map[Codec][]int64{
		LZ4:    {0, 4096 + 21, 2 * (4096 + 21), 2*(4096+21) + 2048 + 21 + 21},
		LZF:    {0, 4096 + 5, 2 * (4096 + 5), 2*(4096+5) + 2048 + 5},
		Snappy: {16, 16 + 4105, 16 + 2*4105, 16 + 2*4105 + 2057},
		Zstd:   {6, 6 + 4099, 6 + 2*4099, 6 + 2*4099 + 2051 + 3},
	} {
		file := encode(t, c, 4096, body)
		r, err := NewReader(bytes.NewReader(file), int64(len(file)))
		require.NoError(t, err)
		for _, at := range want[:3] {
			_, err := r.Next()
			require.NoError(t, err)
			require.Equal(t, at, r.Offset(), c)
		}
		_, err = r.Next()
		require.Equal(t, io.EOF, err)
		require.Equal(t, want[3], r.Offset(), c)
		require.NoError(t, r.Close())
	}
}

// TestTruncated cuts files at every byte. A cut is an error, but for one
// between two units of Snappy and LZF, and anywhere in a plain file: those
// formats have no end.
func TestTruncated(t *testing.T) {
	body := join(rows(40), noise(500), rows(3))
	for _, c := range allCodecs {
		t.Run(c.String(), func(t *testing.T) {
			file := encode(t, c, 1<<10, body)
			units := unitEnds(t, file)
			whole, err := decode(file)
			require.NoError(t, err)
			for n := range len(file) {
				got, err := decode(file[:n])
				require.True(t, bytes.HasPrefix(whole, got), "cut at %d: other bytes", n)
				switch {
				case n == 0:
					requireFileError(t, err, provider.ErrTruncated, 0)
				case c == None && n >= minPlainRecord+48, units[n]:
					require.NoError(t, err, "cut at %d", n)
				case c == None:
					// Too short for the key that it starts with.
					require.ErrorIs(t, err, provider.ErrDamaged, "cut at %d", n)
				case c == Snappy && n > xerialHeader && (units[n-1] || units[n-2] || units[n-3]):
					// As likely something behind the end as a cut length.
					require.ErrorIs(t, err, provider.ErrCorrupt, "cut at %d", n)
					require.ErrorIs(t, err, ErrTrailing, "cut at %d", n)
				default:
					require.ErrorIs(t, err, provider.ErrTruncated, "cut at %d", n)
				}
			}
		})
	}
}

// unitEnds returns the offsets in a Snappy or LZF file at which the stream
// may end.
func unitEnds(t *testing.T, file []byte) map[int]bool {
	t.Helper()
	r, err := NewReader(bytes.NewReader(file), int64(len(file)))
	require.NoError(t, err)
	ends := map[int]bool{}
	if r.Codec() != Snappy && r.Codec() != LZF {
		return ends
	}
	if r.Codec() == Snappy {
		ends[xerialHeader] = true
	}
	for {
		if _, err := r.Next(); err == io.EOF {
			break
		}
		require.NoError(t, err)
		ends[int(r.src.offset())] = true
	}
	require.Greater(t, len(ends), 3)
	return ends
}

func TestTrailing(t *testing.T) {
	body := rows(20)
	for _, tail := range [][]byte{{0}, {1, 2, 3}, []byte("LZ4B"), make([]byte, 20), make([]byte, 21), make([]byte, 1000)} {
		for _, c := range []Codec{LZ4, Zstd} {
			file := encode(t, c, 0, body)
			got, err := decode(join(file, tail))
			sameBytes(t, body, got)
			fe := requireFileError(t, err, provider.ErrCorrupt, int64(len(file)))
			require.Equal(t, ErrTrailing, fe.Err)
			// lz4-java does not look at less than a header.
			require.Equal(t, c == Zstd || len(tail) >= lz4Header, fe.Condition != "")
		}
	}
	// Of Snappy only less than a length; more is a chunk, if a bad one.
	file := encode(t, Snappy, 0, body)
	got, err := decode(join(file, []byte{0, 0, 1}))
	sameBytes(t, body, got)
	fe := requireFileError(t, err, provider.ErrCorrupt, int64(len(file)))
	require.Equal(t, ErrTrailing, fe.Err)
	require.Equal(t, fmt.Sprintf("at byte %d: the stream has ended, but the file goes on with 00 00 01: bytes after the end of the stream", len(file)), fe.Error())
}

func TestNewReaderErrors(t *testing.T) {
	_, err := NewReader(bytes.NewReader(nil), 0)
	fe := requireFileError(t, err, provider.ErrTruncated, 0)
	require.Equal(t, "0 bytes: no codec writes an empty file here", fe.Detail)
	require.Equal(t, "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED", fe.Condition)

	_, err = NewReader(bytes.NewReader([]byte("PK\x03\x04............................")), 32)
	fe = requireFileError(t, err, provider.ErrCodec, 0)
	require.Contains(t, fe.Detail, "50 4b 03 04")

	_, err = NewReader(bytes.NewReader([]byte("LZ4B")), 4)
	requireFileError(t, err, provider.ErrTruncated, 0)

	_, err = NewReader(iotest.ErrReader(fs.ErrPermission), 10)
	require.ErrorIs(t, err, fs.ErrPermission)
	require.NotErrorIs(t, err, provider.ErrDamaged)
}

// A failure below is passed on as such, after what was read before it.
func TestReadFailure(t *testing.T) {
	broken := errors.New("broken pipe")
	body := rows(3000)
	for _, c := range allCodecs {
		file := encode(t, c, 0, body)
		half := len(file) / 2
		r, err := NewReader(io.MultiReader(bytes.NewReader(file[:half]), iotest.ErrReader(broken)), int64(len(file)))
		require.NoError(t, err)
		got, err := drain(r)
		require.ErrorIs(t, err, broken, c)
		require.NotErrorIs(t, err, provider.ErrDamaged, c)
		require.True(t, bytes.HasPrefix(body, got))
		_, again := r.Next()
		require.Equal(t, err, again)
		require.NoError(t, r.Close())
	}
}

// stingy returns nothing at all now and then.
type stingy struct {
	r    io.Reader
	turn int
}

func (s *stingy) Read(p []byte) (int, error) {
	if s.turn++; s.turn%3 != 0 {
		return 0, nil
	}
	return s.r.Read(p[:min(len(p), 7)])
}

// badCount breaks the contract of io.Reader.
type badCount struct{ n func(int) int }

func (b badCount) Read(p []byte) (int, error) { return b.n(len(p)), nil }

func TestOddReaders(t *testing.T) {
	body := rows(3000)
	for _, c := range allCodecs {
		file := encode(t, c, 0, body)
		for name, r := range map[string]io.Reader{
			"one byte":     iotest.OneByteReader(bytes.NewReader(file)),
			"half":         iotest.HalfReader(bytes.NewReader(file)),
			"data and EOF": iotest.DataErrReader(bytes.NewReader(file)),
			"stingy":       &stingy{r: bytes.NewReader(file)},
		} {
			// The size may be unknown or wrong.
			for _, size := range []int64{int64(len(file)), -1, int64(len(file)) - 5, 1 << 40} {
				if name != "stingy" && size != int64(len(file)) {
					continue
				}
				d, err := NewReader(r, size)
				require.NoError(t, err, name)
				got, err := drain(d)
				require.NoError(t, err, name)
				sameBytes(t, body, got)
				require.NoError(t, d.Close())
				r = &stingy{r: bytes.NewReader(file)}
			}
		}
	}
	_, err := NewReader(badCount{func(int) int { return 0 }}, 100)
	require.ErrorIs(t, err, io.ErrNoProgress)
	_, err = NewReader(badCount{func(int) int { return -1 }}, 100)
	require.ErrorContains(t, err, "impossible count")
	_, err = NewReader(badCount{func(n int) int { return n + 1 }}, 100)
	require.ErrorContains(t, err, "impossible count")
}

// One Reader for files of all codecs, good and bad, in turn.
func TestReset(t *testing.T) {
	body := rows(3000)
	r, err := NewReader(bytes.NewReader([]byte(endMark)), 4)
	require.NoError(t, err)
	for range 2 {
		for _, c := range allCodecs {
			file := encode(t, c, 0, body)
			require.NoError(t, r.Reset(bytes.NewReader(file), int64(len(file))))
			// Leave after the first block.
			_, err := r.Next()
			require.NoError(t, err)
			require.ErrorIs(t, r.Reset(bytes.NewReader(nil), 0), provider.ErrTruncated)
			require.Equal(t, Unknown, r.Codec())
			_, err = r.Next()
			require.ErrorIs(t, err, provider.ErrTruncated)

			require.NoError(t, r.Reset(bytes.NewReader(file[:len(file)-1]), -1))
			_, err = drain(r)
			if c != None {
				require.ErrorIs(t, err, provider.ErrTruncated, c)
			}
			require.NoError(t, r.Reset(bytes.NewReader(file), int64(len(file))))
			require.Equal(t, c, r.Codec())
			got, err := drain(r)
			require.NoError(t, err)
			sameBytes(t, body, got)
		}
		// A closed Reader can go on.
		require.NoError(t, r.Close())
		_, err := r.Next()
		require.ErrorIs(t, err, fs.ErrClosed)
		require.NoError(t, r.Close())
	}
}

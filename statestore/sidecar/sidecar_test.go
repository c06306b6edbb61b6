package sidecar_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/statestore/provider"
	"github.com/sparkstate/sparkstate/statestore/sidecar"
)

// The empty delta that Spark writes with LZ4, and the sidecars of a real one.
const (
	emptyDelta  = "4c5a34426c6f636b150400000004000000db804d08ffffffff4c5a34426c6f636b15000000000000000000000000"
	emptyHadoop = "63726300000002004525ee35"
	emptySpark  = `{"algorithm":"CRC32C","value":1094531963,"mainFileSize":46,"timestampMs":1761900000000,"creator":{"executorId":"driver","taskInfo":"Task= 0.0, Stage= 3.0"}}`
)

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	require.NoError(t, err)
	return b
}

func TestRealSidecars(t *testing.T) {
	data := unhex(t, emptyDelta)
	h, err := sidecar.ParseHadoop(unhex(t, emptyHadoop))
	require.NoError(t, err)
	assert.NoError(t, h.Verify(data))
	assert.EqualValues(t, len(emptyHadoop)/2, sidecar.HadoopSize(int64(len(data))))
	s, err := sidecar.ParseSpark([]byte(emptySpark))
	require.NoError(t, err)
	assert.Equal(t, "driver", s.Creator.ExecutorID)
	d := sidecar.NewDigest()
	require.NoError(t, d.Copy(bytes.NewReader(data)))
	assert.NoError(t, s.Check(d))

	data[3] ^= 1
	assert.ErrorIs(t, h.Verify(data), provider.ErrChecksum)
	d = sidecar.NewDigest()
	require.NoError(t, d.Copy(bytes.NewReader(data)))
	assert.ErrorIs(t, s.Check(d), provider.ErrChecksum)
	d = sidecar.NewDigest()
	require.NoError(t, d.Copy(bytes.NewReader(data[1:])))
	assert.ErrorContains(t, s.Check(d), "the .crc file says 46 bytes, the file has 45")
}

func TestNames(t *testing.T) {
	assert.Equal(t, ".5.delta.crc", sidecar.HadoopName("5.delta"))
	assert.Equal(t, "5.delta.crc", sidecar.SparkName("5.delta"))
}

func TestNotSidecars(t *testing.T) {
	for _, b := range []string{"", "crc", "crc\x00\x00\x00", "crd\x00\x00\x00\x02\x00", "crc\x00\x00\x00\x00\x00", "crc\x00\x7f\xff\xff\xff"} {
		_, err := sidecar.ParseHadoop([]byte(b))
		assert.ErrorIs(t, err, provider.ErrCorrupt, "%q", b)
	}
	_, err := sidecar.ParseSpark([]byte("crc\x00"))
	assert.ErrorIs(t, err, provider.ErrCorrupt)
	_, err = sidecar.ParseSpark([]byte(`{"algorithm":"MD5"}`))
	assert.ErrorIs(t, err, provider.ErrUnsupported)
}

// sums returns a sidecar with small pieces, made by the parser's own rules.
func sums(t *testing.T, data []byte, piece int) *sidecar.Hadoop {
	t.Helper()
	h := &sidecar.Hadoop{BytesPerChecksum: piece}
	for off := 0; off < len(data); off += piece {
		one := data[off:min(off+piece, len(data))]
		// Of a file of one piece the only sum is the one that Verify asks for.
		probe := &sidecar.Hadoop{BytesPerChecksum: piece, Sums: []uint32{0}}
		var fe *provider.FileError
		if err := probe.Verify(one); errors.As(err, &fe) {
			got := fe.Detail[len(fe.Detail)-8:]
			b := unhex(t, got)
			h.Sums = append(h.Sums, uint32(b[0])<<24|uint32(b[1])<<16|uint32(b[2])<<8|uint32(b[3]))
		} else {
			h.Sums = append(h.Sums, 0)
		}
	}
	return h
}

// No byte of a piece that differs comes out, whatever the sizes of the reads.
func TestReader(t *testing.T) {
	data := []byte(strings.Repeat("0123456789", 20_000))
	for _, bad := range []int{-1, 0, 511, 512, 70_000, len(data) - 1} {
		for name, wrap := range map[string]func(io.Reader) io.Reader{
			"whole": func(r io.Reader) io.Reader { return r }, "bytes": iotest.OneByteReader, "halves": iotest.HalfReader, "with EOF": iotest.DataErrReader,
		} {
			stored := bytes.Clone(data)
			if bad >= 0 {
				stored[bad] ^= 0x80
			}
			h := sums(t, data, 512)
			got, err := io.ReadAll(h.Reader(wrap(bytes.NewReader(stored)), nil))
			if bad < 0 {
				require.NoError(t, err, name)
				assert.True(t, bytes.Equal(data, got))
				continue
			}
			require.ErrorIs(t, err, provider.ErrChecksum)
			var fe *provider.FileError
			require.ErrorAs(t, err, &fe)
			assert.EqualValues(t, bad/512*512, fe.Offset)
			assert.True(t, bytes.Equal(data[:bad/512*512], got), "%s %d", name, bad)

			told := 0
			got, err = io.ReadAll(h.Reader(wrap(bytes.NewReader(stored)), func(error) { told++ }))
			require.NoError(t, err)
			assert.True(t, bytes.Equal(stored, got))
			assert.Equal(t, 1, told)
		}
	}
}

func TestTooFewSums(t *testing.T) {
	data := make([]byte, 600)
	h := sums(t, data, 512)
	h.Sums = h.Sums[:1]
	assert.ErrorIs(t, h.Verify(data), provider.ErrChecksum)
	_, err := io.ReadAll(h.Reader(bytes.NewReader(data), nil))
	assert.ErrorIs(t, err, provider.ErrChecksum)
	h = sums(t, data, 512)
	h.Sums = append(h.Sums, 1) // more than needed is fine
	assert.NoError(t, h.Verify(data))
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("crc\x00\x00\x00\x02\x00abcd"))
	f.Add([]byte(emptySpark))
	f.Fuzz(func(t *testing.T, b []byte) {
		if h, err := sidecar.ParseHadoop(b); err == nil {
			_ = h.Verify(b)
		}
		if s, err := sidecar.ParseSpark(b); err == nil {
			_ = s.Check(sidecar.NewDigest())
		}
	})
}

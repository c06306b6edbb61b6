package codec

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/statestore/provider"
)

// FuzzReader reads any bytes: an error about the file or a proper end, and no
// block beyond the limit.
func FuzzReader(f *testing.F) {
	for _, v := range vectors {
		f.Add(unhex(f, v.empty))
		f.Add(unhex(f, v.put))
		f.Add(encode(f, v.codec, 1<<10, rows(50)))
	}
	f.Add(zstdWith(f, rows(50)))
	f.Add(join(skippable(3), encode(f, Zstd, 0, rows(2))))
	f.Add(lz4BlockOf(0x2f, 32<<20-1, 32<<20, 0, nil))
	f.Add([]byte{})

	const (
		maxBlock = 1 << 20
		enough   = 64 << 20
	)
	f.Fuzz(func(t *testing.T, file []byte) {
		r, err := NewReader(bytes.NewReader(file), int64(len(file)), WithMaxBlock(maxBlock))
		if err != nil {
			requireDamage(t, err, len(file))
			return
		}
		for total := 0; total < enough; {
			p, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				require.Nil(t, p)
				requireDamage(t, err, len(file))
				break
			}
			require.NotEmpty(t, p)
			require.LessOrEqual(t, len(p), maxBlock)
			require.LessOrEqual(t, r.Offset(), int64(len(file)))
			total += len(p)
		}
		require.NoError(t, r.Close())
	})
}

// requireDamage checks that err is about a file of n bytes.
func requireDamage(t *testing.T, err error, n int) {
	t.Helper()
	var fe *provider.FileError
	require.ErrorAs(t, err, &fe)
	require.GreaterOrEqual(t, fe.Offset, int64(0))
	require.LessOrEqual(t, fe.Offset, int64(n))
	require.True(t, errors.Is(err, provider.ErrDamaged) || errors.Is(err, provider.ErrUnsupported), err)
}

// FuzzRoundTrip writes any bytes with any codec and block size, in pieces, and
// reads them back.
func FuzzRoundTrip(f *testing.F) {
	for _, c := range compressed {
		f.Add(rows(100), uint8(c), uint32(0), uint16(100))
		f.Add(noise(3000), uint8(c), uint32(1024), uint16(1))
	}
	f.Fuzz(func(t *testing.T, body []byte, c uint8, blockSize uint32, piece uint16) {
		var file bytes.Buffer
		w, err := NewWriter(&file, Codec(c), int(blockSize%(1<<17+1)))
		if err != nil {
			return
		}
		for p := body; len(p) > 0; {
			n := min(int(piece)+1, len(p))
			m, err := w.Write(p[:n])
			require.NoError(t, err)
			require.Equal(t, n, m)
			p = p[n:]
		}
		require.NoError(t, w.Close())
		if file.Len() == 0 || Codec(c) == None && Sniff(body, int64(len(body))) != None {
			return
		}
		got, err := decode(file.Bytes())
		require.NoError(t, err)
		sameBytes(t, body, got)
	})
}

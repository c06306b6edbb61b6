package codec

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// full fails once it holds n bytes.
type full struct{ n int }

var errFull = errors.New("disk full")

func (f *full) Write(p []byte) (int, error) {
	if len(p) > f.n {
		n := f.n
		f.n = 0
		return n, errFull
	}
	f.n -= len(p)
	return len(p), nil
}

// A failure below comes up, wherever it happens, and stays.
func TestWriterFailure(t *testing.T) {
	body := noise(300_000)
	for _, c := range allCodecs {
		whole := len(encode(t, c, 1<<10, body))
		for _, n := range []int{0, 1, 16, 20, 5000, whole / 2, whole - 1} {
			w, err := NewWriter(&full{n}, c, 1<<10)
			if err == nil {
				_, err = w.Write(body)
				if err == nil {
					err = w.Close()
				}
				require.Equal(t, err, w.Close())
				_, again := w.Write([]byte{1})
				require.Equal(t, err, again)
			}
			require.ErrorIs(t, err, errFull, "%v, %d bytes", c, n)
		}
	}
}

func TestWriterClosed(t *testing.T) {
	for _, c := range allCodecs {
		var a, b bytes.Buffer
		w, err := NewWriter(&a, c, 0)
		require.NoError(t, err)
		_, err = w.Write([]byte(endMark))
		require.NoError(t, err)
		require.NoError(t, w.Close())
		require.NoError(t, w.Close())
		_, err = w.Write([]byte(endMark))
		require.Error(t, err)

		// Another file from the same Writer, the first one's leftovers gone.
		w.Reset(&bytes.Buffer{})
		_, err = w.Write([]byte("lost"))
		require.NoError(t, err)
		w.Reset(&b)
		_, err = w.Write([]byte(endMark))
		require.NoError(t, err)
		require.NoError(t, w.Close())
		require.Equal(t, a.Bytes(), b.Bytes(), c)
	}
	for _, c := range []Codec{Unknown, 99} {
		_, err := NewWriter(&bytes.Buffer{}, c, 0)
		require.Error(t, err)
	}
}

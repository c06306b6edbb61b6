package codec

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/statestore/provider"
)

// compressed lists the codecs that Spark has; allCodecs adds the plain file.
var (
	compressed = Compressions()
	allCodecs  = All()
)

// endMark is the body of a delta without changes.
const endMark = "\xff\xff\xff\xff"

// unhex turns a dump, spaces and all, into bytes.
func unhex(t testing.TB, dump string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(dump), ""))
	require.NoError(t, err)
	return b
}

// encode compresses body; blockSize 0 is Spark's default.
func encode(t testing.TB, c Codec, blockSize int, body []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter(&b, c, blockSize)
	require.NoError(t, err)
	n, err := w.Write(body)
	require.NoError(t, err)
	require.Equal(t, len(body), n)
	require.NoError(t, w.Close())
	return b.Bytes()
}

// decode decodes a file to its end or to the first error, and returns what was
// decoded before that.
func decode(file []byte, opts ...Option) ([]byte, error) {
	r, err := NewReader(bytes.NewReader(file), int64(len(file)), opts...)
	if err != nil {
		return nil, err
	}
	body, err := drain(r)
	return body, errors.Join(err, r.Close())
}

// drain reads what is left of r.
func drain(r *Reader) ([]byte, error) {
	var body []byte
	for {
		p, err := r.Next()
		if err == io.EOF {
			return body, nil
		}
		if err != nil {
			return body, err
		}
		if len(p) == 0 {
			return body, errors.New("empty block")
		}
		body = append(body, p...)
	}
}

// rows returns a record stream of n puts as an aggregation by two strings
// writes them, with end mark: it compresses about as real state does.
func rows(n int) []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	var b []byte
	for i := range n {
		b = binary.BigEndian.AppendUint32(b, 48)
		key := [48]byte{}
		binary.LittleEndian.PutUint64(key[8:], 24<<32|12)
		binary.LittleEndian.PutUint64(key[16:], 40<<32|8)
		copy(key[24:], "profile-"+hex.EncodeToString(binary.BigEndian.AppendUint32(nil, rng.Uint32()))[:4])
		binary.BigEndian.PutUint32(key[40:], rng.Uint32N(1<<24))
		b = append(b, key[:]...)
		b = binary.BigEndian.AppendUint32(b, 16)
		b = binary.LittleEndian.AppendUint64(b, 0)
		b = binary.LittleEndian.AppendUint64(b, uint64(i)*uint64(rng.Uint32N(5)))
	}
	return append(b, endMark...)
}

// noise returns n bytes that nothing compresses.
func noise(n int) []byte {
	rng := rand.New(rand.NewPCG(3, 4))
	b := make([]byte, 0, n+8)
	for len(b) < n {
		b = binary.LittleEndian.AppendUint64(b, rng.Uint64())
	}
	return b[:n]
}

// requireFileError checks kind and place of an error, and returns it.
func requireFileError(t testing.TB, err error, kind error, offset int64) *provider.FileError {
	t.Helper()
	var fe *provider.FileError
	require.ErrorAs(t, err, &fe)
	require.ErrorIs(t, err, kind)
	require.Equal(t, offset, fe.Offset, err.Error())
	require.NotEmpty(t, fe.Detail)
	return fe
}

// sameBytes compares without printing megabytes.
func sameBytes(t testing.TB, want, got []byte) {
	t.Helper()
	if !bytes.Equal(want, got) {
		i := 0
		for i < min(len(want), len(got)) && want[i] == got[i] {
			i++
		}
		t.Fatalf("%d bytes, want %d; the first difference is at %d", len(got), len(want), i)
	}
}

// join concatenates files.
func join(files ...[]byte) []byte { return slices.Concat(files...) }

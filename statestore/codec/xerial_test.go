package codec

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/golang/snappy"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/statestore/provider"
)

func TestXerialRules(t *testing.T) {
	header := []byte(xerialMagic + "\x00\x00\x00\x01\x00\x00\x00\x01")
	chunk := func(p []byte) []byte {
		return append(binary.BigEndian.AppendUint32(nil, uint32(len(p))), p...)
	}
	data := bytes.Repeat([]byte("0123456789"), 100)
	packed := snappy.Encode(nil, data)
	good := join(header, chunk(packed))

	for _, test := range []struct {
		name string
		bad  []byte
		kind error
	}{
		{"whole", nil, nil},
		{"one more", chunk(packed), nil},
		{"a header alone", header, nil},
		{"a chunk of no bytes", chunk([]byte{0}), nil},
		{"4 GiB in a header's place", []byte{0x82, 'S', 'N', 'A', 0, 0, 0, 0}, provider.ErrCorrupt},
		{"half a header", header[:12], provider.ErrTruncated},
		{"version 2", []byte(xerialMagic + "\x00\x00\x00\x02\x00\x00\x00\x01"), provider.ErrUnsupported},
		{"compatible with 2", []byte(xerialMagic + "\x00\x00\x00\x01\x00\x00\x00\x02"), provider.ErrUnsupported},
		{"version 0", []byte(xerialMagic + "\x00\x00\x00\x00\x00\x00\x00\x01"), provider.ErrUnsupported},
		{"length 0", []byte{0, 0, 0, 0}, provider.ErrCorrupt},
		{"negative length", []byte{0xff, 0, 0, 0}, provider.ErrCorrupt},
		{"2 GiB", []byte{0x7f, 0xff, 0xff, 0xff}, provider.ErrTooLarge},
		{"32 MiB that are not there", []byte{2, 0, 0, 0, 1, 2, 3}, provider.ErrTruncated},
		{"more than Snappy can hold", chunk(append(binary.AppendUvarint(nil, 1<<24), packed[2:]...)), provider.ErrCorrupt},
		{"length that does not end", chunk(bytes.Repeat([]byte{0xff}, 20)), provider.ErrCorrupt},
		{"decodes to less", chunk(append(binary.AppendUvarint(nil, 1001), packed[2:]...)), provider.ErrCorrupt},
		{"decodes to more", chunk(append(binary.AppendUvarint(nil, 999), packed[2:]...)), provider.ErrCorrupt},
		{"offset before the start", chunk([]byte{5, 0x00, 'x', 0x01, 0x02}), provider.ErrCorrupt},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := decode(join(good, test.bad))
			require.True(t, bytes.HasPrefix(got, data))
			if test.kind == nil {
				require.NoError(t, err)
				return
			}
			require.Equal(t, data, got)
			requireFileError(t, err, test.kind, int64(len(good)))
		})
	}
}

func TestXerialLimits(t *testing.T) {
	body := rows(2000)
	file := encode(t, Snappy, 64<<10, body)
	_, err := decode(file, WithMaxBlock(64<<10))
	require.NoError(t, err)
	_, err = decode(file, WithMaxBlock(64<<10-1))
	requireFileError(t, err, provider.ErrTooLarge, xerialHeader)
	for _, size := range []int{-1, 1, 1023, 32<<20 + 1} {
		_, err := NewWriter(&bytes.Buffer{}, Snappy, size)
		require.Error(t, err)
	}
	large := rows(450_000)[:32<<20]
	got, err := decode(encode(t, Snappy, 32<<20, large))
	require.NoError(t, err)
	sameBytes(t, large, got)
}

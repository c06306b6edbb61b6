package codec

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/pierrec/lz4/v4"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/statestore/provider"
)

// lz4Block builds a block of the stream with a checksum that fits plain.
func lz4Block(token byte, payload, plain []byte) []byte {
	return lz4BlockOf(token, int32(len(payload)), int32(len(plain)), xxh32(plain, lz4Seed)&lz4SumMask, payload)
}

func lz4BlockOf(token byte, stored, plain int32, sum uint32, payload []byte) []byte {
	b := append([]byte(lz4Magic), token)
	b = binary.LittleEndian.AppendUint32(b, uint32(stored))
	b = binary.LittleEndian.AppendUint32(b, uint32(plain))
	b = binary.LittleEndian.AppendUint32(b, sum)
	return append(b, payload...)
}

var lz4End = lz4BlockOf(0x15, 0, 0, 0, nil)

func TestLZ4Rules(t *testing.T) {
	data := []byte("0123456789abcdef")
	good := lz4Block(0x15, data, data)
	zeros := make([]byte, 1000)
	packed := make([]byte, lz4.CompressBlockBound(len(zeros)))
	n, err := lz4.CompressBlock(zeros, packed, nil)
	require.NoError(t, err)
	packed = packed[:n]

	for _, test := range []struct {
		name string
		bad  []byte // what follows a good block
		kind error  // nil: nothing is wrong
	}{
		{"whole", lz4End, nil},
		{"compressed", join(lz4Block(0x20, packed, zeros), lz4End), nil},
		{"end mark of another block size", lz4BlockOf(0x1f, 0, 0, 0, nil), nil},
		{"no end mark", nil, provider.ErrTruncated},
		{"end mark with a checksum", lz4BlockOf(0x15, 0, 0, 1, nil), provider.ErrCorrupt},
		{"method 0", join(lz4Block(0x05, data, data), lz4End), provider.ErrCorrupt},
		{"method 3", join(lz4Block(0x35, data, data), lz4End), provider.ErrCorrupt},
		{"negative stored", join(lz4BlockOf(0x25, -1, 16, 0, data), lz4End), provider.ErrCorrupt},
		{"negative plain", join(lz4BlockOf(0x25, 16, -1, 0, data), lz4End), provider.ErrCorrupt},
		{"nothing stored", join(lz4BlockOf(0x25, 0, 16, 0, nil), lz4End), provider.ErrCorrupt},
		{"nothing plain", join(lz4BlockOf(0x25, 16, 0, 0, data), lz4End), provider.ErrCorrupt},
		{"raw of other length", join(lz4BlockOf(0x15, 16, 17, 0, data), lz4End), provider.ErrCorrupt},
		{"above the block size", join(lz4Block(0x10, make([]byte, 1025), make([]byte, 1025)), lz4End), provider.ErrCorrupt},
		{"at the block size", join(lz4Block(0x10, make([]byte, 1024), make([]byte, 1024)), lz4End), nil},
		{"more than LZ4 can hold", join(lz4BlockOf(0x2f, 16, 16*255+1, 0, data), lz4End), provider.ErrCorrupt},
		{"less than LZ4 needs", join(lz4BlockOf(0x2f, 1000, 16, 0, make([]byte, 1000)), lz4End), provider.ErrCorrupt},
		{"2 GiB", lz4BlockOf(0x1f, 1<<31-1, 1<<31-1, 0, nil), provider.ErrCorrupt},
		{"32 MiB that are not there", lz4BlockOf(0x1f, 32<<20, 32<<20, 0, data), provider.ErrTruncated},
		{"decodes to more", join(lz4Block(0x25, packed, zeros[:999]), lz4End), provider.ErrCorrupt},
		{"decodes to less", join(lz4BlockOf(0x25, int32(len(packed)), 1001, 0, packed), lz4End), provider.ErrCorrupt},
		{"bytes left over", join(lz4Block(0x25, join(packed, []byte{0}), zeros), lz4End), provider.ErrCorrupt},
		{"offset 0", join(lz4BlockOf(0x25, 5, 9, 0, []byte{0x11, 'x', 0, 0, 0}), lz4End), provider.ErrCorrupt},
		{"offset before the start", join(lz4BlockOf(0x25, 5, 9, 0, []byte{0x11, 'x', 2, 0, 0}), lz4End), provider.ErrCorrupt},
		{"wrong checksum", join(lz4BlockOf(0x15, 16, 16, 1, data), lz4End), provider.ErrChecksum},
		{"all 32 bits of the checksum", join(lz4BlockOf(0x15, 4, 4, 0xd84d80db, []byte(endMark)), lz4End), provider.ErrChecksum},
		{"no magic", make([]byte, 100), provider.ErrCorrupt},
		{"half a magic", []byte("LZ4B"), provider.ErrTruncated},
		{"half a header", lz4End[:20], provider.ErrTruncated},
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

// The conditions are those of lz4-java 1.8: it fails where Condition is set,
// and takes for the end what has none.
func TestLZ4Condition(t *testing.T) {
	file := encode(t, LZ4, 0, []byte(endMark))
	for n := 26; n < len(file); n++ {
		_, err := decode(file[:n])
		fe := requireFileError(t, err, provider.ErrTruncated, 25)
		require.Empty(t, fe.Condition)
	}
	_, err := decode(file[:23])
	fe := requireFileError(t, err, provider.ErrTruncated, 0)
	require.NotEmpty(t, fe.Condition)
}

// Block sizes decide the token, as lz4-java counts it.
func TestLZ4BlockSizes(t *testing.T) {
	for size, log := range map[int]byte{64: 0, 1 << 10: 0, 1<<10 + 1: 1, 1 << 11: 1, 32 << 10: 5, 32<<10 + 1: 6, 1 << 20: 10, 32 << 20: 15} {
		file := encode(t, LZ4, size, []byte(endMark))
		require.Equal(t, 0x10|log, file[8], size)
	}
	for _, size := range []int{-1, 1, 63, 32<<20 + 1} {
		_, err := NewWriter(&bytes.Buffer{}, LZ4, size)
		require.Error(t, err)
	}
}

// The largest blocks there are, compressed and not.
func TestLZ4LargestBlock(t *testing.T) {
	body := rows(500_000)[:32<<20+5]
	file := encode(t, LZ4, lz4MaxBlockSize, body)
	got, err := decode(file)
	require.NoError(t, err)
	sameBytes(t, body, got)

	_, err = decode(file, WithMaxBlock(32<<20-1))
	requireFileError(t, err, provider.ErrTooLarge, 0)

	hard := noise(4 << 20)
	got, err = decode(encode(t, LZ4, 4<<20, hard))
	require.NoError(t, err)
	sameBytes(t, hard, got)
}

// TestLZ4BitFlips changes every bit of a file. Each change is an error or
// makes no difference; what makes none is the block size in the tokens and a
// match that could have been taken elsewhere.
func TestLZ4BitFlips(t *testing.T) {
	body := join(rows(30), noise(300), rows(5))
	file := encode(t, LZ4, 1<<10, body)
	survived := map[string]int{}
	for bit := range 8 * len(file) {
		file[bit/8] ^= 1 << (bit % 8)
		got, err := decode(file)
		if err == nil {
			sameBytes(t, body, got)
			survived[lz4Place(t, file, bit/8)]++
		} else {
			require.ErrorIs(t, err, provider.ErrDamaged)
			require.True(t, bytes.HasPrefix(body, got))
		}
		file[bit/8] ^= 1 << (bit % 8)
	}
	t.Logf("%d bits, no difference: %v", 8*len(file), survived)
	for place := range survived {
		require.Contains(t, []string{"token", "payload"}, place)
	}
}

// lz4Place names the part of the block that the byte at offset belongs to.
func lz4Place(t *testing.T, file []byte, offset int) string {
	t.Helper()
	for start := 0; start < len(file); {
		at := offset - start
		length := lz4Header + int(binary.LittleEndian.Uint32(file[start+9:]))
		switch {
		case at >= length:
			start += length
			continue
		case at < 8:
			return "magic"
		case at == 8:
			return "token"
		case at < lz4Header:
			return "header"
		}
		return "payload"
	}
	return fmt.Sprint("beyond the end: ", offset)
}

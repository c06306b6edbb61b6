package codec

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/statestore/provider"
)

func lzfPacked(plain int, p []byte) []byte {
	b := []byte{'Z', 'V', 1}
	b = binary.BigEndian.AppendUint16(b, uint16(len(p)))
	b = binary.BigEndian.AppendUint16(b, uint16(plain))
	return append(b, p...)
}

func TestLZFRules(t *testing.T) {
	good := []byte("ZV\x00\x00\x04\xff\xff\xff\xff")
	for _, test := range []struct {
		name string
		bad  []byte
		kind error
	}{
		{"whole", nil, nil},
		{"literals", lzfPacked(3, []byte{2, 'a', 'b', 'c'}), nil},
		{"a run", lzfPacked(9, []byte{0, 'a', 6 << 5, 0}), nil},
		{"a long run", lzfPacked(265, []byte{0, 'a', 7 << 5, 255, 0}), nil},
		{"no magic", []byte("XV\x00\x00\x04\xff\xff\xff\xff"), provider.ErrCorrupt},
		{"one byte", []byte("Z"), provider.ErrTruncated},
		{"type 2", []byte("ZV\x02\x00\x04\xff\xff\xff\xff"), provider.ErrCorrupt},
		{"plain, no bytes", []byte("ZV\x00\x00\x00"), provider.ErrCorrupt},
		{"packed, no bytes stored", lzfPacked(5, nil), provider.ErrCorrupt},
		{"packed, no bytes plain", lzfPacked(0, []byte{0, 'a'}), provider.ErrCorrupt},
		{"packed header cut", []byte("ZV\x01\x00\x04\x00"), provider.ErrTruncated},
		{"literals missing", lzfPacked(3, []byte{2, 'a', 'b'}), provider.ErrCorrupt},
		{"literals too many", lzfPacked(2, []byte{2, 'a', 'b', 'c'}), provider.ErrCorrupt},
		{"bytes left over", lzfPacked(2, []byte{1, 'a', 'b', 0, 'c'}), provider.ErrCorrupt},
		{"bytes too few", lzfPacked(4, []byte{2, 'a', 'b', 'c'}), provider.ErrCorrupt},
		{"length byte missing", lzfPacked(9, []byte{0, 'a', 7 << 5}), provider.ErrCorrupt},
		{"distance byte missing", lzfPacked(9, []byte{0, 'a', 6 << 5}), provider.ErrCorrupt},
		{"distance byte missing after length", lzfPacked(9, []byte{0, 'a', 7 << 5, 0}), provider.ErrCorrupt},
		{"distance before the start", lzfPacked(9, []byte{0, 'a', 6 << 5, 1}), provider.ErrCorrupt},
		{"match too long", lzfPacked(8, []byte{0, 'a', 6 << 5, 0}), provider.ErrCorrupt},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := decode(join(good, test.bad))
			require.Equal(t, endMark, string(got[:4]))
			if test.kind == nil {
				require.NoError(t, err)
				return
			}
			require.Len(t, got, 4)
			requireFileError(t, err, test.kind, int64(len(good)))
		})
	}
}

// lzfSimple is lzfDecode byte by byte.
func lzfSimple(src []byte, want int) ([]byte, bool) {
	var out []byte
	for len(src) > 0 {
		ctrl := int(src[0])
		src = src[1:]
		if ctrl < 32 {
			if len(src) < ctrl+1 {
				return nil, false
			}
			out = append(out, src[:ctrl+1]...)
			src = src[ctrl+1:]
			continue
		}
		length := ctrl >> 5
		if length == 7 {
			if len(src) == 0 {
				return nil, false
			}
			length += int(src[0])
			src = src[1:]
		}
		if len(src) == 0 {
			return nil, false
		}
		dist := (ctrl&31)<<8 + int(src[0]) + 1
		src = src[1:]
		if dist > len(out) {
			return nil, false
		}
		for range length + 2 {
			out = append(out, out[len(out)-dist])
		}
	}
	return out, len(out) == want
}

// Every distance, with lengths around the widths of the copies.
func TestLZFDistances(t *testing.T) {
	prefix := noise(40)
	out := make([]byte, lzfMaxChunk+lzfSlack)
	for dist := 1; dist <= len(prefix); dist++ {
		for length := lzfMinMatch; length <= lzfMaxMatch; length++ {
			src := appendLZFLiterals(nil, prefix)
			if l := length - 2; l < 7 {
				src = append(src, byte(l<<5), byte(dist-1))
			} else {
				src = append(src, 7<<5, byte(l-7), byte(dist-1))
			}
			src = append(src, 0, '.')
			n := len(prefix) + length + 1
			want, ok := lzfSimple(src, n)
			require.True(t, ok)
			require.True(t, lzfDecode(out[:n+lzfSlack], src))
			sameBytes(t, want, out[:n])
		}
	}
}

// FuzzLZF holds the fast decoder against the simple one.
func FuzzLZF(f *testing.F) {
	e := &lzfEncoder{}
	for _, body := range [][]byte{rows(20), make([]byte, 500), []byte("abcabcabcabcabcabcabcabc")} {
		packed, ok := e.pack(nil, body)
		require.True(f, ok)
		f.Add(packed, uint16(len(body)))
	}
	f.Add([]byte{0, 'a', 7 << 5, 255, 0}, uint16(265))
	f.Add([]byte{0, 'a', 6 << 5}, uint16(9))
	f.Fuzz(func(t *testing.T, src []byte, n uint16) {
		if len(src) > 1<<10 {
			return
		}
		// A guard behind the slack shows writes too far.
		guard := bytes.Repeat([]byte{0xa5}, 64)
		buf := append(make([]byte, int(n)+lzfSlack), guard...)
		ok := lzfDecode(buf[:int(n)+lzfSlack:int(n)+lzfSlack], slices.Clone(src))
		want, wantOK := lzfSimple(src, int(n))
		require.Equal(t, wantOK, ok)
		if ok {
			sameBytes(t, want, buf[:n])
		}
		require.Equal(t, guard, buf[int(n)+lzfSlack:])
	})
}

// What a chunk looks like is decided as compress-lzf decides it.
func TestLZFChunks(t *testing.T) {
	zeros := make([]byte, 2*lzfMaxChunk+20)
	file := encode(t, LZF, 0, zeros)
	var types []byte
	var sizes []int
	for len(file) > 0 {
		types = append(types, file[2])
		stored := int(binary.BigEndian.Uint16(file[3:]))
		if file[2] == lzfTypePlain {
			sizes = append(sizes, stored)
			file = file[lzfPlainHeader+stored:]
			continue
		}
		sizes = append(sizes, int(binary.BigEndian.Uint16(file[5:])))
		file = file[lzfPackedHeader+stored:]
	}
	require.Equal(t, []int{65_535, 65_535, 20}, sizes)
	require.Equal(t, []byte{1, 1, 1}, types)

	require.Equal(t, byte(lzfTypePlain), encode(t, LZF, 0, make([]byte, 15))[2], "too short")
	require.Equal(t, byte(lzfTypePacked), encode(t, LZF, 0, make([]byte, 16))[2])
	require.Equal(t, byte(lzfTypePlain), encode(t, LZF, 0, noise(5000))[2], "does not shrink")
	for _, size := range []int{-1, 1 << 16} {
		_, err := NewWriter(&bytes.Buffer{}, LZF, size)
		require.Error(t, err)
	}
}

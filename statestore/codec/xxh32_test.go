package codec

import (
	"encoding/binary"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestXXH32(t *testing.T) {
	require.Equal(t, uint32(0x02cc5d05), xxh32(nil, 0))
	require.Equal(t, uint32(0xd84d80db), xxh32([]byte(endMark), lz4Seed))
}

// xxh32Simple is the definition of the hash, step by step.
func xxh32Simple(b []byte, seed uint32) uint32 {
	h := seed + xxhPrime5
	n := uint32(len(b))
	if len(b) >= 16 {
		v := [4]uint32{seed + xxhPrime1 + xxhPrime2, seed + xxhPrime2, seed, seed - xxhPrime1}
		for ; len(b) >= 16; b = b[16:] {
			for i := range v {
				v[i] = bits.RotateLeft32(v[i]+binary.LittleEndian.Uint32(b[4*i:])*xxhPrime2, 13) * xxhPrime1
			}
		}
		h = bits.RotateLeft32(v[0], 1) + bits.RotateLeft32(v[1], 7) + bits.RotateLeft32(v[2], 12) + bits.RotateLeft32(v[3], 18)
	}
	h += n
	for ; len(b) >= 4; b = b[4:] {
		h = bits.RotateLeft32(h+binary.LittleEndian.Uint32(b)*xxhPrime3, 17) * xxhPrime4
	}
	for ; len(b) > 0; b = b[1:] {
		h = bits.RotateLeft32(h+uint32(b[0])*xxhPrime5, 11) * xxhPrime1
	}
	h = (h ^ h>>15) * xxhPrime2
	h = (h ^ h>>13) * xxhPrime3
	return h ^ h>>16
}

// Every length around the turns of the unrolled loop.
func TestXXH32Lengths(t *testing.T) {
	p := noise(300)
	for n := range p {
		require.Equal(t, xxh32Simple(p[:n], 0), xxh32(p[:n], 0), "%d bytes", n)
		require.Equal(t, xxh32Simple(p[:n], lz4Seed), xxh32(p[:n], lz4Seed), "%d bytes", n)
	}
}

func BenchmarkXXH32(b *testing.B) {
	p := noise(defaultBlockSize)
	b.SetBytes(int64(len(p)))
	for b.Loop() {
		xxh32(p, lz4Seed)
	}
}

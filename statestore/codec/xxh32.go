package codec

import (
	"encoding/binary"
	"math/bits"
)

// The five primes of XXH32.
const (
	xxhPrime1 uint32 = 2654435761
	xxhPrime2 uint32 = 2246822519
	xxhPrime3 uint32 = 3266489917
	xxhPrime4 uint32 = 668265263
	xxhPrime5 uint32 = 374761393
)

// xxh32 returns the XXH32 hash of b.
//
// Every decoded LZ4 byte passes through here, so the loop takes 32 bytes a
// turn: the four lanes depend on nothing but themselves, and the longer body
// leaves the processor enough independent work to hide the multiplications.
func xxh32(b []byte, seed uint32) uint32 {
	n := uint32(len(b))
	h := seed + xxhPrime5
	if len(b) >= 16 {
		v1 := seed + xxhPrime1 + xxhPrime2
		v2 := seed + xxhPrime2
		v3 := seed
		v4 := seed - xxhPrime1
		for len(b) >= 32 {
			// An array, not a slice: one bounds check for the eight reads.
			p := (*[32]byte)(b)
			v1 = xxhRound(v1, binary.LittleEndian.Uint32(p[0:]))
			v2 = xxhRound(v2, binary.LittleEndian.Uint32(p[4:]))
			v3 = xxhRound(v3, binary.LittleEndian.Uint32(p[8:]))
			v4 = xxhRound(v4, binary.LittleEndian.Uint32(p[12:]))
			v1 = xxhRound(v1, binary.LittleEndian.Uint32(p[16:]))
			v2 = xxhRound(v2, binary.LittleEndian.Uint32(p[20:]))
			v3 = xxhRound(v3, binary.LittleEndian.Uint32(p[24:]))
			v4 = xxhRound(v4, binary.LittleEndian.Uint32(p[28:]))
			b = b[32:]
		}
		if len(b) >= 16 {
			p := (*[16]byte)(b)
			v1 = xxhRound(v1, binary.LittleEndian.Uint32(p[0:]))
			v2 = xxhRound(v2, binary.LittleEndian.Uint32(p[4:]))
			v3 = xxhRound(v3, binary.LittleEndian.Uint32(p[8:]))
			v4 = xxhRound(v4, binary.LittleEndian.Uint32(p[12:]))
			b = b[16:]
		}
		h = bits.RotateLeft32(v1, 1) + bits.RotateLeft32(v2, 7) +
			bits.RotateLeft32(v3, 12) + bits.RotateLeft32(v4, 18)
	}
	h += n
	for ; len(b) >= 4; b = b[4:] {
		h = bits.RotateLeft32(h+binary.LittleEndian.Uint32(b)*xxhPrime3, 17) * xxhPrime4
	}
	for _, c := range b {
		h = bits.RotateLeft32(h+uint32(c)*xxhPrime5, 11) * xxhPrime1
	}
	h ^= h >> 15
	h *= xxhPrime2
	h ^= h >> 13
	h *= xxhPrime3
	h ^= h >> 16
	return h
}

func xxhRound(v, u uint32) uint32 {
	return bits.RotateLeft32(v+u*xxhPrime2, 13) * xxhPrime1
}

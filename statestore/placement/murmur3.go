package placement

import (
	"encoding/binary"
	"math/bits"
)

// Seed is what Spark starts the hash of a key with.
const Seed uint32 = 42

const (
	c1 = 0xcc9e2d51
	c2 = 0x1b873593
)

func mixK(k uint32) uint32 { return bits.RotateLeft32(k*c1, 15) * c2 }

// mixH takes a word in that has been through mixK.
func mixH(h, k uint32) uint32 { return bits.RotateLeft32(h^k, 13)*5 + 0xe6546b64 }

func finish(h, length uint32) uint32 {
	h ^= length
	h ^= h >> 16
	h *= 0x85ebca6b
	h ^= h >> 13
	h *= 0xc2b2ae35
	return h ^ h>>16
}

// HashInt hashes a 32-bit value.
func HashInt(v int32, seed uint32) uint32 { return finish(mixH(seed, mixK(uint32(v))), 4) }

// HashLong hashes a 64-bit value, the lower half first.
func HashLong(v int64, seed uint32) uint32 {
	h := mixH(seed, mixK(uint32(v)))
	return finish(mixH(h, mixK(uint32(uint64(v)>>32))), 8)
}

// HashBytes hashes bytes. Where their number is no multiple of 4, each of the
// bytes at the end makes a round of its own, sign-extended: that is Spark's,
// not the usual Murmur3.
func HashBytes(b []byte, seed uint32) uint32 {
	h, length := seed, uint32(len(b))
	for ; len(b) >= 4; b = b[4:] {
		h = mixH(h, mixK(binary.LittleEndian.Uint32(b)))
	}
	for _, c := range b {
		h = mixH(h, mixK(uint32(int8(c))))
	}
	return finish(h, length)
}

// Partition returns the partition of n that a hash belongs in: its remainder,
// counted upwards from 0 for negative hashes too. n must be above 0.
func Partition(hash int32, n int) int {
	p := int(hash) % n
	if p < 0 {
		p += n
	}
	return p
}

package skew

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"math"
	"slices"
)

// Heavy is a key, or a value of one key column, that many rows have.
type Heavy struct {
	// Key is the key as it was added.
	Key []byte
	// Weight is what was added for it: exact, or too high by at most Error.
	Weight float64
	// Error bounds the overestimate; 0 where the weight is exact.
	Error float64

	tag int // of the first addition that is still held
}

// HeavyHitters finds the keys with the largest weights in a stream, in bounded
// memory: exactly as long as there are few keys, and then with a bound on the
// error.
//
// Keys are counted in a table. Once it holds more than it may, the weights of
// all keys are lowered by the same amount, so much that only some counters
// are left, and what falls to 0 is dropped. So no key is ever too low by more
// than the sum of these amounts, and a key that is heavier than that sum is
// held for certain. The method is that of Misra and Gries ("Finding Repeated
// Elements", 1982) in the form of Anderson et al. ("A High-Performance
// Algorithm for Identifying Frequent Items in Data Streams", IMC 2017), which
// lowers many at a time and so costs a constant for each row.
//
// Make one with [NewHeavyHitters]; it is not for concurrent use.
type HeavyHitters struct {
	seed     maphash.Seed
	slots    []int32 // index+1 of an entry; open addressing, a power of two
	entries  []heavyEntry
	arena    []byte
	exact    int // keys that are counted exactly
	counters int // that are kept from then on
	limit    int // of the two the one in force
	lowered  float64
	total    float64
	most     int64 // keys held at the most
	lossy    bool
}

type heavyEntry struct {
	hash   uint64
	offset int
	length int32
	tag    int32
	weight float64
}

// The bounds that hold unless others are given: keys counted exactly, and
// counters kept when there are more.
const (
	ExactKeys     = 1 << 20
	HeavyCounters = 1 << 16
)

// NewHeavyHitters counts exactly up to so many keys, and with so many counters
// from then on; 0 stands for [ExactKeys] and [HeavyCounters].
func NewHeavyHitters(exact, counters int) *HeavyHitters {
	exact, counters = cmp.Or(max(exact, 0), ExactKeys), cmp.Or(max(counters, 0), HeavyCounters)
	return &HeavyHitters{seed: maphash.MakeSeed(), exact: exact, counters: counters, limit: exact}
}

// Add adds a weight for a key. Weights that are not above 0, or not finite, are
// not counted.
func (h *HeavyHitters) Add(key []byte, weight float64) { h.add(key, weight, 0) }

func (h *HeavyHitters) add(key []byte, weight float64, tag int) {
	if !(weight > 0) || math.IsInf(weight, 0) {
		return
	}
	h.total += weight
	sum := maphash.Bytes(h.seed, key)
	if e := h.find(sum, key); e != nil {
		e.weight += weight
		return
	}
	if len(h.entries) >= h.limit {
		h.lower()
	}
	if 4*(len(h.entries)+1) > 3*len(h.slots) {
		h.rehash(max(64, 2*len(h.slots)))
	}
	h.entries = append(h.entries, heavyEntry{hash: sum, offset: len(h.arena), length: int32(len(key)), tag: int32(tag), weight: weight})
	h.arena = append(h.arena, key...)
	h.place(len(h.entries) - 1)
	h.most = max(h.most, int64(len(h.entries)))
}

func (h *HeavyHitters) key(e *heavyEntry) []byte {
	return h.arena[e.offset : e.offset+int(e.length) : e.offset+int(e.length)]
}

// find returns the key's entry, nil where it is not held.
func (h *HeavyHitters) find(sum uint64, key []byte) *heavyEntry {
	if len(h.slots) == 0 {
		return nil
	}
	mask := uint64(len(h.slots) - 1)
	for i := sum & mask; h.slots[i] != 0; i = (i + 1) & mask {
		if e := &h.entries[h.slots[i]-1]; e.hash == sum && bytes.Equal(h.key(e), key) {
			return e
		}
	}
	return nil
}

func (h *HeavyHitters) place(index int) {
	mask := uint64(len(h.slots) - 1)
	i := h.entries[index].hash & mask
	for h.slots[i] != 0 {
		i = (i + 1) & mask
	}
	h.slots[i] = int32(index + 1)
}

func (h *HeavyHitters) rehash(slots int) {
	h.slots = make([]int32, slots)
	for i := range h.entries {
		h.place(i)
	}
}

// lower makes room: it takes so much off every weight that at most half of the
// counters stay.
func (h *HeavyHitters) lower() {
	h.limit, h.lossy = h.counters, true
	keep := h.counters / 2
	weights := make([]float64, len(h.entries))
	for i, e := range h.entries {
		weights[i] = e.weight
	}
	slices.Sort(weights)
	by := weights[max(0, len(weights)-1-keep)]
	h.lowered += by
	old, arena := h.entries, h.arena
	h.entries, h.arena = make([]heavyEntry, 0, h.counters), nil
	for _, e := range old {
		if e.weight -= by; e.weight > 0 {
			at := len(h.arena)
			h.arena = append(h.arena, arena[e.offset:e.offset+int(e.length)]...)
			e.offset = at
			h.entries = append(h.entries, e)
		}
	}
	slots := 64
	for 3*slots < 4*(h.counters+1) {
		slots *= 2
	}
	h.rehash(slots)
}

// each calls fn with every key that is held and the least that it weighs.
func (h *HeavyHitters) each(fn func(key []byte, weight float64, tag int)) {
	for i := range h.entries {
		e := &h.entries[i]
		fn(h.key(e), e.weight, int(e.tag))
	}
}

// Merge adds what another has counted, which stays as it is. The errors add
// up.
func (h *HeavyHitters) Merge(o *HeavyHitters) {
	held := 0.0
	o.each(func(key []byte, weight float64, tag int) {
		h.add(key, weight, tag)
		held += weight
	})
	h.total += o.total - held // what the other has dropped
	h.lowered += o.lowered
	h.lossy = h.lossy || o.lossy
	h.most = max(h.most, o.most)
}

// Total returns the sum of all weights.
func (h *HeavyHitters) Total() float64 { return h.total }

// Distinct returns the number of different keys, and whether that is exact; if
// not, there are more than it says.
func (h *HeavyHitters) Distinct() (int64, bool) { return h.most, !h.lossy }

// Error returns by how much a weight can be too high: 0 while counting is
// exact. A key that is not among [HeavyHitters.Top] weighs no more.
func (h *HeavyHitters) Error() float64 { return h.lowered }

// Top returns the k keys with the largest weights, the largest first; of equal
// ones the lower key comes first.
func (h *HeavyHitters) Top(k int) []Heavy {
	order := func(a, b *heavyEntry) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), bytes.Compare(h.key(a), h.key(b)))
	}
	k = max(k, 0)
	// The k largest so far, in order; few entries get in.
	var top []*heavyEntry
	for i := range h.entries {
		e := &h.entries[i]
		if len(top) == k && (k == 0 || order(e, top[k-1]) > 0) {
			continue
		}
		at, _ := slices.BinarySearchFunc(top, e, order)
		top = slices.Insert(top, at, e)
		top = top[:min(len(top), k)]
	}
	var out []Heavy
	for _, e := range top {
		out = append(out, Heavy{Key: bytes.Clone(h.key(e)), Weight: e.weight + h.lowered, Error: h.lowered, tag: int(e.tag)})
	}
	return out
}

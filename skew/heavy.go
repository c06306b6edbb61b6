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
// Keys are taken in a batch at a time: what a large table costs is waiting for
// memory, and the waits of a batch overlap.
//
// Make one with [NewHeavyHitters]; it is not for concurrent use.
type HeavyHitters struct {
	table    heavyTable
	exact    int // keys that are counted exactly
	counters int // that are kept from then on
	limit    int // of the two the one in force
	lowered  float64
	total    float64
	most     int64 // keys held at the most
	lossy    bool

	// What was added and is not in the table yet.
	pending [heavyBatch]addition
	waiting int
	buf     []byte // the pending keys
}

// addition is a key with what is added for it.
type addition struct {
	key    []byte
	hash   uint64
	weight float64
	tag    int32
}

const (
	heavyBatch = 64
	// heavyBuffer is how many bytes of keys wait at the most, beside one key.
	heavyBuffer = 64 << 10
)

// heavySeed is that of all hashes, so that merging need not hash again.
var heavySeed = maphash.MakeSeed()

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
	return &HeavyHitters{exact: exact, counters: counters, limit: exact}
}

// Add adds a weight for a key. Weights that are not above 0, or not finite, are
// not counted.
func (h *HeavyHitters) Add(key []byte, weight float64) { h.add(key, weight, 0) }

func (h *HeavyHitters) add(key []byte, weight float64, tag int) {
	if !(weight > 0) || math.IsInf(weight, 0) {
		return
	}
	h.total += weight
	if h.waiting == heavyBatch || len(h.buf) > heavyBuffer {
		h.settle()
	}
	// Where this moves the buffer, the keys before stay where they are.
	h.buf = append(h.buf, key...)
	key = h.buf[len(h.buf)-len(key):]
	h.pending[h.waiting] = addition{key, maphash.Bytes(heavySeed, key), weight, int32(tag)}
	h.waiting++
}

// settle takes in what is pending. It comes before every look at the table.
func (h *HeavyHitters) settle() {
	h.take(h.pending[:h.waiting])
	h.waiting, h.buf = 0, h.buf[:0]
}

// take adds a batch to the table.
func (h *HeavyHitters) take(batch []addition) {
	h.table.touch(batch)
	for i := range batch {
		a := &batch[i]
		if e := h.table.find(a.hash, a.key); e != nil {
			e.weight += a.weight
			continue
		}
		if h.table.len() >= h.limit {
			h.lower()
		}
		h.table.add(a)
		h.most = max(h.most, int64(h.table.len()))
	}
}

// lower makes room: it takes so much off every weight that at most half of the
// counters stay.
func (h *HeavyHitters) lower() {
	h.limit, h.lossy = h.counters, true
	keep := h.counters / 2
	weights := make([]float64, 0, h.table.len())
	h.table.each(func(e *heavyEntry) { weights = append(weights, e.weight) })
	slices.Sort(weights)
	by := weights[max(0, len(weights)-1-keep)]
	h.lowered += by
	h.table.lower(by, h.counters)
}

// reset forgets everything, and keeps the memory.
func (h *HeavyHitters) reset() {
	h.table.reset()
	h.limit, h.lowered, h.total, h.most, h.lossy = h.exact, 0, 0, 0, false
	h.waiting, h.buf = 0, h.buf[:0]
}

// each calls fn with every key that is held and the least that it weighs.
func (h *HeavyHitters) each(fn func(key []byte, weight float64, tag int)) {
	h.settle()
	h.table.each(func(e *heavyEntry) { fn(h.table.key(e), e.weight, int(e.tag)) })
}

// Merge adds what another has counted, which stays as it is. The errors add
// up.
func (h *HeavyHitters) Merge(o *HeavyHitters) {
	h.settle()
	o.settle()
	var batch [heavyBatch]addition
	for from := 0; from < o.table.len(); from += heavyBatch {
		n := min(heavyBatch, o.table.len()-from)
		for i := range n {
			e := o.table.entry(from + i)
			batch[i] = addition{o.table.key(e), e.hash, e.weight, e.tag}
		}
		h.take(batch[:n])
	}
	h.total += o.total // with what the other has dropped
	h.lowered += o.lowered
	h.lossy = h.lossy || o.lossy
	h.most = max(h.most, o.most)
}

// Total returns the sum of all weights.
func (h *HeavyHitters) Total() float64 { return h.total }

// Distinct returns the number of different keys, and whether that is exact; if
// not, there are more than it says.
func (h *HeavyHitters) Distinct() (int64, bool) {
	h.settle()
	return h.most, !h.lossy
}

// Error returns by how much a weight can be too high: 0 while counting is
// exact. A key that is not among [HeavyHitters.Top] weighs no more.
func (h *HeavyHitters) Error() float64 {
	h.settle()
	return h.lowered
}

// Top returns the k keys with the largest weights, the largest first; of equal
// ones the lower key comes first.
func (h *HeavyHitters) Top(k int) []Heavy {
	h.settle()
	t := &h.table
	order := func(a, b *heavyEntry) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), bytes.Compare(t.key(a), t.key(b)))
	}
	k = max(k, 0)
	// The k largest so far, in order; few entries get in.
	var top []*heavyEntry
	t.each(func(e *heavyEntry) {
		if len(top) == k && (k == 0 || order(e, top[k-1]) > 0) {
			return
		}
		at, _ := slices.BinarySearchFunc(top, e, order)
		top = slices.Insert(top, at, e)
		top = top[:min(len(top), k)]
	})
	var out []Heavy
	for _, e := range top {
		out = append(out, Heavy{Key: bytes.Clone(t.key(e)), Weight: e.weight + h.lowered, Error: h.lowered, tag: int(e.tag)})
	}
	return out
}

package skew

import (
	"bytes"
	"cmp"
	"container/heap"
	"slices"
)

// Heavy is a key, or a value of one key column, that many rows have.
type Heavy struct {
	// Key is the key as it was added.
	Key []byte
	// Weight is what was added for it: exact, or too high by at most Error.
	Weight int64
	// Error bounds the overestimate; 0 where the count is exact.
	Error int64
}

// HeavyHitters finds the keys with the largest weights in a stream, in bounded
// memory: exactly as long as there are few keys, and then by Space-Saving
// (Metwally, Agrawal and El Abbadi, "Efficient Computation of Frequent and
// Top-k Elements in Data Streams", ICDT 2005). Of c counters kept, none is too
// high by more than 1/c of the total, and every key that has more than 1/c of
// the total is among them.
//
// Make one with [NewHeavyHitters]; it is not for concurrent use.
type HeavyHitters struct {
	exact    map[string]int64 // until there are more than limit
	limit    int
	counters int
	index    map[string]*counter
	heap     counterHeap
	total    int64
	distinct int64
	lossy    bool // something merged in had dropped keys
}

// The bounds that hold unless others are given: keys counted exactly, and
// counters kept when there are more.
const (
	ExactKeys     = 1 << 20
	HeavyCounters = 1 << 14
)

// NewHeavyHitters counts exactly up to so many keys, and with so many counters
// from then on; 0 stands for [ExactKeys] and [HeavyCounters].
func NewHeavyHitters(exact, counters int) *HeavyHitters {
	if exact <= 0 {
		exact = ExactKeys
	}
	if counters <= 0 {
		counters = HeavyCounters
	}
	return &HeavyHitters{exact: make(map[string]int64), limit: exact, counters: counters}
}

// Add adds a weight for a key. Weights that are not above 0 are not counted.
func (h *HeavyHitters) Add(key []byte, weight int64) {
	if weight <= 0 {
		return
	}
	h.total += weight
	if h.exact != nil {
		h.exact[string(key)] += weight
		if len(h.exact) > h.limit {
			h.spill()
		}
		return
	}
	h.count(key, weight)
}

// spill goes over from counting exactly to the counters.
func (h *HeavyHitters) spill() {
	all := h.exact
	h.exact = nil
	h.distinct = int64(len(all))
	h.index = make(map[string]*counter, h.counters)
	// The heaviest first, so that nothing exact is lost that a counter can hold.
	keys := make([]string, 0, len(all))
	for k := range all {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int { return cmp.Or(cmp.Compare(all[b], all[a]), cmp.Compare(a, b)) })
	for _, k := range keys[:min(len(keys), h.counters)] {
		c := &counter{key: k, weight: all[k]}
		h.index[k] = c
		h.heap = append(h.heap, c)
	}
	heap.Init(&h.heap)
	for _, k := range keys[min(len(keys), h.counters):] {
		h.count([]byte(k), all[k])
	}
}

func (h *HeavyHitters) count(key []byte, weight int64) {
	if c, ok := h.index[string(key)]; ok {
		c.weight += weight
		heap.Fix(&h.heap, c.at)
		return
	}
	if len(h.heap) < h.counters {
		c := &counter{key: string(key), weight: weight}
		h.index[c.key] = c
		heap.Push(&h.heap, c)
		return
	}
	// The lightest makes room; what it had might have been the newcomer's.
	c := h.heap[0]
	delete(h.index, c.key)
	c.key, c.error = string(key), c.weight
	c.weight += weight
	h.index[c.key] = c
	heap.Fix(&h.heap, 0)
}

// each calls fn with every key that is held, and its weight.
func (h *HeavyHitters) each(fn func(key string, weight int64)) {
	for k, w := range h.exact {
		fn(k, w)
	}
	for _, c := range h.heap {
		fn(c.key, c.weight)
	}
}

// weight returns the weight of a key, 0 where it is not held.
func (h *HeavyHitters) weight(key []byte) int64 {
	if h.exact != nil {
		return h.exact[string(key)]
	}
	if c, ok := h.index[string(key)]; ok {
		return c.weight
	}
	return 0
}

// Merge adds what another has counted, which stays as it is. Errors add up.
func (h *HeavyHitters) Merge(o *HeavyHitters) {
	// Sorted, so that the result does not depend on the order of a map.
	for _, x := range o.Top(max(len(o.exact), len(o.heap))) {
		h.Add(x.Key, x.Weight)
		if c := h.index[string(x.Key)]; c != nil {
			c.error += x.Error
		}
	}
	if _, exact := o.Distinct(); !exact {
		// What the other has dropped is part of the total all the same.
		held := int64(0)
		o.each(func(_ string, w int64) { held += w })
		h.total += o.total - held
		h.lossy = true
	}
}

// Total returns the sum of all weights.
func (h *HeavyHitters) Total() int64 { return h.total }

// Distinct returns the number of different keys, and whether that is exact; if
// not, there are more than it says.
func (h *HeavyHitters) Distinct() (int64, bool) {
	if h.exact != nil {
		return int64(len(h.exact)), !h.lossy
	}
	return h.distinct, false
}

// Error returns by how much a weight can be too high: 0 while counting is
// exact.
func (h *HeavyHitters) Error() int64 {
	if h.exact != nil || len(h.heap) < h.counters {
		return 0
	}
	return h.heap[0].weight
}

// Top returns the k keys with the largest weights, the largest first; of equal
// ones the lower key comes first.
func (h *HeavyHitters) Top(k int) []Heavy {
	var all []Heavy
	for key, w := range h.exact {
		all = append(all, Heavy{Key: []byte(key), Weight: w})
	}
	for _, c := range h.heap {
		all = append(all, Heavy{Key: []byte(c.key), Weight: c.weight, Error: c.error})
	}
	slices.SortFunc(all, func(a, b Heavy) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), bytes.Compare(a.Key, b.Key))
	})
	return slices.Clip(all[:min(k, len(all))])
}

// counter is a key of Space-Saving and its place in the heap.
type counter struct {
	key           string
	weight, error int64
	at            int
}

// counterHeap has the lightest counter on top.
type counterHeap []*counter

func (h counterHeap) Len() int           { return len(h) }
func (h counterHeap) Less(i, j int) bool { return h[i].weight < h[j].weight }
func (h counterHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].at, h[j].at = i, j
}

// Push and Pop make it a heap.Interface.
func (h *counterHeap) Push(x any) {
	c := x.(*counter)
	c.at = len(*h)
	*h = append(*h, c)
}

// Pop is described at Push.
func (h *counterHeap) Pop() any {
	old := *h
	c := old[len(old)-1]
	*h = old[:len(old)-1]
	return c
}

package skew

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestHeavyHittersExact(t *testing.T) {
	h := NewHeavyHitters(0, 0)
	for i, k := range []string{"b", "a", "b", "c", "a", "b"} {
		h.Add([]byte(k), float64(i%2+1))
	}
	h.Add([]byte("nothing"), 0)
	assert.Equal(t, []Heavy{{Key: []byte("b"), Weight: 4}, {Key: []byte("a"), Weight: 3}}, h.Top(2))
	n, exact := h.Distinct()
	assert.EqualValues(t, 3, n)
	assert.True(t, exact)
	assert.EqualValues(t, 9, h.Total())
	assert.Zero(t, h.Error())
	assert.Len(t, h.Top(10), 3)
	assert.Empty(t, h.Top(0))
	assert.Empty(t, h.Top(-1))
	h.Add([]byte("half"), 0.25)
	h.Add([]byte("no number"), math.NaN())
	h.Add([]byte("huge"), math.Inf(1))
	assert.Equal(t, 0.25, h.Top(4)[3].Weight)
	assert.Len(t, h.Top(10), 4)
}

// With more keys than counters, what is heavier than total/counters is found,
// and every weight is within its error of the truth.
func TestHeavyHittersBounded(t *testing.T) {
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 9))
		h := NewHeavyHitters(500, 100)
		truth := map[string]float64{}
		var total float64
		for range 50_000 {
			k := fmt.Sprint(r.IntN(20_000))
			switch {
			case r.IntN(10) == 0:
				k = "hot"
			case r.IntN(20) == 0:
				k = "warm"
			}
			w := float64(1 + r.IntN(3))
			h.Add([]byte(k), w)
			truth[k] += w
			total += w
		}
		assert.Equal(t, total, h.Total())
		_, exact := h.Distinct()
		assert.False(t, exact)
		assert.Less(t, h.Error(), total/50, "half of the counters stay")
		top := h.Top(2)
		assert.Equal(t, "hot", string(top[0].Key))
		assert.Equal(t, "warm", string(top[1].Key))
		for _, x := range h.Top(100) {
			assert.GreaterOrEqual(t, x.Weight, truth[string(x.Key)])
			assert.LessOrEqual(t, x.Weight-x.Error, truth[string(x.Key)])
			assert.LessOrEqual(t, x.Error, h.Error())
		}
	}
}

// A sketch that has dropped keys leaves its error behind wherever it is merged
// into: no weight is further from the truth than it says.
func TestMergeKeepsTheError(t *testing.T) {
	truth := map[string]float64{}
	whole := NewHeavyHitters(40_000, 2000)
	for part := range 2 {
		h := NewHeavyHitters(3000, 2000)
		r := rand.New(rand.NewPCG(1, uint64(part)))
		for i := range 40_000 {
			k := fmt.Sprint(part, "/", i)
			if r.IntN(20) == 0 {
				k = "both"
			}
			h.Add([]byte(k), 1)
			truth[k]++
		}
		whole.Merge(h)
	}
	_, exact := whole.Distinct()
	assert.False(t, exact)
	assert.Positive(t, whole.Error())
	assert.EqualValues(t, 80_000, whole.Total())
	for _, x := range whole.Top(100) {
		assert.GreaterOrEqual(t, x.Weight, truth[string(x.Key)])
		assert.LessOrEqual(t, x.Weight-x.Error, truth[string(x.Key)])
	}
	assert.Equal(t, "both", string(whole.Top(1)[0].Key))
}

func BenchmarkHeavyHitters(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	keys := make([][]byte, 1<<16)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "key %d", r.IntN(1<<20))
	}
	for _, exact := range []int{1 << 20, 1} {
		b.Run(fmt.Sprint("exact=", exact), func(b *testing.B) {
			h := NewHeavyHitters(exact, 0)
			b.ReportAllocs()
			for i := range b.N {
				h.Add(keys[i&(1<<16-1)], 1)
			}
		})
	}
}

// Keys of every length, longer than a chunk of the arena too, in a sketch that
// is used again: as a map counts them.
func TestHeavyHittersReset(t *testing.T) {
	h := NewHeavyHitters(3000, 100)
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 3))
		h.reset()
		truth := map[string]float64{}
		for range []int{5000, 100, 1, 6000, 30, 2500}[seed] {
			k := fmt.Sprint(r.IntN(2500))
			if r.IntN(200) == 0 {
				k += strings.Repeat("long", r.IntN(arenaChunk/2))
			}
			h.Add([]byte(k), 1)
			truth[k]++
		}
		n, exact := h.Distinct()
		assert.True(t, exact)
		assert.EqualValues(t, len(truth), n)
		assert.Zero(t, h.Error())
		got := map[string]float64{}
		for _, x := range h.Top(len(truth)) {
			got[string(x.Key)] = x.Weight
		}
		assert.Equal(t, truth, got)
		if seed == 3 { // into the lossy state and back
			for i := range 5000 {
				h.Add(fmt.Append(nil, "other", i), 1)
			}
			_, exact = h.Distinct()
			assert.False(t, exact)
		}
	}
}

package skew

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

func sizesOf(sizes ...float64) *KeySizes {
	var k KeySizes
	for _, s := range sizes {
		k.Add(s)
	}
	return &k
}

func TestKeySizesByHand(t *testing.T) {
	k := sizesOf(3, 1, 2)
	assert.Equal(t, int64(3), k.Count())
	near(t, 6, k.Total(), "total")
	near(t, 3, k.Max(), "max")
	near(t, 36.0/14, k.Effective(), "effective")
	near(t, 4, sizesOf(5, 5, 5, 5).Effective(), "all alike")
	near(t, 1, sizesOf(5, 0, 0, 0).Effective(), "one has everything")

	// Two of the four ways put both keys in one partition of two, where half of
	// 6 has to move; else 5 and 1 lie apart, and 2 of 6 have to.
	near(t, (0.5+2.0/6)/2, sizesOf(5, 1).ChanceHoover(2), "two keys")
}

func TestKeySizesEdges(t *testing.T) {
	var none KeySizes
	assert.Zero(t, none.Count())
	assert.Zero(t, none.Total())
	assert.Zero(t, none.ChanceHoover(200))
	assert.True(t, math.IsNaN(none.Max()))
	assert.True(t, math.IsNaN(none.Effective()))
	assert.True(t, math.IsNaN(none.ChanceHoover(0)))

	assert.Zero(t, sizesOf(0, 0).ChanceHoover(5))
	assert.Zero(t, sizesOf(1, 2, 3).ChanceHoover(1))
	assert.True(t, math.IsNaN(sizesOf(0, 0).Effective()))
	for _, bad := range []float64{-1, math.NaN(), math.Inf(1)} {
		k := sizesOf(1, bad, 2)
		for _, f := range []float64{k.Total(), k.Max(), k.Effective(), k.ChanceHoover(4)} {
			assert.True(t, math.IsNaN(f))
		}
		whole := sizesOf(1)
		whole.Merge(k)
		assert.True(t, math.IsNaN(whole.Total()))
	}
	for _, scale := range []float64{1e-200, 1e200} {
		k := sizesOf(scale, 2*scale)
		assert.True(t, math.IsNaN(k.Effective()))
		assert.True(t, math.IsNaN(k.ChanceHoover(4)))
		assert.False(t, math.IsNaN(sizesOf(scale, scale).ChanceHoover(4)), "equal sizes need no squares")
	}
}

func TestKeySizesOfEqualKeys(t *testing.T) {
	for _, keys := range []int{1, 7, 200, 10_000} {
		var k KeySizes
		for range keys {
			k.Add(37)
		}
		assert.Equal(t, ChanceHoover(int64(keys), 20), k.ChanceHoover(20))

		// One key a hair larger, and the way is another; the answer is not.
		k.Add(37.000001)
		assert.InDelta(t, ChanceHoover(int64(keys+1), 20), k.ChanceHoover(20), 5e-4)
	}
}

func TestKeySizesRemembersTheLargest(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	sizes := make([]float64, 3*maxLargest)
	var k KeySizes
	for i := range sizes {
		sizes[i] = math.Exp(2 * rng.NormFloat64())
		k.Add(sizes[i])
	}
	slices.Sort(sizes)
	assert.Equal(t, sizes[2*maxLargest:], slices.Sorted(slices.Values(k.largest)))
	assert.Equal(t, int64(2*maxLargest), k.rest.count)
	assert.InEpsilon(t, k.all.total.value(), k.rest.total.value()+total(k.largest), 1e-12)
}

func total(x []float64) float64 { return momentsOf(x).total }

func TestKeySizesMerge(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	var together, merged KeySizes
	parts := make([]KeySizes, 5)
	for i := range 20_000 {
		size := math.Floor(math.Exp(2 * rng.NormFloat64()))
		together.Add(size)
		parts[i%4].Add(size) // the fifth stays empty
	}
	for i := range parts {
		merged.Merge(&parts[i])
	}
	assert.Equal(t, together.Count(), merged.Count())
	assert.Equal(t, together.Max(), merged.Max())
	near(t, together.Total(), merged.Total(), "total")
	near(t, together.Effective(), merged.Effective(), "effective")
	assert.InDelta(t, together.ChanceHoover(50), merged.ChanceHoover(50), 1e-9)
	assert.Equal(t, int64(5000), parts[0].Count(), "what is merged stays as it was")

	count := merged.Count()
	merged.Merge(&merged)
	assert.Equal(t, 2*count, merged.Count())
}

// The expectation is what a simulation of it averages to.
func TestKeySizesSimulated(t *testing.T) {
	rng := rand.New(rand.NewPCG(30, 6))
	zipf := func(s float64) func(int, int) float64 {
		return func(i, _ int) float64 { return math.Pow(float64(i+1), -s) }
	}
	for name, size := range map[string]func(i, keys int) float64{
		"nearly equal":      func(i, _ int) float64 { return float64(1 + i%2) },
		"zipf 0.8":          zipf(0.8),
		"zipf 1.2":          zipf(1.2),
		"log-normal":        func(int, int) float64 { return math.Exp(2 * rng.NormFloat64()) },
		"one key of 38 %":   func(i, keys int) float64 { return oneOf(i, 0.38*float64(keys)/0.62) },
		"one key of 2 %":    func(i, keys int) float64 { return oneOf(i, 0.02*float64(keys)/0.98) },
		"twenty large keys": func(i, keys int) float64 { return oneOf(i/20, float64(keys)/100) },
	} {
		for _, c := range []struct{ keys, partitions int }{{60, 4}, {60, 200}, {3000, 20}, {20_000, 200}} {
			t.Run(fmt.Sprintf("%s/%d keys/%d partitions", name, c.keys, c.partitions), func(t *testing.T) {
				sizes := make([]float64, c.keys)
				for i := range sizes {
					sizes[i] = size(i, c.keys)
				}
				times := 120_000/c.keys + 10
				indexes := make([]float64, times)
				for i := range indexes {
					x := make([]float64, c.partitions)
					for _, s := range sizes {
						x[rng.IntN(c.partitions)] += s
					}
					indexes[i] = Hoover(x)
				}
				m := momentsOf(indexes)
				assert.InDelta(t, m.mean, sizesOf(sizes...).ChanceHoover(c.partitions), 0.001+4*m.std/math.Sqrt(float64(times)))
			})
		}
	}
}

// oneOf gives the first of all keys a size of its own.
func oneOf(i int, first float64) float64 {
	if i == 0 {
		return first
	}
	return 1
}

// The two kinds of skew rate, with the numbers of SkewRate's documentation.
func TestSkewRateOfAHotKey(t *testing.T) {
	const keys, partitions, hot = 50_000, 200, 0.38 / 0.62 * (50_000 - 1)
	rng := rand.New(rand.NewPCG(38, 38))
	x := floats(hashed(rng, keys-1, partitions))
	x[11] += hot
	var k KeySizes
	for i := range keys {
		k.Add(oneOf(i, hot))
	}
	h := Hoover(x)
	assert.InDelta(t, 0.378, h, 0.001)
	assert.InDelta(t, 0.353, SkewRate(h, ChanceHoover(keys, partitions)), 0.001)
	assert.InDelta(t, 0, SkewRate(h, k.ChanceHoover(partitions)), 0.001)
	assert.InDelta(t, 7, k.Effective(), 0.1)
	assert.InDelta(t, 0.97, ChanceHoover(7, partitions), 0.005)
}

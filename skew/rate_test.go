package skew

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/stat/distuv"
)

func TestSkewRate(t *testing.T) {
	near(t, 0.25, SkewRate(0.5, 0.25), "above")
	assert.Zero(t, SkewRate(0.25, 0.5))
	assert.True(t, math.IsNaN(SkewRate(math.NaN(), 0)))
	assert.True(t, math.IsNaN(SkewRate(0, math.NaN())))
}

func TestChanceHooverByHand(t *testing.T) {
	near(t, 0.5, ChanceHoover(1, 2), "one key lies all in one of two")
	near(t, 0.25, ChanceHoover(2, 2), "two keys lie together in half the cases")
	near(t, 0.25, ChanceHoover(3, 2), "3+0 in a quarter of the cases: ½·¼, else 2+1: ⅙·¾")
	near(t, 0.995, ChanceHoover(1, 200), "one key")
	near(t, math.Pow(0.995, 60), ChanceHoover(60, 200), "fewer keys than partitions")
	assert.Zero(t, ChanceHoover(100, 1))
	assert.Zero(t, ChanceHoover(0, 200))
	assert.True(t, math.IsNaN(ChanceHoover(-1, 200)))
	assert.True(t, math.IsNaN(ChanceHoover(5, 0)))
}

func TestChanceHooverLimits(t *testing.T) {
	for _, n := range []int{2, 16, 200, 5000} {
		for _, mean := range []int64{1000, 100_000, 10_000_000, 1 << 40} {
			want := math.Sqrt(float64(n-1) / (2 * math.Pi * float64(mean) * float64(n)))
			assert.InEpsilon(t, want, ChanceHoover(mean*int64(n), n), 1e-3, "%d partitions, %d keys each", n, mean)
		}
	}
	got := ChanceHoover(math.MaxInt64, 200)
	assert.True(t, got > 0 && got < 1e-6, "%v", got)
	for k := int64(1); k < 400; k++ { // the more keys, the more even; level from one multiple to the next
		assert.LessOrEqual(t, ChanceHoover(k+1, 20), ChanceHoover(k, 20)+1e-12)
	}
}

// The definition, summed over gonum's binomial distribution.
func TestChanceHooverAgainstGonum(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	for range 100 {
		k, n := 1+rng.IntN(800), 2+rng.IntN(100)
		b := distuv.Binomial{N: float64(k), P: 1 / float64(n)}
		var distance float64
		for x := range k + 1 {
			distance += math.Abs(float64(x)-b.Mean()) * b.Prob(float64(x))
		}
		assert.InEpsilon(t, float64(n)*distance/2/float64(k), ChanceHoover(int64(k), n), 1e-9, "%d keys, %d partitions", k, n)
	}
}

func TestBinomialAgainstGonum(t *testing.T) {
	for _, n := range []float64{1, 2, 17, 40, 1000} {
		for _, p := range []float64{0.001, 0.005, 0.25, 0.5, 0.9} {
			b := distuv.Binomial{N: n, P: p}
			for k := 0.0; k <= n; k++ {
				if want := b.Prob(k); want > 1e-250 {
					assert.InEpsilon(t, want, binomialPMF(k, n, p), 1e-9, "P(X=%v), n=%v p=%v", k, n, p)
				}
				assert.InDelta(t, b.CDF(k), binomialCDF(k, n, p), 1e-12)
			}
			var want float64
			for k, a := 0.0, n*p*1.1; k < a; k++ {
				want += (a - k) * b.Prob(k)
			}
			assert.InDelta(t, want, shortfall(n*p*1.1, n, p), 1e-9*max(1, n*p))
		}
	}
	assert.Zero(t, shortfall(0, 10, 0.5))
	assert.Zero(t, shortfall(-1, 10, 0.5))
	assert.InDelta(t, 7, shortfall(12, 10, 0.5), 1e-12, "X is always below")
	// The exact form and the normal one meet where the one gives way.
	const p = 0.005
	n := 1000 / (p * (1 - p))
	for _, z := range []float64{-2, -1, 0, 0.5, 2} {
		a := n*p + z*math.Sqrt(1000)
		assert.InEpsilon(t, shortfall(a, n*(1-1e-9), p), shortfall(a, n*(1+1e-9), p), 0.003, "z = %v", z)
	}
}

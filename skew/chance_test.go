package skew

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// hashed spreads keys over partitions as an even hash does.
func hashed(rng *rand.Rand, keys, partitions int) []int64 {
	x := make([]int64, partitions)
	for range keys {
		x[rng.IntN(partitions)]++
	}
	return x
}

func TestChanceByHand(t *testing.T) {
	// Mean 4, squares 9+4+0+25 = 38.
	c := Chance([]int64{1, 2, 4, 9})
	near(t, 16, c.Keys, "keys")
	near(t, 38.0/4, c.ChiSquare, "χ²")
	assert.Equal(t, 3, c.DegreesOfFreedom)
	near(t, 38.0/3/4, c.Dispersion, "dispersion")
	near(t, 0.5, c.ChanceCV, "chance level")

	// With two degrees of freedom the tail is e^(−χ²/2).
	c = Chance([]int64{1, 2, 6})
	near(t, 14.0/3, c.ChiSquare, "χ²")
	near(t, math.Exp(-7.0/3), c.PValue, "p")
}

func TestChanceEdges(t *testing.T) {
	for _, x := range [][]float64{{5}, {0}, {0, 0, 0}} {
		c := Chance(x)
		assert.Equal(t, Float(1), c.PValue, "%v", x)
		assert.Equal(t, Float(0), c.ChiSquare, "%v", x)
	}
	assert.Equal(t, Float(1), Chance([]int64{9, 9, 9}).PValue, "nothing is more even")
	assert.Equal(t, Float(0), Chance([]int64{1e15, 0, 0}).PValue)
	for _, x := range [][]float64{nil, {1, math.NaN()}, {1, -1}, {math.Inf(1), 1}} {
		c := Chance(x)
		for _, f := range []Float{c.Keys, c.CV, c.ChanceCV, c.Dispersion, c.ChiSquare, c.PValue} {
			assert.False(t, f.Defined(), "%v", x)
		}
		assert.Equal(t, max(0, len(x)-1), c.DegreesOfFreedom)
	}
	assert.True(t, math.IsNaN(chiSquareTail(math.NaN(), 3)))
	assert.Zero(t, chiSquareTail(math.Inf(1), 3))
	assert.Zero(t, chiSquareTail(math.MaxFloat64, 3))
}

func TestChanceAgainstGonum(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for range 200 {
		x := hashed(rng, 1+rng.IntN(5000), 2+rng.IntN(100))
		observed, expected := floats(x), make([]float64, len(x))
		for i := range expected {
			expected[i] = stat.Mean(observed, nil)
		}
		c := Chance(x)
		assert.InEpsilon(t, stat.ChiSquare(observed, expected), float64(c.ChiSquare), 1e-10)
		assert.InEpsilon(t, stat.Variance(observed, nil)/expected[0], float64(c.Dispersion), 1e-10)
		assert.InDelta(t, distuv.ChiSquared{K: float64(len(x) - 1)}.Survival(float64(c.ChiSquare)), float64(c.PValue), 1e-12)
	}
}

// What the package documentation says of mean + 2σ, on a smaller scale: the
// state is as even as hashing makes it.
func TestEvenlyHashed(t *testing.T) {
	const keys, partitions, times = 49064, 200, 200
	rng := rand.New(rand.NewPCG(20260108, 5))
	var hot, six, above25, robust, suspected, hoover, cv float64
	for range times {
		x := hashed(rng, keys, partitions)
		h := len(Find(Sigma{}, x).Hot)
		hot += float64(h)
		if h >= 6 {
			six++
		}
		if len(Find(Sigma{Deviations: 2.5}, x).Hot) > 0 {
			above25++
		}
		if len(Find(Robust{}, x).Hot) > 0 {
			robust++
		}
		if Chance(x).PValue < 1e-4 {
			suspected++
		}
		assert.Empty(t, Find(AQE{}, x).Hot)
		assert.Empty(t, Find(Flink{}, x).Hot)
		hoover += Hoover(x)
		cv += Variation(x)
	}
	assert.InDelta(t, 4.82, hot/times, 0.4, "above 2σ")
	assert.InDelta(t, 0.33, six/times, 0.1, "six or more above 2σ")
	assert.InDelta(t, 0.79, above25/times, 0.08, "any above 2.5σ")
	assert.InDelta(t, 0.10, robust/times, 0.08, "any by the robust rule")
	assert.Zero(t, suspected)
	assert.InEpsilon(t, ChanceHoover(keys, partitions), hoover/times, 0.015)
	assert.InEpsilon(t, ChanceVariation(float64(keys)/partitions), cv/times, 0.015)
}

// The lines that the documentation of Chance draws hold for few keys as well.
func TestChanceWithFewKeys(t *testing.T) {
	const times = 1000
	rng := rand.New(rand.NewPCG(17, 4))
	for _, partitions := range []int{4, 10, 50, 200} {
		for _, mean := range []float64{0.5, 1, 2, 10} {
			var below4, below2, dispersion float64
			for range times {
				c := Chance(hashed(rng, int(mean*float64(partitions)), partitions))
				if c.PValue < 1e-4 {
					below4++
				}
				if c.PValue < 1e-2 {
					below2++
				}
				dispersion += float64(c.Dispersion)
			}
			assert.LessOrEqual(t, below4/times, 0.004, "%d partitions, %v keys each", partitions, mean)
			assert.LessOrEqual(t, below2/times, 0.03, "%d partitions, %v keys each", partitions, mean)
			assert.InDelta(t, 1, dispersion/times, 0.1, "%d partitions, %v keys each", partitions, mean)
		}
	}
}

// A single key in addition that weighs a tenth of everything is no chance.
func TestChanceSeesAFault(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 71))
	for _, partitions := range []int{10, 50, 200, 2000} {
		x := hashed(rng, 100*partitions, partitions)
		assert.Greater(t, float64(Chance(x).PValue), 1e-4)
		x[3] += int64(10 * partitions)
		assert.Less(t, float64(Chance(x).PValue), 1e-9)
	}
}

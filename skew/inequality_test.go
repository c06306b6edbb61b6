package skew

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestImbalanceByHand(t *testing.T) {
	// Mean 4; distances 3, 2, 0, 5: 10 in all, so 5 of 16 have to move.
	// Differences between pairs: 1+3+8+2+7+5 = 26, twice over n²·2·mean = 128.
	x := []int64{1, 2, 4, 9}
	near(t, 1-4.0/9, IdleFraction(x), "idle")
	near(t, 5.0/16, Hoover(x), "Hoover")
	near(t, 5, ToMove(x), "to move")
	near(t, 52.0/128, Gini(x), "Gini")
	near(t, 100*2.5/4, FlinkScore(x), "Flink")
	near(t, math.Sqrt(38.0/3)/4, Variation(x), "CV: squares 9+4+0+25")
	near(t, 38.0/3/4, Dispersion(x), "dispersion")
}

// The examples of FLIP-418, by the formula given there. (The page prints 88
// and 54 for the first and the third, which is not what its formula gives.)
func TestFlinkExamples(t *testing.T) {
	for _, c := range []struct {
		records []int64
		score   float64
	}{
		{[]int64{1, 1, 1, 5, 10}, 100 * 3.12 / 3.6},
		{[]int64{5, 5, 5, 5, 5}, 0},
		{[]int64{1, 1, 5, 5, 5}, 100 * 1.92 / 3.4},
		{[]int64{4, 5, 5, 5, 5}, 100 * 0.32 / 4.8},
		{[]int64{0, 0, 0, 0, 0}, 0},
		{[]int64{0, 0, 0, 0, 9}, 100},
	} {
		near(t, c.score, FlinkScore(c.records), "score")
	}
}

func TestImbalanceEdges(t *testing.T) {
	measures := map[string]func([]float64) float64{
		"idle": IdleFraction[float64], "hoover": Hoover[float64], "to move": ToMove[float64],
		"gini": Gini[float64], "flink": FlinkScore[float64], "cv": Variation[float64],
	}
	for name, f := range measures {
		assert.True(t, math.IsNaN(f(nil)), "%s of none", name)
		assert.True(t, math.IsNaN(f([]float64{1, -1e-9})), "%s of a negative", name)
		assert.True(t, math.IsNaN(f([]float64{1, math.NaN()})), "%s of NaN", name)
		assert.True(t, math.IsNaN(f([]float64{1, math.Inf(1)})), "%s of infinity", name)
		assert.Zero(t, f([]float64{0, 0, 0}), "%s of nothing", name)
		assert.Zero(t, f([]float64{0.1, 0.1, 0.1}), "%s of equal values", name)
		if name != "cv" {
			assert.Zero(t, f([]float64{5}), "%s of one", name)
		} else {
			assert.True(t, math.IsNaN(f([]float64{5})))
		}
	}
	assert.True(t, math.IsNaN(Dispersion([]int64{0, 0})))
	assert.True(t, math.IsNaN(Dispersion([]int64{3})))
	assert.True(t, math.IsNaN(ChanceVariation(-1)))
	assert.True(t, math.IsInf(ChanceVariation(0), 1))
	assert.Equal(t, 0.1, ChanceVariation(100))

	i := MeasureImbalance([]int64{0, 0, 6})
	assert.Equal(t, 2, i.Empty)
	near(t, 2.0/3, i.Idle, "everything in one: idle")
	near(t, 2.0/3, i.Hoover, "everything in one: Hoover")
	near(t, 2.0/3, i.Gini, "everything in one: Gini")
	near(t, math.Sqrt(3), i.CV, "everything in one: CV")
	near(t, 4, i.ToMove, "everything in one: to move")
}

func TestImbalanceProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 8))
	for range 500 {
		x := make([]float64, 1+rng.IntN(60))
		for i := range x {
			x[i] = math.Floor(math.Exp(4 * rng.NormFloat64()))
		}
		checkProperties(t, x)

		// Twice the same partitions are neither more nor less uneven.
		twice := append(append([]float64{}, x...), x...)
		for _, f := range []func([]float64) float64{IdleFraction[float64], Hoover[float64], Gini[float64]} {
			assert.InDelta(t, f(x), f(twice), 1e-9)
		}
		// Nor does the unit matter, nor the order.
		scaled := make([]float64, len(x))
		for i, j := range rng.Perm(len(x)) {
			scaled[i] = x[j] * 1e-7
		}
		for _, f := range []func([]float64) float64{IdleFraction[float64], Hoover[float64], Gini[float64], FlinkScore[float64], Variation[float64]} {
			if want := f(x); !math.IsNaN(want) {
				assert.InDelta(t, want, f(scaled), 1e-9)
			}
		}
	}
}

// checkProperties asserts what holds for the measures of any quantities.
func checkProperties(t testing.TB, x []float64) {
	const slack = 1e-9
	n, i := float64(len(x)), MeasureImbalance(x)
	for _, f := range []Float{i.Idle, i.Hoover, i.Gini} {
		if !(f >= 0 && float64(f) <= 1-1/n) {
			t.Errorf("%v of %v is not within 0 and 1−1/n", f, x)
		}
	}
	if i.Hoover > i.Gini+slack || i.Hoover > i.Idle+slack {
		t.Errorf("Hoover %v is above Gini %v or idle %v of %v", i.Hoover, i.Gini, i.Idle, x)
	}
	if !(i.Flink >= 0 && i.Flink <= 100) || math.Abs(float64(i.Flink-min(100, 200*i.Hoover))) > 1e-6 {
		t.Errorf("Flink's score %v is not 200 times Hoover %v of %v", i.Flink, i.Hoover, x)
	}
	if len(x) > 1 && !(i.CV >= 0 && float64(i.CV) <= math.Sqrt(n)) {
		t.Errorf("CV %v of %v is not within 0 and √n", i.CV, x)
	}
}

package skew

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// vectors are the answers of pandas, numpy and scipy in testdata/vectors.json;
// testdata/vectors.py, which wrote them, says how each was come by.
type vectors struct {
	Summaries     map[string]vector `json:"summaries"`
	ChiSquareTail [][3]float64      `json:"chi-square tail"`
	Binomial      [][4]float64      `json:"binomial"`
	ChanceHoover  [][3]float64      `json:"chance hoover"`
	Sizes         []struct {
		sizes  []float64
		n      int
		hoover float64
	} `json:"-"`
	RawSizes [][3]json.RawMessage `json:"sizes"`
}

type vector struct {
	Values []float64 `json:"values"`
	Summary
	Quantiles [][2]float64 `json:"quantiles"`
	Sigma     []int        `json:"sigma"`
	Sigma15   []int        `json:"sigma1.5"`
	MAD       float64      `json:"mad"`
	MeanAD    float64      `json:"meanAD"`
	Z         []float64    `json:"z"`

	// Absent where a value is negative or there is nothing at all.
	Idle   *float64 `json:"idleFraction"`
	Hoover *float64 `json:"hoover"`
	ToMove *float64 `json:"toMove"`
	Gini   *float64 `json:"gini"`
	Flink  *float64 `json:"flinkScore"`

	// Absent for one partition too.
	CV         *float64 `json:"cv"`
	Dispersion *float64 `json:"dispersion"`
	ChiSquare  *float64 `json:"chiSquare"`
	PValue     *float64 `json:"pValue"`
}

func loadVectors(t testing.TB) vectors {
	t.Helper()
	data, err := os.ReadFile("testdata/vectors.json")
	require.NoError(t, err)
	var v vectors
	require.NoError(t, json.Unmarshal(data, &v))
	for _, raw := range v.RawSizes {
		var s struct {
			sizes  []float64
			n      int
			hoover float64
		}
		require.NoError(t, json.Unmarshal(raw[0], &s.sizes))
		require.NoError(t, json.Unmarshal(raw[1], &s.n))
		require.NoError(t, json.Unmarshal(raw[2], &s.hoover))
		v.Sizes = append(v.Sizes, s)
	}
	return v
}

// near asserts that two numbers agree in about twelve digits; NaN agrees with
// NaN.
func near[F ~float64](t testing.TB, want float64, got F, what string) {
	t.Helper()
	w, g := want, float64(got)
	if math.IsNaN(w) && math.IsNaN(g) || w == g {
		return
	}
	if !(math.Abs(w-g) <= 1e-12*max(math.Abs(w), math.Abs(g))) {
		t.Errorf("%s: got %.17g, want %.17g", what, g, w)
	}
}

func TestVectorsSummary(t *testing.T) {
	for name, v := range loadVectors(t).Summaries {
		t.Run(name, func(t *testing.T) {
			s := Measure(v.Values)
			assert.Equal(t, v.Count, s.Count)
			assert.Equal(t, v.Fullest, s.Fullest)
			near(t, float64(v.Total), s.Total, "total")
			near(t, float64(v.Mean), s.Mean, "mean")
			near(t, float64(v.Std), s.Std, "std")
			near(t, float64(v.StdPop), s.StdPop, "stdPop")
			near(t, float64(v.Min), s.Min, "min")
			near(t, float64(v.Median), s.Median, "median")
			near(t, float64(v.P90), s.P90, "p90")
			near(t, float64(v.P99), s.P99, "p99")
			near(t, float64(v.Max), s.Max, "max")
			near(t, float64(v.MaxOverMedian), s.MaxOverMedian, "maxOverMedian")
			for _, q := range v.Quantiles {
				near(t, q[1], Quantile(v.Values, q[0]), "quantile")
			}

			whole := make([]int64, len(v.Values))
			for i, x := range v.Values {
				whole[i] = int64(x)
				if x != math.Trunc(x) {
					return
				}
			}
			w := Measure(whole)
			near(t, float64(s.Std), w.Std, "std of int64")
			if !s.Std.Defined() {
				s.Std, w.Std = 0, 0 // NaN does not equal itself
			}
			assert.Equal(t, s, w, "int64 and float64 of the same numbers")
		})
	}
}

func TestVectorsScores(t *testing.T) {
	for name, v := range loadVectors(t).Summaries {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, v.Sigma, Find(Sigma{}, v.Values).Hot)
			assert.Equal(t, v.Sigma15, Find(Sigma{Deviations: 1.5}, v.Values).Hot)
			near(t, v.MAD, MAD(v.Values), "MAD")
			near(t, v.MeanAD, MeanAD(v.Values), "MeanAD")
			z := ZScores(v.Values)
			require.Len(t, z, len(v.Values))
			for i := range v.Z {
				assert.InDelta(t, v.Z[i], z[i], 1e-10)
			}
		})
	}
}

func TestVectorsImbalance(t *testing.T) {
	for name, v := range loadVectors(t).Summaries {
		t.Run(name, func(t *testing.T) {
			i, c := MeasureImbalance(v.Values), Chance(v.Values)
			for _, x := range []struct {
				what string
				want *float64
				got  Float
			}{
				{"idle", v.Idle, i.Idle},
				{"hoover", v.Hoover, i.Hoover},
				{"to move", v.ToMove, i.ToMove},
				{"gini", v.Gini, i.Gini},
				{"flink", v.Flink, i.Flink},
				{"cv", v.CV, i.CV},
				{"cv of chance", v.CV, c.CV},
				{"dispersion", v.Dispersion, c.Dispersion},
				{"chi-square", v.ChiSquare, c.ChiSquare},
				{"p", v.PValue, c.PValue},
			} {
				if x.want != nil {
					// An even state has a measure of 0, and numpy some 1e-16.
					assert.InDelta(t, *x.want, float64(x.got), 1e-12*max(1, math.Abs(*x.want)), x.what)
				}
			}
		})
	}
}

func TestVectorsChance(t *testing.T) {
	v := loadVectors(t)
	for _, c := range v.ChiSquareTail {
		near(t, c[2], chiSquareTail(c[0], int(c[1])), "χ² tail")
	}
	for _, c := range v.Binomial {
		assert.InEpsilon(t, c[3], binomialPMF(c[0], c[1], c[2]), 1e-10, "P(X=%v), n=%v p=%v", c[0], c[1], c[2])
	}
	for _, c := range v.ChanceHoover {
		near(t, c[2], ChanceHoover(int64(c[0]), int(c[1])), "ChanceHoover")
	}
}

func TestVectorsKeySizes(t *testing.T) {
	for _, c := range loadVectors(t).Sizes {
		var k KeySizes
		for _, size := range c.sizes {
			k.Add(size)
		}
		assert.InDelta(t, c.hoover, k.ChanceHoover(c.n), 2e-4, "%v over %d", c.sizes, c.n)
	}
}

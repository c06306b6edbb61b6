package skew

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"
)

func TestMeasureByHand(t *testing.T) {
	// Mean 5, squares 9+1+1+1+0+0+4+16 = 32, so √(32/8) = 2 and √(32/7).
	s := Measure([]int64{2, 4, 4, 4, 5, 5, 7, 9})
	assert.Equal(t, 8, s.Count)
	near(t, 40, s.Total, "total")
	near(t, 5, s.Mean, "mean")
	near(t, 2, s.StdPop, "stdPop")
	near(t, math.Sqrt(32.0/7), s.Std, "std")
	near(t, 2, s.Min, "min")
	near(t, 4.5, s.Median, "median")
	near(t, 7.6, s.P90, "p90: 0.9·7 = 6.3, so 7 + 0.3·2")
	near(t, 8.86, s.P99, "p99: 0.99·7 = 6.93, so 7 + 0.93·2")
	near(t, 9, s.Max, "max")
	near(t, 2, s.MaxOverMedian, "maxOverMedian")
	assert.Equal(t, 7, s.Fullest)
}

func TestMeasureEdges(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	t.Run("none", func(t *testing.T) {
		for _, s := range []Summary{Measure[int64](nil), Measure([]float64{})} {
			assert.Equal(t, 0, s.Count)
			assert.Equal(t, Float(0), s.Total)
			assert.Equal(t, -1, s.Fullest)
			for _, f := range []Float{s.Mean, s.Std, s.StdPop, s.Min, s.Median, s.P90, s.P99, s.Max, s.MaxOverMedian} {
				assert.False(t, f.Defined())
			}
		}
	})
	t.Run("one", func(t *testing.T) {
		s := Measure([]int64{7})
		assert.False(t, s.Std.Defined())
		assert.Equal(t, Float(0), s.StdPop)
		assert.Equal(t, Float(1), s.MaxOverMedian)
		assert.Equal(t, 0, s.Fullest)
	})
	t.Run("all zero", func(t *testing.T) {
		s := Measure(make([]int64, 4))
		assert.Equal(t, Float(0), s.Std)
		assert.Equal(t, Float(0), s.MaxOverMedian)
		assert.Equal(t, 0, s.Fullest)
	})
	t.Run("tie", func(t *testing.T) {
		assert.Equal(t, 1, Measure([]int64{1, 9, 3, 9}).Fullest)
	})
	t.Run("fullest beyond the digits of float64", func(t *testing.T) {
		assert.Equal(t, 2, Measure([]int64{1 << 60, 1<<60 - 1, 1<<60 + 1, 1 << 60}).Fullest)
	})
	t.Run("not finite", func(t *testing.T) {
		for _, x := range [][]float64{{1, nan, 3}, {1, inf}, {-inf, 2}, {nan}} {
			s := Measure(x)
			assert.Equal(t, len(x), s.Count)
			assert.Equal(t, -1, s.Fullest)
			for _, f := range []Float{s.Total, s.Mean, s.Std, s.StdPop, s.Min, s.Median, s.P90, s.P99, s.Max, s.MaxOverMedian} {
				assert.False(t, f.Defined())
			}
		}
	})
}

func TestMeasureKeepsItsDigits(t *testing.T) {
	t.Run("large and close together", func(t *testing.T) {
		x := make([]int64, 1000)
		for i := range x {
			x[i] = 1e15 + int64(i%2) // half of them one more
		}
		s := Measure(x)
		near(t, 1e18+500, s.Total, "total")
		near(t, 0.5, s.StdPop, "stdPop")
	})
	t.Run("total of int64", func(t *testing.T) {
		const big = math.MaxInt64
		assert.Equal(t, Float(1<<53), Measure([]int64{1 << 53, 1, 1, -2}).Total)
		assert.Equal(t, Float(3*math.Pow(2, 63)), Measure([]int64{big, big, big, 3}).Total)
		assert.Equal(t, Float(5), Measure([]int64{big, big, math.MinInt64 + 1, math.MinInt64 + 1, 5}).Total)
		assert.Equal(t, Float(-math.Pow(2, 64)), Measure([]int64{math.MinInt64, math.MinInt64}).Total)
	})
	t.Run("total of float64", func(t *testing.T) {
		assert.Equal(t, Float(2), Measure([]float64{1, 1e100, 1, -1e100}).Total)
	})
	t.Run("range of float64", func(t *testing.T) {
		const most = math.MaxFloat64
		s := Measure([]float64{most, most / 2})
		assert.Equal(t, Float(math.Inf(1)), s.Total)
		near(t, most*0.75, s.Mean, "mean")
		near(t, most/4, s.StdPop, "stdPop")
		near(t, most*0.75, s.Median, "median")
		near(t, 1.0/6, Hoover([]float64{most, most / 2}), "Hoover")

		near(t, 1e-300*math.Sqrt2, Measure([]float64{1e-300, 3e-300}).Std, "small std")
		near(t, 0.25, Gini([]float64{1e-300, 3e-300}), "Gini of small numbers")
		near(t, 0, Median([]float64{-most, most}), "median between the ends")
		near(t, most/2, Quantile([]float64{-most, most}, 0.75), "quantile between the ends")
	})
	t.Run("mean of equal numbers", func(t *testing.T) {
		x := []float64{0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1}
		s := Measure(x)
		assert.Equal(t, Float(0.1), s.Mean)
		assert.Equal(t, Float(0), s.Std)
		assert.Empty(t, Find(Sigma{}, x).Hot)
	})
}

// gonum computes the same statistics by its own means.
func TestMeasureAgainstGonum(t *testing.T) {
	for name, v := range loadVectors(t).Summaries {
		s := Measure(v.Values)
		near(t, stat.Mean(v.Values, nil), s.Mean, name)
		assert.InDelta(t, stat.PopStdDev(v.Values, nil), float64(s.StdPop), 1e-9*max(1e-12, float64(s.Max)), name)
	}
}

func TestQuantile(t *testing.T) {
	x := []int64{40, 10, 30, 20}
	for _, c := range []struct{ q, want float64 }{{0, 10}, {1, 40}, {0.5, 25}, {1.0 / 3, 20}, {0.25, 17.5}, {0.9, 37}} {
		near(t, c.want, Quantile(x, c.q), "quantile")
	}
	assert.Equal(t, []int64{40, 10, 30, 20}, x, "the caller's order is kept")
	for _, q := range []float64{-0.1, 1.1, math.NaN()} {
		assert.True(t, math.IsNaN(Quantile(x, q)))
	}
	assert.True(t, math.IsNaN(Quantile([]int64{}, 0.5)))
	assert.True(t, math.IsNaN(Median([]float64{})))
	assert.True(t, math.IsNaN(Median([]float64{1, math.NaN()})))
	near(t, 2, Median([]int64{3, 1, 2}), "median")
}

func TestEmpty(t *testing.T) {
	assert.Equal(t, 3, Empty([]int64{0, 5, 0, 0, 1}))
	assert.Equal(t, 0, Empty[float64](nil))
}

func TestFloatJSON(t *testing.T) {
	for _, c := range []struct {
		f    Float
		json string
	}{
		{0, "0"}, {1e15, "1000000000000000"}, {0.1, "0.1"}, {-2.5, "-2.5"},
		{Undefined(), "null"}, {Float(math.Inf(1)), "null"}, {Float(math.Inf(-1)), "null"},
	} {
		data, err := json.Marshal(c.f)
		require.NoError(t, err)
		assert.Equal(t, c.json, string(data))

		var back Float
		require.NoError(t, json.Unmarshal(data, &back))
		if c.f.Defined() {
			assert.Equal(t, c.f, back)
		} else {
			assert.False(t, back.Defined())
		}
	}
	var f Float
	assert.Error(t, json.Unmarshal([]byte(`"NaN"`), &f))
}

// A record of the caller's, with results embedded, comes out as one object.
func TestJSONIsFlat(t *testing.T) {
	rows := []int64{4}
	record := struct {
		Operator string `json:"operatorName"`
		Measure  string `json:"measure"`
		Summary
		Finding
	}{"dedupe", "rows", Measure(rows), Find(Sigma{}, rows)}
	data, err := json.Marshal(record)
	require.NoError(t, err)
	assert.Equal(t, `{"operatorName":"dedupe","measure":"rows",`+
		`"count":1,"total":4,"mean":4,"std":null,"stdPop":0,"min":4,"median":4,"p90":4,"p99":4,"max":4,"maxOverMedian":1,"fullest":0,`+
		`"rule":"sigma","condition":"value \u003e mean + 2 × sample standard deviation","line":null,"hot":[],"hotShare":0,`+
		`"inconclusive":"cannot conclude: with n = 1 no value can be more than 0.000 deviations above the mean"}`, string(data))
}

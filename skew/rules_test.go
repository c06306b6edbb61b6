package skew

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// uneven has a median of 10 and a partition that every rule lists.
var uneven = []int64{10, 12, 9, 11, 10, 500, 8, 12, 10, 11, 9, 10, 11, 10, 9, 10, 12, 8, 10, 10}

func TestFindByHand(t *testing.T) {
	for _, c := range []struct {
		rule   Rule
		values []float64
		line   float64
		hot    []int
	}{
		// Mean 4, deviations² 16+0+16+... of 2, 4, 6: sample std 2.
		{Sigma{Deviations: 1}, []float64{2, 4, 6}, 6, []int{}},
		{Sigma{Deviations: 0.9}, []float64{2, 4, 6}, 5.8, []int{2}},
		{Sigma{}, []float64{0, 0, 0, 0, 0, 6}, 1 + 2*math.Sqrt(6), []int{5}},
		{Sigma{}, []float64{3, 3, 3, 3, 3, 3}, 3, []int{}},

		{AQE{}, []float64{10, 10, 10, 50}, 50, []int{}},
		{AQE{}, []float64{10, 10, 10, 51}, 50, []int{3}},
		{AQE{Floor: 51}, []float64{10, 10, 10, 51}, 51, []int{}},
		{AQE{Factor: 2}, []float64{21, 10, 10, 51}, 31, []int{3}}, // median 15.5
		{AQE{}, []float64{0, 0, 0, 5}, 5, []int{}},                // the median counts as 1
		{AQE{}, []float64{0, 0, 0, 6}, 5, []int{3}},

		// Median 3, distances 2, 1, 0, 1, 97: MAD 1, so the line is 3 + 3.5/0.6745.
		{Robust{}, []float64{1, 2, 3, 4, 100}, 3 + 3.5/0.6745, []int{4}},
		{Robust{Score: 100}, []float64{1, 2, 3, 4, 100}, 3 + 100/0.6745, []int{}},
		// Median 10 and MAD 0; the mean distance is 90/8.
		{Robust{}, []float64{10, 10, 10, 10, 10, 10, 10, 100}, 10 + 3.5*1.253314*90/8, []int{7}},
		{Robust{}, []float64{3, 3, 3, 3, 3}, 3, []int{}},

		{Flink{}, []float64{1, 1, 4}, 4, []int{}}, // twice the mean, and not above
		{Flink{}, []float64{1, 1, 5}, 14.0 / 3, []int{2}},
		{Flink{Percent: 50}, []float64{1, 1, 4}, 3, []int{2}},
		{Flink{}, []float64{0, 0, 0}, 0, []int{}},
	} {
		f := Find(c.rule, c.values)
		near(t, c.line, f.Line, c.rule.String())
		assert.Equal(t, c.hot, f.Hot, "%v of %v", c.rule, c.values)
		assert.Equal(t, c.rule.Name(), f.Rule)
		assert.Empty(t, f.Inconclusive, "%v of %v", c.rule, c.values)
		near(t, float64(len(c.hot))/float64(len(c.values)), f.HotShare, "share")
	}
}

func TestEveryRuleListsTheHotOne(t *testing.T) {
	for _, name := range RuleNames() {
		rule, err := ParseRule(name)
		require.NoError(t, err)
		f := Find(rule, uneven)
		assert.Equal(t, []int{5}, f.Hot, name)
		assert.Equal(t, Float(0.05), f.HotShare, name)
	}
}

// Where a rule cannot list any partition, it says so; one partition more, and
// it can.
func TestInconclusive(t *testing.T) {
	for _, c := range []struct {
		rule  Rule
		least int // the fewest partitions of which one can be hot, the others being 0
	}{
		{Sigma{}, 6}, {Sigma{Deviations: 3}, 11}, {Sigma{Deviations: 1.5}, 5},
		{Robust{}, 5}, {Robust{Score: 10}, 13},
		{Flink{}, 3}, {Flink{Percent: 300}, 5},
		{AQE{}, 3}, {AQE{Factor: 1.5}, 2},
	} {
		for n := 1; n < 20; n++ {
			x := make([]int64, n)
			x[n-1] = 1000
			f := Find(c.rule, x)
			if n < c.least {
				assert.Empty(t, f.Hot, "%v of %d", c.rule, n)
			} else {
				assert.Equal(t, []int{n - 1}, f.Hot, "%v of %d", c.rule, n)
			}
			assert.Equal(t, n < c.least, f.Inconclusive != "", "%v of %d", c.rule, n)
		}
	}
	// A deviation of 0 is no obstacle as long as the others do differ.
	assert.Empty(t, Find(Robust{}, []int64{1, 2, 4}).Inconclusive)
	assert.NotEmpty(t, Find(Flink{}, []int64{-1, 2, 4}).Inconclusive)

	for _, name := range RuleNames() {
		rule, err := ParseRule(name)
		require.NoError(t, err)
		for _, x := range [][]float64{nil, {1, math.NaN(), 100}, {math.Inf(1), 1, 1, 1, 1, 1, 1}} {
			f := Find(rule, x)
			assert.NotNil(t, f.Hot)
			assert.Empty(t, f.Hot)
			assert.False(t, f.Line.Defined())
			assert.NotEmpty(t, f.Inconclusive)
		}
	}
}

func TestSigmaCapacity(t *testing.T) {
	for _, n := range []int{2, 3, 4, 5, 6, 10, 11, 20, 27, 50, 100, 200} {
		most := 0
		for hot := 1; hot < n; hot++ {
			x := make([]float64, n)
			for i := range hot {
				x[i] = 1
			}
			if len(Find(Sigma{}, x).Hot) > 0 {
				most = hot
			}
		}
		// h < n(n−1)/(5n−1), which is never a whole number.
		require.Equal(t, n*(n-1)/(5*n-1), most, "n = %d", n)
		require.Less(t, 5*most, n)
	}
}

func TestParseRule(t *testing.T) {
	for _, c := range []struct {
		text string
		rule Rule
		says string
	}{
		{"aqe", AQE{}, "value > 5 × median"},
		{"aqe:2.5", AQE{Factor: 2.5}, "value > 2.5 × median"},
		{"robust", Robust{}, "modified z-score > 3.5"},
		{"robust:5", Robust{Score: 5}, "modified z-score > 5"},
		{"sigma", Sigma{}, "value > mean + 2 × sample standard deviation"},
		{"sigma:3", Sigma{Deviations: 3}, "value > mean + 3 × sample standard deviation"},
		{"flink", Flink{}, "value > mean + 100 % of the mean"},
		{"flink:1e3", Flink{Percent: 1000}, "value > mean + 1000 % of the mean"},
	} {
		rule, err := ParseRule(c.text)
		require.NoError(t, err, c.text)
		assert.Equal(t, c.rule, rule)
		assert.Equal(t, c.says, rule.String())
	}
	for _, text := range []string{"", "AQE", "three", "sigma:", "sigma:x", "sigma:0", "sigma:-1", "sigma:NaN", "sigma:Inf", "sigma:2:3", "sigma 2"} {
		rule, err := ParseRule(text)
		assert.ErrorIs(t, err, ErrRule, text)
		assert.Nil(t, rule)
	}
	_, err := ParseRule("three")
	assert.EqualError(t, err, `skew: not a rule: "three" is none of aqe, flink, robust, sigma`)
}

func TestWithFloor(t *testing.T) {
	rule := WithFloor(AQE{}, FloorRows)
	assert.Equal(t, AQE{Floor: 10000}, rule)
	assert.Equal(t, "value > 5 × median and value > 10000", rule.String())
	assert.Equal(t, "value > 5 × median and value > 268435456", WithFloor(AQE{}, FloorBytes).String())
	assert.Equal(t, "value > 5 × median and value > 1.5", WithFloor(AQE{}, 1.5).String())
	assert.Equal(t, "value > 5 × median and value > 1e+18", WithFloor(AQE{}, 1e18).String())
	assert.Equal(t, Sigma{}, WithFloor(Sigma{}, 7))
	assert.Empty(t, Find(rule, uneven).Hot)
}

func TestFindingJSON(t *testing.T) {
	data, err := json.Marshal(Find(AQE{}, uneven))
	require.NoError(t, err)
	assert.JSONEq(t, `{"rule":"aqe","condition":"value > 5 × median","line":50,"hot":[5],"hotShare":0.05}`, string(data))
}

func TestScoresByHand(t *testing.T) {
	assert.Equal(t, []float64{-1, 0, 1}, ZScores([]int64{2, 4, 6}))
	assert.Equal(t, []float64{0, 0}, ZScores([]int64{7, 7}))
	assert.Empty(t, ZScores[int64](nil))
	assert.True(t, math.IsNaN(ZScores([]int64{7})[0]))
	assert.True(t, math.IsNaN(ZScores([]float64{7, math.NaN()})[0]))

	z := RobustZScores([]int64{1, 2, 3, 4, 100})
	for i, want := range []float64{-2 * 0.6745, -0.6745, 0, 0.6745, 97 * 0.6745} {
		near(t, want, z[i], "robust z")
	}
	z = RobustZScores([]int64{10, 10, 10, 10, 10, 10, 10, 100})
	near(t, 90/(1.253314*90/8), z[7], "robust z, MAD 0")
	assert.Equal(t, []float64{0, 0, 0}, RobustZScores([]int64{7, 7, 7}))
	assert.Empty(t, RobustZScores[int64](nil))
	assert.True(t, math.IsNaN(RobustZScores([]float64{7, math.Inf(1)})[0]))

	near(t, 1, MAD([]int64{1, 2, 3, 4, 100}), "MAD")
	near(t, 101.0/5, MeanAD([]int64{1, 2, 3, 4, 100}), "MeanAD")
	assert.True(t, math.IsNaN(MAD([]int64{})))
	assert.True(t, math.IsNaN(MeanAD([]float64{math.NaN()})))
}

func TestZCeiling(t *testing.T) {
	near(t, 1.7888543819998317, ZCeiling(5), "5")
	assert.Less(t, ZCeiling(5), 2.0)
	assert.Greater(t, ZCeiling(6), 2.0)
	assert.Less(t, ZCeiling(10), 3.0)
	assert.Greater(t, ZCeiling(11), 3.0)
	assert.Zero(t, ZCeiling(1))
	assert.True(t, math.IsNaN(ZCeiling(0)))
	for n := 2; n < 50; n++ {
		x := make([]int64, n)
		x[0] = 1
		near(t, ZCeiling(n), ZScores(x)[0], "the ceiling is reached")
	}
}

package skew

import "math"

// ZScores returns how many sample standard deviations each partition lies
// above the mean: (x−mean)/std.
//
// Range: within ±[ZCeiling](n), which is what makes it a poor judge: a single
// extreme partition raises the mean and, more so, the deviation it is measured
// by. All 0 where the values are equal; undefined (NaN) for fewer than two
// partitions and where a value is not finite.
func ZScores[T Number](values []T) []float64 {
	x := floats(values)
	if !allFinite(x) {
		return undefined(len(x))
	}
	x, _ = rescale(x)
	m := momentsOf(x)
	return scores(x, m.mean, m.std)
}

// ZCeiling returns the greatest z-score there can be among n values:
// (n−1)/√n, reached when all but one are equal (Shiffler, "Maximum Z Scores
// and Outliers", The American Statistician 42, 1988). It first exceeds 2 with
// 6 values, 3 with 11. Undefined (NaN) for n < 1.
func ZCeiling(n int) float64 {
	if n < 1 {
		return math.NaN()
	}
	return float64(n-1) / math.Sqrt(float64(n))
}

// scores returns (x−center)/scale for each x, 0 where the scale is: then no x
// lies off the center.
func scores(x []float64, center, scale float64) []float64 {
	z := make([]float64, len(x))
	for i, v := range x {
		if scale != 0 {
			z[i] = (v - center) / scale
		}
	}
	return z
}

func undefined(n int) []float64 {
	z := make([]float64, n)
	for i := range z {
		z[i] = math.NaN()
	}
	return z
}

package skew

import (
	"math"
	"slices"
)

// Quantile returns the value below which a fraction q of the partitions lies,
// 0 ≤ q ≤ 1. Between two partitions it is interpolated linearly: with the n
// values in ascending order and h = q·(n−1), it is x[⌊h⌋] plus the fraction
// h−⌊h⌋ of the way to the next. This is definition 7 of Hyndman and Fan,
// "Sample Quantiles in Statistical Packages" (The American Statistician 50,
// 1996), and the default of numpy, pandas and R.
//
// Undefined (NaN) for no values, a value that is not finite, or a q outside
// the range.
func Quantile[T Number](values []T, q float64) float64 {
	x := floats(values)
	if len(x) == 0 || !allFinite(x) || !(q >= 0 && q <= 1) {
		return math.NaN()
	}
	return quantileOf(sorted(x), q)
}

// Median returns the middle value, or the mean of the middle two. Undefined
// (NaN) for no values or a value that is not finite.
func Median[T Number](values []T) float64 {
	x := floats(values)
	if len(x) == 0 || !allFinite(x) {
		return math.NaN()
	}
	return medianOf(sorted(x))
}

func sorted(x []float64) []float64 {
	o := slices.Clone(x)
	slices.Sort(o)
	return o
}

// quantileOf is Quantile of values that are sorted, finite and at least one.
func quantileOf(o []float64, q float64) float64 {
	h := q * float64(len(o)-1)
	i := int(h)
	if i >= len(o)-1 {
		return o[len(o)-1]
	}
	a, b, t := o[i], o[i+1], h-float64(i)
	d := b - a
	switch {
	case math.IsInf(d, 0): // two halves of the range of float64 apart
		return a*(1-t) + b*t
	case t < 0.5:
		return a + d*t
	default:
		// From the nearer end, as numpy does: exact at t = 1, never beyond b.
		return b - d*(1-t)
	}
}

// medianOf is Median of values that are sorted, finite and at least one.
func medianOf(o []float64) float64 {
	a, b := o[(len(o)-1)/2], o[len(o)/2]
	if s := a + b; !math.IsInf(s, 0) {
		return s / 2
	}
	return a/2 + b/2
}

package skew

import "math"

// The two numbers that make a distance from the median comparable with a
// standard deviation: in a normal distribution half of all values lie within
// 0.6745 standard deviations of the middle, and the mean distance from it is
// √(2/π) of one, so that 1.253314 = √(π/2) mean distances are one. Both are
// rounded as they are published, so that a score computed here is the one
// computed elsewhere.
const (
	medianToNormal = 0.6745
	meanToNormal   = 1.253314
)

// MAD returns the median absolute deviation: the median of |x−median|, not
// scaled (Hampel, "The Influence Curve and its Role in Robust Estimation",
// JASA 69, 1974). It is 0 as soon as more than half of the values are equal.
// Undefined (NaN) for no values or a value that is not finite.
func MAD[T Number](values []T) float64 {
	return spreadOf(floats(values)).mad
}

// MeanAD returns the mean of the absolute deviations from the median. It is 0
// only if all values are equal. Undefined (NaN) for no values or a value that
// is not finite.
func MeanAD[T Number](values []T) float64 {
	return spreadOf(floats(values)).meanAD
}

// RobustZScores returns the modified z-score of each partition:
// 0.6745·(x−median)/MAD, which reads like a z-score, but which up to half of
// the partitions can leave without hiding themselves. Iglewicz and Hoaglin,
// "How to Detect and Handle Outliers" (ASQC, 1993), call what is beyond 3.5 an
// outlier.
//
// Where the MAD is 0 the score is (x−median)/(1.253314·MeanAD), the customary
// way out, as in IBM's statistics products. It has a ceiling like the plain
// score: n/1.253314 among n partitions.
//
// No range. All 0 where the values are equal; undefined (NaN) where a value is
// not finite.
func RobustZScores[T Number](values []T) []float64 {
	x := floats(values)
	if !allFinite(x) {
		return undefined(len(x))
	}
	x, _ = rescale(x)
	s := spreadOf(x)
	return scores(x, s.median, s.unit())
}

// spread is the middle of some values and how far they lie from it.
type spread struct{ median, mad, meanAD float64 }

func spreadOf(x []float64) spread {
	if len(x) == 0 || !allFinite(x) {
		return spread{math.NaN(), math.NaN(), math.NaN()}
	}
	x, exp := rescale(x)
	median := medianOf(sorted(x))
	d := make([]float64, len(x))
	for i, v := range x {
		d[i] = math.Abs(v - median)
	}
	return spread{
		median: math.Ldexp(median, exp),
		mad:    math.Ldexp(medianOf(sorted(d)), exp),
		meanAD: math.Ldexp(momentsOf(d).mean, exp),
	}
}

// unit returns the distance from the median that scores 1.
func (s spread) unit() float64 {
	if s.mad > 0 {
		return s.mad / medianToNormal
	}
	return s.meanAD * meanToNormal
}

package skew

import "math"

// Number is what a partition can be measured by: counts and sizes are int64,
// weights float64.
type Number interface{ int64 | float64 }

// floats returns values as float64s, without a copy where they are already.
// Whole numbers beyond 2⁵³ are rounded to the nearest float64.
func floats[T Number](values []T) []float64 {
	if x, ok := any(values).([]float64); ok {
		return x
	}
	x := make([]float64, len(values))
	for i, v := range values {
		x[i] = float64(v)
	}
	return x
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// allFinite reports whether every number is known. One that is not leaves
// every statistic of the whole undefined: to pass over it would be to answer
// a question about other partitions than the ones asked about.
func allFinite(x []float64) bool {
	for _, v := range x {
		if !finite(v) {
			return false
		}
	}
	return true
}

// quantities reports whether x can be shared out: at least one number, all
// finite, none negative.
func quantities(x []float64) bool {
	for _, v := range x {
		if !finite(v) || v < 0 {
			return false
		}
	}
	return len(x) > 0
}

// rescale returns x times 2^-exp, with exp chosen so that neither a sum nor a
// sum of squares overflows or vanishes. It copies only where the numbers are
// beyond about 10^±120; everywhere else exp is 0 and x itself is returned. A
// power of two changes no digit, so ratios of the result are those of x.
func rescale(x []float64) (scaled []float64, exp int) {
	const tame = 400 // 2^±400, squared and added up, stays within float64
	_, exp = math.Frexp(largest(x))
	if -tame <= exp && exp <= tame {
		return x, 0
	}
	scaled = make([]float64, len(x))
	for i, v := range x {
		scaled[i] = math.Ldexp(v, -exp)
	}
	return scaled, exp
}

// largest returns the greatest absolute value in x, 0 for none.
func largest(x []float64) float64 {
	var most float64
	for _, v := range x {
		most = max(most, math.Abs(v))
	}
	return most
}

// sum adds numbers up without losing the small ones beside the large: what
// each addition rounds away is kept and added at the end (Neumaier,
// "Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen",
// ZAMM 54, 1974). The zero value is the sum of nothing.
type sum struct{ high, low float64 }

func (s *sum) add(x float64) {
	t := s.high + x
	if math.Abs(s.high) >= math.Abs(x) {
		s.low += (s.high - t) + x
	} else {
		s.low += (x - t) + s.high
	}
	s.high = t
}

func (s *sum) value() float64 { return s.high + s.low }

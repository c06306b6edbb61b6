package skew

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// binomialPMF returns the probability of k successes in n trials, each with
// probability p; 0 ≤ k ≤ n, 0 < p < 1.
//
// The factorials of a million have millions of digits, and the difference of
// their logarithms has few left. So the probability is put together from terms
// that are small each: the distance of Stirling's formula from the factorial,
// and the deviance of k from what is expected (Loader, "Fast and Accurate
// Computation of Binomial Probabilities", 2000).
func binomialPMF(k, n, p float64) float64 {
	q := 1 - p
	switch k {
	case 0:
		return math.Exp(n * math.Log1p(-p))
	case n:
		return math.Exp(n * math.Log(p))
	}
	log := stirlingError(n) - stirlingError(k) - stirlingError(n-k) -
		deviance(k, n*p) - deviance(n-k, n*q)
	return math.Exp(log) * math.Sqrt(n/(2*math.Pi*k*(n-k)))
}

// stirlingError returns ln n! − ln(√(2πn)·(n/e)ⁿ), n > 0.
func stirlingError(n float64) float64 {
	if n < 16 {
		// Small enough to lose nothing in the difference.
		lg, _ := math.Lgamma(n + 1)
		return lg - (n+0.5)*math.Log(n) + n - math.Log(2*math.Pi)/2
	}
	// The first terms of Stirling's series; the one left out is below 1e-15.
	m := 1 / (n * n)
	return (1.0/12 - (1.0/360-(1.0/1260-(1.0/1680-m/1188)*m)*m)*m) / n
}

// deviance returns x·ln(x/mean) + mean − x, which is ≥ 0; x, mean > 0.
func deviance(x, mean float64) float64 {
	d := (x - mean) / (x + mean)
	if math.Abs(d) >= 0.1 {
		return x*math.Log(x/mean) + mean - x
	}
	// Near the mean the terms above cancel. With ln(x/mean) = 2·artanh(d) the
	// difference is a series in d².
	s := (x - mean) * d
	term := 2 * x * d
	for j := 3.0; ; j += 2 {
		term *= d * d
		next := s + term/j
		if next == s {
			return s
		}
		s = next
	}
}

// shortfall returns how much a binomial number X of trials with probability p
// is expected to stay below a: E[max(0, a−X)]. The number of trials need not
// be whole.
//
// For X of n trials, E[X·1(X≤x)] is n·p times the probability that n−1 trials
// have at most x−1 successes; so the expectation needs the distribution
// function at two points and no sum.
func shortfall(a, n, p float64) float64 {
	if a <= 0 {
		return 0
	}
	mean, variance := n*p, n*p*(1-p)
	if variance > 1000 {
		// The exact form is a small difference of large numbers, and so many
		// trials leave it few digits. The normal distribution, corrected for
		// the skewness by the first term of Edgeworth's series, has more.
		sd := math.Sqrt(variance)
		z, skewness := (a-mean)/sd, (1-2*p)/sd
		density := math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
		return sd * max(0, z*math.Erfc(-z/math.Sqrt2)/2+density+skewness/6*z*density)
	}
	x := math.Floor(a)
	return max(0, a*binomialCDF(x, n, p)-mean*binomialCDF(x-1, n-1, p))
}

// binomialCDF returns the probability of at most k successes, k whole, in n
// trials: the regularised incomplete beta function I(1−p; n−k, k+1), which
// goes on smoothly between whole n.
func binomialCDF(k, n, p float64) float64 {
	switch {
	case k < 0:
		return 0
	case k >= n:
		return 1
	}
	return mathext.RegIncBeta(n-k, k+1, 1-p)
}

package skew

import "math"

// Variation returns the coefficient of variation, the sample standard
// deviation divided by the mean (Pearson 1896; Greenplum's
// gp_skew_coefficients is the same number). To be read beside
// [ChanceVariation]: few keys are never spread evenly.
//
// Range: 0 (even) to √n (everything in one of n partitions). 0 where all
// values are; undefined (NaN) for fewer than two partitions, and where a value
// is negative or not finite.
func Variation[T Number](values []T) float64 {
	x := floats(values)
	if !quantities(x) || len(x) < 2 {
		return math.NaN()
	}
	x, _ = rescale(x)
	m := momentsOf(x)
	if m.mean == 0 {
		return 0
	}
	return min(m.std/m.mean, math.Sqrt(float64(m.n)))
}

// ChanceVariation returns the coefficient of variation that hashing alone
// causes with so many keys to a partition: 1/√mean.
//
// Each of K keys goes to one of n partitions at random. One partition then
// holds a binomial number of keys with variance K·(1/n)·(1−1/n), and the
// expected Σ(x−mean)² over all n is K·(1−1/n). Divided by n−1 that is K/n: the
// sample variance is expected to equal the mean, exactly and for every K and
// n, and √mean/mean is 1/√mean. 100 keys to a partition vary by 10 %, 10,000
// by 1 %, and no partitioner does better by hashing.
//
// For keys of different sizes put in the effective number of keys,
// [KeySizes.Effective], divided by n. +Inf for a mean of 0; undefined (NaN)
// for a negative one.
func ChanceVariation(meanKeys float64) float64 {
	if meanKeys < 0 {
		return math.NaN()
	}
	return 1 / math.Sqrt(meanKeys)
}

// Dispersion returns the sample variance divided by the mean, the index of
// dispersion. For numbers of keys it is expected to be 1 however many there
// are, as [ChanceVariation] explains: clearly more is more than chance, and
// clearly less is a placement that is more regular than hashing. For bytes or
// for rows of keys with many rows each it has a unit, and says nothing by
// itself. After Fisher, Thornton and Mackenzie, "The Accuracy of the Plating
// Method" (Annals of Applied Biology 9, 1922).
//
// Range: 0 (even) to the total (everything in one partition). Undefined (NaN)
// for fewer than two partitions or a mean of 0, and where a value is negative
// or not finite.
func Dispersion[T Number](values []T) float64 {
	x := floats(values)
	if !quantities(x) || len(x) < 2 {
		return math.NaN()
	}
	m := momentsOf(x)
	if m.mean == 0 {
		return math.NaN()
	}
	return m.std / m.mean * m.std
}

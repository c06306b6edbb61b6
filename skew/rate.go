package skew

import "math"

// SkewRate returns how much of the total lies in the wrong place beyond what
// chance accounts for: max(0, hoover − chance), with the [Hoover] index of the
// partitions and the index to be expected of even hashing, by [ChanceHoover]
// or [KeySizes.ChanceHoover]. Which of the two decides what the rate means:
//
//   - ChanceHoover, of the number of keys, treats all keys as alike. What one
//     large key does to its partition is skew then, and counts.
//   - KeySizes.ChanceHoover takes the keys with the sizes they have. A large
//     key makes any placement uneven, so it is part of what is expected, and
//     the rate is left with what hashing these very keys does not explain:
//     keys that are not where their hash says.
//
// A state of 50,000 keys over 200 partitions in which one key has 38 % of all
// rows has a Hoover index of 0.378. Its rate is 0.353 by the first and about 0
// by the second.
//
// Range: 0 to 1−1/n. Undefined (NaN) where either argument is.
func SkewRate(hoover, chance float64) float64 {
	if math.IsNaN(hoover) || math.IsNaN(chance) {
		return math.NaN()
	}
	return max(0, hoover-chance)
}

// ChanceHoover returns the [Hoover] index to be expected when that many keys
// of equal size are hashed evenly over the partitions.
//
// One partition holds a binomial number X of the K keys, with p = 1/n and
// q = 1−p. The n partitions are alike, so the expected Σ|x−mean| is n·E|X−Kp|,
// and the expected index n·E|X−Kp| / 2K. The mean distance of a binomial
// variable from its expectation has had a closed form since de Moivre
// (Miscellanea Analytica, 1730; Diaconis and Zabell, "Closed Form Summation
// for Classical Distributions", Statistical Science 6, 1991):
//
//	E|X−Kp| = 2·ν·q·P(X=ν),  ν = ⌊Kp⌋+1
//
// and so the index is n·ν·q·P(X=ν) / K. For many keys it comes to
// √((n−1)/2πK), which is 0.4 divided by the root of the keys per partition.
// For fewer keys than partitions it is qᴷ, the expected share of empty
// partitions.
//
// Range: 0 (one partition) to 1−1/n (one key). 0 for no keys; undefined (NaN)
// for no partitions or a negative number of keys.
func ChanceHoover(keys int64, partitions int) float64 {
	switch {
	case partitions < 1 || keys < 0:
		return math.NaN()
	case partitions == 1 || keys == 0:
		return 0
	}
	n, k := float64(partitions), float64(keys)
	most := float64(keys/int64(partitions) + 1)
	return within(n*most/k*(1-1/n)*binomialPMF(most, k, 1/n), partitions)
}

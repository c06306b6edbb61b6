package skew

import "math"

// The measures of this file treat the partitions as incomes are treated: how
// unequally is a total shared out? They need quantities, so they are undefined
// (NaN) where a value is negative or not finite, and for no partitions. A
// total of 0 is shared out evenly, and so is any total over one partition: all
// of them are 0 then. They do not change when all values are multiplied by the
// same number, nor when partitions change places.

// IdleFraction returns 1 − mean/max: the part of the workers' time that is
// spent waiting for the slowest one, if each works through one partition and
// the work is in proportion to the value. The definition is that of
// gp_skew_idle_fractions in Greenplum's gp_toolkit, whose manual asks to look
// into anything above 0.1.
//
// Range: 0 (even) to 1−1/n (everything in one of n partitions).
func IdleFraction[T Number](values []T) float64 {
	x := floats(values)
	if !quantities(x) {
		return math.NaN()
	}
	x, _ = rescale(x)
	most := largest(x)
	if most == 0 {
		return 0
	}
	return within(1-momentsOf(x).mean/most, len(x))
}

// Hoover returns the part of the total that would have to move to another
// partition to make all of them equal: Σ|x−mean| / 2Σx. Named after Hoover,
// "The Measurement of Industrial Localization" (Review of Economics and
// Statistics 18, 1936), also called the Robin Hood or Pietra index.
//
// Range: 0 (even) to 1−1/n (everything in one of n partitions). It is never
// above [Gini] nor above [IdleFraction].
func Hoover[T Number](values []T) float64 {
	x := floats(values)
	if !quantities(x) {
		return math.NaN()
	}
	x, _ = rescale(x)
	m := momentsOf(x)
	if m.total == 0 {
		return 0
	}
	return within(distance(x, m.mean)/2/m.total, len(x))
}

// ToMove returns how much would have to move to make all partitions equal, in
// the unit of the values: Σ|x−mean| / 2, which is [Hoover] times the total.
//
// Range: 0 (even) to total·(1−1/n).
func ToMove[T Number](values []T) float64 {
	x := floats(values)
	if !quantities(x) {
		return math.NaN()
	}
	x, exp := rescale(x)
	return math.Ldexp(distance(x, momentsOf(x).mean)/2, exp)
}

// Gini returns the mean difference between two partitions, relative to twice
// the mean: ΣΣ|xᵢ−xⱼ| / 2n²·mean, by way of the sorted values as
// Σ(2i−n−1)·x₍ᵢ₎ / n·Σx, i from 1. After Gini, "Variabilità e mutabilità"
// (1912). No correction for small n is made: the correction n/(n−1) answers
// for a sample, and the partitions are all there are.
//
// Range: 0 (even) to 1−1/n (everything in one of n partitions). It answers to
// every difference, also among the small partitions, where Hoover sees only
// those that cross the mean.
func Gini[T Number](values []T) float64 {
	x := floats(values)
	if !quantities(x) {
		return math.NaN()
	}
	x, _ = rescale(x)
	var total, weighted sum
	n := len(x)
	for i, v := range sorted(x) {
		total.add(v)
		weighted.add(float64(2*i+1-n) * v)
	}
	if total.value() == 0 {
		return 0
	}
	return within(weighted.value()/total.value()/float64(n), n)
}

// distance returns Σ|x−from|.
func distance(x []float64, from float64) float64 {
	var d sum
	for _, v := range x {
		d.add(math.Abs(v - from))
	}
	return d.value()
}

// within keeps rounding from carrying an index of n partitions out of its
// range.
func within(index float64, n int) float64 {
	return min(max(index, 0), 1-1/float64(n))
}

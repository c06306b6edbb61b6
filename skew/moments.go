package skew

import "math"

// moments are the total, the mean and the spread around it of finite numbers.
type moments struct {
	n           int
	total       float64
	mean        float64
	std, stdPop float64 // divided by n−1 and by n
}

// momentsOf reads x twice: once for the mean, once for the squared distances
// from it. The textbook's Σx² − (Σx)²/n, which needs one pass, loses every
// digit when the numbers are large and close together. The second pass also
// takes back what the rounding of the mean put in (Chan, Golub, LeVeque,
// "Algorithms for Computing the Sample Variance", The American Statistician
// 37, 1983).
//
// All numbers of x are finite. Of an empty x only the total, 0, is defined;
// of a single number the sample standard deviation is not.
func momentsOf(x []float64) moments {
	n := len(x)
	if n == 0 {
		return moments{mean: math.NaN(), std: math.NaN(), stdPop: math.NaN()}
	}
	x, exp := rescale(x)

	var total sum
	least, most := x[0], x[0]
	for _, v := range x {
		total.add(v)
		least, most = min(least, v), max(most, v)
	}
	// Rounding may put the mean of equal numbers beside them; their deviation
	// must be 0 and none of them above the mean.
	mean := min(max(total.value()/float64(n), least), most)

	var squares, rounding sum
	for _, v := range x {
		d := v - mean
		squares.add(d * d)
		rounding.add(d)
	}
	r := rounding.value()
	s := max(0, squares.value()-r*r/float64(n))

	m := moments{
		n:      n,
		total:  math.Ldexp(total.value(), exp),
		mean:   math.Ldexp(mean, exp),
		std:    math.NaN(),
		stdPop: math.Ldexp(math.Sqrt(s/float64(n)), exp),
	}
	if n > 1 {
		m.std = math.Ldexp(math.Sqrt(s/float64(n-1)), exp)
	}
	return m
}

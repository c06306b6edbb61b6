package skew

import (
	"math/big"
	"math/bits"
)

// Summary is what one looks at first: how much there is, how it is spread
// over the partitions, and where the most of it lies.
//
// The names in JSON are those of the fields in lower camel case. The struct is
// made to be embedded: beside a [Finding] and the caller's own fields it
// becomes one flat object.
type Summary struct {
	// Count is the number of partitions, those that hold nothing included.
	Count int `json:"count"`
	// Total is the sum over all partitions: 0 for none. Of int64 values it is
	// the exact sum, rounded once where it is beyond 2⁵³. It is +Inf where
	// float64 cannot hold the sum of floats.
	Total Float `json:"total"`
	// Mean is the total divided by the number of partitions.
	Mean Float `json:"mean"`
	// Std is the sample standard deviation, √(Σ(x−mean)²/(n−1)), as
	// pandas.Series.std computes it. Undefined for fewer than two partitions.
	Std Float `json:"std"`
	// StdPop is the population standard deviation, √(Σ(x−mean)²/n), as
	// numpy.std computes it.
	StdPop Float `json:"stdPop"`
	// Min, Median, P90, P99 and Max are quantiles as [Quantile] has them: of
	// 200 partitions P99 lies between the third-fullest and the second-fullest.
	Min    Float `json:"min"`
	Median Float `json:"median"`
	P90    Float `json:"p90"`
	P99    Float `json:"p99"`
	Max    Float `json:"max"`
	// MaxOverMedian says how many times the usual work the slowest task of a
	// stage has: max / max(median, 1). The median is taken as 1 where it is
	// less, as Spark's adaptive execution does, so that a state with more
	// empty partitions than full ones has a ratio too. 1 is even; there is no
	// upper end.
	MaxOverMedian Float `json:"maxOverMedian"`
	// Fullest is the index of the partition that holds Max, the lowest one
	// where several do; −1 where there is none.
	Fullest int `json:"fullest"`
}

// Measure sums up one number for each partition: rows, keys, bytes, rows
// changed, or a weight. The index in values is the partition's number, so a
// partition that holds nothing must be there as 0.
//
// Of no partitions Total is 0 and all the rest undefined. If any value is NaN
// or infinite, everything but Count is undefined, and Fullest −1.
func Measure[T Number](values []T) Summary {
	x := floats(values)
	s := Summary{
		Count: len(x), Total: Undefined(), Mean: Undefined(), Std: Undefined(), StdPop: Undefined(),
		Min: Undefined(), Median: Undefined(), P90: Undefined(), P99: Undefined(), Max: Undefined(),
		MaxOverMedian: Undefined(), Fullest: -1,
	}
	if !allFinite(x) {
		return s
	}
	m := momentsOf(x)
	s.Total = Float(m.total)
	if whole, ok := any(values).([]int64); ok {
		s.Total = Float(exactTotal(whole))
	}
	if m.n == 0 {
		return s
	}
	s.Mean, s.Std, s.StdPop = Float(m.mean), Float(m.std), Float(m.stdPop)

	o := sorted(x)
	s.Min, s.Max = Float(o[0]), Float(o[len(o)-1])
	s.Median = Float(medianOf(o))
	s.P90, s.P99 = Float(quantileOf(o, 0.90)), Float(quantileOf(o, 0.99))
	s.MaxOverMedian = s.Max / max(s.Median, 1)
	s.Fullest = fullest(values)
	return s
}

// fullest returns the index of the greatest value, the first of several.
// It compares the values as they came, since int64s that differ may be equal
// as float64s.
func fullest[T Number](values []T) int {
	at := -1
	for i, v := range values {
		if at < 0 || v > values[at] {
			at = i
		}
	}
	return at
}

// exactTotal adds up in 64 bits, and in as many as it takes once those are
// full. The result is rounded once, to the nearest float64.
func exactTotal(values []int64) float64 {
	var total int64
	for i, v := range values {
		next, _ := bits.Add64(uint64(total), uint64(v), 0)
		if (v >= 0) != (int64(next) >= total) {
			wide := big.NewInt(total)
			for _, v := range values[i:] {
				wide.Add(wide, big.NewInt(v))
			}
			f, _ := new(big.Float).SetInt(wide).Float64()
			return f
		}
		total = int64(next)
	}
	return float64(total)
}

// Empty returns how many partitions hold nothing: values that are 0. Of m keys
// to a partition, hashed evenly, about e^−m of all partitions have none.
func Empty[T Number](values []T) int {
	n := 0
	for _, v := range values {
		if v == 0 {
			n++
		}
	}
	return n
}

// share returns part/whole, undefined for a whole of nothing.
func share(part, whole int) Float {
	if whole == 0 {
		return Undefined()
	}
	return Float(part) / Float(whole)
}

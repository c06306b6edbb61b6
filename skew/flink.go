package skew

import "math"

// FlinkScore returns the data skew that the web interface of Apache Flink
// shows for an operator, in percent: the mean distance of the subtasks from
// their mean, divided by the mean, and cut at 100:
//
//	min(100, 100 · (Σ|x−mean|/n) / mean)
//
// The definition is that of FLIP-418 and of the accumulator "skew" in Flink
// 1.20 and later. Flink's own help text calls it a coefficient of variation;
// it takes the mean distance where that takes the standard deviation. It is
// 200 times the [Hoover] index as long as that is below a half, and blind
// beyond: one partition with 60 % of the rows and one with all of them both
// score 100.
//
// Range: 0 (even) to 100. As in Flink, nothing anywhere scores 0. Undefined
// (NaN) for no partitions, where Flink says 0, and where a value is negative
// or not finite.
func FlinkScore[T Number](values []T) float64 {
	x := floats(values)
	if !quantities(x) {
		return math.NaN()
	}
	x, _ = rescale(x)
	mean := momentsOf(x).mean
	if mean == 0 {
		return 0
	}
	return min(100, 100*(distance(x, mean)/float64(len(x))/mean))
}

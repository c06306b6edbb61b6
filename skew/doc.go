// Package skew measures how unevenly something is spread over partitions, and
// tells what chance does from what it does not.
//
// Measures and rules work on numbers alone: one for each partition, the
// partitions that hold nothing included as 0. What they count is the caller's
// affair: rows, distinct keys, bytes, rows changed in a batch, or a weight.
//
//	rows := []int64{120, 118, 131, 1406, 109, 125}
//	s := skew.Measure(rows)                  // mean, median, max/median, fullest …
//	i := skew.MeasureImbalance(rows)         // what would have to move, Gini …
//	f := skew.Find(skew.Robust{}, rows)      // which partitions stand out
//	c := skew.Chance(keys)                   // could it be chance?
//
// The analysis takes the numbers from a store of a checkpoint, in one walk over
// its rows, with what explains them.
//
//	skew.Analyze(ctx, store, skew.Options{})       // verdict, causes, what-if, advice
//	skew.Gather(ctx, store, options, []int{0, 1})  // the same on many machines: Merge, Conclude
//	skew.Trend(ctx, store, workers)                // every batch that can still be read
//	skew.Times(ctx, store, clock)                  // event times, timeouts, expiries: what is due
//
// # Which measure answers what
//
//	question                              answer                     even   worst of n
//	how much longer is the slowest task?  Summary.MaxOverMedian      1      no end
//	how much of the workers' time idles?  IdleFraction               0      1−1/n
//	how much would have to move?          Hoover, ToMove             0      1−1/n
//	how unequal are any two of them?      Gini                       0      1−1/n
//	how far do they vary?                 Variation                  0      √n
//	… and how far must they?              ChanceVariation            —      —
//	is it more than chance?               Dispersion, Chance         ≈ 1    number of keys
//	what would Flink show?                FlinkScore                 0      100
//	which partitions stand out?           Find with a Rule           none   at most half
//	what is left beyond chance?           SkewRate                   0      1−1/n
//
// MaxOverMedian speaks of the fullest partition only. Hoover and Gini speak of
// all of them; one with ten times the mean among thousands hardly moves them.
// Variation and Dispersion weigh large distances most. None of these knows how
// many keys there are, so none knows what could have been expected: a state of 50 keys
// over 200 partitions leaves three in four of them empty however well it is
// hashed. That is for Chance, ChanceVariation and ChanceHoover to say.
//
// # Why not mean + 2σ
//
// Almost everyone begins with the rule that a partition is hot above the mean
// plus two sample standard deviations. It is here too, as [Sigma], equal to
// what pandas answers. It is wrong in both directions.
//
// It misses. An extreme value raises the deviation that it is measured by. In
// units of it, no value among n can be further than (n−1)/√n above the mean:
//
//	partitions               2      3      4      5      6     11     50    200
//	greatest z-score     0.707  1.155  1.500  1.789  2.041  3.015  6.930  14.07
//
// So with five partitions or fewer the rule cannot list any, even if one holds
// everything; a threshold of 3 takes eleven. Nor can many be listed together:
// with h equal hot ones among n, the others empty, they are listed only while
// h < n(n−1)/(5n−1), which is less than a fifth (Cantelli's inequality):
//
//	partitions               6     11     20     50    100    200  2,000
//	hot ones at most         1      2      3      9     19     39    399
//
// A fifth is the end of the scale, and the usual trouble is at its other end:
// one partition of 200 that holds half of the state is a share of 0.5 %. An
// alert on more than 10 % of hot partitions never sees it.
//
// It cries wolf. Even hashing is not even. In 20,000 simulations of 49,064 keys
// hashed to 200 partitions, 245 keys to each, it listed
//
//	4.8 partitions on average, 2 to 8 of them in 97 % of the cases
//	6 or more in 33 %
//	none at all in 37 cases of 20,000
//
// and with a threshold of 2.5 still one or more in 79 %. The fullest partition
// was 1.18 times the median. [AQE] and [Flink] listed none in any of them,
// [Robust] one or more in 10 %; the p-value of [Chance] was below 0.0001 in one.
//
// # What Judge makes of even states
//
// 10,000 states each, of keys hashed evenly, one row a key; how many in a
// thousand got another verdict than even or chance:
//
//	keys to a partition      1     10    100  1,000 10,000
//	    4 partitions         0      0      0      0      0
//	   20 partitions       0.4      0    0.1      0      0
//	  200 partitions         0    0.2    0.2      0      0
//	2,000 partitions       0.2    0.1    0.1      0      0
//
// BenchmarkJudgeEvenStates makes the table again.
//
// # Values that are not to be had
//
// Nothing here divides by zero and nothing panics. What is undefined is NaN in
// Go and null in JSON, by way of [Float]:
//
//   - A NaN or an infinity among the values is a partition whose value nobody
//     knows. No measure of all partitions is defined then.
//   - No partitions: everything is undefined, but for the total, 0.
//   - One partition: it is even, and has no sample standard deviation.
//   - All values 0: even too. Measures of unevenness are 0, and a mean of 0 has
//     no index of dispersion.
//   - A negative value has a mean and quantiles, but no part in a total: the
//     measures of unevenness are undefined.
package skew

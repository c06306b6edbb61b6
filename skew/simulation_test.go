package skew

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// BenchmarkJudgeEvenStates hashes keys evenly and judges the result. The metric
// wrong/1000 is how many of a thousand such states get another verdict than
// even or chance; the table in the package documentation is of 10,000 states
// each:
//
//	go test ./skew -run xxx -bench JudgeEvenStates -benchtime 10000x
func BenchmarkJudgeEvenStates(b *testing.B) {
	for _, n := range []int{4, 20, 200, 2000} {
		for _, mean := range []int{1, 10, 100, 1000, 10_000} {
			b.Run(fmt.Sprintf("partitions=%d/keys=%d", n, mean), func(b *testing.B) {
				r := rand.New(rand.NewPCG(uint64(n), uint64(mean)))
				wrong := 0
				for range b.N {
					keys := evenState(r, n, float64(mean))
					if v := Judge(Evidence{Values: keys, Keys: keys, Top: 1}); v != Even && v != ByChance {
						wrong++
					}
				}
				b.ReportMetric(1000*float64(wrong)/float64(b.N), "wrong/1000")
			})
		}
	}
}

// evenState is n partitions of keys that were hashed evenly: multinomial, drawn
// as one binomial after the other.
func evenState(r *rand.Rand, n int, mean float64) []float64 {
	left := int(mean * float64(n))
	out := make([]float64, n)
	for p := range n - 1 {
		k := binomial(r, left, 1/float64(n-p))
		out[p] = float64(k)
		left -= k
	}
	out[n-1] = float64(left)
	return out
}

// binomial draws the number of successes in k trials: one by one where they are
// few, by the normal approximation where it is good enough.
func binomial(r *rand.Rand, k int, p float64) int {
	if p >= 1 {
		return k
	}
	variance := float64(k) * p * (1 - p)
	if variance > 200 {
		for {
			x := int(float64(k)*p + r.NormFloat64()*math.Sqrt(variance) + 0.5)
			if x >= 0 && x <= k {
				return x
			}
		}
	}
	// Gaps between successes are geometric.
	n := 0
	for i := geometric(r, p); i < k; i += 1 + geometric(r, p) {
		n++
	}
	return n
}

// geometric draws the number of failures before a success.
func geometric(r *rand.Rand, p float64) int {
	return int(math.Log(1-r.Float64()) / math.Log(1-p))
}

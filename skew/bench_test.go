package skew

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

var partitionCounts = []int{4, 200, 2000}

func benchmarkEach(b *testing.B, run func(rows []int64)) {
	for _, n := range partitionCounts {
		rows := hashed(rand.New(rand.NewPCG(1, 1)), 245*n, n)
		b.Run(fmt.Sprintf("partitions=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				run(rows)
			}
		})
	}
}

func BenchmarkMeasure(b *testing.B) {
	benchmarkEach(b, func(rows []int64) { Measure(rows) })
}

func BenchmarkMeasureImbalance(b *testing.B) {
	benchmarkEach(b, func(rows []int64) { MeasureImbalance(rows) })
}

func BenchmarkChance(b *testing.B) {
	benchmarkEach(b, func(rows []int64) { Chance(rows) })
}

func BenchmarkFind(b *testing.B) {
	for _, rule := range []Rule{AQE{}, Flink{}, Robust{}, Sigma{}} {
		b.Run(rule.Name(), func(b *testing.B) {
			benchmarkEach(b, func(rows []int64) { Find(rule, rows) })
		})
	}
}

func BenchmarkChanceHoover(b *testing.B) {
	for b.Loop() {
		ChanceHoover(49064, 200)
	}
}

// BenchmarkKeySizes adds keys one by one, and asks of a million of them.
func BenchmarkKeySizes(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	sizes := make([]float64, 1<<20)
	for i := range sizes {
		sizes[i] = math.Exp(2 * rng.NormFloat64())
	}
	b.Run("Add", func(b *testing.B) {
		b.ReportAllocs()
		var k KeySizes
		i := 0
		for b.Loop() {
			k.Add(sizes[i%len(sizes)])
			i++
		}
	})
	b.Run("ChanceHoover", func(b *testing.B) {
		k := sizesOf(sizes...)
		b.ReportAllocs()
		for b.Loop() {
			k.ChanceHoover(200)
		}
	})
}

package skew

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// hashedRows spreads keys of one row each evenly over n partitions.
func hashedRows(r *rand.Rand, keys, n int) []float64 {
	out := make([]float64, n)
	for range keys {
		out[r.IntN(n)]++
	}
	return out
}

// Even hashing is judged even or chance, at every size.
func TestEvenHashingIsNobodysFault(t *testing.T) {
	runs := 200
	if testing.Short() {
		runs = 20
	}
	for _, n := range []int{4, 20, 200, 2000} {
		for _, mean := range []int{1, 3, 10, 100, 1000} {
			if n*mean > 400_000 {
				continue
			}
			r := rand.New(rand.NewPCG(uint64(n), uint64(mean)))
			wrong := 0
			for range runs {
				keys := hashedRows(r, n*mean, n)
				if v := Judge(Evidence{Values: keys, Keys: keys, Top: 1}); v != Even && v != ByChance {
					wrong++
				}
			}
			assert.LessOrEqual(t, wrong, 1, "n %d, mean %d", n, mean)
		}
	}
}

// A planted key is found as soon as it is beyond the lines that define it.
func TestHotKeysAreFound(t *testing.T) {
	for _, n := range []int{4, 20, 200, 2000} {
		for _, share := range []float64{0.02, 0.05, 0.1, 0.3, 0.6} {
			for _, null := range []bool{false, true} {
				t.Run(fmt.Sprintf("n=%d share=%v null=%v", n, share, null), func(t *testing.T) {
					r := rand.New(rand.NewPCG(uint64(n), uint64(share*100)))
					keys := hashedRows(r, 50*n, n)
					values := append([]float64(nil), keys...)
					at := r.IntN(n)
					hot := float64(50*n) * share / (1 - share)
					values[at] += hot - 1
					sizes := &KeySizes{}
					for range 50*n - 1 {
						sizes.Add(1)
					}
					sizes.Add(hot)
					e := Evidence{Values: values, Keys: keys, Sizes: sizes, Top: hot, TopPartition: at, TopNull: null}
					want := HotKey
					if null {
						want = NullKey
					}
					s := Measure(values)
					if excess := float64(s.Max - s.Mean); excess < EvenExcess*float64(s.Mean) {
						want = Even
					} else if s.Fullest != at || hot < CauseShare*excess {
						t.Skip("the key is not what fills the fullest partition")
					}
					assert.Equal(t, want, Judge(e))
				})
			}
		}
	}
}

func TestJudge(t *testing.T) {
	even := []float64{100, 101, 99, 100}
	skewed := []float64{100, 100, 100, 5000}
	keys := []float64{100, 101, 99, 102}
	for _, c := range []struct {
		name string
		e    Evidence
		want Verdict
	}{
		{"nothing", Evidence{Values: []float64{0, 0}}, Even},
		{"no partitions", Evidence{}, Even},
		{"one task", Evidence{Values: []float64{7}, Single: true}, SinglePartition},
		{"even", Evidence{Values: even, Keys: even, Top: 1}, Even},
		{"fewer keys than partitions", Evidence{Values: []float64{1, 0, 2, 0}, Keys: []float64{1, 0, 2, 0}, Top: 1}, FewKeys},
		{"a few keys more", Evidence{Values: []float64{3, 0, 2, 0}, Keys: []float64{3, 0, 2, 0}, Top: 1}, ByChance},
		{"keys crowd together", Evidence{Values: skewed, Keys: skewed, Top: 1, TopPartition: 3}, Structural},
		{"elsewhere than their hash says", Evidence{Values: skewed, Keys: skewed, Top: 1, TopPartition: 3, Misplaced: 0.6}, WrongPartitioning},
		{"one large key", Evidence{Values: skewed, Keys: keys, Sizes: oneAndOnes(5000-101, 301), Top: 5000 - 101, TopPartition: 3}, HotKey},
		{"the null key", Evidence{Values: skewed, Keys: keys, Sizes: oneAndOnes(5000-101, 301), Top: 5000 - 101, TopPartition: 3, TopNull: true}, NullKey},
		{"keys unknown", Evidence{Values: skewed}, Structural},
	} {
		assert.Equal(t, c.want, Judge(c.e), c.name)
	}
}

func oneAndOnes(top float64, ones int) *KeySizes {
	k := &KeySizes{}
	k.Add(top)
	for range ones {
		k.Add(1)
	}
	return k
}

func TestGrade(t *testing.T) {
	small, large := Measure([]float64{1, 1, 1, 100}), Measure([]float64{9000, 9000, 9000, 20_000})
	huge := Measure([]float64{1000, 1000, 1000, 20_000})
	assert.Equal(t, Info, Grade(HotKey, small, FloorRows))
	assert.Equal(t, Warning, Grade(HotKey, large, FloorRows))
	assert.Equal(t, Critical, Grade(HotKey, huge, FloorRows))
	assert.Equal(t, Info, Grade(ByChance, huge, FloorRows))
	assert.Equal(t, Critical, Grade(Structural, small, 0))
}

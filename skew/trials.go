package skew

import "github.com/sparkstate/sparkstate/statestore/placement"

// trials is what one partition adds to the measure by partition at each of the
// numbers of partitions that are tried. Of few rows it keeps their hashes: where
// partitions are many there are many numbers, most of which stay 0.
type trials struct {
	counts  []int
	few     int // up to so many rows their hashes are kept
	hashes  []int32
	weights []float64
	values  [][]float64 // of more rows
	many    bool
}

func (a *analysis) newTrials() trials {
	s := trials{counts: a.counts}
	for _, n := range a.counts {
		s.few += n
	}
	s.few /= max(len(a.counts), 1)
	return s
}

// add adds the weight of a row, by the hash of its key.
func (s *trials) add(hash int32, weight float64) {
	if !s.many && len(s.hashes) < s.few {
		s.hashes, s.weights = append(s.hashes, hash), append(s.weights, weight)
		return
	}
	if !s.many {
		s.many = true
		if s.values == nil {
			s.values = newValues(s.counts)
		}
		s.place(s.values)
	}
	for i, n := range s.counts {
		s.values[i][placement.Partition(hash, n)] += weight
	}
}

// place adds the rows of which the hashes are kept.
func (s *trials) place(values [][]float64) {
	for j, h := range s.hashes {
		for i, n := range s.counts {
			values[i][placement.Partition(h, n)] += s.weights[j]
		}
	}
}

// addTo adds all of it to the values of the whole.
func (s *trials) addTo(values [][]float64) {
	if s.many {
		addValues(values, s.values)
	} else {
		s.place(values)
	}
}

// reset empties it, and keeps the memory.
func (s *trials) reset() {
	if s.many {
		for _, v := range s.values {
			clear(v)
		}
	}
	s.hashes, s.weights, s.many = s.hashes[:0], s.weights[:0], false
}

// newValues returns the measure by partition, 0 for all, at each of the counts.
func newValues(counts []int) [][]float64 {
	values := make([][]float64, len(counts))
	for i, n := range counts {
		values[i] = make([]float64, n)
	}
	return values
}

// addValues adds values of as many partitions.
func addValues(to, values [][]float64) {
	for i, at := range values {
		for p, v := range at {
			to[i][p] += v
		}
	}
}

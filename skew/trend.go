package skew

import (
	"context"
	"errors"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore"
)

// TrendPoint is a store at one batch.
type TrendPoint struct {
	Batch int64 `json:"batch"`
	// Rows and Bytes (of keys and values) are those of the state after it.
	Rows  int64 `json:"rows"`
	Bytes int64 `json:"bytes"`
	// Inserted, Updated and Deleted count the keys that the batch touched, each
	// once. A partition whose delta is gone (at the start of a run of batches,
	// or where a snapshot stands in for it) adds nothing to them.
	Inserted int64 `json:"inserted"`
	Updated  int64 `json:"updated"`
	Deleted  int64 `json:"deleted"`
	// MaxOverMedian and Hoover are of the rows by partition, Fullest is the
	// partition that has most.
	MaxOverMedian Float `json:"maxOverMedian"`
	Hoover        Float `json:"hoover"`
	Fullest       int   `json:"fullest"`
}

// Trend measures a store at every batch that can be read, in ascending order.
// Every file is read once: the oldest batch is loaded, and the changes of each
// later one are applied to it. Memory holds the keys of as many partitions as
// there are workers.
func Trend(ctx context.Context, s *checkpoint.Store, workers int) ([]TrendPoint, error) {
	batches, err := s.Readable(ctx)
	if err != nil || len(batches) == 0 {
		return nil, err
	}
	var series [][]Step
	for steps, err := range checkpoint.Walk(ctx, s, func(ctx context.Context, p int, emit func([]Step) bool) error {
		steps, err := Follow(ctx, s, p, batches)
		if err == nil {
			emit(steps)
		}
		return err
	}, checkpoint.Workers(workers)) {
		if err != nil {
			return nil, err
		}
		series = append(series, steps)
	}
	out := make([]TrendPoint, len(batches))
	steps := make([]Step, len(series))
	for i := range batches {
		for p := range steps {
			steps[p] = series[p][i]
		}
		out[i] = NewTrendPoint(steps)
	}
	return out, nil
}

// NewTrendPoint puts together the steps of all partitions, in their order,
// after one and the same batch.
func NewTrendPoint(steps []Step) TrendPoint {
	var point TrendPoint
	rows := make([]int64, len(steps))
	for p, step := range steps {
		point.Batch = step.Batch
		rows[p] = step.Rows
		point.Rows += step.Rows
		point.Bytes += step.Bytes
		point.Inserted += step.Inserted
		point.Updated += step.Updated
		point.Deleted += step.Deleted
	}
	m := Measure(rows)
	point.MaxOverMedian, point.Hoover, point.Fullest = m.MaxOverMedian, Float(Hoover(rows)), m.Fullest
	return point
}

// Step is one partition after one batch. The fields are as in [TrendPoint].
type Step struct {
	Batch, Rows, Bytes         int64
	Inserted, Updated, Deleted int64
	// Followed: what the batch changed is known. Otherwise the state was loaded
	// as a whole, and the changes are 0.
	Followed bool
}

// Follow measures one partition after each of the batches, which are in
// ascending order. As in [Trend] every file is read once, but after a batch that
// is left out, from where the state is loaded anew. Memory holds the keys of the
// partition. An error comes with the steps before it.
func Follow(ctx context.Context, s *checkpoint.Store, partition int, batches []int64) ([]Step, error) {
	out := make([]Step, 0, len(batches))
	state := make(map[string]int64) // size of each row by key
	var bytes int64
	for i, b := range batches {
		step := Step{Batch: b}
		var err error
		if (i == 0 || batches[i-1] != b-1) && b > 0 {
			clear(state)
			bytes, err = loadSizes(ctx, s, partition, b, state)
		} else {
			step.Followed = true
			bytes, err = step.apply(ctx, s, partition, state, bytes)
			if errors.Is(err, statestore.ErrMissing) {
				// A snapshot stands in for the delta: the rows are known, what
				// changed is not.
				step = Step{Batch: b}
				clear(state)
				bytes, err = loadSizes(ctx, s, partition, b, state)
			}
		}
		if err != nil {
			return out, err
		}
		step.Rows, step.Bytes = int64(len(state)), bytes
		out = append(out, step)
	}
	return out, nil
}

func loadSizes(ctx context.Context, s *checkpoint.Store, partition int, batch int64, state map[string]int64) (bytes int64, err error) {
	for e, err := range s.Entries(ctx, partition, checkpoint.AtBatch(batch)) {
		if err != nil {
			return 0, err
		}
		size := int64(len(e.Key) + len(e.Value))
		state[string(e.Key)] = size
		bytes += size
	}
	return bytes, nil
}

// apply takes the changes of the batch in. A key that it writes several times
// counts once, for what became of it.
func (t *Step) apply(ctx context.Context, s *checkpoint.Store, partition int, state map[string]int64, bytes int64) (int64, error) {
	before := make(map[string]bool) // whether each key touched was there
	for c, err := range s.ChangeEntries(ctx, partition, t.Batch) {
		if err != nil {
			return 0, err
		}
		old, there := state[string(c.Key)]
		if _, touched := before[string(c.Key)]; !touched {
			before[string(c.Key)] = there
		}
		bytes -= old
		if c.Type == statestore.Delete {
			delete(state, string(c.Key))
			continue
		}
		size := int64(len(c.Key) + len(c.Value))
		state[string(c.Key)] = size
		bytes += size
	}
	for key, was := range before {
		_, is := state[key]
		switch {
		case was && is:
			t.Updated++
		case is:
			t.Inserted++
		case was:
			t.Deleted++
		}
	}
	return bytes, nil
}

package statestore_test

import (
	"context"
	"testing"
	"testing/fstest"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore"
	"github.com/sparkstate/sparkstate/statestore/statetest"
)

func largeStore(t *testing.T, l statetest.Large) *checkpoint.Store {
	t.Helper()
	m := fstest.MapFS{}
	require.NoError(t, l.Write(statetest.Map(m, ".")))
	cp, err := checkpoint.OpenFS(m, ".")
	require.NoError(t, err)
	t.Cleanup(func() { cp.Close() })
	s, err := cp.Store(0, "default")
	require.NoError(t, err)
	return s
}

// TestRecycledRecordsAreEqual reads the same state with buffers of its own for
// each record and with buffers that are used again, some records held for a
// while, and finds the same.
func TestRecycledRecordsAreEqual(t *testing.T) {
	statestore.Poison(true)
	defer statestore.Poison(false)
	s := largeStore(t, statetest.Large{Keys: 20_000, Partitions: 3, Snapshot: true, Deltas: 2, Touched: 0.2, Removed: 0.1})
	var plain []arrow.Record
	for rec, err := range s.Records(t.Context(), checkpoint.BatchSize(1000, 0)) {
		require.NoError(t, err)
		plain = append(plain, rec)
	}
	require.Greater(t, len(plain), 10)
	i := 0
	var held []arrow.Record
	drop := func() {
		for j, rec := range held {
			require.True(t, array.RecordEqual(plain[i-len(held)+j], rec))
			rec.Release()
		}
		held = nil
	}
	for rec, err := range s.Records(t.Context(), checkpoint.BatchSize(1000, 0), checkpoint.RecycleBuffers()) {
		require.NoError(t, err)
		held = append(held, rec)
		i++
		if i%3 == 0 {
			drop()
		}
	}
	drop()
	require.Len(t, plain, i)
}

// TestAnyOrder: the records of each partition are the same, in their order.
func TestAnyOrder(t *testing.T) {
	s := largeStore(t, statetest.Large{Keys: 20_000, Partitions: 5, Snapshot: true, Deltas: 1, Touched: 0.2})
	read := func(opts ...checkpoint.Option) map[int32][]arrow.Record {
		out := make(map[int32][]arrow.Record)
		for rec, err := range s.Records(t.Context(), append(opts, checkpoint.BatchSize(500, 0), checkpoint.Workers(3))...) {
			require.NoError(t, err)
			p := rec.Column(2).(*array.Int32).Value(0)
			out[p] = append(out[p], rec)
		}
		return out
	}
	want, got := read(), read(checkpoint.AnyOrder())
	require.Len(t, want, 5)
	require.Len(t, got, 5)
	for p, records := range want {
		require.Len(t, got[p], len(records))
		for i, rec := range records {
			require.True(t, array.RecordEqual(rec, got[p][i]))
		}
	}
	// A context that is done ends it with an error.
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	var failed error
	for rec, err := range s.Records(ctx, checkpoint.AnyOrder(), checkpoint.BatchSize(10, 0)) {
		if failed = err; err != nil {
			break
		}
		rec.Release()
		if n++; n == 3 {
			cancel()
		}
	}
	cancel()
	require.ErrorIs(t, failed, context.Canceled)
}

// TestRecordsGiveBackTheirMemory counts what an allocator is asked for: also
// where a read stops early, and where it fails.
func TestRecordsGiveBackTheirMemory(t *testing.T) {
	s := largeStore(t, statetest.Large{Keys: 5_000, Partitions: 3, Deltas: 1, Touched: 0.2})
	for _, limit := range []int{1, 2, 1000} {
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		n := 0
		for rec, err := range s.Records(t.Context(), checkpoint.BatchSize(100, 0), checkpoint.Allocator(mem)) {
			require.NoError(t, err)
			rec.Release()
			if n++; n == limit {
				break
			}
		}
		mem.AssertSize(t, 0)
		n = 0
		for rec, err := range s.Records(t.Context(), checkpoint.AnyOrder(), checkpoint.BatchSize(100, 0), checkpoint.Allocator(mem)) {
			require.NoError(t, err)
			rec.Release()
			if n++; n == limit {
				break
			}
		}
		mem.AssertSize(t, 0)
		n = 0
		for rec, err := range s.Changes(t.Context(), 0, 1, checkpoint.BatchSize(100, 0), checkpoint.Allocator(mem)) {
			require.NoError(t, err)
			rec.Release()
			if n++; n == limit {
				break
			}
		}
		mem.AssertSize(t, 0)
	}
}

// TestMemoryBudget: a state in deltas is held as a whole, a snapshot is not.
func TestMemoryBudget(t *testing.T) {
	const budget = 400_000
	l := statetest.Large{Keys: 20_000, Partitions: 4}
	_, err := largeStore(t, l).Counts(t.Context(), checkpoint.Memory(budget))
	require.ErrorIs(t, err, statestore.ErrMemory)
	var fe *statestore.FileError
	require.ErrorAs(t, err, &fe)
	require.Contains(t, fe.Path, "1.delta")

	// One partition after the other fits, and the budget is given back.
	o := []checkpoint.Option{checkpoint.Memory(900_000), checkpoint.Workers(1)}
	for range 3 {
		c, err := largeStore(t, l).Counts(t.Context(), o...)
		require.NoError(t, err)
		rows := int64(0)
		for _, n := range c.Rows() {
			rows += n
		}
		require.EqualValues(t, 20_000, rows)
	}
	l.Snapshot = true
	_, err = largeStore(t, l).Counts(t.Context(), checkpoint.Memory(budget))
	require.NoError(t, err)
}

// TestNoAllocationPerRow: however many rows there are, what is allocated is for
// files, batches and records.
func TestNoAllocationPerRow(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	const keys = 200_000
	for _, l := range []statetest.Large{
		{Keys: keys, Partitions: 2, Snapshot: true},
		{Keys: keys, Partitions: 2, Snapshot: true, Deltas: 1, Touched: 0.1},
		{Keys: keys, Partitions: 2},
	} {
		s := largeStore(t, l)
		counts := testing.AllocsPerRun(2, func() {
			_, err := s.Counts(t.Context())
			require.NoError(t, err)
		})
		records := testing.AllocsPerRun(2, func() {
			for rec, err := range s.Records(t.Context(), checkpoint.RecycleBuffers()) {
				require.NoError(t, err)
				rec.Release()
			}
		})
		assert.Less(t, counts, float64(keys)/200, "%+v", l)
		assert.Less(t, records, float64(keys)/50, "%+v", l)
	}
}

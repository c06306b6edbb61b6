package statestore

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Whatever the number of workers and the timing, items come in the order of
// the index.
func TestOrdered(t *testing.T) {
	for _, workers := range []int{0, 1, 2, 7, 100} {
		var got []int
		var active, most atomic.Int32
		for v, err := range ordered(context.Background(), workers, 20, func(_ context.Context, i int, emit func(int) bool) error {
			for n := active.Add(1); ; {
				if m := most.Load(); n <= m || most.CompareAndSwap(m, n) {
					break
				}
			}
			defer active.Add(-1)
			for j := range i % 5 {
				runtime.Gosched()
				if !emit(i*10 + j) {
					return nil
				}
			}
			return nil
		}, plain[int]()) {
			require.NoError(t, err)
			got = append(got, v)
		}
		var want []int
		for i := range 20 {
			for j := range i % 5 {
				want = append(want, i*10+j)
			}
		}
		assert.Equal(t, want, got)
		assert.LessOrEqual(t, int(most.Load()), max(workers, 1))
	}
}

func TestOrderedNothing(t *testing.T) {
	for range ordered(context.Background(), 2, 0, func(context.Context, int, func(int) bool) error { return nil }, plain[int]()) {
		t.Fatal("an item of nothing")
	}
}

// The error of the lowest index is the one that is told, after the items
// before it; what is behind is stopped and waited for.
func TestOrderedErrors(t *testing.T) {
	boom := errors.New("boom")
	var running atomic.Int32
	var got []int
	var last error
	for v, err := range ordered(context.Background(), 4, 50, func(ctx context.Context, i int, emit func(int) bool) error {
		running.Add(1)
		defer running.Add(-1)
		switch {
		case i == 3:
			time.Sleep(time.Millisecond)
			emit(3)
			return boom
		case i > 3:
			return errors.New("a later error")
		}
		emit(i)
		return nil
	}, plain[int]()) {
		if err != nil {
			last = err
			continue
		}
		got = append(got, v)
	}
	assert.Equal(t, []int{0, 1, 2, 3}, got)
	assert.Equal(t, boom, last)
	assert.Zero(t, running.Load())
}

func TestOrderedStops(t *testing.T) {
	var running atomic.Int32
	for range ordered(context.Background(), 4, 1000, func(ctx context.Context, i int, emit func(int) bool) error {
		running.Add(1)
		defer running.Add(-1)
		for emit(i) {
		}
		return context.Cause(ctx)
	}, plain[int]()) {
		break
	}
	assert.Zero(t, running.Load(), "producers outlive the sequence")
}

func TestOrderedCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	n := 0
	var last error
	for _, err := range ordered(ctx, 2, 100, func(ctx context.Context, i int, emit func(int) bool) error {
		if !emit(i) {
			return context.Cause(ctx)
		}
		return nil
	}, plain[int]()) {
		if n++; n == 5 {
			cancel()
		}
		last = err
	}
	assert.ErrorIs(t, last, context.Canceled)
}

// A producer that was cut short is not taken for one that had no more, even if
// it returns no error and is the last.
func TestOrderedCutShort(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var last error
	for _, err := range ordered(ctx, 1, 1, func(_ context.Context, _ int, emit func(int) bool) error {
		emit(1)
		cancel()
		emit(2)
		return nil
	}, plain[int]()) {
		last = err
	}
	assert.ErrorIs(t, last, context.Canceled)
}

// A producer that ends its goroutine, as t.FailNow does, is not waited for for
// ever, nor taken for one that is done.
func TestGoexit(t *testing.T) {
	for _, run := range []func(context.Context, int, int, producer[int], handling[int]) iter.Seq2[int, error]{ordered[int], interleaved[int]} {
		var got []int
		var last error
		for v, err := range run(context.Background(), 1, 3, func(_ context.Context, i int, emit func(int) bool) error {
			emit(i)
			if i == 1 {
				runtime.Goexit()
			}
			return nil
		}, plain[int]()) {
			if last = err; err == nil {
				got = append(got, v)
			}
		}
		assert.Equal(t, []int{0, 1}, got)
		assert.ErrorIs(t, last, errNoReturn)
	}
}

// Producers that are ahead of their turn go on until too much waits, and what
// waits when the sequence ends is dropped.
func TestOrderedAhead(t *testing.T) {
	for _, c := range []struct {
		ahead       int64
		least, most int32 // items made once nothing moves any more
	}{
		{0, 9, 9}, // the one that is yielded, and two of each of four producers
		{50, 9, 12},
		{200, 21, 27},
		{1 << 40, 303, 600}, // those of the turn and of up to five behind it
	} {
		synctest.Test(t, func(t *testing.T) {
			var made, dropped atomic.Int32
			h := handling[int]{
				drop:  func(int) { dropped.Add(1) },
				size:  func(int) int64 { return 10 },
				ahead: c.ahead,
			}
			for range ordered(context.Background(), 4, 50, func(ctx context.Context, i int, emit func(int) bool) error {
				for j := range 100 {
					if !emit(j) {
						return context.Cause(ctx)
					}
					made.Add(1)
				}
				return nil
			}, h) {
				synctest.Wait()
				break
			}
			assert.LessOrEqual(t, made.Load(), c.most)
			assert.GreaterOrEqual(t, made.Load(), c.least)
			assert.Equal(t, made.Load()-1, dropped.Load(), "all but the one that was yielded")
		})
	}
}

// Wherever a sequence is left, by a break, a panic or the context, every item
// that was made is yielded or dropped, once; nobody is left behind; and what
// ends early says so.
func TestOrderedLeftAnywhere(t *testing.T) {
	const _, panics, cancels = 0, 1, 2
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 3))
		workers, lens, total := r.IntN(5), make([]int, r.IntN(8)), 0
		for i := range lens {
			lens[i] = r.IntN(6)
			total += lens[i]
		}
		ahead := []int64{0, 15, 1 << 40}[r.IntN(3)]
		for how := range 3 {
			for stop := 1; stop <= total+1; stop++ {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					var made, dropped, running atomic.Int32
					h := handling[int]{drop: func(int) { dropped.Add(1) }, size: func(int) int64 { return 10 }, ahead: ahead}
					items := ordered(ctx, workers, len(lens), func(_ context.Context, i int, emit func(int) bool) error {
						running.Add(1)
						defer running.Add(-1)
						for j := range lens[i] {
							time.Sleep(time.Duration((3*i + 5*j) % 4))
							if !emit(10*i + j) {
								break
							}
							made.Add(1)
						}
						return nil
					}, h)
					var got []int
					var last error
					left := false
					func() {
						defer func() { left = recover() != nil || left }()
						for v, err := range items {
							if last = err; err != nil {
								continue
							}
							got = append(got, v)
							switch {
							case len(got) < stop:
							case how == cancels:
								cancel()
							case how == panics:
								panic("left")
							default:
								left = true
							}
							if left {
								break
							}
						}
					}()
					assert.Zero(t, running.Load())
					assert.EqualValues(t, made.Load(), len(got)+int(dropped.Load()))
					assert.IsIncreasing(t, append([]int{-1}, append(got, 1000)...))
					if last == nil && !left {
						assert.Len(t, got, total)
					}
				})
			}
		}
	}
}

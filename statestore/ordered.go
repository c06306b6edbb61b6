package statestore

import (
	"context"
	"errors"
	"iter"
	"sync"
)

// producer makes the items of index i. It stops where emit returns false, with
// or without an error.
type producer[T any] func(ctx context.Context, i int, emit func(T) bool) error

// handling says what is done with the items of producers.
type handling[T any] struct {
	// drop takes back an item that was emitted and is not yielded, because the
	// sequence has ended before.
	drop func(T)
	// size is what an item takes, in bytes; nil where that does not count.
	size func(T) int64
	// ahead is how many bytes of items may wait together for their turn. Two
	// items of each producer always may.
	ahead int64
}

// errNoReturn is the error of a producer that has ended its goroutine, which
// runtime.Goexit does.
var errNoReturn = errors.New("statestore: the visit of a partition has not returned")

// plain is the handling of items that need none.
func plain[T any]() handling[T] { return handling[T]{drop: func(T) {}} }

// Sized is what the items of [Walk] and [Scan] may be: then a visit that is
// ahead of its turn does not wait after two of them, but when those of all
// visits take more than 16 MiB for each worker.
type Sized interface {
	// Size returns how many bytes an item takes. It does not change.
	Size() int64
}

// emitted is the handling of what visits emit.
func emitted[T any](r *read) handling[T] {
	h := plain[T]()
	var zero T
	if _, ok := any(zero).(Sized); ok {
		h.size = func(item T) int64 { return any(item).(Sized).Size() }
		h.ahead = bytesAhead * int64(r.workers)
	}
	return h
}

// bytesAhead is how many bytes may wait for their turn for each worker.
const bytesAhead = 16 << 20

// ordered runs produce for 0 … n-1, at most workers at a time, and yields what
// they emit in the order of the index, whatever the timing. A producer that is
// ahead of its turn waits when too much does. The first error ends the sequence.
func ordered[T any](ctx context.Context, workers, n int, produce producer[T], items handling[T]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		q := &turns[T]{handling: items}
		q.changed.L = &q.mu
		stop := context.AfterFunc(ctx, q.wakeAll)
		var running sync.WaitGroup
		// Turns are handed out in order, so the lowest one that is not done
		// always has a worker, and waiting for it cannot deadlock. The queue is
		// as long as there are workers: beside its turns no more are open than
		// the current one and one that waits to get in.
		queue := make(chan *turn[T], max(workers, 1))
		slots := make(chan struct{}, max(workers, 1))
		var unqueued *turn[T]
		defer func() {
			stop()
			cancel()
			q.wakeAll()
			running.Wait()
			left := []*turn[T]{q.current, unqueued}
			for l := range queue {
				left = append(left, l)
			}
			for _, l := range left {
				if l == nil {
					continue
				}
				for _, item := range l.items {
					items.drop(item)
				}
			}
		}()
		running.Go(func() {
			defer close(queue)
			for i := range n {
				select {
				case slots <- struct{}{}:
				case <-ctx.Done():
					return
				}
				l := &turn[T]{}
				running.Go(func() {
					err := errNoReturn
					defer func() {
						q.end(l, err)
						<-slots
					}()
					err = produce(ctx, i, func(item T) bool { return q.put(ctx, l, item) })
				})
				select {
				case queue <- l:
				case <-ctx.Done():
					unqueued = l
					return
				}
			}
		})
		var zero T
		done := 0
		for l := range queue {
			q.begin(l)
			for {
				item, ok := q.take()
				if !ok {
					break
				}
				if !yield(item, nil) {
					return
				}
			}
			if l.err != nil {
				yield(zero, l.err)
				return
			}
			done++
		}
		if done < n {
			yield(zero, context.Cause(ctx))
		}
	}
}

// turns are what the producers of an ordered sequence have emitted and what is
// not yielded yet.
type turns[T any] struct {
	handling[T]
	mu      sync.Mutex
	changed sync.Cond
	current *turn[T] // whose items are yielded
	waiting int64    // bytes of all items
}

// turn is what one producer has emitted.
type turn[T any] struct {
	items []T
	done  bool
	err   error // set before done
}

// put appends an item to a turn once there is room for it. It returns false,
// and has not taken the item, if the sequence ends before.
func (q *turns[T]) put(ctx context.Context, l *turn[T], item T) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for ctx.Err() == nil && len(l.items) >= 2 && (l == q.current || q.waiting >= q.ahead) {
		q.changed.Wait()
	}
	if ctx.Err() != nil {
		l.err = context.Cause(ctx) // of a producer that does not say so too
		return false
	}
	l.items = append(l.items, item)
	q.count(item, 1)
	q.changed.Broadcast()
	return true
}

func (q *turns[T]) count(item T, sign int64) {
	if q.size != nil {
		q.waiting += sign * q.size(item)
	}
}

// end says that a producer is done.
func (q *turns[T]) end(l *turn[T], err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l.done = true
	if err != nil {
		l.err = err
	}
	q.changed.Broadcast()
}

// begin says whose turn it is.
func (q *turns[T]) begin(l *turn[T]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.current = l
}

// take takes the next item of the current turn, when it is there; false at the
// end.
func (q *turns[T]) take() (item T, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.current
	for len(l.items) == 0 && !l.done {
		q.changed.Wait()
	}
	if len(l.items) == 0 {
		return item, false
	}
	item = l.items[0]
	var zero T
	l.items[0] = zero
	l.items = l.items[1:]
	q.count(item, -1)
	q.changed.Broadcast()
	return item, true
}

func (q *turns[T]) wakeAll() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.changed.Broadcast()
}

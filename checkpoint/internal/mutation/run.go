package mutation

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Config says what to run.
type Config struct {
	// Seed decides, together with the number of a mutation, everything about
	// it.
	Seed uint64
	// N is the number of mutations, over all subjects in turn.
	N int
	// Workers is how many subjects are worked on at once; 0 or less means one
	// for each processor.
	Workers int
	// Hang is how long a mutation may take before the run is given up; 0 means
	// for ever.
	Hang time.Duration
	// Done is told of every result. Calls do not overlap; nil is fine.
	Done func(Result)
	// Begin is told the number of every mutation before it is done, by several
	// goroutines at once; nil is fine. A panic in a goroutine of the library ends
	// the process, and then the last numbers are what is left.
	Begin func(number int)
}

// ErrHang: a mutation took longer than Config.Hang. What it is doing still goes
// on, so the process should end.
var ErrHang = errors.New("it hangs")

// Run does the mutations numbered 0 to N-1, and adds them up. Number n is of
// the subject n modulo the number of subjects. The error is that of a subject
// that cannot be made, of ctx, or ErrHang.
func Run(ctx context.Context, subjects []*Subject, c Config) (*Table, error) {
	table := newTable()
	var mu sync.Mutex
	done := func(r Result) {
		mu.Lock()
		defer mu.Unlock()
		table.add(r)
		if c.Done != nil {
			c.Done(r)
		}
	}
	if c.Workers <= 0 {
		c.Workers = runtime.GOMAXPROCS(0)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var running sync.WaitGroup
	for range c.Workers {
		w := &watch{limit: c.Hang, cancel: cancel}
		running.Go(func() {
			defer w.stop()
			for {
				i := int(next.Add(1)) - 1
				if i >= len(subjects) || i >= c.N || ctx.Err() != nil {
					return
				}
				if err := runSubject(ctx, subjects[i], i, len(subjects), c, w, done); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	idle := make(chan struct{})
	go func() {
		running.Wait()
		close(idle)
	}()
	select {
	case <-idle:
	case <-ctx.Done(): // a worker that hangs is not waited for
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return table, nil
}

// One does a single mutation again.
func One(ctx context.Context, subjects []*Subject, seed uint64, number int) (Result, error) {
	var out Result
	i := number % len(subjects)
	m, o, err := prepare(ctx, subjects[i])
	if err != nil {
		return out, err
	}
	return run(ctx, subjects[i], m, o, seed, number)
}

func prepare(ctx context.Context, s *Subject) (*mutator, *oracle, error) {
	files, err := s.load()
	if err != nil {
		return nil, nil, err
	}
	t := newTree(files)
	o, err := consult(ctx, t)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", s, err)
	}
	return &mutator{tree: t, names: byClass(files)}, o, nil
}

func runSubject(ctx context.Context, s *Subject, first, step int, c Config, w *watch, done func(Result)) error {
	m, o, err := prepare(ctx, s)
	if err != nil {
		return err
	}
	for n := first; n < c.N; n += step {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if c.Begin != nil {
			c.Begin(n)
		}
		w.start(s, n)
		r, err := run(ctx, s, m, o, c.Seed, n)
		w.stop()
		if err != nil {
			return err
		}
		done(r)
	}
	return nil
}

func run(ctx context.Context, s *Subject, m *mutator, o *oracle, seed uint64, number int) (Result, error) {
	files, mutation, rnd, err := m.mutate(seed, number)
	r := Result{Mutation: mutation, Subject: s}
	if err != nil {
		return r, fmt.Errorf("%s: %w", s, err)
	}
	examine(ctx, o, files, rnd, &r)
	return r, nil
}

// watch ends a run in which a mutation takes too long.
type watch struct {
	limit  time.Duration
	cancel context.CancelCauseFunc
	timer  *time.Timer
}

func (w *watch) start(s *Subject, number int) {
	if w.limit <= 0 {
		return
	}
	w.timer = time.AfterFunc(w.limit, func() {
		stack := make([]byte, 1<<20)
		stack = stack[:runtime.Stack(stack, true)]
		w.cancel(fmt.Errorf("%s, mutation %d: %w: no end after %v\n%s", s, number, ErrHang, w.limit, stack))
	})
}

func (w *watch) stop() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/statestore/sqltype"
	"github.com/sparkstate/sparkstate/statestore/statetest"
)

// Rounds begin on the beat, and never two at a time.
func TestRepeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		start := time.Now()
		var at []time.Duration
		takes := []time.Duration{0, 15 * time.Second, 130 * time.Second, 60 * time.Second, 0, 0}
		err := repeat(ctx, time.Minute, func() error {
			at = append(at, time.Since(start))
			time.Sleep(takes[len(at)-1])
			if len(at) == len(takes) {
				cancel()
			}
			return nil
		})
		assert.NoError(t, err)
		// A round of 130 s misses two beats, one of a minute the one that comes
		// as it ends.
		assert.Equal(t, []time.Duration{0, 60 * time.Second, 120 * time.Second, 300 * time.Second, 420 * time.Second, 480 * time.Second}, at)
	})
}

func TestRepeatEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 150*time.Second)
		defer cancel()
		n := 0
		require.NoError(t, repeat(ctx, time.Minute, func() error { n++; return nil }))
		assert.Equal(t, 3, n)
		assert.NoError(t, repeat(ctx, time.Minute, func() error { n++; return nil }), "a context that is done")
		assert.Equal(t, 3, n)
		failure := errors.New("broken")
		assert.ErrorIs(t, repeat(t.Context(), time.Minute, func() error { n++; return failure }), failure)
		assert.Equal(t, 4, n)
	})
}

// A round that fails is told of, and the next one tries again. An answer that
// cannot be written ends them.
func TestRoundsGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var errs bytes.Buffer
		a := &app{out: io.Discard, err: &errs, messages: newMessages(&errs), every: time.Minute}
		n := 0
		err := a.rounds(t.Context(), func() error {
			n++
			a.note("the same note")
			switch n {
			case 1, 3:
				return errors.New("not there")
			case 5:
				return output(errors.New("the pipe is closed"))
			}
			return nil
		})
		assert.Equal(t, exitOutput, exitCode(err))
		assert.Equal(t, 5, n)
		assert.Equal(t, "sparkstate: note: the same note\nsparkstate: not there\nsparkstate: not there\n", errs.String())
	})
}

// What has gone and comes back is said again; nothing is kept of old rounds.
func TestMessagesOfRounds(t *testing.T) {
	var errs bytes.Buffer
	m := newMessages(&errs)
	for round, text := range []string{"a", "a", "b", "a", "a"} {
		m.nextRound()
		m.note(text)
		m.end(nil)
		assert.LessOrEqual(t, len(m.said)+len(m.earlier), 2, "round %d", round)
	}
	assert.Equal(t, "sparkstate: note: a\nsparkstate: note: b\nsparkstate: note: a\n", errs.String())
}

func TestEveryRefuses(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"skew CKPT --every 10ms", "no less than 1s"},
		{"skew CKPT --every -1m", "no less than 1s"},
		{"skew CKPT --every soon", "invalid"},
		{"skew CKPT --every 1m --fail", "leave one of them out"},
		{"skew CKPT --every 1m --trend", "leave --every out"},
		{"skew CKPT --every 1m --batch 3", "leave --batch or --every out"},
		{"skew CKPT --every 1m --format csv", "--format jsonl"},
		{"skew CKPT --every 1m --operator nobody --rule guess", "--rule"},
	} {
		code, _, errs := sparkstate(strings.Fields(strings.ReplaceAll(c.args, "CKPT", adBilling))...)
		assert.Equal(t, exitUsage, code, c.args)
		assert.Contains(t, errs, c.want, c.args)
	}
}

// lineWaiter lets a test wait for what another goroutine writes.
type lineWaiter struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
}

func newLineWaiter() *lineWaiter { return &lineWaiter{more: make(chan struct{}, 1)} }

func (w *lineWaiter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case w.more <- struct{}{}:
	default:
	}
	return w.text.Write(b)
}

func (w *lineWaiter) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// wait returns once the text has been written n times.
func (w *lineWaiter) wait(t *testing.T, text string, n int) {
	t.Helper()
	deadline := time.After(time.Minute)
	for strings.Count(w.String(), text) < n {
		select {
		case <-w.more:
		case <-deadline:
			require.FailNow(t, "waited too long", "for %q in:\n%s", text, w)
		}
	}
}

// A directory is watched from before it exists, through damage, until the
// process is terminated.
func TestSkewEvery(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no SIGTERM to send on Windows")
	}
	// Should the tool not be listening, the test must still live to say so.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGTERM)
	dir := filepath.Join(t.TempDir(), "checkpoint")
	out, errs := newLineWaiter(), newLineWaiter()
	code := make(chan int)
	go func() {
		code <- run(t.Context(), []string{"skew", dir, "--every", "1s", "--format", "json"}, out, errs)
	}()
	errs.wait(t, "check the path", 1)
	w := statetest.NewWriter(counted(t), statetest.Dir(dir))
	w.Put(0, "default", []any{"a"}, []any{1})
	require.NoError(t, w.Commit())
	out.wait(t, `"batch":0`, 1)
	w.Put(0, "default", []any{"b"}, []any{1})
	require.NoError(t, w.Commit())
	out.wait(t, `"batch":1`, 1)
	self, err := os.FindProcess(os.Getpid())
	require.NoError(t, err)
	require.NoError(t, self.Signal(syscall.SIGTERM))
	assert.Equal(t, exitOK, <-code, errs)
}

// counted is a query that counts by key, in four partitions.
func counted(t *testing.T) statetest.Query {
	t.Helper()
	typ := func(s string) *sqltype.Type {
		st, err := sqltype.ParseDDL(s)
		require.NoError(t, err)
		return st
	}
	return statetest.Query{Spark: "4.1", Partitions: 4, Operators: []statetest.Operator{{Name: "stateStoreSave", Stores: []statetest.Store{
		{Key: typ("k STRING"), Value: typ("count BIGINT")},
	}}}}
}

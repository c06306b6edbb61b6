package exporter

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// gated is a reading that waits until it is let through.
func gated(e *Exporter) (started *atomic.Int64, through chan struct{}) {
	n, gate := new(atomic.Int64), make(chan struct{})
	e.read = func(ctx context.Context, t *target, o *Options, earlier *reading) (*reading, error) {
		n.Add(1)
		select {
		case <-gate:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		return &reading{list: &listing{}, check: &checked{}}, nil
	}
	return n, gate
}

// Scrapes at the same time share one reading.
func TestScrapesShareAReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, _ := exporterOf(Options{}, "a")
		n, gate := gated(e)
		h := e.scraped(t.Context(), Registry(e), time.Minute, true)
		var scrapes sync.WaitGroup
		for range 10 {
			scrapes.Go(func() { assert.Equal(t, http.StatusOK, scrape(h, "").Code) })
		}
		synctest.Wait()
		assert.EqualValues(t, 1, n.Load())
		close(gate)
		scrapes.Wait()
		assert.EqualValues(t, 1, n.Load())
	})
}

func scrape(h http.Handler, timeout string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	if timeout != "" {
		r.Header.Set("X-Prometheus-Scrape-Timeout-Seconds", timeout)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// A scrape does not wait for longer than its client does. The reading goes on,
// and what it finds is there for the next one.
func TestSlowReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		work, stop := context.WithCancel(t.Context())
		e, said := exporterOf(Options{}, "a")
		n, gate := gated(e)
		h := e.scraped(work, Registry(e), 8*time.Second, true)
		for timeout, want := range map[string]time.Duration{"": 8 * time.Second, "3": 2500 * time.Millisecond, "60": 8 * time.Second, "0.2": 0, "-1": 8 * time.Second, "NaN": 8 * time.Second, "soon": 8 * time.Second} {
			start := time.Now()
			out := scrape(h, timeout)
			assert.Equal(t, want, time.Since(start), "timeout %q", timeout)
			has(t, out.Body.String(), `sparkstate_reads_total{checkpoint="a"} 0`)
		}
		assert.EqualValues(t, 1, n.Load())
		gate <- struct{}{}
		synctest.Wait()
		out := scrape(e.scraped(work, Registry(e), 8*time.Second, false), "")
		has(t, out.Body.String(), `sparkstate_read_success{checkpoint="a"} 1`)
		assert.EqualValues(t, 1, n.Load(), "a scrape that does not read")

		go scrape(h, "") // a reading that is interrupted says nothing of the checkpoint
		synctest.Wait()
		assert.EqualValues(t, 2, n.Load())
		stop()
		synctest.Wait()
		has(t, text(t, e), `sparkstate_reads_total{checkpoint="a"} 1`)
		assert.Equal(t, []error{nil}, said.errors)
	})
}

// One checkpoint that hangs does not hold up the other.
func TestOneHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		work, stop := context.WithCancel(t.Context())
		defer stop()
		e, _ := exporterOf(Options{}, "hangs", "well")
		e.read = func(ctx context.Context, t *target, o *Options, earlier *reading) (*reading, error) {
			if t.path == "hangs" {
				<-ctx.Done()
			}
			return &reading{list: &listing{}, check: &checked{}}, nil
		}
		h := e.scraped(work, Registry(e), 8*time.Second, true)
		for range 3 {
			scrape(h, "")
		}
		out := text(t, e)
		has(t, out, `sparkstate_reads_total{checkpoint="hangs"} 0`)
		has(t, out, `sparkstate_reads_total{checkpoint="well"} 3`)
	})
}

// A scrape that is under way is answered before the server ends.
func TestServeEndsGracefully(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	e, _ := exporterOf(Options{}, "a")
	begun := make(chan struct{})
	e.read = func(ctx context.Context, t *target, o *Options, earlier *reading) (*reading, error) {
		close(begun)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	ended := make(chan error)
	go func() { ended <- e.Serve(ctx, l, time.Minute, true) }()
	answered := make(chan error)
	go func() {
		r, err := http.Get("http://" + l.Addr().String() + "/metrics")
		if err == nil && r.StatusCode != http.StatusOK {
			err = errors.New(r.Status)
		}
		if err == nil {
			err = r.Body.Close()
		}
		answered <- err
	}()
	<-begun
	cancel()
	assert.NoError(t, <-answered)
	assert.NoError(t, <-ended)
	_, err = net.Dial("tcp", l.Addr().String())
	assert.Error(t, err)
}

package exporter

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// The bounds on what a client may hold up.
const (
	headerTimeout = 5 * time.Second
	answerTimeout = 2 * time.Minute
	idleTimeout   = 2 * time.Minute
	maxHeader     = 64 << 10
	maxRequests   = 16
	// shutdownTimeout is how long scrapes that are under way may take to end.
	shutdownTimeout = 5 * time.Second
	// margin is left of Prometheus's own timeout for the answer itself.
	margin = 500 * time.Millisecond
)

// Serve answers scrapes at /metrics on a listener until ctx is done; then
// scrapes under way are answered and nil is returned.
//
// With onScrape each scrape reads what has changed, and scrapes at the same
// time share one reading. Without, somebody else calls Refresh, and only
// scrapes before the first reading wait for it. None waits longer than wait, or
// than Prometheus says that it waits itself, whichever is less: then the
// answer is what the reading before found, and sparkstate_last_success_timestamp_seconds
// tells how old that is.
func (e *Exporter) Serve(ctx context.Context, l net.Listener, wait time.Duration, onScrape bool) error {
	registry := Registry(e)
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", e.scraped(ctx, registry, wait, onScrape))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		// A client that does not read the answer is its own affair.
		_, _ = io.WriteString(w, `<!doctype html><title>sparkstate</title><p><a href="metrics">metrics</a>`)
	})
	srv := &http.Server{
		Handler: mux, ReadHeaderTimeout: headerTimeout, ReadTimeout: headerTimeout, WriteTimeout: answerTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	err := srv.Shutdown(grace)
	if errors.Is(err, context.DeadlineExceeded) {
		err = srv.Close()
	}
	if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// scraped is the handler of scrapes.
func (e *Exporter) scraped(work context.Context, g prometheus.Gatherer, wait time.Duration, onScrape bool) http.Handler {
	metrics := promhttp.HandlerFor(g, promhttp.HandlerOpts{MaxRequestsInFlight: maxRequests})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if onScrape || !e.ready() {
			ctx, cancel := context.WithTimeout(r.Context(), patience(r, wait))
			defer cancel()
			// What is wrong is in the metrics and the journals.
			_ = e.Refresh(ctx, work)
		}
		metrics.ServeHTTP(w, r)
	})
}

// patience is how long a scrape may wait for a reading.
func patience(r *http.Request, wait time.Duration) time.Duration {
	seconds, err := strconv.ParseFloat(r.Header.Get("X-Prometheus-Scrape-Timeout-Seconds"), 64)
	if err != nil || !(seconds > 0 && seconds < wait.Seconds()+margin.Seconds()) {
		return wait
	}
	return max(time.Duration(seconds*float64(time.Second))-margin, 0)
}

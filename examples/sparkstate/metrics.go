package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/examples/sparkstate/internal/exporter"
	"github.com/sparkstate/sparkstate/skew"
)

// metricsFlags are the flags of metrics.
type metricsFlags struct {
	file, listen string
	level, rule  string
	floor        float64
	series       int
	wait         time.Duration
}

// toStdout is the name of standard output among files.
const toStdout = "-"

func (a *app) metricsCommand() *cobra.Command {
	f := metricsFlags{file: toStdout, level: checkpoint.QuickCheck.String(), rule: skew.RuleSigma, floor: -1, series: exporter.DefaultPartitionSeries, wait: 8 * time.Second}
	cmd := &cobra.Command{
		Use:   "metrics CKPT...",
		Short: "Metrics for Prometheus: as a file for node_exporter, or to be scraped",
		Long: fmt.Sprintf(`Rows, bytes and skew of every store, what can be restored, and what a check
finds, as metrics for Prometheus.

-o writes a file for node_exporter's textfile collector, whole or not at all;
with --every again and again. --listen serves /metrics: each scrape reads what
has changed, or with --every a scrape shows what the last round found.

No key or value of the state is ever in a label. --partition-series bounds how
many partitions of a checkpoint have a series of their own: of a store with more
than are left, only hot partitions and the fullest do, %d at most.`, exporter.ExtraPartitions),
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := f.options(cmd, args)
			if err != nil {
				return err
			}
			if o.Open, err = a.openOptions(); err != nil {
				return err
			}
			o.Workers = a.workers
			o.Journal = a.journals(f.listen != "")
			e := exporter.New(args, o)
			if f.listen != "" {
				return a.serveMetrics(cmd, e, f)
			}
			return a.repeatedly(cmd, func() error { return a.writeMetrics(cmd.Context(), e, f.file) })
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.file, "output", "o", f.file, "file to write; - is standard output")
	fl.StringVar(&f.listen, "listen", "", "address to be scraped at, as :9464 or 127.0.0.1:9464")
	fl.StringVar(&f.level, "level", f.level, "how much a check reads: quick, default or deep")
	fl.StringVar(&f.rule, "rule", f.rule, "which rule marks hot partitions: "+strings.Join(skew.RuleNames(), ", "))
	fl.Float64Var(&f.floor, "floor", f.floor, "what the fullest partition must exceed to matter (default: 10,000 rows)")
	fl.IntVar(&f.series, "partition-series", f.series, "how many partitions of a checkpoint have a series of their own")
	fl.DurationVar(&f.wait, "wait", f.wait, "with --listen: how long a scrape waits for a reading before it shows the one before")
	fl.IntVar(&a.workers, "workers", 0, "partitions decoded at once (default: one for each processor)")
	a.verifying(cmd)
	a.watching(cmd)
	return cmd
}

// options checks the flags and returns what they say to the exporter.
func (f *metricsFlags) options(cmd *cobra.Command, args []string) (o exporter.Options, err error) {
	given := cmd.Flags().Changed
	sorted := slices.Sorted(slices.Values(args))
	switch {
	case len(args) == 0:
		return o, usagef("which checkpoint? sparkstate metrics CKPT... [flags]")
	case len(slices.Compact(sorted)) < len(args):
		return o, usagef("a checkpoint is given twice: %s", strings.Join(args, " "))
	case f.listen != "" && given("output"):
		return o, usagef("-o and --listen are two ways; leave one of them out")
	case given("every") && f.listen == "" && f.file == toStdout:
		return o, usagef("--every goes with -o FILE or --listen")
	case given("wait") && f.listen == "":
		return o, usagef("--wait goes with --listen")
	case f.wait <= 0:
		return o, usagef("--wait %v: more than 0", f.wait)
	case f.series < 0:
		return o, usagef("--partition-series %d: no less than 0", f.series)
	case given("floor") && !(f.floor >= 0):
		return o, usagef("--floor %v: no number from 0 up", f.floor)
	}
	for _, ckpt := range args {
		if f.file == toStdout {
			break
		}
		if err := outsideOf(ckpt, f.file); err != nil {
			return o, err
		}
	}
	o.PartitionSeries, o.Judges, o.Floor = f.series, judgeNames, skewFlags{floor: f.floor}.libraryFloor()
	if o.Level, err = pickNamed("level", f.level, checkpoint.QuickCheck, checkpoint.DefaultCheck, checkpoint.DeepCheck); err != nil {
		return o, err
	}
	if o.Rule, err = skew.ParseRule(f.rule); err != nil {
		return o, usagef("--rule: %v", err)
	}
	return o, nil
}

// writeMetrics reads the checkpoints and writes what was found. The file says
// by itself which of them could not be read.
func (a *app) writeMetrics(ctx context.Context, e *exporter.Exporter, file string) error {
	failed := e.Refresh(ctx, ctx)
	if ctx.Err() != nil {
		return failed
	}
	registry := exporter.Registry(e)
	if file == toStdout {
		return errors.Join(output(exporter.WriteText(a.out, registry)), failed)
	}
	return errors.Join(output(exporter.WriteFile(file, registry)), failed)
}

// serveMetrics is scraped until the process is interrupted or terminated.
func (a *app) serveMetrics(cmd *cobra.Command, e *exporter.Exporter, f metricsFlags) error {
	again, err := a.again(cmd)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM)
	defer stop()
	var listening net.ListenConfig
	l, err := listening.Listen(ctx, "tcp", f.listen)
	if err != nil {
		return output(err)
	}
	a.note("metrics are at http://" + l.Addr().String() + "/metrics")
	if !again {
		return output(e.Serve(ctx, l, f.wait, true))
	}
	// Whichever ends first ends the other.
	ctx, end := context.WithCancel(ctx)
	defer end()
	var served error
	var serving sync.WaitGroup
	serving.Go(func() {
		defer end()
		served = e.Serve(ctx, l, f.wait, false)
	})
	err = repeat(ctx, a.every, func() error {
		// The journals tell what could not be read.
		_ = e.Refresh(ctx, ctx)
		return nil
	})
	end()
	serving.Wait()
	return errors.Join(err, output(served))
}

// journals are told of readings. With failures they tell of those themselves:
// where scrapes read, nobody else does.
func (a *app) journals(failures bool) func(path string) exporter.Journal {
	w := &lockedWriter{w: a.err}
	return func(path string) exporter.Journal {
		return &journal{m: newMessages(w), path: path, failures: failures}
	}
}

// journal tells of the readings of one checkpoint.
type journal struct {
	m        *messages
	path     string
	failures bool
}

// Begin implements exporter.Journal, as do those below.
func (j *journal) Begin() { j.m.nextRound() }

// Note is described at Begin.
func (j *journal) Note(text string) { j.m.note(j.path + ": " + text) }

// Warn is described at Begin.
func (j *journal) Warn(err error) { j.m.warn(fmt.Errorf("%s: %w", j.path, err)) }

// End is described at Begin.
func (j *journal) End(err error) {
	if !j.failures {
		err = nil
	}
	j.m.end(err)
}

// lockedWriter is shared by journals, which write a line at a time.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}

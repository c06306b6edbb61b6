package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/sparkstate/sparkstate/skew"
)

//go:embed spark.py
var sparkScript []byte

// run1 is what one process took.
type run1 struct {
	wall time.Duration
	peak int64 // memory, in bytes
	out  []byte
}

// process runs a process to its end.
func process(ctx context.Context, name string, args ...string) (run1, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	start := time.Now()
	err := cmd.Run()
	r := run1{wall: time.Since(start), out: out.Bytes()}
	if err != nil {
		return r, fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, tail(stderr.Bytes()))
	}
	r.peak = peak(cmd.ProcessState)
	return r, nil
}

// tail returns the end of what a process has written.
func tail(b []byte) []byte { return b[max(0, len(b)-2000):] }

// line is a row of the table.
type line struct {
	what string
	args []string // of this program's work verb
	runs []run1
}

func newLine(what string, workers int, dir string) *line {
	return &line{what: fmt.Sprintf("%s, %d processors", what, workers), args: []string{workVerb, what, fmt.Sprint(workers), dir}}
}

// takeTurns runs all of them as often as wanted. They take turns, so that what
// disturbs the machine disturbs them all. Each that says how many rows it has met
// must have met them all.
func takeTurns(ctx context.Context, runs, rows int, lines []*line) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for range runs {
		for _, l := range lines {
			r, err := process(ctx, self, l.args...)
			if err != nil {
				return err
			}
			if got := string(bytes.TrimSpace(r.out)); got != "" && got != fmt.Sprint(rows) {
				return fmt.Errorf("wrong count by %s: %s rows of %d", l.what, got, rows)
			}
			l.runs = append(l.runs, r)
		}
	}
	return nil
}

// wall and peak are the medians of all runs.
func (l *line) wall() time.Duration {
	var all []int64
	for _, r := range l.runs {
		all = append(all, int64(r.wall))
	}
	return time.Duration(skew.Median(all))
}

func (l *line) peak() int64 {
	var all []int64
	for _, r := range l.runs {
		all = append(all, r.peak)
	}
	return int64(skew.Median(all))
}

// measure measures one state and prints its table.
func measure(ctx context.Context, o options, s state, dir, temp string) error {
	var lines []*line
	for _, w := range slices.Compact([]int{1, o.workers}) {
		for _, what := range []string{"limit", "counts", "skew", "records", "parquet"} {
			lines = append(lines, newLine(what, w, dir))
		}
	}
	err := takeTurns(ctx, o.runs, s.large.Keys, lines)
	if err != nil {
		return err
	}
	var spark *sparkTimes
	if o.spark != "" {
		if spark, err = askSpark(ctx, o, dir, temp); err != nil {
			return err
		}
	}
	return print(s, dir, lines, spark)
}

// sparkTimes is what spark.py has printed, in seconds.
type sparkTimes struct {
	Session float64   `json:"session"`
	First   float64   `json:"first"`
	Count   []float64 `json:"count"`
	Parquet []float64 `json:"parquet"`
	Rows    int64     `json:"rows"`
	Peak    int64     `json:"peak"` // of the JVM, in bytes
	whole   run1
}

// askSpark runs Spark's reader: as a whole process that counts once, and warm.
func askSpark(ctx context.Context, o options, dir, temp string) (*sparkTimes, error) {
	script := filepath.Join(temp, "spark.py")
	if err := os.WriteFile(script, sparkScript, 0o600); err != nil {
		return nil, err
	}
	if err := os.Setenv("PYSPARK_PYTHON", o.spark); err != nil {
		return nil, err
	}
	var t sparkTimes
	var err error
	if t.whole, err = process(ctx, o.spark, script, dir, "0", ""); err != nil {
		return nil, err
	}
	parquet := filepath.Join(temp, "spark-parquet")
	warm, err := process(ctx, o.spark, script, dir, fmt.Sprint(o.runs), parquet)
	if err != nil {
		return nil, err
	}
	if err := os.RemoveAll(parquet); err != nil {
		return nil, err
	}
	at := bytes.LastIndexByte(bytes.TrimSpace(warm.out), '\n') + 1
	if err := json.Unmarshal(warm.out[at:], &t); err != nil {
		return nil, errors.Join(errors.New("spark.py printed something else than times"), err)
	}
	if t.Rows != int64(o.keys) {
		return nil, fmt.Errorf("wrong count by Spark: %d rows of %d", t.Rows, o.keys)
	}
	return &t, nil
}

func seconds(s []float64) time.Duration {
	if len(s) == 0 {
		return 0
	}
	return time.Duration(skew.Median(s) * float64(time.Second))
}

func print(s state, dir string, lines []*line, spark *sparkTimes) error {
	size, err := sizeOf(dir)
	if err != nil {
		return err
	}
	fmt.Printf("\n%s: %d keys, %d partitions, %.0f MB of files\n\n", s.name, s.large.Keys, s.large.Partitions, float64(size)/1e6)
	row, flush := table("what", "time", "against the limit", "against Spark's process", "against warm Spark", "peak memory")
	limits := make(map[string]time.Duration)
	for _, l := range lines {
		if l.args[1] == "limit" {
			limits[l.args[2]] = l.wall()
		}
	}
	for _, l := range lines {
		cells := []string{l.what, fmt.Sprintf("%.3f s", l.wall().Seconds()), ratio(l.wall(), limits[l.args[2]]), "", "", fmt.Sprintf("%.0f MB", float64(l.peak())/1e6)}
		if spark != nil && l.args[1] != "limit" {
			warm := spark.Count
			if l.args[1] == "parquet" {
				warm = spark.Parquet
			}
			cells[3], cells[4] = ratio(spark.whole.wall, l.wall()), ratio(seconds(warm), l.wall())
		}
		row(cells...)
	}
	if spark != nil {
		row("Spark, whole process", fmt.Sprintf("%.1f s", spark.whole.wall.Seconds()), "", "", "", "")
		row("Spark, warm count", fmt.Sprintf("%.1f s", seconds(spark.Count).Seconds()), "", "", "", fmt.Sprintf("%.0f MB", float64(spark.Peak)/1e6))
		row("Spark, warm to Parquet", fmt.Sprintf("%.1f s", seconds(spark.Parquet).Seconds()), "", "", "", "")
	}
	return flush()
}

// table prints the head of a table, whose first column is text, and returns
// what prints its rows.
func table(head ...string) (row func(cells ...string), flush func() error) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	row = func(cells ...string) { fmt.Fprintln(w, "| "+strings.Join(cells, "\t| ")+"\t|") }
	row(head...)
	row(append([]string{"---"}, slices.Repeat([]string{"---:"}, len(head)-1)...)...)
	return row, w.Flush
}

func ratio(a, b time.Duration) string {
	if b == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", float64(a)/float64(b))
}

func sizeOf(dir string) (n int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			n += info.Size()
		}
		return err
	})
	return n, err
}

// machine names the machine.
func machine() string {
	name := "unknown processor"
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for l := range strings.Lines(string(b)) {
			if k, v, ok := strings.Cut(l, ":"); ok && strings.TrimSpace(k) == "model name" {
				name = strings.TrimSpace(v)
				break
			}
		}
	}
	return fmt.Sprintf("%s, %d processors, %s/%s, %s", name, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())
}

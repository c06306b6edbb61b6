// Command bench measures the reading of a large state side by side: the limit,
// which is to decompress the files and to verify their checksums and nothing
// else; this library; and Spark's own reader, where a Python with PySpark is
// given. It prints a table, with the machine named.
//
//	go run ./examples/bench -keys 6000000 -spark /path/to/python
//	go run ./examples/bench -growth
//
// Every figure is that of a whole process, the median of several that take
// turns: what matters are the ratios within one run. Spark is timed as a whole
// process and, warm, in a session that is open.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/sparkstate/sparkstate/statestore/codec"
	"github.com/sparkstate/sparkstate/statestore/statetest"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == workVerb {
		if err := work(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	var o options
	flag.IntVar(&o.keys, "keys", 6_000_000, "keys of the state")
	flag.IntVar(&o.partitions, "partitions", 16, "partitions of the state")
	flag.Float64Var(&o.touched, "touched", 0.1, "share of the keys that the deltas on top of the snapshot change")
	flag.StringVar(&o.codec, "codec", "lz4", fmt.Sprintf("compression: one of %v", codec.Compressions()))
	flag.IntVar(&o.runs, "runs", 5, "runs of each")
	flag.IntVar(&o.workers, "workers", runtime.GOMAXPROCS(0), "processors to use")
	flag.StringVar(&o.spark, "spark", "", "Python with PySpark; without it Spark is not measured")
	flag.BoolVar(&o.growth, "growth", false, "states of other sizes instead: from 10,000 keys to 50 million, from 1 partition to 10,000")
	flag.StringVar(&o.dir, "dir", "", "where to write the states, and to find them again; a temporary directory if empty")
	flag.Parse()
	flag.Visit(func(f *flag.Flag) {
		if o.growth && slices.Contains([]string{"keys", "partitions", "touched", "spark"}, f.Name) {
			fmt.Fprintf(os.Stderr, "bench: -%s has no effect with -growth\n", f.Name)
			os.Exit(2)
		}
	})
	if err := run(context.Background(), o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type options struct {
	keys, partitions int
	touched          float64
	codec            string
	runs, workers    int
	spark, dir       string
	growth           bool
}

// state is a checkpoint to measure.
type state struct {
	name  string
	large statetest.Large
}

// states are the shapes that a state is met in.
func (o options) states() ([]state, error) {
	c, err := codec.Parse(o.codec)
	if err != nil {
		return nil, err
	}
	l := statetest.Large{Keys: o.keys, Partitions: o.partitions, Codec: c}
	snapshot, mixed, deltas := l, l, l
	snapshot.Snapshot = true
	mixed.Snapshot, mixed.Deltas, mixed.Touched = true, 1, o.touched
	return []state{{"snapshot", snapshot}, {"snapshot and deltas", mixed}, {"deltas only", deltas}}, nil
}

func run(ctx context.Context, o options) error {
	states, err := o.states()
	if err != nil {
		return err
	}
	dir := o.dir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "sparkstate-bench"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	fmt.Println(machine())
	if o.growth {
		return growth(ctx, o, dir)
	}
	for i, s := range states {
		at, err := write(ctx, dir, i, s.large)
		if err != nil {
			return err
		}
		if err := measure(ctx, o, s, at, dir); err != nil {
			return err
		}
	}
	return nil
}

// write writes a state of a shape unless it is there from an earlier run, and
// returns its directory. A process of its own does it: what a process has held
// is counted as that of its children too.
func write(ctx context.Context, temp string, shape int, l statetest.Large) (dir string, err error) {
	dir = filepath.Join(temp, fmt.Sprintf("%s-%d-%d-%d", l.Codec, l.Keys, l.Partitions, shape))
	done := filepath.Join(dir, "commits", fmt.Sprint(l.Deltas))
	if _, err := os.Stat(done); err == nil {
		return dir, nil
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	what, err := json.Marshal(l)
	if err != nil {
		return "", err
	}
	_, err = process(ctx, self, workVerb, "write", string(what), dir)
	return dir, err
}

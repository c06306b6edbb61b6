// Beam counts the state of Spark queries, says how unevenly it is spread, and
// exports it as Parquet, on as many machines as there are:
//
//	beam -counts counts.jsonl -skew skew.jsonl -export DIR CKPT…
//
// A CKPT is a path that all workers see, or the URL of a bucket. Without
// -runner it runs within this process; with it on any runner of Beam, with that
// runner's flags:
//
//	beam -runner flink -endpoint jobs:8099 … CKPT…
//	beam -runner dataflow -project p -region r -staging_location gs://…/staging … gs://lake/billing/checkpoint
//
// The answers are lines of JSON, in no order, for each partition and each store.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/textio"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"

	"github.com/sparkstate/sparkstate/examples/beam/statebeam"
	"github.com/sparkstate/sparkstate/skew"
)

// config is what is asked for.
type config struct {
	checkpoints  []string
	batch        int64
	measure      string
	exact        int
	counts, skew string // files of the answers; empty for none
	export       string // directory or bucket; empty for none
}

func main() {
	var c config
	flag.Int64Var(&c.batch, "batch", statebeam.Latest, "state after this batch (default: the last committed one of each checkpoint)")
	flag.StringVar(&c.measure, "measure", skew.ByRows, "what is measured: rows, bytes, changes, or a column such as value.count")
	flag.IntVar(&c.exact, "exact-keys", 0, "keys counted exactly; more are estimated (default 65,536)")
	flag.StringVar(&c.counts, "counts", "", "write the counts of each partition to this file")
	flag.StringVar(&c.skew, "skew", "", "write the skew of each store to this file")
	flag.StringVar(&c.export, "export", "", "write the rows of each partition as Parquet into this directory, or the URL of a bucket")
	flag.Parse()
	beam.Init() // on a worker of a runner it does not return
	c.checkpoints = flag.Args()
	if err := run(context.Background(), c); err != nil {
		fmt.Fprintln(os.Stderr, "beam:", err)
		os.Exit(1)
	}
}

// run runs the pipeline and waits for its end.
func run(ctx context.Context, c config) error {
	p, err := c.pipeline()
	if err != nil {
		return err
	}
	return beamx.Run(ctx, p)
}

func (c config) pipeline() (*beam.Pipeline, error) {
	switch {
	case len(c.checkpoints) == 0:
		return nil, errors.New("which checkpoints? beam -counts FILE -skew FILE -export DIR CKPT…")
	case c.batch < statebeam.Latest:
		return nil, fmt.Errorf("-batch %d: batches count from 0", c.batch)
	case c.counts == "" && c.skew == "" && c.export == "":
		return nil, errors.New("nothing is asked for: -counts FILE, -skew FILE, -export DIR")
	}
	p, s := beam.NewPipelineWithRoot()
	tasks := statebeam.Tasks(s, c.batch, c.checkpoints...)
	if c.counts != "" {
		textio.Write(s, c.counts, beam.ParDo(s, countLine, statebeam.Counts(s, tasks)))
	}
	if c.skew != "" {
		reports := statebeam.Skew(s, skew.Options{Measure: c.measure, ExactKeys: c.exact}, tasks)
		textio.Write(s, c.skew, beam.ParDo(s, reportLine, reports))
	}
	if c.export != "" {
		statebeam.Export(s, c.export, tasks)
	}
	return p, nil
}

func init() {
	register.Function1x2(countLine)
	register.Function1x2(reportLine)
}

func countLine(c statebeam.Count) (string, error) { return line(c) }

func reportLine(r statebeam.Report) (string, error) { return line(r) }

// line returns a value as a line of JSON.
func line(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
}

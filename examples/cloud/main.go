// Cloud counts the state of a Spark query, and says how unevenly it is spread,
// straight from a bucket:
//
//	cloud counts s3://lake/jobs/billing/checkpoint?region=eu-central-1
//	cloud skew   gs://lake/jobs/billing/checkpoint
//	cloud skew   azblob://container/jobs/billing/checkpoint
//	cloud skew   file:///mnt/lake/jobs/billing/checkpoint
//
// It is an example of how a checkpoint is read through package bucketfs; the
// tool, sparkstate, reads whatever is mounted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"text/tabwriter"

	_ "gocloud.dev/blob/azureblob"
	_ "gocloud.dev/blob/fileblob"
	_ "gocloud.dev/blob/gcsblob"
	_ "gocloud.dev/blob/s3blob"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/examples/cloud/bucketfs"
	"github.com/sparkstate/sparkstate/skew"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "cloud:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out, errw io.Writer) (err error) {
	flags := flag.NewFlagSet("cloud", flag.ContinueOnError)
	flags.SetOutput(errw)
	reads := flags.Int("reads", 0, "files read ahead at once (default 64)")
	batch := flags.Int64("batch", -1, "state after this batch (default: the last committed one)")
	flags.Usage = func() {
		fmt.Fprintln(errw, "cloud [flags] counts|skew URL")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	verbs := map[string]func(context.Context, io.Writer, *checkpoint.Store, []checkpoint.Option) error{"counts": counts, "skew": skewed}
	verb := verbs[flags.Arg(0)]
	if verb == nil || flags.NArg() != 2 {
		return errors.New("usage: cloud [flags] counts|skew URL")
	}
	opts := []checkpoint.Option{checkpoint.Reads(*reads)}
	if *batch >= 0 {
		opts = append(opts, checkpoint.AtBatch(*batch))
	}

	bucket, root, err := bucketfs.Open(ctx, flags.Arg(1))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bucket.Close()) }()
	cp, err := checkpoint.OpenFS(bucketfs.New(ctx, bucket), root, checkpoint.OnWarning(func(err error) {
		fmt.Fprintln(errw, "cloud: warning:", err)
	}))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cp.Close()) }()
	for _, op := range cp.Operators() {
		for _, s := range op.Stores() {
			if err := verb(ctx, out, s, opts); err != nil {
				return err
			}
		}
	}
	return nil
}

// counts prints what each partition of a store holds.
func counts(ctx context.Context, out io.Writer, s *checkpoint.Store, opts []checkpoint.Option) error {
	c, err := s.Counts(ctx, opts...)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "operator %s, store %q after batch %d\n", s.Operator().Label(), s.Name(), c.Batch)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "partition\tkeys\trows\tkey bytes\tvalue bytes\tfiles\t")
	for _, p := range c.Partitions {
		keys := "–"
		if p.Keys >= 0 {
			keys = fmt.Sprint(p.Keys)
		}
		fmt.Fprintf(w, "%d\t%s\t%d\t%d\t%d\t%d\t\n", p.Partition, keys, p.Rows, p.KeyBytes, p.ValueBytes, p.Files)
	}
	return w.Flush()
}

// skewed prints how unevenly a store is spread, and what would help.
func skewed(ctx context.Context, out io.Writer, s *checkpoint.Store, opts []checkpoint.Option) error {
	r, err := skew.Analyze(ctx, s, skew.Options{}, opts...)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "operator %s, store %q after batch %d\n", s.Operator().Label(), s.Name(), r.Batch)
	fmt.Fprintf(out, "  %.0f rows in %d partitions, max/median %.2f, fullest %d\n", r.Summary.Total, r.Summary.Count, r.Summary.MaxOverMedian, r.Summary.Fullest)
	fmt.Fprintf(out, "  verdict: %s (%s), skew rate %.4f\n", r.Verdict, r.Severity, r.SkewRate)
	for _, a := range r.Advice {
		fmt.Fprintf(out, "  advice: %q\n", a)
	}
	return nil
}

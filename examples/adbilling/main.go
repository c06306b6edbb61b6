// Adbilling looks after the state of one query, as a program of one's own would:
// clicks on advertisements, deduplicated by profile and adviser, and counted by
// adviser in windows of five minutes. It goes from how much there is, by the
// rows and how unevenly they are spread, to an alert.
//
//	adbilling [-share 0.25] CKPT
//
// The alert is for an adviser with more than that share of all clicks: one
// partition counts them all, and no number of partitions helps. The exit code is
// then 1, and 2 where something went wrong.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/skew"
	"github.com/sparkstate/sparkstate/statestore/unsaferow"
)

// The operator that counts clicks, and where its rows have the numbers.
const (
	counting = "stateStoreSave"
	adviser  = "adviser_id"
	clicks   = "count"
)

// errAlert: an adviser has too many of the clicks.
var errAlert = errors.New("alert")

func main() {
	err := run(context.Background(), os.Args[1:], os.Stdout)
	switch {
	case errors.Is(err, errAlert):
		os.Exit(1)
	case err != nil:
		fmt.Fprintln(os.Stderr, "adbilling:", err)
		os.Exit(2)
	}
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	flags := flag.NewFlagSet("adbilling", flag.ContinueOnError)
	share := flags.Float64("share", 0.25, "alert where one adviser has more than this share of the clicks")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return errors.New("usage: adbilling [-share 0.25] CKPT")
	}
	cp, err := checkpoint.Open(flags.Arg(0))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cp.Close()) }()

	if err := sizes(ctx, cp, out); err != nil {
		return err
	}
	counts, err := countingStore(cp)
	if err != nil {
		return err
	}
	if err := largest(ctx, counts, 3, out); err != nil {
		return err
	}
	// Every adviser is one row of a window, so rows say nothing of the traffic:
	// the numbers in them do.
	r, err := skew.Analyze(ctx, counts, skew.Options{Measure: "value." + clicks})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%s are spread as %s (%s): partition %d has %.1f times the median\n",
		r.Measure, r.Verdict, r.Severity, r.Summary.Fullest, r.Summary.MaxOverMedian)
	for _, a := range r.Advice {
		fmt.Fprintf(out, "  %q\n", a)
	}
	return alert(r, *share, out)
}

// sizes prints how much state each operator has.
func sizes(ctx context.Context, cp *checkpoint.Checkpoint, out io.Writer) error {
	for _, op := range cp.Operators() {
		for _, s := range op.Stores() {
			c, err := s.Counts(ctx)
			if err != nil {
				return err
			}
			m := skew.Measure(c.Rows())
			fmt.Fprintf(out, "%s after batch %d: %.0f rows in %d partitions, the fullest has %.0f\n", op.Label(), c.Batch, m.Total, m.Count, m.Max)
		}
	}
	return nil
}

// countingStore returns the store of the operator that counts clicks.
func countingStore(cp *checkpoint.Checkpoint) (*checkpoint.Store, error) {
	for _, op := range cp.Operators() {
		if name, _ := op.Name(); name == counting {
			return op.Store("default")
		}
	}
	return nil, fmt.Errorf("%s: no operator %s: not a checkpoint of this query", cp.Path(), counting)
}

// counted is a row of the state: an adviser, in some window, with its clicks.
type counted struct {
	adviser string
	clicks  int64
}

// largest prints the rows with the most clicks.
func largest(ctx context.Context, s *checkpoint.Store, n int, out io.Writer) error {
	var top []counted
	for rec, err := range s.Records(ctx) {
		if err != nil {
			return err
		}
		rows, err := rowsOf(rec)
		rec.Release()
		if err != nil {
			return err
		}
		top = append(top, rows...)
		slices.SortStableFunc(top, func(a, b counted) int { return cmp.Compare(b.clicks, a.clicks) })
		top = top[:min(n, len(top))]
	}
	fmt.Fprintf(out, "\nthe advisers with the most clicks in an open window:\n")
	for _, c := range top {
		fmt.Fprintf(out, "  %q  %d\n", c.adviser, c.clicks)
	}
	return nil
}

// rowsOf takes the columns out of a record {key, value, partition_id}. Strings
// are copied, since the record is released.
func rowsOf(rec arrow.Record) ([]counted, error) {
	names, ok := field(rec.Column(0), adviser).(*array.String)
	numbers, okToo := field(rec.Column(1), clicks).(*array.Int64)
	if !ok || !okToo {
		return nil, fmt.Errorf("not the rows of this query: %v", rec.Schema())
	}
	out := make([]counted, rec.NumRows())
	for i := range out {
		out[i] = counted{string([]byte(names.Value(i))), numbers.Value(i)}
	}
	return out, nil
}

// field returns the column of that name of a struct, nil where there is none.
func field(a arrow.Array, name string) arrow.Array {
	s := a.(*array.Struct)
	i, ok := s.DataType().(*arrow.StructType).FieldIdx(name)
	if !ok {
		return nil
	}
	return s.Field(i)
}

// alert prints a line for every adviser with too many of the clicks.
func alert(r *skew.Report, share float64, out io.Writer) (err error) {
	for _, c := range r.Columns {
		if c.Name != adviser {
			continue
		}
		for _, top := range c.Top {
			if !(float64(top.OfAll) > share) {
				continue
			}
			name, nameErr := text(top)
			if nameErr != nil {
				return nameErr
			}
			fmt.Fprintf(out, "\nALERT: %q has %.1f %% of the clicks after batch %d\n", name, 100*float64(top.OfAll), r.Batch)
			err = errAlert
		}
	}
	return err
}

// text returns the value of a column of strings; empty for a null.
func text(k skew.TopKey) (string, error) {
	row, err := unsaferow.View(k.Row, 1)
	if err != nil || row.IsNull(0) {
		return "", err
	}
	b, err := row.Bytes(0)
	return string(b), err
}

package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/examples/sparkstate/internal/sparkjson"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

func (a *app) diffCommand() *cobra.Command {
	var from, to int64
	cmd := &cobra.Command{
		Use:   "diff CKPT [OTHER] [--from BATCH] [--to BATCH]",
		Short: "What differs between two batches, or between two checkpoints",
		Long: `What differs between the state of a checkpoint after two batches, or between
the states of two checkpoints, such as before and after a migration: then --from
is a batch of the first, --to one of the second.

The exit code is 1 when anything differs.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				return nil
			}
			return oneCheckpoint(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.diff(cmd, args, from, to)
		},
	}
	a.shared(cmd)
	a.selecting(cmd)
	a.restricting(cmd, "at most so many differences (default: 10 in a table, else all)")
	cmd.Flags().Int64Var(&from, "from", -1, "the batch to compare with; of two checkpoints by default the first's last committed one")
	cmd.Flags().Int64Var(&to, "to", -1, "the batch that is compared (default: the last committed one)")
	must(cmd.Flags().MarkHidden("batch"))
	return cmd
}

func (a *app) diff(cmd *cobra.Command, paths []string, from, to int64) error {
	f := cmd.Flags()
	switch {
	case f.Changed("batch"):
		return usagef("diff takes --from and --to, not --batch")
	case len(paths) == 1 && !f.Changed("from"):
		return usagef("compare with which batch? sparkstate diff %s --from BATCH [--to BATCH], or diff %[1]s OTHER", paths[0])
	case len(paths) == 2 && len(a.partition) > 0:
		return usagef("in another checkpoint a key may be in another partition; leave --partition out")
	}
	for _, b := range []struct {
		flag  string
		batch int64
	}{{"from", from}, {"to", to}} {
		if f.Changed(b.flag) && b.batch < 0 {
			return usagef("--%s %d: batches count from 0", b.flag, b.batch)
		}
	}
	cp, s, opts, err := a.openStore(cmd, paths[0])
	if err != nil {
		return err
	}
	defer cp.Close()
	before, after := checkpoint.State{Store: s, Options: opts}, checkpoint.State{Store: s, Options: opts}
	if len(paths) == 2 {
		other, s, opts, err := a.openStore(cmd, paths[1])
		if err != nil {
			return err
		}
		defer other.Close()
		after = checkpoint.State{Store: s, Options: opts}
	}
	if f.Changed("from") {
		before.Options = append(before.Options[:len(before.Options):len(before.Options)], checkpoint.AtBatch(from))
	}
	if f.Changed("to") {
		after.Options = append(after.Options[:len(after.Options):len(after.Options)], checkpoint.AtBatch(to))
	}
	d, err := checkpoint.Compare(cmd.Context(), before, after)
	if errors.Is(err, checkpoint.ErrIncomparable) {
		return usagef("%v", err)
	}
	if err != nil {
		return err
	}
	for _, n := range d.Notes() {
		a.note(n)
	}
	return a.writeDiff(cmd, paths, d)
}

func (a *app) writeDiff(cmd *cobra.Command, paths []string, d *checkpoint.Diff) error {
	header := append(document(paths[0], d.After().Batch), field{"other", nil}, field{"from", d.Before().Batch}, field{"to", d.After().Batch})
	if len(paths) == 2 {
		header[3].value = paths[1]
	}
	sh := &diffSheet{rowSheet: a.sheetOf(cmd, header, d.Key(), d.Value()), app: a, diff: d}
	if err := sh.open(); err != nil {
		return err
	}
	if err := sh.all(cmd); err != nil {
		return err
	}
	sh.footer = []field{}
	for _, k := range []checkpoint.DiffKind{checkpoint.Added, checkpoint.Removed, checkpoint.Changed} {
		sh.footer = append(sh.footer, field{k.String(), sh.counts[k]})
	}
	if err := a.endRows(sh.rowSheet); err != nil {
		return err
	}
	if n := sh.counts; n[checkpoint.Added]+n[checkpoint.Removed]+n[checkpoint.Changed] > 0 {
		return &errFound{fmt.Sprintf("the states differ: %d rows added, %d removed, %d changed",
			n[checkpoint.Added], n[checkpoint.Removed], n[checkpoint.Changed])}
	}
	return nil
}

// diffSheet writes differences.
type diffSheet struct {
	*rowSheet
	app    *app
	diff   *checkpoint.Diff
	counts [3]int64 // by kind
	// Differences are decoded many at a time.
	waiting []checkpoint.Difference
	bytes   int
}

// At so many differences, or bytes of them, the columns are made.
const (
	diffRows  = 4096
	diffBytes = 4 << 20
)

func (r *diffSheet) hexed() bool { return r.key == nil || r.value == nil }

func (r *diffSheet) open() error {
	r.columns = []column{{name: "change"}}
	if r.hexed() {
		r.columns = append(r.columns, column{name: "keyHex"}, column{name: "beforeHex"}, column{name: "afterHex"})
	} else {
		r.columns = append(r.columns, r.sideColumns("key", r.key)...)
		r.columns = append(r.columns, r.sideColumns("before", r.value)...)
		r.columns = append(r.columns, r.sideColumns("after", r.value)...)
	}
	r.columns = append(r.columns, column{name: "fields"}, column{"partition_id", true})
	return r.begin(r.app.out)
}

// all counts the differences, and writes them up to the limit.
func (r *diffSheet) all(cmd *cobra.Command) error {
	defer r.app.progress("comparing")()
	for x, err := range r.diff.Differences(cmd.Context()) {
		if err != nil {
			return err
		}
		r.counts[x.Kind]++
		if r.more {
			continue
		}
		r.waiting = append(r.waiting, x)
		if r.bytes += len(x.Key) + len(x.Before) + len(x.After); len(r.waiting) >= diffRows || r.bytes >= diffBytes {
			if err := r.flush(); err != nil {
				return err
			}
		}
	}
	return r.flush()
}

func (r *diffSheet) flush() error {
	var keys, befores, afters [][]byte
	var ids []int
	fields := make([]cell, len(r.waiting))
	for i, x := range r.waiting {
		keys, befores, afters = append(keys, x.Key), append(befores, x.Before), append(afters, x.After)
		ids = append(ids, x.Partition)
		var err error
		if fields[i], err = r.fields(x); err != nil {
			return err
		}
	}
	waiting := r.waiting
	writers := []sparkjson.Writer{func(b []byte, i int) []byte { return sparkjson.AppendString(b, waiting[i].Kind.String()) }}
	if r.hexed() {
		writers = append(writers, hexWriter(keys), hexWriter(befores), hexWriter(afters))
	} else {
		for _, side := range []struct {
			what string
			t    *sqltype.Type
			rows [][]byte
		}{{"key", r.key, keys}, {"value", r.value, befores}, {"value", r.value, afters}} {
			decoded, err := r.app.decode(side.what, side.t, side.rows, ids)
			if err != nil {
				return err
			}
			defer decoded.Release()
			columns, err := r.sideWriters(side.t, decoded)
			if err != nil {
				return err
			}
			writers = append(writers, columns...)
		}
	}
	writers = append(writers, func(b []byte, i int) []byte { return append(b, fields[i]...) })
	partitions := partitionIDs(ids)
	defer partitions.Release()
	r.waiting, r.bytes = nil, 0
	return r.each(len(waiting), writers, partitions)
}

// fields names the columns of the value that differ.
func (r *diffSheet) fields(x checkpoint.Difference) (cell, error) {
	if r.hexed() {
		return cell("null"), nil
	}
	columns, err := r.diff.Fields(x)
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, i := range columns {
		names = append(names, r.value.Fields[i].Name)
	}
	return jsonCell(names), nil
}

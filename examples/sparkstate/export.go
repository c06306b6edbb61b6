package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

// exporting is one run of the verb.
type exporting struct {
	*app
	format    exportFormat
	to        string
	shard     shard
	side      string
	changes   bool
	first     int64
	last      int64
	overwrite bool
}

const exportHelp = `Writes the rows of a store as files: those of read, or with --changes those of
changes. Without --operator and --store all stores are exported.

With -o DIR each partition becomes a file, DIR/OPERATOR/STORE/part-00007.parquet,
and _sparkstate.json beside them says of which state they are. A file appears
under its name once it is whole. To run the same again replaces the files by
equal ones. Files of another state are never mixed in: a folder that holds some
is refused, unless --overwrite clears it first. Nothing is ever written into a
checkpoint.

With -o - one store goes to stdout as a single file (of Arrow: as a stream).

On many machines run the same command with --shard 0/8, --shard 1/8 … and with
the same --batch, into the same DIR or into folders that are put together
afterwards.`

func (a *app) exportCommand() *cobra.Command {
	x := &exporting{app: a, format: asParquet, shard: shard{0, 1}}
	cmd := &cobra.Command{
		Use:   "export CKPT -o DIR|-",
		Short: "The rows as Parquet, Arrow, CSV or JSON Lines files, one for each partition",
		Long:  exportHelp,
		Args:  oneCheckpoint,
		RunE:  func(cmd *cobra.Command, args []string) error { return x.run(cmd, args[0]) },
	}
	f := cmd.Flags()
	a.verifying(cmd)
	a.selecting(cmd)
	a.typing(cmd)
	f.IntSliceVar(&a.partition, "partition", nil, "only these partitions")
	f.Var(&x.format, "format", "parquet, arrow, csv or jsonl")
	f.StringVarP(&x.to, "output", "o", "", "the folder for the files, or - for stdout")
	f.Var(&x.shard, "shard", "only partitions i, i+n, i+2n … as i/n, counted from 0: the share of one machine of n")
	f.StringVar(&x.side, "join-side", "", "one side of a stream-stream join as Spark shows it: left or right")
	f.BoolVar(&x.changes, "changes", false, "what the batches --from to --to changed, instead of the rows")
	f.Int64Var(&x.first, "from", -1, "with --changes: the first batch (default: that of --to)")
	f.Int64Var(&x.last, "to", -1, "with --changes: the last batch, included (default: the last committed one)")
	f.BoolVar(&x.overwrite, "overwrite", false, "remove what another export has left in a folder")
	return cmd
}

func (x *exporting) run(cmd *cobra.Command, path string) error {
	given := cmd.Flags().Changed
	switch {
	case x.to == "":
		return usagef("where to? -o DIR, or -o - for stdout")
	case !x.changes && (given("from") || given("to")):
		return usagef("--from and --to are of --changes")
	case x.changes && given("batch"):
		return usagef("--changes takes --from and --to, not --batch")
	case x.changes && x.side != "":
		return usagef("the changes of a join are those of its stores; leave --join-side out")
	case x.side != "" && (x.store != "" || x.keySchema != "" || x.valueSchema != ""):
		return usagef("--join-side is made of two stores; leave --store, --key-schema and --value-schema out")
	case x.overwrite && x.to == "-":
		return usagef("--overwrite is of -o DIR")
	case x.overwrite && x.shard.of > 1:
		return usagef("--overwrite would remove what the other shards write; empty the folder first, or name a new one")
	case x.to == "-" && x.format.binary() && terminal(x.app.out.(*outStream).w):
		return usagef("%s is not for a terminal; give -o DIR, or let stdout be a file or a pipe", x.format)
	}
	cp, tables, err := x.tables(cmd, path)
	if err != nil {
		return err
	}
	defer cp.Close()
	if x.to == "-" {
		err = x.stream(cmd.Context(), tables[0])
	} else {
		err = x.folders(cmd.Context(), cp, tables)
	}
	if err == nil {
		x.noteInvalidUTF8()
	}
	return err
}

// table is what becomes one folder, or one stream.
type table struct {
	store      *checkpoint.Store
	origin     checkpoint.Origin
	schema     *arrow.Schema // with the origin as its metadata
	key, value *sqltype.Type
	records    func(context.Context, ...checkpoint.Option) iter.Seq2[arrow.Record, error]
	// opts say which state.
	opts []checkpoint.Option
	loss checkpoint.JoinLoss
}

// label names the table for people.
func (t *table) label() string { return t.store.Operator().Label() + "/" + t.name() }

// name is that of the store or of the join's side.
func (t *table) name() string {
	if t.origin.Side != "" {
		return string(t.origin.Side)
	}
	return t.origin.Store
}

// tables opens the checkpoint and what the flags pick of it. The caller closes
// the checkpoint.
func (x *exporting) tables(cmd *cobra.Command, path string) (_ *checkpoint.Checkpoint, _ []*table, err error) {
	var cp *checkpoint.Checkpoint
	var stores []*checkpoint.Store
	switch {
	case x.to == "-" && x.side == "" || x.keySchema != "" || x.valueSchema != "":
		var s *checkpoint.Store
		cp, s, err = x.pick(path)
		stores = append(stores, s)
	default:
		cp, err = x.open(path)
		if err == nil && x.side == "" {
			if stores, err = x.stores(cp); err != nil {
				err = closing(cp, err)
			}
		}
	}
	if err != nil {
		return nil, nil, err
	}
	var out []*table
	if x.side != "" {
		t, err := x.sideTable(cmd, cp)
		if err != nil {
			return nil, nil, closing(cp, err)
		}
		out = append(out, t)
	}
	for _, s := range stores {
		t, err := x.storeTable(cmd, s)
		if err != nil {
			return nil, nil, closing(cp, err)
		}
		out = append(out, t)
	}
	for _, t := range out {
		meta := t.origin.Metadata()
		t.schema = arrow.NewSchema(t.schema.Fields(), &meta)
		x.about(t.store)
	}
	return cp, out, nil
}

func (x *exporting) storeTable(cmd *cobra.Command, s *checkpoint.Store) (*table, error) {
	t := &table{store: s}
	t.key, _ = s.Key()
	t.value, _ = s.Value()
	at, opts, err := x.state(cmd, s.At)
	if err != nil {
		return nil, err
	}
	t.opts, t.origin = opts, s.Origin(at)
	if !x.changes {
		t.schema, err = s.Schema()
		t.records = s.Records
		return t, orGiven(err)
	}
	from, to, err := batchRange(cmd, at, x.first, x.last)
	if err != nil {
		return nil, err
	}
	t.origin.From, t.origin.At = from, checkpoint.At{Batch: to, Version: to + 1}
	t.schema, err = s.ChangeSchema()
	t.records = func(ctx context.Context, opts ...checkpoint.Option) iter.Seq2[arrow.Record, error] {
		return s.Changes(ctx, from, to, opts...)
	}
	return t, orGiven(err)
}

// orGiven adds to an error that no schema is known how to give one.
func orGiven(err error) error {
	if errors.Is(err, statestore.ErrNoSchema) {
		err = fmt.Errorf("%w; give one with --key-schema and --value-schema", err)
	}
	return err
}

func (x *exporting) sideTable(cmd *cobra.Command, cp *checkpoint.Checkpoint) (*table, error) {
	j, err := x.oneSide(cp, checkpoint.Side(x.side))
	if err != nil {
		return nil, err
	}
	at, opts, err := x.state(cmd, j.At)
	if err != nil {
		return nil, err
	}
	t := &table{store: j.Store(), origin: j.Origin(at), key: j.Key(), value: j.Value(), opts: opts}
	t.records = func(ctx context.Context, opts ...checkpoint.Option) iter.Seq2[arrow.Record, error] {
		return j.Records(ctx, &t.loss, opts...)
	}
	t.schema, err = j.Schema()
	return t, err
}

// state finds out which state the flags mean, and pins it: a query that runs
// goes on meanwhile.
func (x *exporting) state(cmd *cobra.Command, find func(context.Context, ...checkpoint.Option) (checkpoint.At, error)) (checkpoint.At, []checkpoint.Option, error) {
	opts := x.reading()
	if rows, bytes := x.format.batch(); rows > 0 {
		opts = append(opts, checkpoint.BatchSize(rows, bytes))
	}
	var at []checkpoint.Option
	if cmd.Flags().Changed("batch") {
		at = append(at, checkpoint.AtBatch(x.batch))
	}
	found, err := find(cmd.Context(), at...)
	return found, append(opts, checkpoint.AtBatch(found.Batch)), err
}

// wanted returns the partitions of a table that this run exports: those of the
// flags that have a directory, so that there is no file for one of which
// nothing is known.
func (x *exporting) wanted(t *table) []int {
	absent := t.store.Absent()
	return slices.DeleteFunc(x.partitions(t.store), func(p int) bool {
		return !x.shard.has(p) || slices.Contains(absent, p)
	})
}

// stream writes a table to stdout.
func (x *exporting) stream(ctx context.Context, t *table) error {
	parts := x.wanted(t)
	defer x.progress("exporting " + t.label())()
	w, err := x.format.begin(x.out, nil, t)
	if err != nil {
		return err
	}
	if len(parts) > 0 { // no partitions at all would mean every one
		opts := append(slices.Clone(t.opts), checkpoint.Workers(x.workers), checkpoint.Partitions(parts...))
		if _, err := pour(w, t.records(ctx, opts...)); err != nil {
			return err
		}
	}
	if err := w.end(); err != nil {
		return err
	}
	x.noteJoinLoss(&t.loss)
	return nil
}

// pour writes all records and returns the number of their rows.
func pour(w exportWriter, records iter.Seq2[arrow.Record, error]) (rows int64, err error) {
	for rec, err := range records {
		if err != nil {
			return rows, err
		}
		err = w.record(rec)
		rows += rec.NumRows()
		rec.Release()
		if err != nil {
			return rows, err
		}
	}
	return rows, nil
}

// folders writes every table into its folder, and then says on stdout what has
// been written.
func (x *exporting) folders(ctx context.Context, cp *checkpoint.Checkpoint, tables []*table) error {
	// Every folder is looked at before anything is written to one.
	dirs := make([]*exportDir, len(tables))
	for i, t := range tables {
		d, err := x.folder(cp, t)
		if err != nil {
			return err
		}
		dirs[i] = d
	}
	sh := &sheet{columns: []column{
		{"operatorId", true}, {"stateStoreName", false}, {"batch", true}, {"files", true}, {"rows", true}, {"bytes", true}, {"directory", false},
	}}
	if err := sh.begin(x.out); err != nil {
		return err
	}
	for i, t := range tables {
		files, err := x.fill(ctx, dirs[i], t)
		if err != nil {
			return err
		}
		var rows, bytes int64
		for _, f := range files {
			rows, bytes = rows+f.rows, bytes+f.bytes
		}
		if err := sh.row(jsonCell(t.origin.Operator), textCell(t.name()), jsonCell(t.origin.Batch), jsonCell(len(files)), jsonCell(rows), jsonCell(bytes), textCell(dirs[i].path)); err != nil {
			return err
		}
	}
	return sh.end()
}

// fill writes the files of one table, some at a time.
func (x *exporting) fill(ctx context.Context, d *exportDir, t *table) ([]exportedFile, error) {
	parts := x.wanted(t)
	if err := d.claim(x.overwrite, x.mark()); err != nil {
		return nil, err
	}
	defer x.progress("exporting " + t.label())()
	out := make([]exportedFile, len(parts))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(x.atOnce())
	for i, p := range parts {
		g.Go(func() (err error) {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			out[i], err = d.write(p, func(f *tempFile) (int64, error) {
				w, err := x.format.begin(f.buffered, f.file, t)
				if err != nil {
					return 0, err
				}
				opts := append(slices.Clone(t.opts), checkpoint.Workers(1), checkpoint.Partitions(p))
				rows, err := pour(w, t.records(ctx, opts...))
				if err != nil {
					return 0, err
				}
				return rows, w.end()
			})
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	x.noteJoinLoss(&t.loss)
	return out, d.complete(x.mark())
}

// atOnce is how many partitions are written at once.
func (x *exporting) atOnce() int {
	if x.workers > 0 {
		return x.workers
	}
	return runtime.GOMAXPROCS(0)
}

// shard is the share of one machine: partitions i, i+n, i+2n …
type shard struct{ i, of int }

func (s shard) has(partition int) bool { return partition%s.of == s.i }

// String, Set and Type make it a flag.
func (s *shard) String() string { return fmt.Sprintf("%d/%d", s.i, s.of) }

// Set is described at String.
func (s *shard) Set(text string) error {
	var got shard
	rest := ""
	n, _ := fmt.Sscanf(text+" .", "%d/%d %s", &got.i, &got.of, &rest)
	switch {
	case n != 3 || rest != "." || strings.ContainsAny(text, " +"):
		return fmt.Errorf("%q is not i/n, as in 0/8", text)
	case got.of < 1 || got.i < 0 || got.i >= got.of:
		return fmt.Errorf("%s: shards of %d count from 0 to %d", text, got.of, got.of-1)
	}
	*s = got
	return nil
}

// Type is described at String.
func (s *shard) Type() string { return "i/n" }

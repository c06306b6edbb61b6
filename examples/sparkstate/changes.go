package main

import (
	"encoding/hex"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/spf13/cobra"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/examples/sparkstate/internal/sparkjson"
	"github.com/sparkstate/sparkstate/statestore"
)

func (a *app) changesCommand() *cobra.Command {
	var from, to int64
	cmd := &cobra.Command{
		Use:   "changes CKPT [--from BATCH] [--to BATCH]",
		Short: "What each batch changed: batch_id, change_type, key, value, partition_id",
		Args:  oneCheckpoint,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.changes(cmd, args[0], from, to)
		},
	}
	a.shared(cmd)
	a.selecting(cmd)
	a.restricting(cmd, "at most so many changes (default: 10 in a table, else all)")
	cmd.Flags().Int64Var(&from, "from", -1, "the first batch (default: that of --to)")
	cmd.Flags().Int64Var(&to, "to", -1, "the last batch, included (default: the last committed one)")
	must(cmd.Flags().MarkHidden("batch"))
	return cmd
}

func (a *app) changes(cmd *cobra.Command, path string, from, to int64) error {
	if cmd.Flags().Changed("batch") {
		return usagef("changes takes --from and --to, not --batch")
	}
	cp, s, opts, err := a.openStore(cmd, path)
	if err != nil {
		return err
	}
	defer cp.Close()
	at, err := s.At(cmd.Context())
	if err != nil {
		return err
	}
	from, to, err = batchRange(cmd, at, from, to)
	if err != nil {
		return err
	}
	rows := a.rowSheet(cmd, document(path, to), s)
	rows.header = append(rows.header, field{"from", from}, field{"to", to})
	if rows.key == nil || rows.value == nil {
		err = a.changedBytes(cmd, s, rows, from, to)
	} else {
		err = a.changedRecords(cmd, s, rows, from, to, opts)
	}
	if err != nil {
		return err
	}
	return a.endRows(rows)
}

// batchRange returns the batches that --from and --to mean; at is the last one.
func batchRange(cmd *cobra.Command, at checkpoint.At, from, to int64) (int64, int64, error) {
	for _, b := range []struct {
		flag string
		to   *int64
	}{{"to", &to}, {"from", &from}} {
		switch {
		case !cmd.Flags().Changed(b.flag):
			*b.to = at.Batch
		case *b.to < 0:
			return 0, 0, usagef("--%s %d: batches count from 0", b.flag, *b.to)
		}
	}
	if !cmd.Flags().Changed("from") {
		from = to
	}
	return from, to, nil
}

// changeColumns returns the columns of a change.
func (r *rowSheet) changeColumns() []column { return append(feedColumns(), r.rowColumns()...) }

// feedColumns returns those that come before key and value.
func feedColumns() []column { return []column{{"batch_id", true}, {"change_type", false}} }

func (a *app) changedRecords(cmd *cobra.Command, s *checkpoint.Store, rows *rowSheet, from, to int64, opts []checkpoint.Option) error {
	rows.columns = rows.changeColumns()
	if err := rows.begin(a.out); err != nil {
		return err
	}
	defer a.progress("reading changes of " + s.Operator().Label() + "/" + s.Name())()
	for rec, err := range s.Changes(cmd.Context(), from, to, opts...) {
		if err != nil {
			return err
		}
		err = rows.changes(rec)
		rec.Release()
		if err != nil {
			return err
		}
		if rows.more {
			break
		}
	}
	return nil
}

// changes writes the rows of one record of the change feed.
func (r *rowSheet) changes(rec arrow.Record) error {
	writers, err := r.writers(rec.Column(2), rec.Column(3))
	if err != nil {
		return err
	}
	batch := rec.Column(0).(*array.Int64)
	kind := rec.Column(1).(*array.String)
	id := rec.Column(4).(*array.Int32)
	return r.each(int(rec.NumRows()), append([]sparkjson.Writer{
		func(b []byte, i int) []byte { return append(b, jsonCell(batch.Value(i))...) },
		func(b []byte, i int) []byte { return sparkjson.AppendString(b, kind.Value(i)) },
	}, writers...), id)
}

// changedBytes writes changes of which no schema is known.
func (a *app) changedBytes(cmd *cobra.Command, s *checkpoint.Store, rows *rowSheet, from, to int64) error {
	rows.columns = append(feedColumns(), hexColumns()...)
	if err := rows.begin(a.out); err != nil {
		return err
	}
	for b := from; b <= to; b++ {
		for _, p := range a.partitions(s) {
			for c, err := range s.ChangeEntries(cmd.Context(), p, b) {
				if err != nil {
					return err
				}
				if rows.full() {
					rows.more = true
					return nil
				}
				value := textCell(hex.EncodeToString(c.Value))
				if c.Type == statestore.Delete {
					value = cell("null")
				}
				if err := rows.row(jsonCell(b), textCell(c.Type.String()), textCell(hex.EncodeToString(c.Key)), value, jsonCell(p)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

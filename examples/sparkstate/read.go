package main

import (
	"encoding/hex"
	"fmt"
	"iter"
	"strings"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/spf13/cobra"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/examples/sparkstate/internal/sparkjson"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

// peopleRows is how many rows a table shows unless --limit says otherwise.
const peopleRows = 10

func (a *app) readCommand() *cobra.Command {
	var side string
	var from int64
	var salvage bool
	cmd := &cobra.Command{
		Use:   "read CKPT",
		Short: "The rows of a store: key, value, partition_id",
		Args:  oneCheckpoint,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("from-snapshot") && from < 0 {
				return usagef("--from-snapshot %d: batches count from 0", from)
			}
			if salvage {
				if cmd.Flags().Changed("from-snapshot") {
					return usagef("--salvage reads whatever is left; leave --from-snapshot out")
				}
				if cmd.Flags().Changed("join-side") {
					return a.readSideSalvage(cmd, args[0], checkpoint.Side(side))
				}
				return a.readSalvage(cmd, args[0])
			}
			if cmd.Flags().Changed("join-side") {
				return a.readSide(cmd, args[0], checkpoint.Side(side), from)
			}
			return a.read(cmd, args[0], from)
		},
	}
	a.shared(cmd)
	a.selecting(cmd)
	a.restricting(cmd, "at most so many rows (default: 10 in a table, else all)")
	cmd.Flags().StringVar(&side, "join-side", "", "one side of a stream-stream join as Spark shows it: left or right")
	cmd.Flags().BoolVar(&salvage, "salvage", false, "read past damage: all that is left, each row with the batch it is known from")
	cmd.Flags().Int64Var(&from, "from-snapshot", -1, "start from the snapshot of this batch, which must be there")
	return cmd
}

// restricting declares the flags of the verbs that print rows.
func (a *app) restricting(cmd *cobra.Command, limit string) {
	a.naming(cmd)
	f := cmd.Flags()
	f.IntSliceVar(&a.partition, "partition", nil, "only these partitions")
	f.Int64Var(&a.limit, "limit", -1, limit)
	a.typing(cmd)
}

// typing declares the flags that give a store's schema.
func (a *app) typing(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&a.keySchema, "key-schema", "", "schema of the keys, as DDL (k STRING, n INT) or as Spark's JSON, where none is recorded")
	f.StringVar(&a.valueSchema, "value-schema", "", "schema of the values")
}

// openStore opens the checkpoint and the one store that the flags pick. The
// caller closes the checkpoint.
func (a *app) openStore(cmd *cobra.Command, path string) (_ *checkpoint.Checkpoint, _ *checkpoint.Store, _ []checkpoint.Option, err error) {
	cp, s, err := a.pick(path)
	if err != nil {
		return nil, nil, nil, err
	}
	opts, err := a.options(cmd)
	if err != nil {
		return nil, nil, nil, closing(cp, err)
	}
	a.about(s)
	return cp, s, opts, nil
}

// pick opens the checkpoint and finds the store. A schema that the caller
// gives is for that store, which is known only once the checkpoint is open: so
// it is opened again.
func (a *app) pick(path string) (*checkpoint.Checkpoint, *checkpoint.Store, error) {
	key, err := parseSchema("key-schema", a.keySchema)
	if err != nil {
		return nil, nil, err
	}
	value, err := parseSchema("value-schema", a.valueSchema)
	if err != nil {
		return nil, nil, err
	}
	cp, err := a.open(path)
	if err != nil {
		return nil, nil, err
	}
	s, err := a.oneStore(cp)
	if err != nil {
		return nil, nil, closing(cp, err)
	}
	if key == nil && value == nil {
		return cp, s, nil
	}
	a.noteReplaced("key", "keys", key, s.Key)
	a.noteReplaced("value", "values", value, s.Value)
	id, name := s.Operator().ID(), s.Name()
	if err := cp.Close(); err != nil {
		return nil, nil, err
	}
	if cp, err = a.open(path, checkpoint.WithSchema(id, name, key, value)); err != nil {
		return nil, nil, err
	}
	if s, err = cp.Store(id, name); err != nil {
		return nil, nil, closing(cp, err)
	}
	return cp, s, nil
}

// noteReplaced says that a schema that is given replaces one that Spark
// recorded: if the two mean the same bytes differently, the given one is
// believed.
func (a *app) noteReplaced(side, plural string, given *sqltype.Type, recorded func() (*sqltype.Type, checkpoint.Source)) {
	t, from := recorded()
	if given == nil || t == nil || from != checkpoint.Recorded || t.DDL() == given.DDL() {
		return
	}
	columns := make([]string, len(t.Fields))
	for i, f := range t.Fields {
		columns[i] = f.Name + " " + f.Type.DDL()
	}
	text := fmt.Sprintf("--%s-schema replaces the recorded schema of the %s, %s", side, plural, strings.Join(columns, ", "))
	if n, m := len(columns), len(given.Fields); n != m {
		text += fmt.Sprintf(", which has %s and not %d", counting(n, "column"), m)
	}
	a.note(text)
}

func parseSchema(flag, text string) (*sqltype.Type, error) {
	if text == "" {
		return nil, nil
	}
	parse := sqltype.ParseDDL
	if text[0] == '{' {
		parse = func(s string) (*sqltype.Type, error) { return sqltype.ParseJSON([]byte(s)) }
	}
	t, err := parse(text)
	if err == nil && t.Kind != sqltype.Struct {
		err = fmt.Errorf("a %s; it must be columns", t.DDL())
	}
	if err != nil {
		return nil, usagef("--%s: %v", flag, err)
	}
	return t, nil
}

func (a *app) read(cmd *cobra.Command, path string, from int64) error {
	cp, s, opts, err := a.openStore(cmd, path)
	if err != nil {
		return err
	}
	defer cp.Close()
	given := opts
	if from >= 0 {
		opts = append(opts[:len(opts):len(opts)], checkpoint.FromSnapshot(from))
	}
	at, err := s.At(cmd.Context(), opts...)
	if err != nil {
		return err
	}
	rows := a.rowSheet(cmd, document(path, at.Batch), s)
	if rows.key == nil || rows.value == nil {
		a.note("no schema is recorded, so keys and values are shown as hex; --key-schema and --value-schema give one")
		err = a.readBytes(cmd, s, rows, opts)
	} else {
		err = a.readRecords(rows, s.Operator().Label()+"/"+s.Name(), s.Records(cmd.Context(), opts...))
	}
	if missesSnapshot(err) {
		return a.noSnapshot(cmd, s, from, at, given)
	}
	if err != nil {
		return err
	}
	return a.endRows(rows)
}

// readSide reads one side of a join.
func (a *app) readSide(cmd *cobra.Command, path string, side checkpoint.Side, from int64) error {
	if a.keySchema != "" || a.valueSchema != "" {
		return usagef("a side of a join is made of two stores; leave --key-schema and --value-schema out")
	}
	cp, err := a.open(path)
	if err != nil {
		return err
	}
	defer cp.Close()
	if a.store != "" {
		return usagef("--join-side is made of two stores; leave --store out")
	}
	j, err := a.oneSide(cp, side)
	if err != nil {
		return err
	}
	opts, err := a.options(cmd)
	if err != nil {
		return err
	}
	if from >= 0 {
		opts = append(opts, checkpoint.FromSnapshot(from))
	}
	at, err := j.At(cmd.Context(), opts...)
	if err != nil {
		return err
	}
	a.about(j.Store())
	rows := a.sheetOf(cmd, withAbsent(document(path, at.Batch), j.Store()), j.Key(), j.Value())
	var loss checkpoint.JoinLoss
	if err := a.readRecords(rows, j.Operator().Label()+"/"+string(side), j.Records(cmd.Context(), &loss, opts...)); err != nil {
		if missesSnapshot(err) {
			return usagef("--from-snapshot %d: a store of this side has no snapshot of that batch in every partition; --store and --from-snapshot tell which it has", from)
		}
		return err
	}
	a.noteJoinLoss(&loss)
	return a.endRows(rows)
}

func (a *app) noteJoinLoss(loss *checkpoint.JoinLoss) {
	if loss.Holes > 0 || loss.Leftover > 0 {
		a.note(fmt.Sprintf("%d rows that the numbers of rows promise are not there, %d are left over beyond them", loss.Holes, loss.Leftover))
	}
}

// oneSide returns a side of the join that the flags pick, or of the only one
// there is.
func (a *app) oneSide(cp *checkpoint.Checkpoint, side checkpoint.Side) (*checkpoint.JoinSide, error) {
	op, err := a.oneJoin(cp)
	if err != nil {
		return nil, err
	}
	return op.JoinSide(side)
}

// oneJoin returns the join that the flags pick, or the only one there is.
func (a *app) oneJoin(cp *checkpoint.Checkpoint) (*checkpoint.Operator, error) {
	if a.operator != "" {
		return findOperator(cp, a.operator)
	}
	var joins []*checkpoint.Operator
	labels := ""
	for _, o := range cp.Operators() {
		if _, err := o.JoinSide(checkpoint.Left); err == nil {
			joins = append(joins, o)
			labels += " " + o.Label()
		}
	}
	switch len(joins) {
	case 0:
		return nil, &checkpoint.NotFoundError{What: "operator", Name: "with join sides"}
	case 1:
		return joins[0], nil
	}
	return nil, usagef("there are several joins; pick one with --operator:%s", labels)
}

// rowSheet writes rows of state.
type rowSheet struct {
	sheet
	key, value *sqltype.Type
	limit      int64 // -1: none
	cut        bool  // the limit is ours, not the caller's
	more       bool  // there are rows beyond the limit
}

// rowSheet returns a sheet for the rows of a store.
func (a *app) rowSheet(cmd *cobra.Command, header []field, s *checkpoint.Store) *rowSheet {
	key, _ := s.Key()
	value, _ := s.Value()
	return a.sheetOf(cmd, withAbsent(header, s), key, value)
}

// withAbsent adds the partitions that have no directory to a document's head,
// where there are any: their rows are not in it.
func withAbsent(header []field, s *checkpoint.Store) []field {
	if absent := s.Absent(); len(absent) > 0 {
		return append(header, field{"absentPartitions", absent})
	}
	return header
}

func (a *app) sheetOf(cmd *cobra.Command, header []field, key, value *sqltype.Type) *rowSheet {
	r := &rowSheet{sheet: sheet{format: a.format, camel: a.camel, header: header}, key: key, value: value, limit: a.limit}
	if a.format == asTable && !cmd.Flags().Changed("limit") {
		r.limit, r.cut = peopleRows, true
	}
	return r
}

func (a *app) endRows(rows *rowSheet) error {
	if err := rows.end(); err != nil {
		return err
	}
	a.noteInvalidUTF8()
	if rows.more && rows.cut {
		a.note(fmt.Sprintf("these are the first %d rows; --limit shows more, the other formats all", rows.limit))
	}
	return nil
}

func (a *app) noteInvalidUTF8() {
	if n := a.stats.InvalidUTF8.Load(); n > 0 {
		a.note(fmt.Sprintf("%d strings are not UTF-8; what is malformed in them is shown as U+FFFD", n))
	}
}

func (r *rowSheet) full() bool { return r.limit >= 0 && r.rows >= r.limit }

// nested says whether key and value are one column each, or one for each of
// their fields.
func (r *rowSheet) nested() bool { return r.format == asJSON || r.format == asJSONL }

// rowColumns returns the columns of a row of state.
func (r *rowSheet) rowColumns() []column {
	out := append(r.sideColumns("key", r.key), r.sideColumns("value", r.value)...)
	return append(out, column{"partition_id", true})
}

// sideColumns returns the columns of a key or a value.
func (r *rowSheet) sideColumns(name string, t *sqltype.Type) []column {
	if r.nested() {
		return []column{{name: name}}
	}
	var out []column
	for _, f := range t.Fields {
		out = append(out, column{name: name + "." + f.Name})
	}
	return out
}

func hexColumns() []column {
	return []column{{name: "keyHex"}, {name: "valueHex"}, {"partition_id", true}}
}

func (a *app) readRecords(rows *rowSheet, what string, records iter.Seq2[arrow.Record, error]) error {
	defer a.progress("reading " + what)()
	begun := false
	begin := func() error {
		if begun {
			return nil
		}
		begun = true
		if rows.key != nil && rows.value != nil {
			rows.columns = rows.rowColumns()
		}
		return rows.begin(a.out)
	}
	for rec, err := range records {
		if err != nil {
			return err
		}
		if err := begin(); err != nil {
			return err
		}
		err = rows.record(rec)
		rec.Release()
		if err != nil {
			return err
		}
		if rows.more {
			break
		}
	}
	return begin()
}

// record writes the rows of one record.
func (r *rowSheet) record(rec arrow.Record) error {
	writers, err := r.writers(rec.Column(0), rec.Column(1))
	if err != nil {
		return err
	}
	return r.each(int(rec.NumRows()), writers, rec.Column(2).(*array.Int32))
}

// each writes n rows: what the writers give, and then the partition.
func (r *rowSheet) each(n int, writers []sparkjson.Writer, ids *array.Int32) error {
	cells := make([]cell, len(writers)+1)
	for i := range n {
		if r.full() {
			r.more = true
			return nil
		}
		for c, w := range writers {
			cells[c] = w(cells[c][:0], i)
		}
		cells[len(writers)] = jsonCell(ids.Value(i))
		if err := r.row(cells...); err != nil {
			return err
		}
	}
	return nil
}

// writers returns the writers of the columns of key and value.
func (r *rowSheet) writers(key, value arrow.Array) ([]sparkjson.Writer, error) {
	out, err := r.sideWriters(r.key, key)
	if err != nil {
		return nil, err
	}
	values, err := r.sideWriters(r.value, value)
	return append(out, values...), err
}

// sideWriters returns the writers of the columns that sideColumns names.
func (r *rowSheet) sideWriters(t *sqltype.Type, a arrow.Array) ([]sparkjson.Writer, error) {
	if r.nested() {
		w, err := sparkjson.For(t, a)
		return []sparkjson.Writer{w}, err
	}
	var out []sparkjson.Writer
	st := a.(*array.Struct)
	for f := range t.Fields {
		w, err := sparkjson.For(t.Fields[f].Type, st.Field(f))
		if err != nil {
			return nil, err
		}
		out = append(out, func(b []byte, i int) []byte {
			if st.IsNull(i) { // the value of a delete
				return append(b, "null"...)
			}
			return w(b, i)
		})
	}
	return out, nil
}

// readBytes writes rows of which no schema is known.
func (a *app) readBytes(cmd *cobra.Command, s *checkpoint.Store, rows *rowSheet, opts []checkpoint.Option) error {
	rows.columns = hexColumns()
	if err := rows.begin(a.out); err != nil {
		return err
	}
	for _, p := range a.partitions(s) {
		for e, err := range s.Entries(cmd.Context(), p, opts...) {
			if err != nil {
				return err
			}
			if rows.full() {
				rows.more = true
				return nil
			}
			if err := rows.row(textCell(hex.EncodeToString(e.Key)), textCell(hex.EncodeToString(e.Value)), jsonCell(p)); err != nil {
				return err
			}
		}
	}
	return nil
}

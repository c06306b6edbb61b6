package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sparkstate/sparkstate/checkpoint"
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

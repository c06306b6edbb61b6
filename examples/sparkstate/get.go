package main

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/examples/sparkstate/internal/sparkjson"
	"github.com/sparkstate/sparkstate/statestore/unsaferow"
)

func (a *app) getCommand() *cobra.Command {
	var text, bytes string
	history := false
	cmd := &cobra.Command{
		Use:   "get CKPT --key JSON",
		Short: "The row of one key, or its history",
		Long: `The row of one key, or with --history every batch that touched it.

The key is JSON as read prints it: an object by name, or an array by position.
A last column that only numbers the rows of a key (the start of a session, the
index of a join) may be left out; then all rows of that key are shown.

The exit code is 1 when the key is not there.`,
		Args: oneCheckpoint,
		RunE: func(cmd *cobra.Command, args []string) error {
			parse := parseKey(text)
			switch {
			case len(a.partition) > 0:
				return usagef("get finds the partition by itself; leave --partition out")
			case cmd.Flags().Changed("key") == cmd.Flags().Changed("key-hex"):
				return usagef("which key? give either --key or --key-hex")
			case cmd.Flags().Changed("key-hex"):
				parse = parseKeyHex(bytes)
			}
			return a.get(cmd, args[0], parse, history)
		},
	}
	a.shared(cmd)
	a.selecting(cmd)
	a.restricting(cmd, "at most so many rows (default: 10 in a table, else all)")
	cmd.Flags().StringVar(&text, "key", "", `the key as JSON: {"k":"a","n":1} or ["a",1]`)
	cmd.Flags().StringVar(&bytes, "key-hex", "", "the key's bytes in hex, as read prints them where no schema is known")
	cmd.Flags().BoolVar(&history, "history", false, "every batch that touched the key, up to --batch")
	must(cmd.Flags().MarkHidden("partition"))
	return cmd
}

// keyParser makes the key of a flag, once the store is known.
type keyParser func(s *checkpoint.Store) (checkpoint.Key, error)

func parseKeyHex(text string) keyParser {
	return func(*checkpoint.Store) (checkpoint.Key, error) {
		row, err := hex.DecodeString(text)
		if err != nil {
			return checkpoint.Key{}, usagef("--key-hex: %v", err)
		}
		return checkpoint.RowKey(row), nil
	}
}

func parseKey(text string) keyParser {
	return func(s *checkpoint.Store) (checkpoint.Key, error) {
		t, _ := s.Key()
		if t == nil {
			return checkpoint.Key{}, usagef("--key: no schema is known of this store; give the key's with --key-schema, or its bytes with --key-hex")
		}
		values, err := sparkjson.ParseRow(t, []byte(text))
		if g := s.GroupingKey(); err != nil && g != nil && len(g.Fields) < len(t.Fields) {
			// The column that only numbers the rows may have been left out.
			if all, gerr := sparkjson.ParseRow(g, []byte(text)); gerr == nil {
				values, err = all, nil
			}
		}
		if err != nil {
			return checkpoint.Key{}, usagef("--key: %v", err)
		}
		return checkpoint.KeyOf(values...), nil
	}
}

// keyRows are the rows of an answer.
type keyRows struct {
	where      checkpoint.Lookup
	header     []field
	before     []column // of each row, before its key
	writers    []sparkjson.Writer
	keys       [][]byte
	values     [][]byte // nil for a delete
	partitions []int
}

func (a *app) get(cmd *cobra.Command, path string, parse keyParser, history bool) error {
	cp, s, opts, err := a.openStore(cmd, path)
	if err != nil {
		return err
	}
	defer cp.Close()
	key, err := parse(s)
	if err != nil {
		return err
	}
	answer := a.state
	if history {
		answer = a.history
	}
	stop := a.progress("looking in " + s.Operator().Label() + "/" + s.Name())
	at, found, err := answer(cmd, s, key, opts)
	stop()
	var ve *unsaferow.ValueError
	switch {
	case errors.As(err, &ve):
		return usagef("--key: %v", err)
	case err != nil:
		return err
	}
	rows := a.rowSheet(cmd, append(document(path, at.Batch), found.header...), s)
	rows.header = append(rows.header, lookupFields(found.where)...)
	if err := a.writeKeyRows(rows, found); err != nil {
		return err
	}
	if err := a.endRows(rows); err != nil {
		return err
	}
	if len(found.keys) > 0 {
		if a.format != asJSON {
			a.note(whereRead(found.where))
		}
		return nil
	}
	if history {
		// It may be older than what is left of its history.
		state, err := s.Get(cmd.Context(), key, opts...)
		if err != nil {
			return err
		}
		if len(state.Rows) > 0 {
			a.note(fmt.Sprintf("the key is in the state after batch %d, and has been since before its known history", at.Batch))
			return nil
		}
	}
	return &errFound{fmt.Sprintf("the key is not in the state after batch %d; %s", at.Batch, whereRead(found.where))}
}

// state looks for the rows that have the key.
func (a *app) state(cmd *cobra.Command, s *checkpoint.Store, key checkpoint.Key, opts []checkpoint.Option) (checkpoint.At, *keyRows, error) {
	f, err := s.Get(cmd.Context(), key, opts...)
	if err != nil {
		return checkpoint.At{}, nil, err
	}
	out := &keyRows{where: f.Lookup}
	for _, r := range f.Rows {
		out.add(r.Key, r.Value, r.Partition)
	}
	return f.At, out, nil
}

// history looks for the changes of the key.
func (a *app) history(cmd *cobra.Command, s *checkpoint.Store, key checkpoint.Key, opts []checkpoint.Option) (checkpoint.At, *keyRows, error) {
	h, err := s.GetHistory(cmd.Context(), key, opts...)
	if err != nil {
		return checkpoint.At{}, nil, err
	}
	out := &keyRows{where: h.Lookup, header: []field{{"knownFrom", h.Since}}}
	out.before = []column{{"batch_id", true}, {"change_type", false}}
	out.writers = []sparkjson.Writer{
		func(b []byte, i int) []byte { return append(b, jsonCell(h.Changes[i].Batch)...) },
		func(b []byte, i int) []byte { return sparkjson.AppendString(b, h.Changes[i].Type.String()) },
	}
	for _, c := range h.Changes {
		out.add(c.Key, c.Value, c.Partition)
	}
	switch {
	case h.Since > h.Batch:
		a.note("no change file is left, so nothing is known of the key's history")
	case h.Since > 0:
		a.note(fmt.Sprintf("the history is known from batch %d on; of what was before, change files are missing", h.Since))
	}
	return h.At, out, nil
}

func (r *keyRows) add(key, value []byte, partition int) {
	r.keys, r.values, r.partitions = append(r.keys, key), append(r.values, value), append(r.partitions, partition)
}

func (a *app) writeKeyRows(rows *rowSheet, found *keyRows) error {
	hexed := rows.key == nil || rows.value == nil
	rows.columns = append(rows.columns, found.before...)
	if hexed {
		rows.columns = append(rows.columns, hexColumns()...)
	} else {
		rows.columns = append(rows.columns, rows.rowColumns()...)
	}
	if err := rows.begin(a.out); err != nil {
		return err
	}
	writers := found.writers
	if hexed {
		writers = append(writers, hexWriter(found.keys), hexWriter(found.values))
	} else {
		keys, err := a.decode("key", rows.key, found.keys, found.partitions)
		if err != nil {
			return err
		}
		defer keys.Release()
		values, err := a.decode("value", rows.value, found.values, found.partitions)
		if err != nil {
			return err
		}
		defer values.Release()
		columns, err := rows.writers(keys, values)
		if err != nil {
			return err
		}
		writers = append(writers, columns...)
	}
	ids := partitionIDs(found.partitions)
	defer ids.Release()
	return rows.each(len(found.keys), writers, ids)
}

// lookupFields say in a JSON document where the key was looked for.
func lookupFields(l checkpoint.Lookup) []field {
	var own *int
	if l.Own >= 0 {
		own = &l.Own
	}
	return []field{{"ownPartition", own}, {"partitionsRead", append([]int{}, l.Read...)}}
}

// whereRead says it to people.
func whereRead(l checkpoint.Lookup) string {
	switch {
	case len(l.Read) == 0 && l.Own >= 0:
		return fmt.Sprintf("nothing was read: partition %d, where it belongs, has no directory", l.Own)
	case len(l.Read) == 0:
		return "nothing was read: no partition has a directory"
	case l.Reason == "":
		return fmt.Sprintf("read partition %d, where it belongs", l.Own)
	case len(l.Read) == 1 && l.Read[0] == l.Own:
		return fmt.Sprintf("read partition %d, where the hash of the key says that it is", l.Own)
	}
	return fmt.Sprintf("read %s, because %s", ints(slices.Sorted(slices.Values(l.Read))), l.Reason)
}

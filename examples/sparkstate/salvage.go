package main

import (
	"bytes"
	"fmt"
	"iter"

	"github.com/spf13/cobra"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/examples/sparkstate/internal/sparkjson"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
	"github.com/sparkstate/sparkstate/statestore/unsaferow"
)

// salvageLoss is what a salvage could not have, in a document.
type salvageLoss struct {
	Files    []string `json:"files"`
	Rows     int64    `json:"rows"`
	Outdated int64    `json:"outdatedRows"`
	Doubtful int64    `json:"doubtfulRows"`
	Misfits  int64    `json:"rowsThatDoNotFit"`
	// Of a join's side only: rows that their keys' numbers promise and that are
	// not there, and rows beyond those numbers.
	Holes    *int64 `json:"missingRows,omitempty"`
	Leftover *int64 `json:"leftoverRows,omitempty"`
}

// salvager writes what can still be read of a store, a chunk of rows at a time.
type salvager struct {
	*rowSheet
	app          *app
	keys, values [][]byte
	partitions   []int
	known        []int64
	doubtful     []bool
	misfits      int64 // rows left out, since they do not fit the schema
}

// salvageChunk is how many rows are decoded at once.
const salvageChunk = 4096

// readSalvage salvages a store.
func (a *app) readSalvage(cmd *cobra.Command, path string) error {
	a.damaged = true
	cp, s, opts, err := a.openStore(cmd, path)
	if err != nil {
		return err
	}
	defer cp.Close()
	at, err := s.SalvageAt(cmd.Context(), opts...)
	if err != nil {
		return err
	}
	loss := &checkpoint.Loss{}
	key, _ := s.Key()
	value, _ := s.Value()
	out := &salvager{rowSheet: a.sheetOf(cmd, document(path, at.Batch), key, value), app: a}
	return a.salvage(out, s, func(partition int) iter.Seq2[checkpoint.SalvagedRow, error] {
		return s.Salvage(cmd.Context(), partition, loss, opts...)
	}, at.Batch, func() salvageLoss {
		return salvageLoss{Files: fileTexts(loss.Files), Rows: loss.Rows, Outdated: loss.Outdated, Doubtful: loss.Doubtful}
	})
}

// readSideSalvage salvages one side of a join. Its values are shown as they are
// stored, with the column that says whether a row has been matched.
func (a *app) readSideSalvage(cmd *cobra.Command, path string, side checkpoint.Side) error {
	if a.keySchema != "" || a.valueSchema != "" || a.store != "" {
		return usagef("a side of a join is made of two stores; leave --store, --key-schema and --value-schema out")
	}
	cp, err := a.open(path)
	if err != nil {
		return err
	}
	defer cp.Close()
	j, err := a.oneSide(cp, side)
	if err != nil {
		return err
	}
	opts, err := a.options(cmd)
	if err != nil {
		return err
	}
	at, err := j.SalvageAt(cmd.Context(), opts...)
	if err != nil {
		return err
	}
	a.about(j.Store())
	loss := &checkpoint.SideLoss{}
	key, value := j.SalvageTypes()
	out := &salvager{rowSheet: a.sheetOf(cmd, document(path, at.Batch), key, value), app: a}
	return a.salvage(out, j.Store(), func(partition int) iter.Seq2[checkpoint.SalvagedRow, error] {
		return j.Salvage(cmd.Context(), partition, loss, opts...)
	}, at.Batch, func() salvageLoss {
		return salvageLoss{Files: fileTexts(loss.Files()), Rows: loss.Yielded, Outdated: loss.Outdated, Doubtful: loss.Doubtful, Holes: &loss.Holes, Leftover: &loss.Leftover}
	})
}

func fileTexts(errs []error) []string {
	out := []string{}
	for _, err := range errs {
		out = append(out, oneLine(err.Error()))
	}
	return out
}

// salvage writes what the partitions of a store give, and then what is lost.
func (a *app) salvage(out *salvager, s *checkpoint.Store, rows func(partition int) iter.Seq2[checkpoint.SalvagedRow, error], batch int64, loss func() salvageLoss) error {
	if out.key == nil || out.value == nil {
		a.note("no schema can be read, so keys and values are shown as hex; --key-schema and --value-schema give one")
		out.columns = hexColumns()
	} else {
		out.columns = out.rowColumns()
	}
	out.columns = append(out.columns, column{"known_batch", true}, column{name: "doubtful"})
	if err := out.begin(a.out); err != nil {
		return err
	}
	// All of it is gone through, whatever the limit, so that the loss is
	// counted.
	done := a.progress("salvaging " + s.Operator().Label() + "/" + s.Name())
	defer done()
	for _, p := range a.partitions(s) {
		for r, err := range rows(p) {
			if err != nil {
				return err
			}
			if err := out.add(p, r); err != nil {
				return err
			}
		}
	}
	if err := out.flush(); err != nil {
		return err
	}
	done()
	told := loss()
	told.Misfits = out.misfits
	out.footer = []field{{"loss", told}}
	if err := a.endRows(out.rowSheet); err != nil {
		return err
	}
	a.noteLoss(batch, told)
	return nil
}

// noteLoss says what is lost on stderr, for all formats.
func (a *app) noteLoss(batch int64, l salvageLoss) {
	for _, f := range l.Files {
		a.note("lost: " + f)
	}
	if l.Holes != nil && *l.Holes+*l.Leftover > 0 {
		a.note(fmt.Sprintf("%d rows that the numbers of rows promise are not there, %d are left over beyond them", *l.Holes, *l.Leftover))
	}
	if len(l.Files) == 0 && l.Misfits == 0 && (l.Holes == nil || *l.Holes == 0) {
		a.note(fmt.Sprintf("nothing is lost: these are all %d rows after batch %d", l.Rows, batch))
		return
	}
	a.note(fmt.Sprintf("%s salvaged: %d are known from before batch %d and may have changed or gone since, %d are doubtful, %d do not fit the schema and are left out; how many are gone for good cannot be known",
		counting(int(l.Rows), "row"), l.Outdated, batch, l.Doubtful, l.Misfits))
}

// add takes in a row, and leaves out one that its schema does not fit.
func (s *salvager) add(partition int, r checkpoint.SalvagedRow) error {
	if s.key != nil && s.value != nil && (!fits(r.Key, s.key) || !fits(r.Value, s.value)) {
		s.misfits++
		return nil
	}
	if s.limit >= 0 && s.rows+int64(len(s.keys)) >= s.limit {
		s.more = true
		return nil
	}
	s.keys = append(s.keys, bytes.Clone(r.Key))
	s.values = append(s.values, bytes.Clone(r.Value))
	s.partitions = append(s.partitions, partition)
	s.known = append(s.known, r.Batch)
	s.doubtful = append(s.doubtful, r.Doubtful)
	if len(s.keys) < salvageChunk {
		return nil
	}
	return s.flush()
}

func fits(row []byte, t *sqltype.Type) bool { return unsaferow.Validate(row, t) == nil }

// flush decodes and writes the rows at hand.
func (s *salvager) flush() error {
	if len(s.keys) == 0 {
		return nil
	}
	writers, err := s.chunkWriters()
	if err != nil {
		return err
	}
	cells := make([]cell, len(s.columns))
	for i := range s.keys {
		for c, w := range writers {
			cells[c] = w(cells[c][:0], i)
		}
		n := len(writers)
		cells[n], cells[n+1], cells[n+2] = jsonCell(s.partitions[i]), jsonCell(s.known[i]), jsonCell(s.doubtful[i])
		if err := s.row(cells...); err != nil {
			return err
		}
	}
	s.keys, s.values, s.partitions, s.known, s.doubtful = s.keys[:0], s.values[:0], s.partitions[:0], s.known[:0], s.doubtful[:0]
	return nil
}

func (s *salvager) chunkWriters() ([]sparkjson.Writer, error) {
	if s.key == nil || s.value == nil {
		return []sparkjson.Writer{hexWriter(s.keys), hexWriter(s.values)}, nil
	}
	key, err := s.app.decode("key", s.key, s.keys, s.partitions)
	if err != nil {
		return nil, err
	}
	value, err := s.app.decode("value", s.value, s.values, s.partitions)
	if err != nil {
		return nil, err
	}
	return s.writers(key, value)
}

package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore"
)

func (a *app) metadataCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "metadata CKPT",
		Short: "Rows, keys, bytes and files of every operator, store and partition",
		Args:  oneCheckpoint,
		RunE:  a.metadata,
	}
	a.shared(cmd)
	a.selecting(cmd)
	cmd.Flags().IntSliceVar(&a.partition, "partition", nil, "only these partitions")
	cmd.Flags().Int64Var(&a.limit, "limit", -1, "at most so many rows (default: all)")
	return cmd
}

func (a *app) metadata(cmd *cobra.Command, args []string) error {
	cp, stores, opts, err := a.openStores(cmd, args[0])
	if err != nil {
		return err
	}
	defer cp.Close()
	// All is counted before anything is printed: a table that ends in an error
	// is worse than none.
	var counted []*checkpoint.Counts
	for _, s := range stores {
		c, err := a.counts(cmd, s, opts)
		if err != nil {
			return err
		}
		counted = append(counted, c)
	}
	sh := &sheet{format: a.format, header: document(args[0], batchOf(counted)), columns: []column{
		{"operatorId", true}, {"operatorName", false}, {"stateStoreName", false}, {"partitionId", true},
		{"numKeys", true}, {"numRows", true}, {"keyBytes", true}, {"valueBytes", true},
		{"files", true}, {"fileBytes", true}, {"loadBytes", true}, {"newestVersion", true}, {"present", false},
	}}
	if err := sh.begin(a.out); err != nil {
		return err
	}
	for i, s := range stores {
		for _, p := range counted[i].Partitions {
			if a.limit >= 0 && sh.rows >= a.limit {
				return sh.end()
			}
			if err := sh.row(jsonCell(s.Operator().ID()), nameCell(s), textCell(s.Name()), jsonCell(p.Partition),
				keysCell(p), jsonCell(p.Rows), jsonCell(p.KeyBytes), jsonCell(p.ValueBytes),
				jsonCell(p.Files), jsonCell(p.FileBytes), jsonCell(p.LoadBytes), jsonCell(p.Newest), jsonCell(p.Present)); err != nil {
				return err
			}
		}
	}
	return sh.end()
}

// batchOf returns the batch that the counts are of, nil for none at all.
func batchOf(all []*checkpoint.Counts) any {
	if len(all) == 0 {
		return nil
	}
	return all[0].Batch
}

// counts counts a store.
func (a *app) counts(cmd *cobra.Command, s *checkpoint.Store, opts []checkpoint.Option) (*checkpoint.Counts, error) {
	defer a.progress("counting " + s.Operator().Label() + "/" + s.Name())()
	c, err := s.Counts(cmd.Context(), append(slices.Clip(opts), checkpoint.FileSizes())...)
	if err != nil {
		return nil, err
	}
	a.about(s)
	return c, nil
}

// about says what a reader of a store's rows should know: what was corrected,
// and which partitions count as empty because they are not there.
func (a *app) about(s *checkpoint.Store) {
	operator := "operator " + s.Operator().Label()
	if absent := s.Absent(); len(absent) > 0 {
		counts := "they count as 0, and check tells what is lost"
		if len(absent) == 1 {
			counts = "it counts as 0, and check tells what is lost"
		}
		a.note(operator + " has no directory for " + ints(absent) + "; " + counts)
	}
	for _, n := range s.Notes() {
		a.note(operator + ": " + n)
	}
}

func nameCell(s *checkpoint.Store) cell {
	name, _ := s.Operator().Name()
	if name == "" {
		return cell("null")
	}
	return textCell(name)
}

func keysCell(c statestore.Count) cell {
	if c.Keys < 0 {
		return cell("null")
	}
	return jsonCell(c.Keys)
}

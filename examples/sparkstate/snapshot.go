package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore"
)

// missesSnapshot says whether an error is that a snapshot which was asked for
// is not there. The condition is Spark's for just that.
func missesSnapshot(err error) bool {
	var fe *statestore.FileError
	return errors.As(err, &fe) && errors.Is(fe.Kind, statestore.ErrMissing) &&
		strings.HasSuffix(fe.Condition, "CANNOT_READ_MISSING_SNAPSHOT_FILE")
}

// noSnapshot returns the error of a --from-snapshot that is not there, with the
// batches that could be started from instead.
func (a *app) noSnapshot(cmd *cobra.Command, s *checkpoint.Store, from int64, at checkpoint.At, opts []checkpoint.Option) error {
	if from > at.Batch {
		return usagef("--from-snapshot %d is after batch %d, which is to be read", from, at.Batch)
	}
	readable, err := s.Readable(cmd.Context())
	if err != nil {
		return err
	}
	var have []int64
	for _, b := range readable {
		if b <= at.Batch && a.hasSnapshot(cmd, s, b, opts) {
			have = append(have, b)
		}
	}
	instead := "no batch has one; leave --from-snapshot out"
	if len(have) > 0 {
		instead = "batches with a snapshot: " + checkpoint.Ranges(have)
	}
	return usagef("--from-snapshot %d: operator %s, store %s has no snapshot of that batch in every partition; %s",
		from, s.Operator().Label(), s.Name(), instead)
}

// hasSnapshot says whether every partition has a snapshot of the batch, by
// reading its first row.
func (a *app) hasSnapshot(cmd *cobra.Command, s *checkpoint.Store, batch int64, opts []checkpoint.Option) bool {
	opts = append(slices.Clone(opts), checkpoint.AtBatch(batch), checkpoint.FromSnapshot(batch))
	for _, p := range a.partitions(s) {
		for _, err := range s.Entries(cmd.Context(), p, opts...) {
			if missesSnapshot(err) {
				return false
			}
			break
		}
	}
	return true
}

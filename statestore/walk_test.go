package statestore_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/statestore"
)

// Every partition wanted is visited, also one without a directory, and what the
// visits emit comes in the order of the partitions.
func TestWalk(t *testing.T) {
	s := wordCounts(t, statestore.Config{})
	visit := func(ctx context.Context, partition int, emit func(string) bool) error {
		emit(fmt.Sprint("partition ", partition))
		for e, err := range s.Entries(ctx, partition) {
			if err != nil {
				return err
			}
			if !emit(fmt.Sprint(len(e.Key))) {
				return nil
			}
		}
		return nil
	}
	for _, workers := range []int{0, 1, 8} {
		var got []string
		for text, err := range statestore.Walk(context.Background(), s, visit, statestore.Workers(workers)) {
			require.NoError(t, err)
			got = append(got, text)
		}
		assert.Equal(t, []string{"partition 0", "24", "24", "partition 1", "partition 2", "24"}, got)
	}
	var got []string
	for text, err := range statestore.Walk(context.Background(), s, visit, statestore.Partitions(2, 1)) {
		require.NoError(t, err)
		got = append(got, text)
	}
	assert.Equal(t, []string{"partition 1", "partition 2", "24"}, got)
	for _, err := range statestore.Walk(context.Background(), s, visit, statestore.Partitions(3)) {
		require.ErrorIs(t, err, statestore.ErrNoPartition)
	}
	broken := errors.New("broken")
	for text, err := range statestore.Walk(context.Background(), s, func(_ context.Context, partition int, emit func(string) bool) error {
		if partition == 1 {
			return broken
		}
		emit("fine")
		return nil
	}) {
		if err != nil {
			require.ErrorIs(t, err, broken)
			continue
		}
		assert.Equal(t, "fine", text)
	}
}

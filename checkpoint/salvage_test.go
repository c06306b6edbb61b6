package checkpoint_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore"
)

func salvaged(t *testing.T, s *checkpoint.Store, opts ...checkpoint.Option) (map[string]int64, *checkpoint.Loss) {
	t.Helper()
	rows, loss := map[string]int64{}, &checkpoint.Loss{}
	n, _ := s.Operator().Partitions()
	for p := range n {
		for r, err := range s.Salvage(context.Background(), p, loss, opts...) {
			require.NoError(t, err)
			rows[string(r.Key)+"\x00"+string(r.Value)] = r.Batch
		}
	}
	return rows, loss
}

func TestSalvageOfStore(t *testing.T) {
	r := fixture(t, "4.1.4/ad_billing")
	store := func() *checkpoint.Store {
		s, err := r.open().Store(1, "default")
		require.NoError(t, err)
		return s
	}
	want := map[string]int64{}
	for p := range 4 {
		for e, err := range store().Entries(context.Background(), p) {
			require.NoError(t, err)
			want[string(e.Key)+"\x00"+string(e.Value)] = 6
		}
	}
	got, loss := salvaged(t, store())
	assert.Equal(t, want, got)
	assert.Empty(t, loss.Files)
	assert.Equal(t, int64(len(want)), loss.Rows)

	// A damaged snapshot costs nothing, and neither does a damaged schema.
	r.edit("state/1/2/6.snapshot", func(b []byte) []byte { return b[:len(b)/2] })
	r.put("state/1/0/_metadata/schema", []byte("?"))
	got, loss = salvaged(t, store())
	assert.Equal(t, want, got)
	require.Len(t, loss.Files, 1)
	assert.ErrorIs(t, loss.Files[0], statestore.ErrDamaged)
	assert.Zero(t, loss.Outdated)

	// A delta that leads to it does: the rows before it may have gone since.
	r.edit("state/1/2/5.delta", func(b []byte) []byte { return b[:len(b)/2] })
	got, loss = salvaged(t, store())
	require.Len(t, loss.Files, 2)
	assert.NotZero(t, loss.Outdated)
	outdated := int64(0)
	for _, batch := range got {
		if batch < 6 {
			outdated++
			assert.Contains(t, []int64{3, 4}, batch)
		}
	}
	assert.Equal(t, loss.Outdated, outdated)

	// A batch before the damage is whole.
	at3, loss := salvaged(t, store(), checkpoint.AtBatch(3))
	assert.NotEmpty(t, at3)
	assert.Empty(t, loss.Files)

	// A partition that is not there is a loss too.
	r.removeAll("state/1/3")
	_, loss = salvaged(t, store())
	assert.Len(t, loss.Files, 3)
	assert.ErrorIs(t, loss.Files[2], statestore.ErrMissing)

	for _, err := range store().Salvage(context.Background(), 0, loss, checkpoint.AtBatch(7)) {
		assert.ErrorIs(t, err, checkpoint.ErrNotCommitted)
	}
	for _, err := range store().Salvage(context.Background(), 9, loss) {
		assert.ErrorIs(t, err, statestore.ErrNoPartition)
	}
}

package statetest_test

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore/codec"
	"github.com/sparkstate/sparkstate/statestore/statetest"
)

func TestLarge(t *testing.T) {
	const keys = 3000
	var whole []int64
	for _, l := range []statetest.Large{
		{Keys: keys, Partitions: 5, Deltas: 2, Touched: 0.2, Removed: 0.1},
		{Keys: keys, Partitions: 5, Deltas: 2, Touched: 0.2, Removed: 0.1, Snapshot: true, Codec: codec.Zstd},
	} {
		m := fstest.MapFS{}
		require.NoError(t, l.Write(statetest.Map(m, ".")))
		cp, err := checkpoint.OpenFS(m, ".")
		require.NoError(t, err)
		s, err := cp.Store(0, "default")
		require.NoError(t, err)
		var rows []int64
		for batch := range int64(3) {
			c, err := s.Counts(t.Context(), checkpoint.AtBatch(batch))
			require.NoError(t, err)
			n := int64(0)
			for p, count := range c.Partitions {
				require.InDelta(t, keys/5, count.Rows, keys/10, "partition %d", p)
				n += count.Rows
			}
			rows = append(rows, n)
		}
		require.EqualValues(t, keys, rows[0])
		require.InDelta(t, 0.9*keys, rows[1], 0.02*keys)
		// Puts bring some of the removed keys back.
		require.InDelta(t, 0.9*0.9*keys+0.1*0.2*keys, rows[2], 0.03*keys)
		if whole == nil {
			whole = rows
		}
		require.Equal(t, whole, rows, "the same, however it is written")
		findings, err := cp.Check(t.Context(), checkpoint.DeepCheck)
		require.NoError(t, err)
		for _, f := range findings.Findings {
			require.LessOrEqual(t, f.Severity, checkpoint.Info, "%s: %s", f.ID, f.What)
		}
		require.NoError(t, cp.Close())
	}
	require.Error(t, statetest.Large{Keys: -1}.Write(nil))
	require.Error(t, statetest.Large{Touched: 0.6, Removed: 0.6}.Write(nil))
}

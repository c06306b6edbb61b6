package checkpoint_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore/statetest"
)

// A number in a file, or in the name of a directory, costs no more than so many
// absent partitions; what is not believed is said.
func TestNumberOfPartitionsIsBelievedWithinReason(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func(r tree)
		n      int
		from   checkpoint.Source
		says   string
		found  string
	}{
		{"some are absent", func(r tree) { r.recordPartitions(1000) }, 1000, checkpoint.Recorded, "", "partition-missing"},
		{"as many as are believed", func(r tree) { r.recordPartitions(2 + 1<<15) }, 2 + 1<<15, checkpoint.Recorded, "", "partition-missing"},
		{"one more", func(r tree) { r.recordPartitions(3 + 1<<15) }, 2, checkpoint.Inferred, "not believed", ""},
		{"a million", func(r tree) { r.recordPartitions(1_000_000) }, 2, checkpoint.Inferred, "not believed", ""},
		{"a directory far away", func(r tree) { r.put("state/0/1048575/1.delta", r.get("state/0/1/1.delta")) }, 2, checkpoint.Recorded, "1048575", "partition-beyond-count"},
	} {
		r := made(t, counting(t), 1, func(w *statetest.Writer, _ int) { w.Put(0, "default", []any{int64(1)}, []any{int64(1)}) })
		c.damage(r)
		cp := r.open()
		s, err := cp.Store(0, "default")
		require.NoError(t, err)
		n, from := s.Operator().Partitions()
		assert.Equal(t, c.n, n, c.name)
		assert.Equal(t, c.from, from, c.name)
		counts, err := s.Counts(t.Context())
		require.NoError(t, err, c.name)
		assert.Equal(t, c.n, len(counts.Partitions), c.name)
		if notes := strings.Join(cp.Notes(), " "); c.says == "" {
			assert.Empty(t, notes, c.name)
		} else {
			assert.Contains(t, notes, c.says, c.name)
		}
		report, err := cp.Check(t.Context(), checkpoint.DeepCheck)
		require.NoError(t, err)
		assert.Equal(t, c.n, len(report.Map.Stores[0].Partitions), c.name)
		found := map[string]bool{}
		for _, f := range report.Findings {
			found[f.ID] = true
		}
		assert.Equal(t, c.found != "", found[c.found], "%s: %v", c.name, found)
	}
}

// recordPartitions changes the number of partitions that the offset log pins.
func (r tree) recordPartitions(n int) {
	r.t.Helper()
	require.NoError(r.t, statetest.Damage(statetest.Map(r.m, "."), statetest.ChangeConf(0, checkpoint.ConfShufflePartitions, fmt.Sprint(n))))
}

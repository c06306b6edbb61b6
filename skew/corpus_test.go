package skew_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/skew"
	"github.com/sparkstate/sparkstate/statestore"
)

// checkpoints finds the project's fixtures, and larger sets beside the project
// where there are any.
func checkpoints(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"../testdata/[0-9]*/*/checkpoint", "../testdata/[0-9]*/*.zip", "../../shared/corpus/*/*/ckpt"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		if len(found) == 0 {
			t.Logf("nothing at %s: the rest is tested", pattern)
		}
		all = append(all, found...)
	}
	require.NotEmpty(t, all)
	return all
}

// At the present partition count the what-if is the state as Spark wrote it, for
// every operator that places keys strictly, and none of its keys is elsewhere.
func TestWhatIfReproducesSpark(t *testing.T) {
	compared := 0
	for _, path := range checkpoints(t) {
		t.Run(strings.TrimPrefix(path, "../"), func(t *testing.T) {
			cp, err := checkpoint.Open(path)
			require.NoError(t, err)
			defer func() { require.NoError(t, cp.Close()) }()
			if cp.Provider().Format != checkpoint.HDFS {
				t.Skip("RocksDB is not read yet")
			}
			for _, op := range cp.Operators() {
				for _, s := range op.Stores() {
					r, err := skew.Analyze(t.Context(), s, skew.Options{})
					require.NoError(t, err)
					if !s.Placement().Strict || len(r.WhatIf) == 0 {
						continue
					}
					assert.Zero(t, r.Placement.Misplaced, s.Name())
					n, _ := op.Partitions()
					for _, w := range r.WhatIf {
						if w.Partitions == n {
							assert.Equal(t, r.Summary, w.Summary, s.Name())
							compared++
						}
					}
				}
			}
		})
	}
	t.Logf("%d stores reproduced", compared)
}

// Spark's own fixtures of queries that were repartitioned by some columns: keys
// are elsewhere than their hash says, and Spark does not promise otherwise.
func TestRepartitionedFixtures(t *testing.T) {
	found, err := filepath.Glob("../../shared/golden/*-repartition")
	require.NoError(t, err)
	if len(found) == 0 {
		t.Skip("../../shared/golden is not there")
	}
	misplaced := 0
	for _, path := range found {
		if _, err := os.Stat(filepath.Join(path, "state")); err != nil {
			continue
		}
		cp, err := checkpoint.Open(path)
		require.NoError(t, err)
		s, err := cp.Store(0, "default")
		require.NoError(t, err)
		r, err := skew.Analyze(t.Context(), s, skew.Options{})
		if errors.Is(err, statestore.ErrNoSchema) {
			continue
		}
		require.NoError(t, err)
		assert.False(t, r.Placement.Strict)
		if r.Placement.Misplaced > 0 {
			misplaced++
			t.Logf("%s: %d of %d elsewhere, partitioned by %v, %s", filepath.Base(path), r.Placement.Misplaced, r.Placement.Checked, r.Placement.PartitionedBy, r.Verdict)
		}
		require.NoError(t, cp.Close())
	}
	assert.NotZero(t, misplaced)
}

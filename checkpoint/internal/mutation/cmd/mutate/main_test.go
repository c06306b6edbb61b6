package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint/internal/mutation"
)

func TestRun(t *testing.T) {
	const testdata = "../../../../../testdata"
	enough := int64(1) << 40
	require.NoError(t, run(mutation.Config{Seed: 1, N: 3}, -1, testdata, enough, true))
	require.NoError(t, run(mutation.Config{Seed: 1}, 4711, testdata, enough, false))
	assert.Error(t, run(mutation.Config{Seed: 1, N: 3}, -1, t.TempDir(), enough, false))
	if _, ok := peakMemory(); ok {
		assert.ErrorContains(t, run(mutation.Config{Seed: 1, N: 3}, -1, testdata, 1, false), "memory")
	}
}

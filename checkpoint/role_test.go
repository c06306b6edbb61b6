package checkpoint_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
)

const adBilling = "../testdata/4.1.4/ad_billing/checkpoint"

func openFixture(t *testing.T, path string, opts ...checkpoint.OpenOption) *checkpoint.Checkpoint {
	t.Helper()
	cp, err := checkpoint.Open(path, opts...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cp.Close()) })
	return cp
}

// Columns that play a part are found by what Spark records of them.
func TestColumns(t *testing.T) {
	cp := openFixture(t, adBilling)
	windows, err := cp.Store(0, "default")
	require.NoError(t, err)
	// Of a window it is the end that the watermark is compared with.
	assert.Equal(t, []checkpoint.Column{{Role: checkpoint.EventTime, Side: "key", Index: []int{0, 1}, Unit: checkpoint.Microseconds, Expires: true}}, windows.Columns())
	pairs, err := cp.Store(1, "default")
	require.NoError(t, err)
	// No event time in the key: these rows never expire.
	assert.Empty(t, pairs.Columns())
}

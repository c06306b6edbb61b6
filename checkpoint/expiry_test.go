package checkpoint_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The deduplication of the ad-billing query keeps every pair for ever, its
// windows go; and so for every query of its kind.
func TestNeverExpires(t *testing.T) {
	cp := openFixture(t, adBilling)
	for op, never := range []bool{false, true} {
		s, err := cp.Store(op, "default")
		require.NoError(t, err)
		why, cure := s.NeverExpires()
		assert.Equal(t, never, why != "")
		assert.Equal(t, never, cure != "")
	}
	why, cure := func() (string, string) { s, _ := cp.Store(1, "default"); return s.NeverExpires() }()
	assert.Contains(t, why, "dropDuplicates keeps every key for ever")
	assert.Contains(t, cure, "dropDuplicatesWithinWatermark")
}

func TestNeverExpiresByCase(t *testing.T) {
	const corpus = "../../shared/corpus/4.1.4"
	found, err := filepath.Glob(corpus + "/*/ckpt")
	require.NoError(t, err)
	if len(found) == 0 {
		t.Skip(corpus + " is not there")
	}
	for name, never := range map[string]bool{
		"ad_billing_agg": false, "agg_v2": false /* no watermark */, "dedupe_plain": false, "dedupe_within_watermark": false,
		"session_window": false, "sliding_window": false, "join_inner": false, "agg_global": false, "stream_limit": false, "pandas_with_state": false,
	} {
		cp := openFixture(t, filepath.Join(corpus, name, "ckpt"))
		for _, op := range cp.Operators() {
			for _, s := range op.Stores() {
				why, _ := s.NeverExpires()
				assert.Equal(t, never, why != "", "%s/%s: %s", name, s.Name(), why)
			}
		}
	}
}

package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSize(t *testing.T) {
	for text, want := range map[string]string{
		"1": "1", "1000000": "1000000", "1024": "1K", "512K": "512K", "64MB": "64M", "64 mb": "64M",
		"1.5GiB": "1536M", "2g": "2G", "1T": "1T", "3B": "3",
	} {
		var s size
		require.NoError(t, s.Set(text), text)
		require.Equal(t, want, s.String(), text)
	}
	for _, text := range []string{"", "0", "-1", "M", "1X", "1 000", "NaN", "Inf", "1e30", "9999999T"} {
		var s size
		require.Error(t, s.Set(text), text)
	}
}

// A state without a snapshot does not fit a small budget; the message says what
// can be done, and that no file is at fault.
func TestMemoryFlag(t *testing.T) {
	code, out, errs := sparkstate("read", adBilling, "--operator", "dedupe", "--batch", "0", "--memory", "1K")
	require.Equal(t, exitInput, code)
	require.Empty(t, out)
	require.Contains(t, errs, "the budget is 1024")
	require.Contains(t, errs, "--memory")
	code, _, errs = sparkstate("export", adBilling, "--operator", "dedupe", "--batch", "0", "--memory", "1K", "-o", t.TempDir())
	require.Equal(t, exitInput, code)
	require.Contains(t, errs, "the budget is 1024")
	code, _, errs = sparkstate("metadata", adBilling, "--memory", "64M", "--reads", "2")
	require.Equal(t, exitOK, code, errs)
}

package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestLimits(t *testing.T) {
	for _, verb := range []string{"info", "metadata", "check"} {
		code, _, errs := sparkstate(verb, adBilling, "--limits", "rowBytes=1000000,findings=1")
		assert.Zero(t, code, errs)
		for _, bad := range []string{"rows=1", "rowBytes=0", "rowBytes=many"} {
			code, _, errs = sparkstate(verb, adBilling, "--limits", bad)
			assert.Equal(t, exitUsage, code, errs)
		}
		code, _, errs = sparkstate(verb, adBilling, "--limits", "directoryEntries=1")
		assert.Equal(t, exitInput, code)
		assert.Contains(t, errs, "more than 1 entries in one directory")
	}
	code, _, errs := sparkstate("read", adBilling, "--operator", "1", "--limits", "rowBytes=10")
	assert.Equal(t, exitInput, code)
	assert.NotContains(t, errs, "\n\n")
}

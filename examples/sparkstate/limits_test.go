package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestLimits(t *testing.T) {
	_, help, _ := sparkstate("info", "--help")
	assert.Regexp(t, `--limits NAME=N +other limits .*\)\n`, help)
	assert.NotContains(t, help, "(default [])")
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
		assert.Contains(t, errs, "--limits allows more", verb)
	}
	// Verbs that say what could not be read, and go on.
	report := filepath.Join(t.TempDir(), "report.html")
	for _, args := range [][]string{{"report", adBilling, "-o", report}, {"metrics", adBilling}} {
		code, _, errs := sparkstate(append(args, "--limits", "rowBytes=0")...)
		assert.Equal(t, exitUsage, code, errs)
		_, out, errs := sparkstate(append(args, "--limits", "rowBytes=10")...)
		page, _ := os.ReadFile(report)
		assert.Contains(t, out+errs+string(page), "a key of 64 bytes", args[0])
	}
	code, _, errs := sparkstate("read", adBilling, "--operator", "1", "--limits", "rowBytes=10")
	assert.Equal(t, exitInput, code)
	assert.NotContains(t, errs, "\n\n")
	assert.Contains(t, errs, "copy the file again")
	assert.Contains(t, errs, "--limits allows more")
}

package main

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A run that is told to stop says so, with a code of its own: a script that
// looks for damage is not to take it for that.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("interrupt signal received"))
	dir := t.TempDir()
	for _, args := range [][]string{
		{"metadata", adBilling},
		{"read", adBilling, "--operator", "1"},
		{"changes", adBilling, "--operator", "1"},
		{"diff", adBilling, "--operator", "1", "--from", "5"},
		{"skew", adBilling},
		{"skew", adBilling, "--trend"},
		{"check", adBilling},
		{"metrics", adBilling},
		{"export", adBilling, "-o", filepath.Join(dir, "out")},
		{"export", adBilling, "--operator", "1", "-o", "-"},
		{"report", adBilling, "-o", filepath.Join(dir, "report.html")},
	} {
		var out, errs bytes.Buffer
		assert.Equal(t, exitInterrupted, run(ctx, args, &out, &errs), "%v", args)
		assert.Equal(t, "sparkstate: interrupted\n", errs.String(), "%v", args)
	}
}

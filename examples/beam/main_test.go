package main

import (
	"bufio"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"
	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) { ptest.Main(m) }

// count returns the number of lines of a file.
func count(t *testing.T, name string) (n int) {
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); n++ {
		require.True(t, s.Text()[0] == '{')
	}
	return n
}

// TestRun: the files of one run over two checkpoints.
func TestRun(t *testing.T) {
	top, err := filepath.Abs("../../testdata")
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, run(t.Context(), config{
		checkpoints: []string{filepath.Join(top, "4.1.4/ad_billing/checkpoint"), filepath.Join(top, "4.1.4/session_window.zip")},
		batch:       -1, measure: "rows", counts: filepath.Join(dir, "counts"), skew: filepath.Join(dir, "skew"), export: filepath.Join(dir, "export"),
	}))
	require.Equal(t, 4+4+2, count(t, filepath.Join(dir, "counts")))
	require.Equal(t, 3, count(t, filepath.Join(dir, "skew")))
	files, err := filepath.Glob(filepath.Join(dir, "export/*/*/*/*/part-*.parquet"))
	require.NoError(t, err)
	require.Len(t, files, 4+4+2)
}

func TestUsage(t *testing.T) {
	for _, c := range []config{
		{batch: -1, counts: "x"}, {checkpoints: []string{"x"}, batch: -1}, {checkpoints: []string{"x"}, batch: -2, counts: "x"},
	} {
		require.Error(t, run(t.Context(), c))
	}
}

package main

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// fixture is the URL of a directory, which is a bucket too.
func fixture(t *testing.T) string {
	dir, err := filepath.Abs("../../testdata/4.1.4/ad_billing/checkpoint")
	require.NoError(t, err)
	return "file://" + dir
}

func TestCounts(t *testing.T) {
	var out, errw bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"-reads", "8", "counts", fixture(t)}, &out, &errw))
	require.Equal(t, `operator stateStoreSave_0, store "default" after batch 6
  partition  keys  rows  key bytes  value bytes  files
          0    10    10        640          160      9
          1    10    10        640          160      9
          2     5     5        320           80      9
          3    14    14        896          224      9
operator dedupe_1, store "default" after batch 6
  partition  keys  rows  key bytes  value bytes  files
          0   170   170       9520         2720      9
          1   188   188      10528         3008      9
          2   195   195      10920         3120      9
          3   161   161       9016         2576      9
`, out.String())
	require.Empty(t, errw.String())
}

func TestSkew(t *testing.T) {
	var out, errw bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"-batch", "5", "skew", fixture(t)}, &out, &errw))
	require.Contains(t, out.String(), "operator dedupe_1, store \"default\" after batch 5\n  714 rows in 4 partitions, max/median 1.09, fullest 2\n  verdict: even (info), skew rate 0.0105\n")
	require.Empty(t, errw.String())
}

func TestErrors(t *testing.T) {
	for _, args := range [][]string{
		nil, {"counts"}, {"count", fixture(t)}, {"counts", fixture(t), "more"}, {"-none"},
		{"counts", "nowhere"}, {"counts", "ftp://host/dir"}, {"counts", fixture(t) + "/none"},
		{"counts", fixture(t) + "/commits"}, {"-batch", "77", "skew", fixture(t)},
	} {
		var out, errw bytes.Buffer
		require.Error(t, run(t.Context(), args, &out, &errw), args)
		require.Empty(t, out.String())
	}
	require.NoError(t, run(t.Context(), []string{"-h"}, new(bytes.Buffer), new(bytes.Buffer)))
}

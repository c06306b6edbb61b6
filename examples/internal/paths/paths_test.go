package paths

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWithin(t *testing.T) {
	dir := t.TempDir()
	ck := filepath.Join(dir, "ck")
	require.NoError(t, os.MkdirAll(filepath.Join(ck, "state"), 0o700))
	require.NoError(t, os.Symlink(filepath.Join(ck, "state"), filepath.Join(dir, "in")))
	require.NoError(t, os.Symlink(dir, filepath.Join(ck, "out")))
	require.NoError(t, os.Symlink(filepath.Join(dir, "none"), filepath.Join(dir, "nowhere")))
	for name, want := range map[string]bool{
		"ck": true, "ck/new/er": true, "ck/state": true, "in/new": true, "ck/../ck/x": true,
		".": false, "ck2": false, "new/ck": false, "ck/out/x": false,
	} {
		got, err := Within(filepath.Join(dir, filepath.FromSlash(name)), ck)
		require.NoError(t, err, name)
		require.Equal(t, want, got, name)
	}
	_, err := Within(filepath.Join(dir, "nowhere", "x"), ck)
	require.ErrorContains(t, err, "link to nowhere")
	for _, gone := range []string{"none", "ck/none"} {
		got, err := Within(ck, filepath.Join(dir, gone))
		require.NoError(t, err)
		require.False(t, got)
	}
}

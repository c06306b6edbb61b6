package checkpoint_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
)

// FS leads to the files, however the checkpoint was named.
func TestFS(t *testing.T) {
	around := filepath.Dir(adBilling)
	part := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(part, "1"), os.DirFS(filepath.Join(adBilling, "state", "1"))))
	for _, c := range []struct{ open, root, file string }{
		{adBilling, ".", "offsets/6"},
		{around, "checkpoint", "offsets/6"},
		{filepath.Join(adBilling, "state", "1", "2"), ".", "offsets/6"},
		{filepath.Join(part, "1"), ".", "2/7.delta"},
		{"../testdata/4.1.4/codec_lz4.zip", "", "commits/0"},
	} {
		cp, err := checkpoint.Open(c.open)
		require.NoError(t, err, c.open)
		fsys, root := cp.FS()
		if c.root != "" {
			assert.Equal(t, c.root, root, c.open)
		}
		st, err := fs.Stat(fsys, path.Join(root, c.file))
		if assert.NoError(t, err, c.open) {
			assert.Positive(t, st.Size())
		}
		require.NoError(t, cp.Close())
	}
}

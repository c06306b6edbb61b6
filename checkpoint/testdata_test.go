package checkpoint_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every file of the fixtures has survived the clone, hidden ones included, byte
// for byte.
func TestFixturesAreWhole(t *testing.T) {
	fsys := os.DirFS("../testdata")
	manifest, err := fs.ReadFile(fsys, "MANIFEST.sha256")
	require.NoError(t, err)
	want := map[string]string{}
	for line := range strings.Lines(string(manifest)) {
		sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		require.True(t, ok, line)
		want[strings.TrimPrefix(name, "./")] = sum
	}
	hidden, total := 0, int64(0)
	require.NoError(t, fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		total += int64(len(b))
		if strings.HasPrefix(name, "generate/") || name == "README.md" || name == "MANIFEST.sha256" {
			return nil
		}
		sum, ok := want[name]
		if assert.True(t, ok, "%s is not in the manifest", name) {
			assert.Equal(t, sum, fmt.Sprintf("%x", sha256.Sum256(b)), name)
		}
		delete(want, name)
		if strings.HasPrefix(d.Name(), ".") {
			hidden++
		}
		return nil
	}))
	assert.Empty(t, want, "missing files")
	assert.Greater(t, hidden, 100)
	assert.Less(t, total, int64(3_000_000), "the fixtures grow too large")
}

package codec

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sharedFiles returns the delta and snapshot files below one folder of the
// collection of real checkpoints that lies beside the module, where there is
// one. It skips the test where there is none.
func sharedFiles(t *testing.T, folder string) []string {
	t.Helper()
	root := filepath.Join("..", "..", "..", "shared", folder)
	if _, err := os.Stat(root); err != nil {
		t.Skipf("no collection of real checkpoints in ../shared/%s", folder)
	}
	var files []string
	require.NoError(t, filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		name := filepath.Base(path)
		if err == nil && !strings.HasPrefix(name, ".") && e.Type().IsRegular() &&
			(filepath.Ext(name) == ".delta" || filepath.Ext(name) == ".snapshot") {
			files = append(files, path)
		}
		return err
	}))
	require.NotEmpty(t, files)
	return files
}

// TestRealFiles decodes what Spark wrote: every file ends properly, its body
// ends with the end mark, and the Writer writes the like.
func TestRealFiles(t *testing.T) {
	for _, folder := range []string{"corpus", "golden"} {
		t.Run(folder, func(t *testing.T) {
			counts := map[Codec]int{}
			for _, path := range sharedFiles(t, folder) {
				file, err := os.ReadFile(path)
				require.NoError(t, err)
				body, err := decode(file)
				require.NoError(t, err, path)
				require.GreaterOrEqual(t, len(body), len(endMark), path)
				require.Equal(t, endMark, string(body[len(body)-len(endMark):]), path)
				c := Sniff(file, int64(len(file)))
				counts[c]++

				// The writer makes of the same body a file that reads back, and
				// for LZ4 the very file.
				written := encode(t, c, 0, body)
				again, err := decode(written)
				require.NoError(t, err, path)
				sameBytes(t, body, again)
				if c == LZ4 {
					sameBytes(t, file, written)
				}
			}
			t.Log(counts)
		})
	}
}

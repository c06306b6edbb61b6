package hdfs_test

import (
	"context"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/statestore/hdfs"
	"github.com/sparkstate/sparkstate/statestore/provider"
)

// trees are the directories under which real checkpoints are looked for: the
// project's own, and larger sets that may lie beside it.
func trees(t *testing.T) []string {
	t.Helper()
	dirs := []string{filepath.Join("..", "..", "testdata")}
	for _, d := range []string{"corpus", "golden"} {
		d = filepath.Join("..", "..", "..", "shared", d)
		if _, err := os.Stat(d); err != nil {
			t.Logf("%s is not there: only testdata is tested", d)
			continue
		}
		dirs = append(dirs, d)
	}
	return dirs
}

// partitions calls fn with every directory that holds delta or snapshot files.
func partitions(t *testing.T, fn func(t *testing.T, fsys fs.FS, dir string)) {
	n := 0
	for _, tree := range trees(t) {
		fsys := os.DirFS(tree)
		require.NoError(t, fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return err
			}
			entries, err := fs.ReadDir(fsys, p)
			if err != nil {
				return err
			}
			if slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
				k, _ := hdfs.ParseName(e.Name())
				return k == provider.DeltaFile || k == provider.SnapshotFile
			}) {
				n++
				t.Run(path.Join(filepath.Base(tree), p), func(t *testing.T) { fn(t, fsys, p) })
			}
			return nil
		}))
	}
	require.NotZero(t, n)
}

type state map[string]string

func load(t *testing.T, p *hdfs.Partition, v int64, o provider.LoadOptions) state {
	t.Helper()
	s := state{}
	for e, err := range provider.Rows(p.Batches(context.Background(), provider.Version{Number: v}, o)) {
		require.NoError(t, err)
		_, twice := s[string(e.Key)]
		require.False(t, twice, "a key came twice")
		s[string(e.Key)] = string(e.Value)
	}
	return s
}

// Every version of every partition equals the changes applied one after the
// other, wherever a snapshot lies in between. So snapshots equal the deltas
// that they replace, and reading the deltas newest first gives what reading
// them oldest first does.
func TestEveryVersionEqualsItsHistory(t *testing.T) {
	partitions(t, func(t *testing.T, fsys fs.FS, dir string) {
		cfg := hdfs.Config{RowChecksum: strings.Contains(dir, "row_checksum")}
		cfg.Warn = func(err error) { t.Errorf("warning: %v", err) }
		p, err := hdfs.Open(fsys, dir, cfg)
		require.NoError(t, err)
		var history state
		last := int64(-1)
		for _, v := range p.Versions() {
			got := load(t, p, v, provider.LoadOptions{})
			switch {
			case history == nil && v == 1:
				history = state{}
			case history == nil || v != last+1:
				history, last = got, v // a snapshot starts the chain
				continue
			}
			last = v
			missing := false
			for c, err := range provider.Rows(p.Changes(context.Background(), provider.Version{Number: v})) {
				if err != nil {
					require.ErrorIs(t, err, provider.ErrMissing) // only a snapshot is left of this version
					missing = true
					break
				}
				if c.Type == provider.Delete {
					delete(history, string(c.Key))
				} else {
					history[string(c.Key)] = string(c.Value)
				}
			}
			if missing {
				history = got
			}
			require.Equal(t, history, got, "version %d", v)
		}
	})
}

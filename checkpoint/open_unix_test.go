//go:build unix

package checkpoint_test

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore"
)

// A FIFO in place of a directory or file is an error, and nothing waits for
// its other end.
func TestFIFOs(t *testing.T) {
	for _, name := range []string{".", "offsets", "commits", "state", "state/0", "state/0/_metadata", "state/0/_metadata/metadata", "state/0/0", "state/0/0/7.delta",
		"state/0/0/_metadata/schema", "offsets/6", "commits/6", "metadata", "sources", "sources/0", "sources/0/5", "offsets/.6.crc",
		"state/0/0/6.snapshot", "state/0/0/7.delta.crc", "state/0/0/.7.delta.crc", "state/0/0/8.delta", "state/0/0/.8.delta.u.TID1.tmp", "state/0/9"} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "ck")
			require.NoError(t, os.CopyFS(dir, os.DirFS(adBilling)))
			full := filepath.Join(dir, name)
			require.NoError(t, os.RemoveAll(full))
			require.NoError(t, syscall.Mkfifo(full, 0o600))
			done := make(chan struct{})
			go func() {
				defer close(done)
				cp, err := checkpoint.Open(dir)
				if err != nil {
					return
				}
				defer cp.Close()
				if _, err := cp.ID(); err != nil {
					assert.Equal(t, "metadata", name)
				}
				for _, op := range cp.Operators() {
					for _, s := range op.Stores() {
						_, _ = s.Counts(context.Background())
						loss := &checkpoint.Loss{}
						for range s.Salvage(context.Background(), 0, loss) {
						}
					}
				}
				_, err = cp.Check(context.Background(), checkpoint.DefaultCheck)
				assert.NoError(t, err)
				if logs, err := cp.SourceLogs(); err == nil {
					for _, l := range logs {
						for range l.Files(context.Background()) {
						}
					}
				}
			}()
			select {
			case <-done:
			case <-time.After(20 * time.Second):
				t.Fatal("it waits")
			}
		})
	}
}

// Links within the checkpoint are followed, those that lead out are not.
func TestLinks(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ck")
	require.NoError(t, os.CopyFS(dir, os.DirFS(adBilling)))
	delta := filepath.Join(dir, "state/1/0/7.delta")
	moved := filepath.Join(dir, "moved")
	require.NoError(t, os.Rename(delta, moved))
	require.NoError(t, os.Symlink("../../../moved", delta))
	count := func() error {
		cp, err := checkpoint.Open(dir)
		require.NoError(t, err)
		defer cp.Close()
		s, err := cp.Store(1, "default")
		require.NoError(t, err)
		_, err = s.Counts(context.Background())
		return err
	}
	require.NoError(t, count())
	outside := filepath.Join(t.TempDir(), "outside")
	check := func() []checkpoint.Finding {
		cp, err := checkpoint.Open(dir)
		require.NoError(t, err)
		defer cp.Close()
		report, err := cp.Check(context.Background(), checkpoint.DefaultCheck)
		require.NoError(t, err)
		return report.Findings
	}
	assert.Empty(t, check())
	require.NoError(t, os.Rename(moved, outside))
	require.NoError(t, os.Remove(delta))
	require.NoError(t, os.Symlink(outside, delta))
	err := count()
	require.ErrorIs(t, err, statestore.ErrUnsupported)
	assert.ErrorContains(t, err, "a link that leads out of the checkpoint is not followed")
	f := check()
	require.Len(t, f, 1)
	assert.Equal(t, "file-corrupt", f[0].ID)
	assert.Equal(t, checkpoint.Critical, f[0].Severity)
	assert.Contains(t, f[0].What, "leads out")

	// A device is reached by a link only.
	require.NoError(t, os.Remove(delta))
	require.NoError(t, os.Symlink("/dev/zero", delta))
	assert.ErrorIs(t, count(), statestore.ErrUnsupported)
	require.NoError(t, os.Remove(filepath.Join(dir, "state/0/0/7.delta")))
	require.NoError(t, os.Symlink("7.delta", filepath.Join(dir, "state/0/0/7.delta"))) // to itself
	assert.NotEmpty(t, check())
}

package provider_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/statestore/provider"
)

// rootFS is an os.Root that counts how often it is asked what a name is.
type rootFS struct {
	fs.FS
	asked map[string]int
}

func (rootFS) NamesOnly() {}

func (r rootFS) Lstat(name string) (fs.FileInfo, error) {
	r.asked[name]++
	return r.FS.(fs.ReadLinkFS).Lstat(name)
}

func (r rootFS) ReadLink(name string) (string, error) { return r.FS.(fs.ReadLinkFS).ReadLink(name) }

// TestUntyped: only the entries that are asked cost a call.
func TestUntyped(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "below"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "below", "file"), []byte("four"), 0o644))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "below", "directory"), 0o755))
	require.NoError(t, os.Symlink("file", filepath.Join(dir, "below", "link")))
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()
	r := rootFS{root.FS(), map[string]int{}}
	entries := map[string]fs.DirEntry{}
	require.NoError(t, provider.EachEntry(r, "below", 0, func(e fs.DirEntry) bool {
		require.True(t, provider.Untyped(e))
		entries[e.Name()] = e
		return true
	}))
	require.Len(t, entries, 3)
	require.Empty(t, r.asked)
	require.True(t, entries["directory"].IsDir())
	require.False(t, entries["file"].IsDir())
	require.True(t, entries["file"].Type().IsRegular())
	require.Equal(t, fs.ModeSymlink, entries["link"].Type())
	info, err := entries["file"].Info()
	require.NoError(t, err)
	require.EqualValues(t, 4, info.Size())
	require.Equal(t, map[string]int{"below/directory": 1, "below/file": 1, "below/link": 1}, r.asked)

	// One that has gone since is no file of any kind.
	require.NoError(t, provider.EachEntry(r, "below", 0, func(e fs.DirEntry) bool {
		entries[e.Name()] = e
		return true
	}))
	require.NoError(t, os.Remove(filepath.Join(dir, "below", "file")))
	require.False(t, entries["file"].Type().IsRegular())
	require.False(t, entries["file"].IsDir())

	// Where types come with the names, they are taken.
	require.NoError(t, provider.EachEntry(os.DirFS(dir), "below", 0, func(e fs.DirEntry) bool {
		require.False(t, provider.Untyped(e))
		return true
	}))
}

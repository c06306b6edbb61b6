package bucketfs_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/blob/memblob"

	"github.com/sparkstate/sparkstate/examples/cloud/bucketfs"
)

const fixture = "../../../testdata/4.1.4/ad_billing/checkpoint"

// memory returns a bucket in memory with these objects.
func memory(t testing.TB, objects map[string]string) *blob.Bucket {
	b := memblob.OpenBucket(nil)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	for key, text := range objects {
		require.NoError(t, b.WriteAll(t.Context(), key, []byte(text), nil))
	}
	return b
}

// upload copies a tree into a bucket in memory, below a directory.
func upload(t testing.TB, tree fs.FS, below string) *blob.Bucket {
	b := memory(t, nil)
	require.NoError(t, fs.WalkDir(tree, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		return b.WriteAll(t.Context(), path.Join(below, name), data, nil)
	}))
	return b
}

// files opens the bucket that a directory is.
func files(t testing.TB, dir string) *blob.Bucket {
	abs, err := filepath.Abs(dir)
	require.NoError(t, err)
	b, err := fileblob.OpenBucket(abs, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

// TestFS: it behaves as a file system has to, by the standard library's test.
func TestFS(t *testing.T) {
	want := []string{"metadata", "offsets/0", "commits/6", "state/1/_metadata/metadata", "state/0/3/7.delta"}
	for name, b := range map[string]*blob.Bucket{
		"memory": upload(t, os.DirFS(fixture), ""),
		"files":  files(t, fixture),
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, fstest.TestFS(bucketfs.New(t.Context(), b), want...))
		})
	}
	require.NoError(t, fstest.TestFS(bucketfs.New(t.Context(), memory(t, nil))))
}

// TestNames: what no path can name is not there, and takes nothing else with
// it; an object is one even where other keys begin with its name.
func TestNames(t *testing.T) {
	fsys := bucketfs.New(t.Context(), memory(t, map[string]string{
		"a":       "object",
		"a/b":     "hidden by a",
		"d/":      "", // what some programs leave to mark a directory
		"d//x":    "",
		"d/../x":  "",
		"d/./x":   "",
		"d/k/v":   "deep",
		"d/k-1":   "by key before d/k/, by name after it",
		"d/k.txt": "so too",
		"empty/":  "",
		"/x":      "",
	}))
	entries, err := fs.ReadDir(fsys, ".")
	require.NoError(t, err)
	require.Equal(t, "[- a d d/ d empty/]", fmt.Sprint(entries))
	entries, err = fs.ReadDir(fsys, "d")
	require.NoError(t, err)
	require.Equal(t, "[d k/ - k-1 - k.txt]", fmt.Sprint(entries))
	entries, err = fs.ReadDir(fsys, "empty")
	require.NoError(t, err)
	require.Empty(t, entries)
	data, err := fs.ReadFile(fsys, "a")
	require.NoError(t, err)
	require.Equal(t, "object", string(data))
	st, err := fs.Stat(fsys, "d/k")
	require.NoError(t, err)
	require.True(t, st.IsDir())

	for _, name := range []string{"none", "d/none", "d/k/v/none", "d/k/"} {
		for _, call := range []func() error{
			func() error { _, err := fs.Stat(fsys, name); return err },
			func() error { _, err := fsys.Open(name); return err },
			func() error { _, err := fs.ReadDir(fsys, name); return err },
		} {
			err := call()
			want := fs.ErrNotExist
			if !fs.ValidPath(name) {
				want = fs.ErrInvalid
			}
			require.ErrorIs(t, err, want, name)
			var pe *fs.PathError
			require.ErrorAs(t, err, &pe)
			require.Equal(t, name, pe.Path)
		}
	}
}

// TestPages: a directory of more entries than one request lists.
func TestPages(t *testing.T) {
	objects := map[string]string{}
	for i := range 2345 {
		objects[fmt.Sprintf("state/%d/1.delta", i)] = "x"
	}
	c := &calls{Bucket: memory(t, objects)}
	fsys := bucketfs.New(t.Context(), c)
	entries, err := fs.ReadDir(fsys, "state")
	require.NoError(t, err)
	require.Len(t, entries, 2345)
	require.EqualValues(t, 3, c.lists.Load())

	// In pieces, as one who opens the directory may read it.
	f, err := fsys.Open("state")
	require.NoError(t, err)
	n := 0
	for {
		some, err := f.(fs.ReadDirFile).ReadDir(100)
		n += len(some)
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
	}
	require.Equal(t, 2345, n)
	require.NoError(t, f.Close())
	// All of them are known to be directories now.
	c.reset()
	for _, e := range entries {
		st, err := fs.Stat(fsys, "state/"+e.Name())
		require.NoError(t, err)
		require.True(t, st.IsDir())
	}
	require.Equal(t, [3]int64{}, c.all())
}

// TestCancelled: requests end with the context.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	fsys := bucketfs.New(ctx, upload(t, os.DirFS(fixture), ""))
	f, err := fsys.Open("metadata")
	require.NoError(t, err)
	defer f.Close()
	cancel()
	_, err = fs.ReadDir(fsys, "state")
	require.ErrorIs(t, err, context.Canceled)
	_, err = fs.ReadFile(fsys, "metadata")
	require.ErrorIs(t, err, context.Canceled)
}

// TestOpenURL: the bucket, and the directory in it.
func TestOpenURL(t *testing.T) {
	abs, err := filepath.Abs(fixture)
	require.NoError(t, err)
	for text, root := range map[string]string{
		"mem://":                 ".",
		"mem://lake/":            ".",
		"mem://lake/jobs//a/":    "jobs/a",
		"mem://lake/a%20b/c":     "a b/c",
		"file://" + abs:          ".",
		"file://" + abs + "?x=1": "",
		"s4://lake/a":            "",
		"/mnt/lake":              "",
		"mem://lake/../../b":     "../../b", // which OpenFS refuses
	} {
		b, got, err := bucketfs.Open(t.Context(), text)
		if root == "" {
			require.Error(t, err, text)
			continue
		}
		require.NoError(t, err, text)
		require.Equal(t, root, got, text)
		require.NoError(t, b.Close())
	}
	for _, text := range []string{"mem://user:secret@lake/a", "mem://lake/%secret"} {
		_, _, err = bucketfs.Open(t.Context(), text)
		require.Error(t, err)
		require.NotContains(t, err.Error(), "secret")
	}
}

var errBroken = errors.New("connection reset")

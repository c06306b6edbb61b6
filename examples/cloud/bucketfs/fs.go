// Package bucketfs shows a bucket of a cloud as a file system, so that what
// reads an fs.FS can read a bucket:
//
//	b, err := blob.OpenBucket(ctx, "s3://lake?region=eu-central-1")
//	…
//	cp, err := checkpoint.OpenFS(bucketfs.New(ctx, b), "jobs/billing/checkpoint")
//
// A [blob.Bucket] of gocloud.dev is an fs.FS too, but its files are not regular
// ones, which checkpoint refuses to open, and it asks the service more than once
// for each of them. Here every request counts, since a request takes tens of
// milliseconds and costs money:
//
//   - a directory is one listing by prefix and delimiter, in pages of 1,000, and
//     the sizes that a listing has are not asked for again;
//   - a file is one request, however large: its size comes with its first bytes;
//   - what is only looked at ([FS.Stat]) is not downloaded.
//
// A body is read from the service as the file is read, so memory does not grow
// with files. Nothing is ever written.
package bucketfs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

// Bucket is what is asked of a bucket; a *blob.Bucket has it.
type Bucket interface {
	// Attributes returns size and time of an object.
	Attributes(ctx context.Context, key string) (*blob.Attributes, error)
	// ListPage lists keys, some at a time.
	ListPage(ctx context.Context, token []byte, size int, opts *blob.ListOptions) ([]*blob.ListObject, []byte, error)
	// NewRangeReader reads an object from an offset; a negative length is all
	// the rest.
	NewRangeReader(ctx context.Context, key string, offset, length int64, opts *blob.ReaderOptions) (*blob.Reader, error)
}

const (
	// pageSize is how many keys a request lists: as many as S3 gives at most.
	pageSize = 1000
	// maxEntries bounds a directory, in entries. Of a partition of a state
	// store, which has some dozens, or of logs it is far away; a bucket has no
	// bound.
	maxEntries = 1 << 20
	// maxDirs bounds how many directories are remembered.
	maxDirs = 1 << 16
)

// ErrTooLarge is returned for a directory of more than 1,048,576 entries.
var ErrTooLarge = errors.New("too many entries for a directory")

// FS is a bucket as a file system: what is between slashes in a key is a
// directory. It implements [fs.StatFS] and [fs.ReadDirFS], and its files
// [io.ReaderAt]. Its methods may be used from several goroutines.
//
// A key that is no path ([fs.ValidPath]), such as a//b or ../c, cannot be seen.
// Where a key is both an object and the beginning of others, as a and a/b, a is
// the object.
type FS struct {
	ctx    context.Context
	bucket Bucket

	mu sync.Mutex
	// dirs are directories that a listing has shown. A bucket has none to ask
	// about, so that asking takes two requests where this takes none.
	dirs map[string]bool
}

// New returns the bucket as a file system. All requests are made under ctx,
// since the methods of an fs.FS take none. The bucket stays the caller's to
// close.
func New(ctx context.Context, b Bucket) *FS {
	return &FS{ctx: ctx, bucket: b, dirs: map[string]bool{".": true}}
}

// pathError is err as one of a file system, for errors.Is.
func pathError(op, name string, err error) error {
	switch gcerrors.Code(err) {
	case gcerrors.NotFound:
		err = fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	case gcerrors.PermissionDenied:
		err = fmt.Errorf("%w: %w", fs.ErrPermission, err)
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// Stat implements [fs.StatFS]. A directory that has been listed as an entry of
// another one takes no request, a file one, any other directory two.
func (f *FS) Stat(name string) (fs.FileInfo, error) {
	if !fs.ValidPath(name) {
		return nil, pathError("stat", name, fs.ErrInvalid)
	}
	if f.isDir(name) {
		return dirInfo(name), nil
	}
	a, err := f.bucket.Attributes(f.ctx, name)
	if err == nil {
		return &info{name: path.Base(name), size: a.Size, time: a.ModTime}, nil
	}
	if gcerrors.Code(err) != gcerrors.NotFound {
		return nil, pathError("stat", name, err)
	}
	if err := f.findDir(name, err); err != nil {
		return nil, pathError("stat", name, err)
	}
	return dirInfo(name), nil
}

// Open implements [fs.FS]. It asks for the file, but only what is read is
// transferred.
func (f *FS) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, pathError("open", name, fs.ErrInvalid)
	}
	if f.isDir(name) {
		return &dir{fsys: f, name: name}, nil
	}
	r, err := f.bucket.NewRangeReader(f.ctx, name, 0, -1, nil)
	if err == nil {
		return &file{fsys: f, name: name, body: r, info: info{name: path.Base(name), size: r.Size(), time: r.ModTime()}}, nil
	}
	if gcerrors.Code(err) != gcerrors.NotFound {
		return nil, pathError("open", name, err)
	}
	if err := f.findDir(name, err); err != nil {
		return nil, pathError("open", name, err)
	}
	return &dir{fsys: f, name: name}, nil
}

// ReadDir implements [fs.ReadDirFS].
func (f *FS) ReadDir(name string) ([]fs.DirEntry, error) {
	if !fs.ValidPath(name) {
		return nil, pathError("readdir", name, fs.ErrInvalid)
	}
	entries, found, err := f.list(name)
	if err != nil {
		return nil, pathError("readdir", name, err)
	}
	if !found && name != "." {
		return nil, pathError("readdir", name, fs.ErrNotExist)
	}
	return entries, nil
}

// list lists a directory, sorted by name; found says whether there is any key
// below it.
func (f *FS) list(name string) (entries []fs.DirEntry, found bool, err error) {
	opts := &blob.ListOptions{Prefix: prefix(name), Delimiter: "/"}
	for token := blob.FirstPageToken; len(token) > 0; {
		if err := f.ctx.Err(); err != nil {
			return nil, false, err
		}
		var page []*blob.ListObject
		if page, token, err = f.bucket.ListPage(f.ctx, token, pageSize, opts); err != nil {
			return nil, false, err
		}
		for _, o := range page {
			found = true
			if e := entryOf(o, opts.Prefix); e != nil {
				entries = append(entries, e)
			}
		}
		if len(entries) > maxEntries {
			return nil, false, fmt.Errorf("%w: more than %d", ErrTooLarge, maxEntries)
		}
	}
	// By key a-b comes before a/c, by name after it. A file comes before a
	// directory of its name, which is dropped.
	slices.SortFunc(entries, func(a, b fs.DirEntry) int {
		return cmp.Or(strings.Compare(a.Name(), b.Name()), cmp.Compare(a.Type(), b.Type()))
	})
	entries = slices.CompactFunc(entries, func(a, b fs.DirEntry) bool { return a.Name() == b.Name() })
	f.remember(name, entries)
	return entries, found, nil
}

// entryOf returns the entry that a listed object is; nil for one that has no
// name: the mark that some programs leave of a directory, or a key that is no
// path.
func entryOf(o *blob.ListObject, prefix string) *info {
	name, ok := strings.CutPrefix(o.Key, prefix)
	if !ok {
		return nil
	}
	if o.IsDir {
		name = strings.TrimSuffix(name, "/")
	}
	if name == "." || !fs.ValidPath(name) || strings.Contains(name, "/") {
		return nil
	}
	return &info{name: name, size: o.Size, time: o.ModTime, dir: o.IsDir}
}

// findDir says whether any key is below a name; missing is the error if not.
func (f *FS) findDir(name string, missing error) error {
	page, _, err := f.bucket.ListPage(f.ctx, blob.FirstPageToken, 1, &blob.ListOptions{Prefix: prefix(name)})
	switch {
	case err != nil:
		return err
	case len(page) == 0:
		return missing
	}
	f.remember(path.Dir(name), []fs.DirEntry{dirInfo(name)})
	return nil
}

// prefix returns what the keys in a directory begin with.
func prefix(dir string) string {
	if dir == "." {
		return ""
	}
	return dir + "/"
}

func (f *FS) isDir(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dirs[name]
}

// remember remembers which entries of a directory are directories.
func (f *FS) remember(name string, entries []fs.DirEntry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		if len(f.dirs) >= maxDirs {
			f.dirs = map[string]bool{".": true}
		}
		f.dirs[path.Join(name, e.Name())] = true
	}
}

// info describes a file or a directory, as both its FileInfo and its DirEntry.
type info struct {
	name string
	size int64
	time time.Time
	dir  bool
}

func dirInfo(name string) *info { return &info{name: path.Base(name), dir: true} }

func (i *info) Name() string               { return i.name }
func (i *info) Size() int64                { return i.size }
func (i *info) ModTime() time.Time         { return i.time }
func (i *info) IsDir() bool                { return i.dir }
func (i *info) Type() fs.FileMode          { return i.Mode().Type() }
func (i *info) Sys() any                   { return nil }
func (i *info) Info() (fs.FileInfo, error) { return i, nil }
func (i *info) String() string             { return fs.FormatDirEntry(i) }

// Mode says that all may be read and nothing be written.
func (i *info) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | 0o555
	}
	return 0o444
}

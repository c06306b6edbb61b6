package mutation

import (
	"bytes"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

// tree is a checkpoint in memory: what is damaged is a copy that shares all
// but the damaged files with it. It is not written to after it was made.
type tree struct {
	files map[string][]byte
	dirs  map[string][]fs.DirEntry // by name, "." among them
}

func newTree(files map[string][]byte) *tree {
	t := &tree{files: files, dirs: map[string][]fs.DirEntry{".": nil}}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for child := name; ; {
			dir := path.Dir(child)
			_, known := t.dirs[dir]
			t.dirs[dir] = append(t.dirs[dir], entryOf(child, files))
			if known {
				break
			}
			child = dir
		}
	}
	for _, entries := range t.dirs {
		slices.SortFunc(entries, byName)
	}
	return t
}

func byName(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) }

// entryOf describes a file, or a directory where files has none of the name.
func entryOf(name string, files map[string][]byte) fs.DirEntry {
	b, ok := files[name]
	return info{name: path.Base(name), size: int64(len(b)), dir: !ok}
}

// readTree reads all of a directory into memory.
func readTree(fsys fs.FS, root string) (map[string][]byte, error) {
	files := make(map[string][]byte)
	err := fs.WalkDir(fsys, root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(fsys, name)
		files[strings.TrimPrefix(name, root+"/")] = b
		return err
	})
	return files, err
}

// damaged is a tree with some files changed. It is what faults are done to and
// what the library reads; directories stay when their last file goes.
type damaged struct {
	*tree
	changed map[string][]byte // nil for a file that was removed
}

func damage(t *tree) *damaged {
	return &damaged{tree: t, changed: make(map[string][]byte)}
}

// WriteFile implements statetest.Files; only directories that are there take
// files.
func (d *damaged) WriteFile(name string, data []byte) error {
	if _, ok := d.dirs[path.Dir(name)]; !ok {
		return &fs.PathError{Op: "write", Path: name, Err: fs.ErrNotExist}
	}
	if data == nil {
		data = []byte{}
	}
	d.changed[name] = data
	return nil
}

// Remove implements statetest.Files.
func (d *damaged) Remove(name string) error {
	if _, ok := d.file(name); !ok {
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrNotExist}
	}
	d.changed[name] = nil
	return nil
}

func (d *damaged) file(name string) ([]byte, bool) {
	if b, ok := d.changed[name]; ok {
		return b, b != nil
	}
	b, ok := d.files[name]
	return b, ok
}

// list returns the entries of a directory that exists. What is changed is so
// little that nothing is kept: many may list at once.
func (d *damaged) list(dir string) []fs.DirEntry {
	l := slices.Clone(d.dirs[dir])
	for name, b := range d.changed {
		if path.Dir(name) != dir {
			continue
		}
		l = slices.DeleteFunc(l, func(e fs.DirEntry) bool { return e.Name() == path.Base(name) })
		if b != nil {
			l = append(l, entryOf(name, d.changed))
		}
	}
	slices.SortFunc(l, byName)
	return l
}

// Open implements fs.FS.
func (d *damaged) Open(name string) (fs.File, error) {
	i, err := d.stat("open", name)
	if err != nil {
		return nil, err
	}
	if i.dir {
		return &openDir{info: i, entries: d.list(name)}, nil
	}
	b, _ := d.file(name)
	return &openFile{Reader: bytes.NewReader(b), info: i}, nil
}

// Stat implements fs.StatFS.
func (d *damaged) Stat(name string) (fs.FileInfo, error) { return d.stat("stat", name) }

// ReadDir implements fs.ReadDirFS.
func (d *damaged) ReadDir(name string) ([]fs.DirEntry, error) {
	i, err := d.stat("readdir", name)
	if err == nil && !i.dir {
		err = &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrInvalid}
	}
	if err != nil {
		return nil, err
	}
	return d.list(name), nil
}

func (d *damaged) stat(op, name string) (info, error) {
	if !fs.ValidPath(name) {
		return info{}, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	if b, ok := d.file(name); ok {
		return info{name: path.Base(name), size: int64(len(b))}, nil
	}
	if _, ok := d.dirs[name]; ok {
		return info{name: path.Base(name), dir: true}, nil
	}
	return info{}, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
}

// info describes a file or directory, as fs.FileInfo and fs.DirEntry both.
type info struct {
	name string
	size int64
	dir  bool
}

func (i info) Name() string               { return i.name }
func (i info) Size() int64                { return i.size }
func (i info) IsDir() bool                { return i.dir }
func (i info) Type() fs.FileMode          { return i.Mode().Type() }
func (i info) Info() (fs.FileInfo, error) { return i, nil }
func (i info) ModTime() time.Time         { return time.Time{} }
func (i info) Sys() any                   { return nil }
func (i info) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | 0o755
	}
	return 0o644
}

type openFile struct {
	*bytes.Reader
	info info
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *openFile) Close() error               { return nil }

type openDir struct {
	info    info
	entries []fs.DirEntry
	at      int
}

func (d *openDir) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *openDir) Close() error               { return nil }
func (d *openDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.info.name, Err: fs.ErrInvalid}
}

func (d *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	left := d.entries[d.at:]
	if n > 0 && len(left) == 0 {
		return nil, io.EOF
	}
	if n > 0 {
		left = left[:min(n, len(left))]
	}
	d.at += len(left)
	return slices.Clone(left), nil
}

package provider

import (
	"io/fs"
	"path"
	"sync"
)

// NamesOnly is what a file system implements where a directory tells the names
// of its entries at once, and of each the type only by a call of its own, as an
// os.Root does. [EachEntry] then asks for a type when it is wanted; see
// [Untyped].
type NamesOnly interface{ NamesOnly() }

func namesOnly(fsys fs.FS) bool {
	_, ok := fsys.(NamesOnly)
	return ok
}

// Untyped says whether it costs a call to know the type of an entry.
func Untyped(e fs.DirEntry) bool {
	_, ok := e.(*untypedEntry)
	return ok
}

// namesFile is a directory that can be asked for names alone; an [os.File] is.
type namesFile interface {
	fs.File
	Readdirnames(n int) ([]string, error)
}

type untypedDir struct {
	namesFile
	fsys fs.FS
	dir  string
}

func (d *untypedDir) ReadDir(n int) ([]fs.DirEntry, error) {
	names, err := d.Readdirnames(n)
	entries := make([]fs.DirEntry, len(names))
	for i, name := range names {
		entries[i] = &untypedEntry{fsys: d.fsys, path: path.Join(d.dir, name)}
	}
	return entries, err
}

// untypedEntry finds its type out when it is asked.
type untypedEntry struct {
	fsys fs.FS
	path string
	once sync.Once
	info fs.FileInfo
	err  error
}

func (e *untypedEntry) Name() string { return path.Base(e.path) }

func (e *untypedEntry) Info() (fs.FileInfo, error) {
	e.once.Do(func() { e.info, e.err = fs.Lstat(e.fsys, e.path) })
	return e.info, e.err
}

// Type of an entry that has gone meanwhile is that of no file.
func (e *untypedEntry) Type() fs.FileMode {
	info, err := e.Info()
	if err != nil {
		return fs.ModeIrregular
	}
	return info.Mode().Type()
}

func (e *untypedEntry) IsDir() bool { return e.Type().IsDir() }

func (e *untypedEntry) String() string { return fs.FormatDirEntry(e) }

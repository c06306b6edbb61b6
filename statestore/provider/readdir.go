package provider

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

// DefaultMaxEntries is how many entries a directory may have unless the caller
// says otherwise. Spark keeps a few hundred files in one; a query whose state
// is never cleaned up writes half a million deltas in a year of minutes.
const DefaultMaxEntries = 1 << 20

// chunk is how many entries are asked for at once.
const chunk = 1024

// EachEntry calls fn with the entries of a directory, in the order in which the
// file system has them, until fn returns false. A few are held at a time,
// however many there are; more than limit (0: [DefaultMaxEntries]) are
// ErrTooLarge. What is no directory is refused before it is opened, because
// opening a FIFO would block for ever.
func EachEntry(fsys fs.FS, dir string, limit int, fn func(fs.DirEntry) bool) (err error) {
	st, err := fs.Stat(fsys, dir)
	if err != nil {
		return Unreachable(dir, err)
	}
	if !st.IsDir() {
		return &FileError{Path: dir, Offset: -1, Kind: ErrCorrupt, Detail: fmt.Sprintf("not a directory (%s)", st.Mode().Type())}
	}
	if limit <= 0 {
		limit = DefaultMaxEntries
	}
	seen := 0
	visit := func(entries []fs.DirEntry) (bool, error) {
		for _, e := range entries {
			if seen++; seen > limit {
				return false, &FileError{Path: dir, Offset: -1, Kind: ErrTooLarge, Detail: fmt.Sprintf("more than %d entries in one directory", limit)}
			}
			if !fn(e) {
				return false, nil
			}
		}
		return true, nil
	}
	f, err := fsys.Open(dir)
	if err != nil {
		return Unreachable(dir, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	d, ok := f.(fs.ReadDirFile)
	if names, lists := f.(namesFile); lists && namesOnly(fsys) {
		d, ok = &untypedDir{names, fsys, dir}, true
	}
	if !ok { // it lists in its own way, if at all
		entries, err := fs.ReadDir(fsys, dir)
		if err != nil {
			return Unreachable(dir, err)
		}
		_, err = visit(entries)
		return err
	}
	for empty := 0; ; {
		entries, err := d.ReadDir(chunk)
		if more, err := visit(entries); err != nil || !more {
			return err
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return Unreachable(dir, err)
		case len(entries) > 0:
			empty = 0
		default: // against the rules; a few times may be an accident
			if empty++; empty > 16 {
				return Unreachable(dir, io.ErrNoProgress)
			}
		}
	}
}

// Unreachable explains why a file cannot be looked at; a link that leads out
// of the checkpoint is not followed.
func Unreachable(path string, err error) error {
	e := &FileError{Path: path, Offset: -1, Detail: "cannot be read", Err: err}
	// The error of an os.Root has no name.
	if strings.Contains(err.Error(), "path escapes") {
		e.Detail, e.Kind, e.Err = "a link that leads out of the checkpoint is not followed", ErrUnsupported, nil
	}
	return e
}

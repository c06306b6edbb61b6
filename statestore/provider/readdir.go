package provider

import (
	"fmt"
	"io/fs"
	"strings"
)

// ReadDir lists a directory. What is no directory is refused before it is
// opened, because opening a FIFO would block for ever.
func ReadDir(fsys fs.FS, dir string) ([]fs.DirEntry, error) {
	st, err := fs.Stat(fsys, dir)
	if err != nil {
		return nil, Unreachable(dir, err)
	}
	if !st.IsDir() {
		return nil, &FileError{Path: dir, Offset: -1, Kind: ErrCorrupt, Detail: fmt.Sprintf("not a directory (%s)", st.Mode().Type())}
	}
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return nil, Unreachable(dir, err)
	}
	return entries, nil
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

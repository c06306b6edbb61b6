// Package paths looks at where paths lead.
package paths

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Within says whether a path, which need not be there yet, is a directory or
// below it, whatever links lead there.
func Within(name, dir string) (bool, error) {
	root, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return false, nil // it is inside a zip file
	}
	if err != nil {
		return false, err
	}
	at, err := filepath.Abs(name)
	if err != nil {
		return false, err
	}
	// The part that is there, without links. Of a link to nowhere it cannot be
	// said where it will lead.
	for {
		real, err := filepath.EvalSymlinks(at)
		if err == nil {
			at = real
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
		if st, err := os.Lstat(at); err == nil {
			if st.Mode()&fs.ModeSymlink == 0 {
				continue // somebody has just made it
			}
			return false, fmt.Errorf("%s is a link to nowhere", at)
		}
		at = filepath.Dir(at)
	}
	for {
		st, err := os.Stat(at)
		if err != nil {
			return false, err
		}
		if os.SameFile(st, root) {
			return true, nil
		}
		up := filepath.Dir(at)
		if up == at {
			return false, nil
		}
		at = up
	}
}

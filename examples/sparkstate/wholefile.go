package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// writeWhole writes a file that is there whole or not at all: under another
// name in the same directory, and then renamed. A file of that name is replaced.
func writeWhole(name string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*.tmp")
	if err != nil {
		return output(err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	w := bufio.NewWriter(f)
	if err := write(w); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := errors.Join(w.Flush(), f.Chmod(modeOf(name)), f.Sync(), f.Close()); err != nil {
		return output(err)
	}
	return output(os.Rename(f.Name(), name))
}

// modeOf returns the permissions that a file is to have: those of the one that
// is replaced, or else what anybody may read.
func modeOf(name string) os.FileMode {
	if st, err := os.Stat(name); err == nil && st.Mode().IsRegular() {
		return st.Mode().Perm()
	}
	return 0o644
}

// outsideOf refuses to write into a checkpoint.
func outsideOf(ckpt, name string) error {
	root, err := filepath.Abs(ckpt)
	if err != nil {
		return err
	}
	dir, err := filepath.Abs(filepath.Dir(name))
	if err != nil {
		return err
	}
	// Where a link cannot be followed the path stands for itself: what is wrong
	// with it shows when it is opened.
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	if dir == root || strings.HasPrefix(dir, root+string(filepath.Separator)) {
		return usagef("-o %s is in the checkpoint, and nothing is written there", name)
	}
	return nil
}

// writeTo writes to a file, or for - to standard output.
func (a *app) writeTo(name string, write func(io.Writer) error) error {
	if name != "-" {
		if st, err := os.Stat(name); err == nil && st.IsDir() {
			return usagef("-o %s is a directory; give the name of a file", name)
		}
		return writeWhole(name, write)
	}
	w := bufio.NewWriter(a.out)
	if err := write(w); err != nil {
		return fmt.Errorf("standard output: %w", output(err))
	}
	return output(w.Flush())
}

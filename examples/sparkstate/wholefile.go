package main

import (
	"bufio"
	"errors"
	"io"
	"os"

	"github.com/sparkstate/sparkstate/examples/internal/paths"
)

// writeWhole writes a file that is there whole or not at all: under another
// name in the same directory, and then renamed. A file of that name is replaced,
// and keeps its permissions. What is there and no file, such as a pipe, is
// written to as it is.
func writeWhole(name string, write func(io.Writer) error) error {
	old, err := os.Stat(name)
	if err != nil || old.Mode().IsRegular() {
		return replace(name, old, write)
	}
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return output(err)
	}
	return errors.Join(buffered(f, write), output(f.Close()))
}

// replace is writeWhole of a file, or of a name that there is none of: old is
// nil then.
func replace(name string, old os.FileInfo, write func(io.Writer) error) error {
	f, err := newTempFile(name)
	if err != nil {
		return output(err)
	}
	defer f.discard()
	if old != nil {
		if err := f.file.Chmod(old.Mode().Perm()); err != nil {
			return output(err)
		}
	}
	if err := write(f.buffered); err != nil {
		return output(err)
	}
	_, err = f.keep()
	return output(err)
}

// buffered writes to a stream; its errors are those of the output.
func buffered(f io.Writer, write func(io.Writer) error) error {
	w := bufio.NewWriter(f)
	if err := write(w); err != nil {
		return output(err)
	}
	return output(w.Flush())
}

// outsideOf refuses to write into a checkpoint.
func outsideOf(ckpt, name string) error {
	inside, err := paths.Within(name, ckpt)
	if err != nil {
		return output(err)
	}
	if inside {
		return usagef("%s is in the checkpoint %s, where nothing is ever written", name, ckpt)
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
	return buffered(a.out, write)
}

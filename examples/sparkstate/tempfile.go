package main

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// tempFile is a file that does not have its name yet.
type tempFile struct {
	file     *os.File
	buffered *bufio.Writer
	final    string
}

// newTempFile makes a file beside the one that it will become: ".NAME.N.tmp".
func newTempFile(final string) (*tempFile, error) {
	dir, name := filepath.Split(final)
	for n := os.Getpid(); ; n++ {
		// os.CreateTemp would leave the umask out.
		f, err := os.OpenFile(filepath.Join(dir, "."+name+"."+strconv.Itoa(n)+".tmp"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return &tempFile{f, bufio.NewWriterSize(f, 256<<10), final}, nil
	}
}

// finish brings all to the medium.
func (f *tempFile) finish() (bytes int64, err error) {
	if err := f.buffered.Flush(); err != nil {
		return 0, err
	}
	if err := f.file.Sync(); err != nil {
		return 0, err
	}
	st, err := f.file.Stat()
	if err != nil {
		return 0, err
	}
	return st.Size(), f.file.Close()
}

// keep gives the file its name, in place of one that has it.
func (f *tempFile) keep() (bytes int64, err error) {
	bytes, err = f.finish()
	if err == nil {
		err = os.Rename(f.file.Name(), f.final)
	}
	if err == nil {
		err = syncDir(filepath.Dir(f.final))
	}
	return bytes, err
}

// keepFirst is keep for a name that must not be taken: fs.ErrExist where it is.
func (f *tempFile) keepFirst() (bytes int64, err error) {
	if bytes, err = f.finish(); err != nil {
		return 0, err
	}
	err = os.Link(f.file.Name(), f.final)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return bytes, errors.Join(err, syncDir(filepath.Dir(f.final)))
	}
	// A file system without links, such as a mounted bucket.
	if _, err := os.Lstat(f.final); err == nil {
		return 0, fs.ErrExist
	}
	return bytes, errors.Join(os.Rename(f.file.Name(), f.final), syncDir(filepath.Dir(f.final)))
}

// discard removes what has not got its name. After keep there is nothing left to
// remove, and of an error that is on its way out nothing is added.
func (f *tempFile) discard() {
	f.file.Close()
	os.Remove(f.file.Name())
}

// syncDir brings new names to the medium. Not every file system offers it.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, d.Close())
}

package checkpoint

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/sparkstate/sparkstate/statestore"
)

// openZip opens a zip file; nil where the path is no zip file.
func openZip(abs string, opts []OpenOption) (_ *Checkpoint, err error) {
	if !strings.EqualFold(filepath.Ext(abs), ".zip") {
		return nil, nil
	}
	dir, err := os.OpenRoot(filepath.Dir(abs))
	if err != nil {
		return nil, nil // the caller reports what it met itself
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	st, err := dir.Stat(filepath.Base(abs))
	if err != nil || !st.Mode().IsRegular() {
		return nil, nil
	}
	f, err := dir.Open(filepath.Base(abs))
	if err != nil {
		return nil, err
	}
	z, err := readZip(f, st.Size(), limitsOf(opts))
	if err != nil {
		return nil, errors.Join(statestore.WithPath(err, abs), f.Close())
	}
	c, err := open(z, ".", filepath.ToSlash(abs), abs, opts)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	c.closers = append(c.closers, f)
	return c, nil
}

// limitsOf returns the limits that options set.
func limitsOf(opts []OpenOption) Limits {
	c := &Checkpoint{limits: Limits{}.orDefaults()}
	for _, o := range opts {
		o(c)
	}
	return c.limits
}

// readZip reads the list of files of a zip file. Neither a list that is too
// long nor files that are too large in all get past it. That a file goes on
// after the size that the list states is no danger: nothing here reads further.
func readZip(r io.ReaderAt, size int64, limits Limits) (*zip.Reader, error) {
	tooLarge := func(format string, a ...any) error {
		return &statestore.FileError{Offset: -1, Kind: statestore.ErrTooLarge, Detail: fmt.Sprintf(format, a...)}
	}
	most := limits.ZipDirectoryBytes
	// The package allocates for as many as are claimed, if the file could hold
	// them. A sparse one can hold any number.
	if n := zipEntries(r, size); n > uint64(most)/zipEntrySize {
		return nil, tooLarge("a zip file of %d files, whose list takes more than %d bytes", n, most)
	}
	m := &metered{r: r, left: most + 1<<17} // the end of the file is read before the list
	z, err := zip.NewReader(m, size)
	switch {
	case m.left < 0:
		return nil, tooLarge("a zip file whose list of files takes more than %d bytes", most)
	case err != nil:
		return nil, &statestore.FileError{Offset: -1, Kind: statestore.ErrCorrupt, Detail: "no zip file that can be read", Err: err}
	}
	m.left = math.MaxInt64
	total, allowed := uint64(0), 64<<20+uint64(size)*uint64(limits.ZipRatio)
	for _, f := range z.File {
		if f.UncompressedSize64 > allowed-total {
			return nil, tooLarge("the files in the zip file have more than %d times its size", limits.ZipRatio)
		}
		total += f.UncompressedSize64
	}
	return z, nil
}

// zipEntrySize is the least that an entry takes in the list of files.
const zipEntrySize = 46

// zipEntries returns how many files a zip file says that it has; 0 where it
// does not, and then it is none.
//
//	PK 05 06  u16 disk  u16 disk  u16 entries here  u16 entries  …   22 bytes and a comment, last
//	PK 06 07  u32 disk  u64 offset of the next  u32 disks            20 bytes before it, if entries = FFFF
//	PK 06 06  …  u64 entries at byte 32                              56 bytes
func zipEntries(r io.ReaderAt, size int64) uint64 {
	at := func(off int64, n int) []byte {
		b := make([]byte, n)
		if off < 0 || off > size-int64(n) {
			return nil
		}
		if _, err := r.ReadAt(b, off); err != nil && err != io.EOF {
			return nil
		}
		return b
	}
	tail := at(max(0, size-(22+math.MaxUint16)), int(min(size, 22+math.MaxUint16)))
	i := bytes.LastIndex(tail, []byte("PK\x05\x06"))
	if i < 0 || i+22 > len(tail) {
		return 0
	}
	n := uint64(binary.LittleEndian.Uint16(tail[i+10:]))
	if n != math.MaxUint16 {
		return n
	}
	locator := at(size-int64(len(tail))+int64(i)-20, 20)
	if !bytes.HasPrefix(locator, []byte("PK\x06\x07")) {
		return n
	}
	end := at(int64(binary.LittleEndian.Uint64(locator[8:])), 56)
	if !bytes.HasPrefix(end, []byte("PK\x06\x06")) {
		return n
	}
	return binary.LittleEndian.Uint64(end[32:])
}

// metered allows so many bytes to be read.
type metered struct {
	r    io.ReaderAt
	left int64
}

var errMetered = errors.New("too much is read")

func (m *metered) ReadAt(b []byte, off int64) (int, error) {
	if m.left != math.MaxInt64 { // it is not touched any more once files are read, at once
		if m.left -= int64(len(b)); m.left < 0 {
			return 0, errMetered
		}
	}
	return m.r.ReadAt(b, off)
}

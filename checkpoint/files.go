package checkpoint

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"

	"github.com/sparkstate/sparkstate/statestore"
	"github.com/sparkstate/sparkstate/statestore/provider"
	"github.com/sparkstate/sparkstate/statestore/sidecar"
)

// readSmall reads a file whole and verifies it by Hadoop's hidden sidecar,
// where there is one. With strict set a mismatch is an error; otherwise, and
// for everything that is wrong with the sidecar itself, it is a warning.
func (c *Checkpoint) readSmall(name string, strict bool) ([]byte, error) {
	b, err := readBounded(c.fsys, name, c.limits.FileBytes)
	if err != nil {
		return nil, err
	}
	if c.ignoreSidecars {
		return b, nil
	}
	dir, base := path.Split(name)
	crc := dir + sidecar.HadoopName(base)
	sums, err := readBounded(c.fsys, crc, sidecar.HadoopSize(int64(len(b))))
	if errors.Is(err, fs.ErrNotExist) {
		return b, nil
	}
	if err != nil {
		c.warn(err)
		return b, nil
	}
	h, err := sidecar.ParseHadoop(sums)
	if err != nil {
		c.warn(statestore.WithPath(err, crc))
		return b, nil
	}
	if err := statestore.WithPath(h.Verify(b), name); err != nil {
		if strict {
			return nil, err
		}
		c.warn(err)
	}
	return b, nil
}

// readParsed reads a small file as readSmall does and parses it; the errors of
// the parser get the file's name.
func readParsed[T any](c *Checkpoint, name string, strict bool, parse func([]byte) (*T, error)) (*T, error) {
	b, err := c.readSmall(name, strict)
	if err != nil {
		return nil, err
	}
	t, err := parse(b)
	if err != nil {
		return nil, statestore.WithPath(err, name)
	}
	return t, nil
}

// readBounded reads a regular file of at most limit bytes.
func readBounded(fsys fs.FS, name string, limit int64) (_ []byte, err error) {
	// Asked before opening: a FIFO would block.
	st, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, &statestore.FileError{Path: name, Offset: -1, Kind: statestore.ErrCorrupt, Detail: "not a regular file"}
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var b bytes.Buffer
	b.Grow(int(min(max(st.Size(), 0), limit)) + bytes.MinRead)
	if _, err := b.ReadFrom(io.LimitReader(f, limit+1)); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if int64(b.Len()) > limit {
		return nil, &statestore.FileError{Path: name, Offset: limit, Kind: statestore.ErrTooLarge,
			Detail: fmt.Sprintf("more than %d bytes", limit)}
	}
	return b.Bytes(), nil
}

// eachEntry calls fn with the entries of a directory, in no order, until fn
// returns false.
func (c *Checkpoint) eachEntry(dir string, fn func(fs.DirEntry) bool) error {
	return provider.EachEntry(c.fsys, dir, c.limits.DirectoryEntries, fn)
}

// numbered returns the decimal names of a directory in ascending order;
// directories or files, as asked. A directory that does not exist has none.
func (c *Checkpoint) numbered(dir string, dirs bool) ([]int64, error) {
	var out []int64
	err := c.eachEntry(dir, func(e fs.DirEntry) bool {
		if n, ok := decimal(e.Name()); ok && e.IsDir() == dirs {
			out = append(out, n)
		}
		return true
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	slices.Sort(out)
	return out, nil
}

// decimal accepts what Spark writes: digits, no sign, no leading zero.
func decimal(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && n >= 0 && strconv.FormatInt(n, 10) == s
}

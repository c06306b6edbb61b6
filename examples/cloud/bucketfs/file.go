package bucketfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

// ErrChanged is returned where an object was replaced while it was read: what
// is left of it is not of the same file.
var ErrChanged = errors.New("the object changed while it was read")

const (
	// tries is how often a body is asked for again where it broke off, without
	// a byte in between.
	tries = 4
	// pause is how long before the second try; then it is doubled.
	pause = 200 * time.Millisecond
)

// file is an object that is read. Its body may wait for long between two reads,
// since the library opens files ahead, and services end connections that wait:
// the rest is then asked for from where it broke off.
type file struct {
	fsys *FS
	name string
	info info
	body *blob.Reader // nil: none is open
	off  int64
	done bool
}

// Stat implements [fs.File], without a request.
func (f *file) Stat() (fs.FileInfo, error) {
	if f.done {
		return nil, pathError("stat", f.name, fs.ErrClosed)
	}
	return &f.info, nil
}

// Read implements [fs.File].
func (f *file) Read(p []byte) (int, error) {
	if f.done {
		return 0, pathError("read", f.name, fs.ErrClosed)
	}
	if len(p) == 0 {
		return 0, nil
	}
	for failed := 0; ; {
		if err := f.fsys.ctx.Err(); err != nil {
			return 0, pathError("read", f.name, err)
		}
		if f.off >= f.info.size {
			return 0, io.EOF
		}
		n, err := f.more(p)
		f.off += int64(n)
		if n > 0 {
			return n, nil
		}
		if failed++; failed == tries || errors.Is(err, ErrChanged) || gcerrors.Code(err) == gcerrors.NotFound {
			return 0, pathError("read", f.name, err)
		}
		if err := wait(f.fsys.ctx, failed-1); err != nil {
			return 0, pathError("read", f.name, err)
		}
	}
}

// more reads from the body, which it opens where there is none. After an error
// there is none.
func (f *file) more(p []byte) (int, error) {
	if f.body == nil {
		body, err := f.from(f.off, -1)
		if err != nil {
			return 0, err
		}
		f.body = body
	}
	n, err := f.body.Read(p[:min(int64(len(p)), f.info.size-f.off)])
	if err == nil && n > 0 {
		return n, nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	// It is only read: that it cannot be closed loses nothing.
	_ = f.body.Close()
	f.body = nil
	return n, err
}

// from asks for a part of the object, which must still be what it was.
func (f *file) from(off, length int64) (*blob.Reader, error) {
	r, err := f.fsys.bucket.NewRangeReader(f.fsys.ctx, f.name, off, length, nil)
	if err != nil {
		return nil, err
	}
	if r.Size() != f.info.size || !r.ModTime().Equal(f.info.time) {
		return nil, errors.Join(fmt.Errorf("%w: it had %d bytes and has %d, or is of another time", ErrChanged, f.info.size, r.Size()), r.Close())
	}
	return r, nil
}

// wait waits before another try, not before the first.
func wait(ctx context.Context, tried int) error {
	if tried == 0 {
		return ctx.Err()
	}
	t := time.NewTimer(pause << (tried - 1))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// ReadAt implements [io.ReaderAt] by a request of its own for just that range.
func (f *file) ReadAt(p []byte, off int64) (int, error) {
	switch {
	case f.done:
		return 0, pathError("read", f.name, fs.ErrClosed)
	case off < 0:
		return 0, pathError("read", f.name, fs.ErrInvalid)
	case len(p) == 0:
		return 0, nil
	case off >= f.info.size:
		return 0, io.EOF
	}
	want := p[:min(int64(len(p)), f.info.size-off)]
	r, err := f.from(off, int64(len(want)))
	if err != nil {
		return 0, pathError("read", f.name, err)
	}
	n, err := io.ReadFull(r, want)
	_ = r.Close() // what was asked for is there, or is not
	switch {
	case err != nil:
		return n, pathError("read", f.name, err)
	case n < len(p):
		return n, io.EOF
	}
	return n, nil
}

// Close implements [fs.File]. What has not been read is not transferred.
func (f *file) Close() error {
	if f.done {
		return pathError("close", f.name, fs.ErrClosed)
	}
	f.done = true
	if f.body == nil {
		return nil
	}
	err := f.body.Close()
	f.body = nil
	return err
}

// dir is an open directory.
type dir struct {
	fsys *FS
	name string
	rest []fs.DirEntry
	read bool
	done bool
}

// Stat implements [fs.File].
func (d *dir) Stat() (fs.FileInfo, error) {
	if d.done {
		return nil, pathError("stat", d.name, fs.ErrClosed)
	}
	return dirInfo(d.name), nil
}

// Read implements [fs.File]: a directory has no bytes.
func (d *dir) Read([]byte) (int, error) {
	return 0, pathError("read", d.name, errors.New("is a directory"))
}

// Close implements [fs.File].
func (d *dir) Close() error {
	if d.done {
		return pathError("close", d.name, fs.ErrClosed)
	}
	d.done = true
	return nil
}

// ReadDir implements [fs.ReadDirFile].
func (d *dir) ReadDir(n int) ([]fs.DirEntry, error) {
	if d.done {
		return nil, pathError("readdir", d.name, fs.ErrClosed)
	}
	if !d.read {
		all, err := d.fsys.ReadDir(d.name)
		if err != nil {
			return nil, err
		}
		d.rest, d.read = all, true
	}
	if n <= 0 {
		n = len(d.rest)
	} else if len(d.rest) == 0 {
		return nil, io.EOF
	}
	out := d.rest[:min(n, len(d.rest))]
	d.rest = d.rest[len(out):]
	return out, nil
}

package hdfs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"sync"

	"github.com/sparkstate/sparkstate/statestore/codec"
	"github.com/sparkstate/sparkstate/statestore/provider"
	"github.com/sparkstate/sparkstate/statestore/sidecar"
)

// readers keeps the buffers of codec readers between files.
var readers sync.Pool

// file is an open delta or snapshot, decoded and verified as it is read.
type file struct {
	p       *Partition
	path    string
	size    int64
	f       fs.File
	dec     *codec.Reader
	suspect error           // a checksum that differs, where the codec has its own
	digest  *sidecar.Digest // running sum for the JSON sidecar
	spark   *sidecar.Spark  // the JSON sidecar to compare it with
	stored  io.Reader       // the stored bytes, as the digest sees them
}

// open opens a file of the partition. The sidecars that the listing shows are
// used: for a codec without checksums of its own, no byte is handed on before
// it has been verified; for LZ4, whose every block carries a checksum, a
// sidecar that differs is reported once the file has decoded to its end.
func (p *Partition) open(name string) (_ *file, err error) {
	full := path.Join(p.dir, name)
	fail := func(err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			kind, _ := ParseName(name)
			return &provider.FileError{Path: full, Offset: -1, Kind: provider.ErrMissing,
				Condition: choose(kind == provider.SnapshotFile, condMissingSnapshot, condMissingDelta),
				Detail:    "the file was there when the directory was listed and has gone", Err: err}
		}
		return provider.WithPath(err, full)
	}
	if err := p.regular(name); err != nil {
		return nil, fail(err)
	}
	f, err := p.ahead.Open(p.fsys, full)
	if err != nil {
		return nil, fail(err)
	}
	defer func() {
		if err != nil {
			_ = f.Close() // the error there is counts
		}
	}()
	st, err := f.Stat()
	if err != nil {
		return nil, fail(err)
	}
	p.l.setSize(name, st.Size())
	fl := &file{p: p, path: full, size: st.Size(), f: f}
	// What is appended from now on is not the file that was opened, and a file
	// that never ends is none.
	body := io.LimitReader(f, fl.size)
	var head [codec.HeadLen]byte
	n, err := io.ReadFull(body, head[:])
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, fail(err)
	}
	fl.stored = io.MultiReader(bytes.NewReader(head[:n]), body)
	// What is no codec's at all is said so first: it explains more than a
	// checksum that differs.
	if c := codec.Sniff(head[:n], fl.size); c != codec.Unknown {
		if err := fl.verify(name, c); err != nil {
			return nil, fail(err)
		}
	}
	if fl.dec, err = p.decoder(fl.stored, fl.size); err != nil {
		return nil, fail(uncategorized(err))
	}
	if want := p.cfg.Codec; want != codec.Unknown && fl.dec.Codec() != want {
		p.warn(&provider.FileError{Path: full, Offset: 0, Kind: provider.ErrCodec,
			Detail: fmt.Sprintf("the file is %s, the checkpoint's conf says %s; read as %[1]s", fl.dec.Codec(), want)})
	}
	return fl, nil
}

// limited says whether the partition has limits of its own for decompression.
func (p *Partition) limited() bool { return p.cfg.MaxBlockBytes > 0 || p.cfg.MaxWindowBytes > 0 }

// decoder returns a decoder of the stored bytes: one that was used before,
// unless it has other limits.
func (p *Partition) decoder(r io.Reader, size int64) (*codec.Reader, error) {
	var opts []codec.Option
	if n := p.cfg.MaxBlockBytes; n > 0 {
		opts = append(opts, codec.WithMaxBlock(n))
	}
	if n := p.cfg.MaxWindowBytes; n > 0 {
		opts = append(opts, codec.WithMaxWindow(n))
	}
	if !p.limited() {
		if d, ok := readers.Get().(*codec.Reader); ok {
			return d, d.Reset(r, size)
		}
	}
	return codec.NewReader(r, size, opts...)
}

// regular refuses what is not a plain file before it is opened: opening a
// FIFO would block for ever.
func (p *Partition) regular(name string) error {
	mode, ok := p.l.has(name)
	if !ok {
		return fs.ErrNotExist
	}
	if p.l.untyped || mode&fs.ModeSymlink != 0 {
		st, err := fs.Stat(p.fsys, path.Join(p.dir, name))
		if err != nil {
			return provider.Unreachable(path.Join(p.dir, name), err)
		}
		mode = st.Mode().Type()
	}
	if !mode.IsRegular() {
		return &provider.FileError{Offset: -1, Kind: provider.ErrCorrupt, Detail: fmt.Sprintf("not a regular file (%s)", mode)}
	}
	return nil
}

// verify puts the checks of the sidecars that are present around fl.stored.
func (fl *file) verify(name string, c codec.Codec) error {
	p := fl.p
	if p.cfg.IgnoreSidecars {
		return nil
	}
	strict := !c.Checksummed()
	if b, ok := p.sidecar(sidecar.HadoopName(name), sidecar.HadoopSize(fl.size)); ok {
		h, err := sidecar.ParseHadoop(b)
		switch {
		case err != nil: // as Hadoop does: say so, and read on
			p.warn(provider.WithPath(err, path.Join(p.dir, sidecar.HadoopName(name))))
		case strict:
			fl.stored = h.Reader(fl.stored, nil)
		default:
			fl.stored = h.Reader(fl.stored, func(err error) { fl.suspect = err })
		}
	}
	b, ok := p.sidecar(sidecar.SparkName(name), sidecar.SparkMaxSize)
	if !ok {
		return nil
	}
	s, err := sidecar.ParseSpark(b)
	switch {
	case err != nil:
		p.warn(provider.WithPath(err, path.Join(p.dir, sidecar.SparkName(name))))
		return nil
	case s.MainFileSize != fl.size:
		// Lengths that differ need no byte to be read.
		differs := s.Differs(fl.size)
		if strict {
			return differs
		}
		fl.suspect = differs
		return nil
	case strict:
		// The sum is over the whole file, so it takes a pass of its own before
		// any byte is believed.
		return p.checkWhole(fl.path, fl.size, s)
	}
	fl.spark, fl.digest = s, sidecar.NewDigest()
	fl.stored = io.TeeReader(fl.stored, fl.digest)
	return nil
}

// sidecar reads a sidecar that the listing shows. One that cannot be read is
// worth a warning, no more: sidecars are never required.
func (p *Partition) sidecar(name string, limit int64) ([]byte, bool) {
	if _, ok := p.l.has(name); !ok {
		return nil, false
	}
	full := path.Join(p.dir, name)
	b, err := func() (_ []byte, err error) {
		if err := p.regular(name); err != nil {
			return nil, err
		}
		f, err := p.ahead.Open(p.fsys, full)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		return io.ReadAll(io.LimitReader(f, limit))
	}()
	if err != nil {
		p.warn(&provider.FileError{Path: full, Offset: -1, Kind: provider.ErrMissing, Detail: "the checksum file cannot be read", Err: err})
		return nil, false
	}
	return b, true
}

func (p *Partition) checkWhole(full string, size int64, s *sidecar.Spark) (err error) {
	f, err := p.fsys.Open(full)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}()
	d := sidecar.NewDigest()
	if err := d.Copy(io.LimitReader(f, size)); err != nil {
		return err
	}
	return s.Check(d)
}

// finish is called once the end mark has been read. All that is left to find
// cannot change the rows any more, so it becomes warnings.
func (fl *file) finish() {
	if fl.suspect == nil && fl.spark != nil {
		// The digest has seen what the codec has read; the rest follows.
		if _, err := io.Copy(io.Discard, fl.stored); err != nil {
			fl.p.warn(provider.WithPath(err, fl.path))
			return
		}
		fl.suspect = fl.spark.Check(fl.digest)
	}
	if fl.suspect != nil {
		fl.p.warn(provider.WithPath(fl.suspect, fl.path))
	}
}

// close gives the buffers back. Errors of closing a file that was only read
// carry nothing that a caller could act on.
func (fl *file) close() {
	if fl.dec != nil {
		_ = fl.dec.Close()
		if !fl.p.limited() {
			readers.Put(fl.dec)
		}
	}
	_ = fl.f.Close()
}

// uncategorized adds Spark's condition for everything that its codecs throw.
func uncategorized(err error) error {
	var fe *provider.FileError
	if errors.As(err, &fe) && fe.Condition == "" {
		fe.Condition = condUncategorized
	}
	return err
}

// isGone says whether a file has vanished since its directory was listed, as
// files of a running query do.
func isGone(err error) bool { return errors.Is(err, fs.ErrNotExist) }

package hdfs

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/sparkstate/sparkstate/statestore/codec"
	"github.com/sparkstate/sparkstate/statestore/provider"
	"github.com/sparkstate/sparkstate/statestore/sidecar"
)

// FileCheck is what reading one file to its last byte has shown. Its errors are
// findings about the file, each a *provider.FileError, nil where there is
// nothing to find.
type FileCheck struct {
	File provider.File // with its size
	// Codec is what the first bytes say; codec.Unknown where they say nothing.
	Codec codec.Codec
	// Puts and Removes count the records up to the end mark, or up to the
	// damage.
	Puts, Removes int64

	// Err is what keeps the file from being decoded to its end mark.
	Err error
	// Tolerated says that Spark lets Err pass: it decodes the file to its end
	// mark.
	Tolerated bool
	// AfterEnd: there is something behind the end mark. Spark does not look.
	AfterEnd error
	// OtherCodec: the file decodes, but the conf names another compression, and
	// Spark goes by the conf.
	OtherCodec error
	// Hadoop and Spark are of kind ErrChecksum: the file is not the one that
	// the hidden .crc file, or the JSON one of Spark 4.1, was made of.
	Hadoop, Spark error
	// Sidecar: a .crc file is there and is none, or cannot be read.
	Sidecar error
	// Shorter: a .crc file was made of a longer file, and as far as the sums tell
	// what is left of it has not changed.
	Shorter bool
	// misfit: what was decompressed breaks the rules of records.
	misfit bool
}

// doubt returns the sum that does not match, where the codec has none of its
// own that does.
func (c *FileCheck) doubt() error {
	switch {
	case c.Codec.Checksummed():
		return nil
	case c.Hadoop != nil:
		return c.Hadoop
	}
	return c.Spark
}

// doubtful says whether rows that were read of the file may be wrong: it has
// changed, and nothing tells where. What is merely cut off leaves no doubt about
// the rest.
func (c *FileCheck) doubtful() bool {
	switch {
	case c.Err == nil:
		return c.doubt() != nil
	case c.misfit:
		return true // no writer wrote that, so it is not the file that was written
	case c.Codec.Checksummed():
		return false
	case !errors.Is(c.Err, provider.ErrTruncated):
		return true
	}
	return c.doubt() != nil && !c.Shorter
}

// Temporary returns the name that a temporary file was to be renamed to; false
// where its name does not tell, as before Spark 2.4.
func Temporary(name string) (final string, ok bool) {
	if s, found := strings.CutSuffix(name, ".tmp"); found && strings.HasPrefix(s, ".") {
		// .<number>.<delta or snapshot>.<uuid>[.TID<attempt>]; with crc in the
		// third place it is one of a sidecar.
		if parts := strings.Split(s[1:], "."); len(parts) >= 3 && parts[2] != "crc" {
			final = parts[0] + "." + parts[1]
		}
	} else if i := strings.Index(name, ".temp-"); i > 0 { // Spark 2.2 and 2.3
		final = name[:i]
	}
	kind, _ := ParseName(final)
	return final, kind == provider.DeltaFile || kind == provider.SnapshotFile
}

// Verify decodes one delta, snapshot or temporary file of the listing and
// compares its sums, in one pass. Unlike a read it goes on where a sidecar
// differs, so that both verdicts are known: that of the bytes themselves, and
// that of their sidecars.
//
// fn, which may be nil, is told of every record up to the damage and of the
// offset of its block in the file as stored; the slices live until it returns.
// Behind damage that Spark tolerates it is told of the first row, if that is the
// first of the file: that one Spark looks at. Verify itself fails only where ctx
// is done.
func (p *Partition) Verify(ctx context.Context, f provider.File, fn func(c provider.Change, offset int64)) (*FileCheck, error) {
	return p.verify(ctx, f, new(error), fn)
}

// verify is Verify. odd is for what Spark lets pass, as that of scanner: where
// it is nil, reading ends there.
func (p *Partition) verify(ctx context.Context, f provider.File, odd *error, fn func(c provider.Change, offset int64)) (*FileCheck, error) {
	c := &FileCheck{File: f}
	kind := f.Kind
	if kind == provider.TempFile {
		if final, ok := Temporary(f.Name); ok {
			kind, _ = ParseName(final)
		}
	}
	// The sums are taken of what the decoder reads, so that one pass is enough.
	sums := &summing{FS: p.fsys, name: path.Join(p.dir, f.Name)}
	q := *p
	q.fsys, q.cfg.IgnoreSidecars = sums, true
	q.cfg.Warn = func(err error) {
		if errors.Is(err, provider.ErrCodec) {
			c.OtherCodec = err
		} else {
			c.AfterEnd = err
		}
	}
	if !p.cfg.IgnoreSidecars {
		p.sumsOf(f.Name, sums, c)
	}
	passed := func() bool { return odd != nil && *odd != nil }
	rows := false
	c.Err = q.records(ctx, provider.File{Name: f.Name, Kind: kind}, c, odd, func(s *scanner, r *provider.Entry) {
		remove := r.Value == nil
		switch {
		case passed() && (rows || remove):
			return
		case passed():
			rows = true
		case remove:
			c.Removes++
		default:
			rows = true
			c.Puts++
		}
		if fn != nil {
			fn(change(r), s.dec.Offset())
		}
	})
	if passed() {
		c.Err, c.Tolerated, c.misfit = *odd, c.Err == nil, true
	}
	c.File.Size = sums.size
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if sums.differs == nil && sums.hadoop != nil && !sums.hadoop.Covers(sums.size) {
		sums.differs = sums.hadoop.TooFew()
	}
	c.Hadoop = provider.WithPath(sums.differs, sums.name)
	c.Shorter = sums.shorter()
	switch {
	case sums.spark == nil:
	case sums.spark.MainFileSize != sums.size:
		c.Spark = provider.WithPath(sums.spark.Differs(sums.size), sums.name)
	case sums.whole:
		c.Spark = provider.WithPath(sums.spark.Check(sums.digest), sums.name)
	}
	return c, nil
}

// records is each with what the check has to know of the scanner that the
// records come from, and with what that does about odd.
func (p *Partition) records(ctx context.Context, f provider.File, c *FileCheck, odd *error, fn func(*scanner, *provider.Entry)) error {
	return p.scanning(ctx, f, func(s *scanner) error {
		c.Codec, s.odd = s.dec.Codec(), odd
		err := s.each(ctx, func(batch []provider.Entry) bool {
			for i := range batch {
				fn(s, &batch[i])
			}
			return true
		})
		c.misfit = err != nil && s.misfit
		return err
	})
}

// sumsOf parses the sidecars of a file that the listing shows.
func (p *Partition) sumsOf(name string, to *summing, c *FileCheck) {
	q := *p
	q.cfg.Warn = func(err error) { c.Sidecar = err }
	// One sum more than the file has pieces tells that it was longer.
	if b, ok := q.sidecar(sidecar.HadoopName(name), sidecar.HadoopSize(q.sizeOf(name))+4); ok {
		var err error
		if to.hadoop, err = sidecar.ParseHadoop(b); err != nil {
			c.Sidecar = provider.WithPath(err, path.Join(p.dir, sidecar.HadoopName(name)))
		}
	}
	if b, ok := q.sidecar(sidecar.SparkName(name), sidecar.SparkMaxSize); ok {
		var err error
		if to.spark, err = sidecar.ParseSpark(b); err != nil {
			c.Sidecar = provider.WithPath(err, path.Join(p.dir, sidecar.SparkName(name)))
		}
	}
}

// sizeOf returns the size of a file of the listing, 0 where it cannot be told:
// whoever opens the file will say why.
func (p *Partition) sizeOf(name string) int64 {
	if info, err := fs.Stat(p.fsys, path.Join(p.dir, name)); err == nil {
		return info.Size()
	}
	return 0
}

// summing is a file system that sums up what is read of one of its files.
type summing struct {
	fs.FS
	name   string
	hadoop *sidecar.Hadoop // nil: none
	spark  *sidecar.Spark  // nil: none

	size    int64
	digest  *sidecar.Digest
	differs error // what the hidden sidecar has against the file
	whole   bool  // the file was read to its end
}

// Stat is there so that it asks the file system below, and opens nothing.
func (s *summing) Stat(name string) (fs.FileInfo, error) { return fs.Stat(s.FS, name) }

func (s *summing) Open(name string) (fs.File, error) {
	f, err := s.FS.Open(name)
	if err != nil || name != s.name {
		return f, err
	}
	st, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	s.size, s.digest = st.Size(), sidecar.NewDigest()
	// What is appended from now on is not the file that was opened.
	r := io.LimitReader(f, s.size)
	if s.hadoop != nil {
		r = s.hadoop.Reader(r, func(err error) { s.differs = err })
	}
	return &summed{File: f, of: s, r: io.TeeReader(r, s.digest)}, nil
}

type summed struct {
	fs.File
	of *summing
	r  io.Reader
}

func (f *summed) Read(p []byte) (int, error) { return f.r.Read(p) }

// Close reads what the decoder has left: the sums are of the whole file,
// whatever the decoder made of it. Where the sizes alone tell, it is not read.
func (f *summed) Close() error {
	if !f.of.worthReading() {
		return f.File.Close()
	}
	_, err := io.Copy(io.Discard, f.r)
	f.of.whole = err == nil
	return errors.Join(err, f.File.Close())
}

// worthReading says whether the rest of the file can change what its sidecars
// have against it.
func (s *summing) worthReading() bool {
	return s.hadoop != nil && s.differs == nil && s.hadoop.Covers(s.size) || s.spark != nil && s.spark.MainFileSize == s.size
}

// shorter says whether the file is shorter than a sidecar knows it, and has not
// changed before its last piece, whose sum says nothing then.
func (s *summing) shorter() bool {
	less := s.spark != nil && s.size < s.spark.MainFileSize
	if s.hadoop == nil {
		return less
	}
	if s.differs != nil {
		var fe *provider.FileError
		if !errors.As(s.differs, &fe) || fe.Offset+int64(s.hadoop.BytesPerChecksum) <= s.size {
			return false
		}
	}
	return less || s.size <= int64(len(s.hadoop.Sums)-1)*int64(s.hadoop.BytesPerChecksum)
}

// SnapshotCheck compares a snapshot with the deltas that lead to its version.
type SnapshotCheck struct {
	// Base is the version that the deltas start from: that of the next older
	// snapshot, or 0 for the empty state.
	Base int64
	// Rows is the number of rows in the snapshot, up to its damage if it has
	// any.
	Rows int64
	// Differing have another value in the replay, Extra are not in it, and
	// Lacking are in it and not in the snapshot.
	Differing, Extra, Lacking int64
	// Damage is what the snapshot cannot be read beyond; nil if it is whole.
	Damage error
}

// Equal says whether the rows of the snapshot, as far as they can be read, are
// those of the replay. It is no verdict on the rows behind the damage of a
// snapshot, for which Lacking counts them.
func (c *SnapshotCheck) Equal() bool {
	return c.Differing == 0 && c.Extra == 0 && (c.Lacking == 0 || c.Damage != nil)
}

// CompareSnapshot compares the snapshot of a version with what the deltas give
// from a base on: an older snapshot's version, or 0 for the empty state. The
// error is that of the replay. It holds the snapshot and the rows that the
// deltas touch in memory.
func (p *Partition) CompareSnapshot(ctx context.Context, version, base int64) (*SnapshotCheck, error) {
	q := *p
	q.cfg.Warn = nil
	plan := provider.Plan{Version: version}
	if base > 0 {
		plan.Base = provider.File{Name: SnapshotName(base), Kind: provider.SnapshotFile, Version: base}
	}
	for d := base + 1; d <= version; d++ {
		plan.Deltas = append(plan.Deltas, provider.File{Name: DeltaName(d), Kind: provider.DeltaFile, Version: d})
	}
	c := &SnapshotCheck{Base: base}
	t := newTable(nil)
	defer t.close()
	t.olderFile()
	// What its sidecars have against the snapshot, Verify says.
	bare := q
	bare.cfg.IgnoreSidecars = true
	c.Damage = bare.into(ctx, provider.File{Name: SnapshotName(version), Kind: provider.SnapshotFile}, t)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c.Rows = int64(t.len())
	met := int64(0)
	err := q.replay(ctx, plan, nil, func(batch []provider.Entry) bool {
		for _, e := range batch {
			value, ok := t.get(e.Key)
			switch {
			case !ok:
				c.Lacking++
				continue
			case string(value) != string(e.Value):
				c.Differing++
			}
			met++
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	c.Extra = c.Rows - met
	return c, nil
}

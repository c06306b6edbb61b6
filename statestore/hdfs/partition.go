package hdfs

import (
	"context"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/sparkstate/sparkstate/statestore/codec"
	"github.com/sparkstate/sparkstate/statestore/provider"
	"github.com/sparkstate/sparkstate/statestore/sidecar"
)

// Config is what has to be known about a store beside its files; the zero
// value is right for nearly all of them.
type Config struct {
	// Codec is the compression that the checkpoint records; each file is read
	// by its first bytes all the same, and one that differs is a warning.
	// codec.Unknown where nothing is recorded.
	Codec codec.Codec
	// RowChecksum says that rows carry a CRC-32C in front (Spark 4.2's conf
	// spark.sql.streaming.stateStore.rowChecksum.enabled). When false, each
	// file is recognised by its first row.
	RowChecksum bool
	// IgnoreSidecars leaves the .crc files unread.
	IgnoreSidecars bool
	// MaxRowBytes bounds the length of a key or value, in bytes. 0 means 1 MiB
	// plus 255 times the stored size of the file, which is more than the
	// compressions make of real rows, and at most 128 MiB.
	MaxRowBytes int64
	// MaxBlockBytes and MaxWindowBytes bound what the decompression holds at
	// once: see codec.WithMaxBlock and codec.WithMaxWindow. 0 means their
	// defaults.
	MaxBlockBytes  int
	MaxWindowBytes int64
	// MaxEntries bounds the names in the directory; 0 means
	// provider.DefaultMaxEntries.
	MaxEntries int
	// Warn is told of what is wrong and changes no row. It may be called from
	// several goroutines at once; nil drops the warnings.
	Warn func(error)
}

// Partition is one partition of a store: a directory, listed once.
type Partition struct {
	fsys  fs.FS
	dir   string
	cfg   Config
	l     *listing
	ahead *provider.Lane // of one read; nil in what Open returns
}

var _ provider.Partition = (*Partition)(nil)

// Open lists a partition directory. It opens no file.
func Open(fsys fs.FS, dir string, cfg Config) (*Partition, error) {
	l, err := list(fsys, dir, cfg.MaxEntries)
	if err != nil {
		return nil, err
	}
	return &Partition{fsys: fsys, dir: dir, cfg: cfg, l: l}, nil
}

func (p *Partition) warn(err error) {
	if p.cfg.Warn != nil {
		p.cfg.Warn(err)
	}
}

// Files implements provider.Partition. The sizes are -1; see [Partition.Stat].
func (p *Partition) Files() []provider.File { return slices.Clone(p.l.files) }

// Versions implements provider.Partition.
func (p *Partition) Versions() []int64 { return p.l.versions() }

// Stat implements provider.Partition: it fills in the sizes of files. Where a
// file has not been opened before, that costs a system call; several are made
// at once. Files that have gone since are left out.
func (p *Partition) Stat(ctx context.Context, files []provider.File) ([]provider.File, error) {
	const atOnce = 16
	const gone, unknown = -2, -1
	sizes := make([]int64, len(files))
	calls, ctx := errgroup.WithContext(ctx)
	calls.SetLimit(atOnce)
	for i, f := range files {
		if size, ok := p.l.size(f.Name); ok {
			sizes[i] = size
			continue
		}
		calls.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			switch info, err := fs.Stat(p.fsys, path.Join(p.dir, f.Name)); {
			case isGone(err):
				sizes[i] = gone
			case err != nil, !info.Mode().IsRegular():
				sizes[i] = unknown // whoever reads the file says why
			default:
				sizes[i] = info.Size()
				p.l.setSize(f.Name, info.Size())
			}
			return nil
		})
	}
	if err := calls.Wait(); err != nil {
		return nil, err
	}
	out := make([]provider.File, 0, len(files))
	for i, f := range files {
		if f.Size = sizes[i]; f.Size != gone {
			out = append(out, f)
		}
	}
	return out, nil
}

// Prefetch implements provider.Partition.
func (p *Partition) Prefetch(v provider.Version, o provider.LoadOptions) {
	if o.Ahead == nil {
		return
	}
	plan, err := p.Plan(v, o)
	if err != nil {
		return // as Batches will say
	}
	var names []string
	need := func(f provider.File) {
		if p.regular(f.Name) != nil {
			return // as whoever opens it will say
		}
		names = append(names, path.Join(p.dir, f.Name))
		if p.cfg.IgnoreSidecars {
			return
		}
		for _, s := range []string{sidecar.HadoopName(f.Name), sidecar.SparkName(f.Name)} {
			if p.regular(s) == nil {
				names = append(names, path.Join(p.dir, s))
			}
		}
	}
	for _, f := range slices.Backward(plan.Deltas) {
		need(f)
	}
	if plan.Base.Name != "" {
		need(plan.Base)
	}
	o.Ahead.Start(names...)
}

// Changes implements provider.Partition: the records of one delta.
func (p *Partition) Changes(ctx context.Context, v provider.Version) iter.Seq2[[]provider.Change, error] {
	return func(yield func([]provider.Change, error) bool) {
		if v.Number < 1 || !p.l.hasDelta(v.Number) {
			yield(nil, &provider.FileError{Path: path.Join(p.dir, DeltaName(v.Number)), Offset: -1,
				Kind: provider.ErrMissing, Condition: condMissingDelta,
				Detail: fmt.Sprintf("the file is missing; the changes of version %d are in it and nowhere else", v.Number)})
			return
		}
		f := provider.File{Name: DeltaName(v.Number), Kind: provider.DeltaFile, Version: v.Number}
		var changes [batchLen]provider.Change
		err := p.each(ctx, f, func(batch []provider.Entry) bool {
			for i := range batch {
				changes[i] = change(&batch[i])
			}
			return yield(changes[:len(batch)], nil)
		})
		if err != nil {
			yield(nil, err)
		}
	}
}

// change says of a record of a delta what a change set says of it.
func change(r *provider.Entry) provider.Change {
	if r.Value == nil {
		return provider.Change{Type: provider.Delete, Key: r.Key}
	}
	return provider.Change{Type: provider.Update, Key: r.Key, Value: r.Value}
}

// each calls fn with every batch of records of a file, until fn returns false
// or the file ends or breaks.
func (p *Partition) each(ctx context.Context, f provider.File, fn func([]provider.Entry) bool) error {
	return p.scanning(ctx, f, func(s *scanner) error { return s.each(ctx, fn) })
}

// scanning opens a file for reading records, and closes it after use.
func (p *Partition) scanning(ctx context.Context, f provider.File, use func(*scanner) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s, err := p.scan(f)
	if err != nil {
		return err
	}
	defer s.close()
	return use(s)
}

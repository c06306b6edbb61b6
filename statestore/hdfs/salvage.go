package hdfs

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"path"
	"slices"

	"github.com/sparkstate/sparkstate/statestore/provider"
)

// Salvaged is a row that can still be read of a damaged partition.
type Salvaged struct {
	provider.Entry
	// Version is the newest version at which the row is known to have been like
	// this. Below the version that was asked for, a lost file may have changed
	// or removed it since.
	Version int64
	// Doubtful: the row may be wrong. Its file is not as it was written, as a .crc
	// file or damage further on shows, and no checksum of its compression tells
	// where; or it is from a delta that breaks off, and what is lost of that may
	// change the row once more.
	Doubtful bool
}

// Loss counts what a salvage could not have.
type Loss struct {
	// Files says what is wrong with each file that is damaged or missing, a
	// *provider.FileError each; a gap of several versions is one.
	Files []error
	// Rows is the number of rows that were yielded. Of those, Outdated are of a
	// Version below the one asked for, and Doubtful are doubtful.
	Rows, Outdated, Doubtful int64
}

// salvaged says of the rows of one file what Salvaged says of each.
type salvaged struct {
	version  int64
	doubtful bool
}

// Salvage yields every row that can still be read of a version, whatever is
// damaged or missing: the newest record of each key in any file up to it. A
// whole snapshot ends the search; without one it goes down to the oldest file.
// Of a partition that is not damaged the rows are those of [Partition.Entries].
//
// What is lost is counted in loss, which is complete once the sequence has
// ended; what a read would warn of, a salvage does too. What a lost file removed comes back, marked as outdated. All rows are
// held in memory. The error is that of a context that is done.
func (p *Partition) Salvage(ctx context.Context, version int64, loss *Loss) iter.Seq2[Salvaged, error] {
	return func(yield func(Salvaged, error) bool) {
		t, files, err := p.salvageFresh(ctx, version, loss)
		if err != nil {
			yield(Salvaged{}, err)
			return
		}
		defer t.close()
		t.rows(func(file int, e provider.Entry) bool {
			row := Salvaged{Entry: e, Version: files[file].version, Doubtful: files[file].doubtful}
			loss.Rows++
			if row.Version < version {
				loss.Outdated++
			}
			if row.Doubtful {
				loss.Doubtful++
			}
			return yield(row, nil)
		})
	}
}

// salvageFresh is salvage that lists the directory again where files have gone
// since, as those of a running query do: a few times, and not where nothing
// has changed.
func (p *Partition) salvageFresh(ctx context.Context, version int64, loss *Loss) (*table, []salvaged, error) {
	for n := 1; ; n++ {
		t := newTable(nil)
		var lost Loss
		files, err := p.salvage(ctx, version, t, &lost)
		if err != nil {
			t.close()
			return nil, nil, err
		}
		if n < 4 && slices.ContainsFunc(lost.Files, isGone) {
			if q, err := Open(p.fsys, p.dir, p.cfg); err == nil && !slices.Equal(q.l.files, p.l.files) {
				p = q
				t.close()
				continue
			}
		}
		loss.Files = append(loss.Files, lost.Files...)
		return t, files, nil
	}
}

// salvage reads the files from the newest to the oldest that is needed, and
// returns what is known of each.
func (p *Partition) salvage(ctx context.Context, version int64, t *table, loss *Loss) ([]salvaged, error) {
	known := slices.Concat(p.l.deltas, p.l.snapshots)
	slices.Sort(known)
	known = slices.Compact(known)
	var files []salvaged
	upTo := version // how far a row of the next file is known to have stayed
	lose := func(v int64, err error) {
		loss.Files = append(loss.Files, err)
		upTo = min(upTo, v-1)
	}
	read := func(f provider.File) (*FileCheck, error) {
		t.olderFile()
		files = append(files, salvaged{version: upTo})
		var full error
		c, err := p.verify(ctx, f, nil, func(c provider.Change, _ int64) {
			if full == nil {
				full = t.add([]provider.Entry{{Key: c.Key, Value: c.Value}})
			}
		})
		if err == nil {
			err = full
		}
		if err == nil {
			files[len(files)-1].doubtful = c.doubtful()
			p.warnOf(c)
		}
		return c, err
	}
	next := version // the delta that is due
	for _, v := range slices.Backward(known) {
		if v > version {
			continue
		}
		if v < next {
			lose(v+1, p.gone(v+1, next))
		}
		next = v - 1
		if p.l.hasSnapshot(v) {
			c, err := read(provider.File{Name: SnapshotName(v), Kind: provider.SnapshotFile, Version: v})
			if err != nil {
				return nil, err
			}
			wrong := c.Err
			if wrong == nil {
				wrong = c.doubt()
			}
			if wrong == nil {
				return files, nil
			}
			loss.Files = append(loss.Files, wrong)
		}
		if !p.l.hasDelta(v) {
			lose(v, p.gone(v, v))
			continue
		}
		c, err := read(provider.File{Name: DeltaName(v), Kind: provider.DeltaFile, Version: v})
		if err != nil {
			return nil, err
		}
		switch {
		case c.Err != nil:
			// A record that was read may have been followed by another of the
			// same key: the row was like this while the version was written.
			files[len(files)-1] = salvaged{version: min(upTo, v), doubtful: true}
			lose(v, c.Err)
		case c.doubt() != nil:
			lose(v, c.doubt())
		}
	}
	if next > 0 {
		lose(1, p.gone(1, next))
	}
	return files, nil
}

// warnOf warns of what a read of a file that decodes warns of: all that is wrong
// and makes no row doubtful.
func (p *Partition) warnOf(c *FileCheck) {
	for _, err := range []error{c.OtherCodec, c.Sidecar, c.AfterEnd} {
		if err != nil {
			p.warn(err)
		}
	}
	if c.Err == nil && c.Codec.Checksummed() {
		if err := cmp.Or(c.Hadoop, c.Spark); err != nil {
			p.warn(err)
		}
	}
}

// gone is the error of the deltas first to last that are not there.
func (p *Partition) gone(first, last int64) error {
	e := &provider.FileError{Path: path.Join(p.dir, DeltaName(first)), Offset: -1, Kind: provider.ErrMissing, Condition: condMissingDelta,
		Detail: "the file is missing"}
	if last > first {
		e.Detail = fmt.Sprintf("%s to %s are missing", DeltaName(first), DeltaName(last))
	}
	return e
}

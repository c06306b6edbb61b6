package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"

	"github.com/sparkstate/sparkstate/statestore"
	"github.com/sparkstate/sparkstate/statestore/hdfs"
	"github.com/sparkstate/sparkstate/statestore/provider"
)

// examination is one run of a check: the facts, from which the map, the answers
// and the findings are drawn. Each file is opened once, here.
type examination struct {
	ctx       context.Context
	cp        *Checkpoint
	level     CheckLevel
	workers   int
	longChain int64
	proposed  []givenSchema

	logs     []*logFacts // by batch
	last     int64
	lastFrom Source
	asked    int64

	stores     []*storeFacts
	first, end int64 // the batches of the map

	findings []Finding
}

// logFacts are what the logs have of one batch.
type logFacts struct {
	id                    int64
	hasOffsets, hasCommit bool
	offsetErr, commitErr  error
	offsetSum, commitSum  error // the hidden sidecar, at which Spark does not look, differs
	watermark, timestamp  int64
	next                  int64 // watermark after the batch
	confSince             int64
	confChanges           []ConfChange
	backwards             []string // sources whose offsets went back
}

func (l *logFacts) planned() bool { return l != nil && l.hasOffsets && l.offsetErr == nil }

// startable says whether Spark can start from what the batch left.
func (l *logFacts) startable() bool { return l.planned() && l.hasCommit && l.commitErr == nil }

// log returns the facts of a batch, nil for none.
func (x *examination) log(id int64) *logFacts {
	i, ok := slices.BinarySearchFunc(x.logs, id, func(l *logFacts, id int64) int { return cmp.Compare(l.id, id) })
	if !ok {
		return nil
	}
	return x.logs[i]
}

func (x *examination) readLogs() error {
	for e, err := range x.cp.History(x.ctx) {
		if err != nil {
			return err
		}
		l := &logFacts{id: e.ID, hasOffsets: e.Planned, hasCommit: e.Committed,
			offsetErr: e.OffsetErr, commitErr: e.CommitErr, confSince: e.ConfSince, confChanges: e.ConfChanges}
		// A running query removes old logs, meanwhile.
		if errors.Is(l.offsetErr, fs.ErrNotExist) && x.purged("offsets", e.ID) {
			l.hasOffsets, l.offsetErr = false, nil
		}
		if errors.Is(l.commitErr, fs.ErrNotExist) && x.purged("commits", e.ID) {
			l.hasCommit, l.commitErr = false, nil
		}
		if l.hasOffsets && l.offsetErr == nil {
			l.offsetSum = x.strict("offsets", e.ID)
		}
		if l.hasCommit && l.commitErr == nil {
			l.commitSum = x.strict("commits", e.ID)
		}
		if o := e.Offsets; o != nil {
			l.watermark, l.timestamp = o.WatermarkMs, o.TimestampMs
		}
		l.next = max(l.watermark, e.NextWatermarkMs)
		for i := range e.Sources {
			if e.Sources[i].Change == OffsetBackwards {
				l.backwards = append(l.backwards, e.Sources[i].ID)
			}
		}
		x.logs = append(x.logs, l)
	}
	return nil
}

// purged says whether a log that was listed is no longer in its directory: a
// link that leads nowhere is.
func (x *examination) purged(dir string, id int64) bool {
	now, err := x.cp.numbered(path.Join(x.cp.at.root, dir), false)
	return err == nil && !holds(now, id)
}

// strict reads a log and lets its sidecar decide.
func (x *examination) strict(dir string, id int64) error {
	_, err := x.cp.readSmall(path.Join(x.cp.at.root, dir, strconv.FormatInt(id, 10)), true)
	return err
}

// findAsked settles which batch's state a start asks for, and with which batch
// the map ends.
func (x *examination) findAsked() error {
	var err error
	x.last, x.lastFrom, err = x.cp.LastCommitted()
	if err != nil {
		return err
	}
	x.asked = x.last
	if n := len(x.cp.planned); n > 0 && x.lastFrom == Recorded {
		// The newest batch in the offset log runs again unless it is committed.
		if newest := x.cp.planned[n-1]; x.last != newest {
			x.asked = newest - 1
		}
	}
	// A file may be named after the greatest number of all; no version follows
	// that one.
	x.last, x.asked = min(x.last, math.MaxInt64-1), min(x.asked, math.MaxInt64-1)
	x.end = max(x.last, x.asked)
	if x.lastFrom != Recorded {
		// Without commits every version may be one that was finished.
		x.end = math.MaxInt64 - 1
	}
	return nil
}

// storeFacts are what is known of a store.
type storeFacts struct {
	store *Store
	parts []*partFacts
}

// partFacts are what is known of a partition of a store.
type partFacts struct {
	of  *storeFacts
	id  int
	dir string // "" for none
	err error  // of listing it
	// unjudged: nothing says that the partition should be there.
	unjudged bool

	part              *hdfs.Partition
	files             []fileFacts // in the order of hdfs.CompareFiles
	deltas, snapshots []int64     // ascending
	named             []int64     // the snapshots that Spark 4.2 takes names for, ascending
	unlisted          error       // the name that its listing breaks on
	broken            map[breakKey]breakAt
	doubtful          bool // a sidecar differs
	cut               bool // see cutAtStart
	went              bool // a file has gone between the listing and its turn
	spans             []Span
	gaps              []BatchRange // versions whose deltas were found to be missing
}

type breakKey struct {
	judge Judge
	base  int64
}

type breakAt struct {
	at  int64
	why error
}

// fileFacts are what is known of a file.
type fileFacts struct {
	provider.File
	dir     string
	check   *hdfs.FileCheck // nil: not decoded
	rows    *rowFacts       // nil: not looked at
	first   *firstRow       // nil: not decoded, or the file has only removes
	against *hdfs.SnapshotCheck
}

func (f *fileFacts) path() string { return path.Join(f.dir, f.Name) }

// isState says whether the file is a delta or a snapshot.
func (f *fileFacts) isState() bool {
	return f.Kind == provider.DeltaFile || f.Kind == provider.SnapshotFile
}

// sizeErr returns what is wrong with the size of a file, nil if nothing is.
func (f *fileFacts) sizeErr() error {
	if f.Size != 0 || !f.isState() {
		return nil
	}
	return &statestore.FileError{Path: f.path(), Offset: 0, Kind: statestore.ErrTruncated,
		Condition: "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED", Detail: "the file has 0 bytes, and no state file has"}
}

// file returns the facts of a file of the partition, nil for none.
func (p *partFacts) file(name string) *fileFacts {
	_, v := hdfs.ParseName(name)
	i, ok := slices.BinarySearchFunc(p.files, provider.File{Name: name, Version: v},
		func(f fileFacts, target provider.File) int { return hdfs.CompareFiles(f.File, target) })
	if !ok {
		return nil
	}
	return &p.files[i]
}

// firstRow is the first row of a file, the one that Spark compares with the
// schema.
type firstRow struct {
	misfit error // why it does not fit
}

// rowFacts count what is wrong with the rows of a file.
type rowFacts struct {
	misfits   int64
	misfit    error // the first
	inKey     bool  // it is in a key
	offset    int64 // of its block
	misplaced int64
	belongs   int   // the partition of the first that is misplaced
	at        int64 // offset of its block
	timeouts  int64 // rows that time out in 1970
}

func (p *partFacts) newest() int64 {
	v := int64(0)
	if n := len(p.deltas); n > 0 {
		v = p.deltas[n-1]
	}
	if n := len(p.snapshots); n > 0 {
		v = max(v, p.snapshots[n-1])
	}
	return v
}

// missing returns why the partition has no files.
func (p *partFacts) missing() error {
	if p.err != nil {
		return p.err
	}
	return &statestore.FileError{Path: p.expected(), Offset: -1, Kind: statestore.ErrMissing,
		Condition: "CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS", Detail: "the partition has no directory"}
}

// expected is the directory where the partition should be.
func (p *partFacts) expected() string {
	if p.dir != "" {
		return p.dir
	}
	s := p.of.store
	return path.Join(s.op.dir, strconv.Itoa(p.id), storeDir(s.name))
}

func storeDir(name string) string {
	if name == defaultStore {
		return ""
	}
	return name
}

// files calls fn with every state and temporary file.
func (x *examination) files(fn func(*partFacts, *fileFacts)) {
	x.partitions(func(p *partFacts) {
		for i := range p.files {
			fn(p, &p.files[i])
		}
	})
}

func (x *examination) partitions(fn func(*partFacts)) {
	for _, s := range x.stores {
		for _, p := range s.parts {
			fn(p)
		}
	}
}

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
	"time"

	"github.com/sparkstate/sparkstate/statestore"
	"github.com/sparkstate/sparkstate/statestore/hdfs"
	"github.com/sparkstate/sparkstate/statestore/placement"
	"github.com/sparkstate/sparkstate/statestore/provider"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
	"github.com/sparkstate/sparkstate/statestore/unsaferow"
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

func (x *examination) readStores() error {
	if x.cp.Provider().Format != HDFS {
		x.last, x.asked, x.end = -1, -1, -1
		if n := len(x.cp.committed); n > 0 {
			x.last, x.lastFrom = x.cp.committed[n-1], Recorded
			x.asked = x.last
		}
		return nil
	}
	if err := x.findAsked(); err != nil {
		return err
	}
	for _, o := range x.cp.operators {
		for _, s := range o.stores {
			st, err := s.stateAt(0)
			if err != nil {
				return err
			}
			sf := &storeFacts{store: s}
			for p, err := range statestore.Walk(x.ctx, st, func(ctx context.Context, id int, emit func(*partFacts) bool) error {
				p := &partFacts{of: sf, id: id}
				if err := x.readPartition(ctx, p); err != nil {
					return err
				}
				emit(p)
				return nil
			}, statestore.Workers(x.workers)) {
				if err != nil {
					return err
				}
				sf.parts = append(sf.parts, p)
			}
			x.stores = append(x.stores, sf)
		}
	}
	x.span()
	return nil
}

// span settles with which batch the map begins, and without commits with which
// it ends.
func (x *examination) span() {
	if x.lastFrom != Recorded {
		_, hi := x.ends()
		x.end = max(x.last, hi-1)
	}
	x.first = math.MaxInt64
	if len(x.cp.committed) > 0 {
		x.first = x.cp.committed[0]
	}
	x.partitions(func(p *partFacts) {
		for _, vs := range [][]int64{p.deltas, p.snapshots} {
			if len(vs) > 0 {
				x.first = min(x.first, vs[0]-1)
			}
		}
	})
	if len(x.stores) == 0 || x.first > x.end {
		x.first = x.end + 1
	}
}

// listings is how often a partition is listed, at most, while its files vanish
// under the reader.
const listings = 4

// readPartition lists a partition and decodes what the level asks for. The
// maintenance of a running query removes files meanwhile; then all of it is done
// again, from a fresh listing.
func (x *examination) readPartition(ctx context.Context, p *partFacts) error {
	s := p.of.store
	p.dir = s.dirs()[p.id]
	if p.dir == "" {
		// Of a part of a checkpoint nobody knows what else there was; and an
		// operator of which nothing is known may run as a single task.
		lonely := len(s.op.dirs) == 1 && s.op.dirs[0] != "" && s.op.kind == nil
		p.unjudged = x.cp.at.root == "" || s.op.partFrom != Recorded || lonely
		return nil
	}
	for n := 1; ; n++ {
		fresh := partFacts{of: p.of, id: p.id, dir: p.dir, broken: make(map[breakKey]breakAt)}
		if err := x.listPartition(ctx, &fresh); err != nil {
			return err
		}
		*p = fresh
		if n == listings || !p.vanished() {
			return nil
		}
	}
}

// vanished says whether a file went between the listing and its turn.
func (p *partFacts) vanished() bool {
	return p.went || slices.ContainsFunc(p.files, func(f fileFacts) bool { return f.check != nil && errors.Is(f.check.Err, statestore.ErrMissing) })
}

func (x *examination) listPartition(ctx context.Context, p *partFacts) error {
	part, err := p.of.store.damagedPartition(p.id)
	switch {
	case err != nil:
		p.err = err
		return nil
	case part == nil:
		p.unjudged = x.cp.at.root == ""
		return nil
	}
	p.part = part
	if err := p.size(ctx); err != nil {
		return err
	}
	slices.Sort(p.deltas)
	slices.Sort(p.snapshots)
	slices.Sort(p.named)
	p.cut = x.cutAtStart(p)
	return x.decode(ctx, p)
}

// size asks for the sizes of the state files of the listing. It does so for a few
// at a time, so that a million names are not held twice.
func (p *partFacts) size(ctx context.Context) error {
	listed := p.part.Files()
	p.files = make([]fileFacts, 0, len(listed))
	for some := range slices.Chunk(listed, 512) {
		state := slices.DeleteFunc(slices.Clone(some), func(f provider.File) bool { return f.Kind != provider.DeltaFile && f.Kind != provider.SnapshotFile })
		sized, err := p.part.Stat(ctx, state)
		if err != nil {
			return err
		}
		p.went = p.went || len(sized) < len(state)
		for _, f := range some {
			switch f.Kind {
			case provider.DeltaFile, provider.SnapshotFile:
				if len(sized) == 0 || sized[0].Name != f.Name {
					continue // it has gone since
				}
				f, sized = sized[0], sized[1:]
				if f.Kind == provider.DeltaFile {
					p.deltas = append(p.deltas, f.Version)
				} else {
					p.snapshots = append(p.snapshots, f.Version)
				}
			}
			p.files = append(p.files, fileFacts{File: f, dir: p.dir})
			if v, err, ok := namedSnapshot(f.Name); err != nil {
				p.unlisted = &statestore.FileError{Path: path.Join(p.dir, f.Name), Offset: -1, Kind: statestore.ErrCorrupt,
					Condition: "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED", Detail: "Spark 4.2 takes this for a snapshot, and fails on the number", Err: err}
			} else if ok {
				p.named = append(p.named, v)
			}
		}
	}
	return nil
}

// cutAtStart says whether the first deltas of a chain are missing in a way that
// cleaning up does not explain: it removes everything below a snapshot, and not
// what is still in the logs.
func (x *examination) cutAtStart(p *partFacts) bool {
	if len(p.snapshots) == 0 || len(p.deltas) == 0 || len(x.cp.committed) == 0 {
		return false
	}
	first, oldest := p.deltas[0], p.snapshots[0]
	i, _ := slices.BinarySearch(p.deltas, oldest)
	return first > 1 && first < oldest && int64(i) == oldest-first && x.cp.committed[0] < oldest-1
}

// decode reads the files of a partition that the level asks for, each once.
func (x *examination) decode(ctx context.Context, p *partFacts) error {
	if x.level == QuickCheck {
		return nil
	}
	loadable := p.part.Versions()
	needed := func(f *fileFacts) bool {
		if f.Version > x.end+1 {
			return false
		}
		_, ok := slices.BinarySearch(loadable, f.Version)
		// A delta that a snapshot stands for is needed only if that is damaged.
		return ok && (f.Kind == provider.SnapshotFile || !holds(p.snapshots, f.Version))
	}
	for i := range p.files {
		f := &p.files[i]
		if f.isState() && (x.level == DeepCheck || needed(f)) || x.mayReplace(p, f) {
			if err := x.verify(ctx, p, f); err != nil {
				return err
			}
		}
	}
	// What leads to a damaged snapshot is needed in its place.
	for _, v := range p.snapshots {
		if f := p.file(hdfs.SnapshotName(v)); f.check != nil && anyFault(f) != nil {
			if d := p.file(hdfs.DeltaName(v)); d != nil && d.check == nil {
				if err := x.verify(ctx, p, d); err != nil {
					return err
				}
			}
		}
	}
	return x.compareSnapshots(ctx, p)
}

func holds(ns []int64, v int64) bool {
	_, ok := slices.BinarySearch(ns, v)
	return ok
}

// anyFault returns what any of the judges has against a file.
func anyFault(f *fileFacts) error {
	for j := range Judges {
		if err, _ := f.fault(j); err != nil {
			return err
		}
	}
	return nil
}

func (x *examination) verify(ctx context.Context, p *partFacts, f *fileFacts) error {
	var look func(provider.Change, int64)
	// What may stand in for a missing file has to prove more than those that
	// Spark has put in place.
	if x.level == DeepCheck || f.Kind == provider.TempFile {
		f.rows = &rowFacts{}
		look = p.rowCheck(f.rows)
	}
	validate := p.rowValidator()
	c, err := p.part.Verify(ctx, f.File, func(c provider.Change, offset int64) {
		if f.first == nil && c.Type == provider.Update {
			f.first = &firstRow{validate(c, f.path(), offset)}
		}
		if look != nil {
			look(c, offset)
		}
	})
	if err != nil {
		return err
	}
	f.check = c
	p.doubtful = p.doubtful || c.Hadoop != nil || c.Spark != nil
	return nil
}

// rowValidator returns what compares the first row of a file with the schema,
// as Spark does. Of a deduplication it looks at the key only.
func (p *partFacts) rowValidator() func(c provider.Change, name string, offset int64) error {
	s := p.of.store
	noValue := s.op.kind == &dedupe
	return func(c provider.Change, name string, offset int64) error {
		check := func(row []byte, t *sqltype.Type, what string) error {
			if t == nil {
				return nil
			}
			err := unsaferow.Validate(row, t)
			if err == nil {
				return nil
			}
			return &statestore.FileError{Path: name, Offset: offset, Kind: statestore.ErrCorrupt,
				Condition: "CANNOT_LOAD_STATE_STORE." + what + "_ROW_FORMAT_VALIDATION_FAILURE", Detail: "the first row does not fit the schema", Err: err}
		}
		if err := check(c.Key, s.types.key, "KEY"); err != nil || noValue {
			return err
		}
		return check(c.Value, s.types.value, "VALUE")
	}
}

// rowCheck returns what looks at each row of a file.
func (p *partFacts) rowCheck(to *rowFacts) func(provider.Change, int64) {
	s := p.of.store
	key, value := s.types.key, s.types.value
	belongs := s.placer()
	timeout := -1
	unit := int64(1)
	for _, c := range s.Columns() {
		if (c.Role == Timeout || c.Role == ExpiresAt) && c.Side == "value" && len(c.Index) == 1 {
			timeout = c.Index[0]
			if c.Unit == Microseconds {
				unit = 1000
			}
		}
	}
	year := (365 * 24 * time.Hour).Milliseconds()
	return func(c provider.Change, offset int64) {
		var err error
		if key != nil {
			err = unsaferow.Validate(c.Key, key)
		}
		inKey := err != nil
		if err == nil && value != nil && c.Type == provider.Update {
			err = unsaferow.Validate(c.Value, value)
		}
		if err != nil {
			if to.misfits++; to.misfit == nil {
				to.misfit, to.inKey, to.offset = err, inKey, offset
			}
			return // whatever else it says means nothing
		}
		if belongs != nil {
			if q, ok := belongs(c.Key); ok && q != p.id {
				if to.misplaced++; to.misplaced == 1 {
					to.belongs, to.at = q, offset
				}
			}
		}
		if timeout >= 0 && value != nil && c.Type == provider.Update {
			if row, err := unsaferow.View(c.Value, len(value.Fields)); err == nil && !row.IsNull(timeout) {
				if ms := row.Int64(timeout) / unit; ms > 0 && ms < year {
					to.timeouts++
				}
			}
		}
	}
}

// placer returns what says in which partition a key must be; nil where Spark
// promises nothing, or the number of partitions is only a guess.
func (s *Store) placer() func(key []byte) (int, bool) {
	at := s.Placement()
	if !at.Strict || at.Single || at.Columns < 0 || s.types.key == nil || s.op.partFrom != Recorded {
		return nil
	}
	columns := make([]int, at.Columns)
	for i := range columns {
		columns[i] = i
	}
	h, err := placement.NewHasher(s.types.key, columns)
	if err != nil {
		return nil // a type that Spark does not hash, or not by its bytes
	}
	n := s.op.partitions
	return func(key []byte) (int, bool) {
		sum, err := h.Hash(key)
		return placement.Partition(sum, n), err == nil
	}
}

// compareSnapshots compares, in a deep check, every snapshot with the deltas
// that lead to it, and otherwise those that are damaged: what can still be read
// of them tells whether the deltas are to be trusted.
func (x *examination) compareSnapshots(ctx context.Context, p *partFacts) error {
	for _, v := range p.snapshots {
		f := p.file(hdfs.SnapshotName(v))
		if f.check == nil || x.level != DeepCheck && f.check.Err == nil {
			continue
		}
		base, ok := p.otherBase(v)
		if !ok {
			continue
		}
		c, err := p.part.CompareSnapshot(ctx, v, base)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil { // otherwise the deltas are damaged, which is said of them
			f.against = c
		}
	}
	return nil
}

// otherBase returns the version from which deltas lead to that of a snapshot:
// of the next older snapshot, or 0.
func (p *partFacts) otherBase(v int64) (int64, bool) {
	for s := v; s > 0; {
		s = atMost(p.snapshots, s-1)
		if at, _ := p.breaks(Library, s); at <= v {
			return 0, false
		}
		if bad, hard := p.snapshotFault(Library, s); bad == nil || !hard {
			return s, true
		}
	}
	return 0, false
}

func versionOf(v int64) provider.Version { return provider.Version{Number: v} }

var noLoadOptions provider.LoadOptions

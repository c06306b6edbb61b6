package checkpoint

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/sparkstate/sparkstate/statestore"
	"github.com/sparkstate/sparkstate/statestore/hdfs"
)

// Judge is somebody who may or may not be able to load a state.
type Judge uint8

const (
	// SparkBefore41 stops at a snapshot that is damaged.
	SparkBefore41 Judge = iota
	// Spark41 is Spark 4.1 and later: it replaces a damaged snapshot by an
	// older one, if that is not more than 50 versions back (4.2 allows 500). It
	// also verifies the JSON sidecars of state files, which later releases no
	// longer do for this provider.
	Spark41
	// Library is this library.
	Library
	// Judges is how many there are.
	Judges
)

// String names the judge for people.
func (j Judge) String() string {
	switch j {
	case SparkBefore41:
		return "Spark before 4.1"
	case Spark41:
		return "Spark 4.1 and later"
	case Library:
		return "this library"
	}
	return fmt.Sprintf("Judge(%d)", j)
}

// repairReach is how many deltas Spark 4.1 replays at most to do without a
// damaged snapshot.
const repairReach = 50

// Loading says whether a state can be loaded.
type Loading uint8

const (
	// Loads: as it is.
	Loads Loading = iota
	// ByFallback: not from the files that come first, but there is a way
	// around. Spark 4.1 takes an older snapshot by itself. This library does in
	// [Store.Salvage], which loses nothing here, and it reads a file that does
	// not match its sidecar if it is told to [IgnoreSidecars].
	ByFallback
	// CleanedUp: no longer there, because retention has removed it. That is no
	// damage.
	CleanedUp
	// Lost: it should be there and cannot be loaded.
	Lost
)

// String returns a word in lower case.
func (l Loading) String() string {
	switch l {
	case Loads:
		return "loads"
	case ByFallback:
		return "fallback"
	case CleanedUp:
		return "cleanedUp"
	case Lost:
		return "lost"
	}
	return fmt.Sprintf("Loading(%d)", l)
}

// MarshalText makes JSON use the words.
func (l Loading) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// Map says of the batches First to Last, both included, what can be loaded.
// First > Last if there are none.
type Map struct {
	First, Last int64
	Stores      []StoreMap
}

// StoreMap is the map of one store.
type StoreMap struct {
	Operator   int
	Store      string
	Partitions []PartitionMap
}

// PartitionMap is the map of one partition: its spans cover the batches of the
// map in ascending order.
type PartitionMap struct {
	Partition int
	Spans     []Span
}

// Span is a run of batches of which the same can be said.
type Span struct {
	First, Last int64
	// Loading holds the verdict of each [Judge].
	Loading [Judges]Loading
	// Why is what keeps the strictest judge from loading the files as they
	// are: mostly a *statestore.FileError. nil if nothing does.
	Why error
}

// Answer is what a judge concludes from the map and the logs.
type Answer struct {
	// Restarts: the query starts as it is. Every store loads at the batch that
	// Spark asks for (it never goes back by itself), and the logs that it needs
	// are there. For [Library] it says whether that state can be read.
	Restarts bool
	// Why is what is in the way of a restart, nil if nothing is.
	Why error
	// Newest is the newest batch that every store can load, and, for Spark,
	// from whose logs a query can start; -1 for none.
	Newest int64
	// Back is what it takes to go back to Newest where the query does not
	// restart as it is; nil if there is nothing to go back to, and for
	// [Library], which restarts nothing.
	Back *Rollback
}

// Rollback is what would have to go, in a copy, for Spark to start from an
// older batch, and what it would then do again.
type Rollback struct {
	// Offsets and Commits are the log files to remove.
	Offsets, Commits []int64
	// Above is the newest state version to keep. Newer snapshots have to go as
	// well: Spark would believe them rather than the deltas that it writes anew.
	Above int64
	// Again is the batch that is run again with the very offsets that it had;
	// -1 for none.
	Again int64
	// Replayed are the committed batches whose input is read and written a
	// second time.
	Replayed BatchRange
	// Input is, for each source, what those batches have read: from the end of
	// the last batch that stays on. Records counts it where the source does.
	Input []SourceProgress
	// Sources are the entries of file sources' logs to remove: those that are
	// newer than the offsets that stay. Spark takes the files in them for done.
	Sources []string
}

// restorable makes the map.
func (x *examination) restorable() Map {
	m := Map{First: x.first, Last: x.end}
	for _, s := range x.stores {
		sm := StoreMap{Operator: s.store.op.id, Store: s.store.name}
		for _, p := range s.parts {
			if p.unjudged {
				continue
			}
			p.spans = p.judge(x.first, x.end)
			sm.Partitions = append(sm.Partitions, PartitionMap{Partition: p.id, Spans: p.spans})
		}
		m.Stores = append(m.Stores, sm)
	}
	return m
}

// judge makes the spans of a partition. Verdicts change only where a file
// begins or ends to count, so only those batches are looked at.
func (p *partFacts) judge(first, last int64) []Span {
	if first > last {
		return nil
	}
	points := []int64{first + 1}
	add := func(v int64) {
		if v > first+1 && v <= last+1 {
			points = append(points, v)
		}
	}
	for _, v := range slices.Concat(p.deltas, p.snapshots) {
		add(v)
		add(v + 1)
	}
	for _, s := range p.snapshots {
		add(s + repairReach + 1)
	}
	add(repairReach + 1)
	slices.Sort(points)
	points = slices.Compact(points)
	var out []Span
	for i, v := range points {
		s := Span{First: v - 1, Last: last}
		if i+1 < len(points) {
			s.Last = points[i+1] - 2
		}
		for j := range Judges {
			var why error
			if s.Loading[j], why = p.load(j, v); s.Why == nil {
				s.Why = why
			}
		}
		if n := len(out); n > 0 && out[n-1].Loading == s.Loading && sameFile(out[n-1].Why, s.Why) {
			out[n-1].Last = s.Last
			continue
		}
		out = append(out, s)
	}
	return out
}

func sameFile(a, b error) bool {
	var x, y *statestore.FileError
	if errors.As(a, &x) && errors.As(b, &y) {
		return x.Path == y.Path
	}
	return a == nil && b == nil
}

// load says whether a judge can load a version, and if not as it is, why.
func (p *partFacts) load(j Judge, v int64) (Loading, error) {
	switch {
	case v == 0:
		return Loads, nil
	case p.dir == "" || p.err != nil || p.part == nil:
		return Lost, p.missing()
	}
	base := atMost(p.snapshots, v)
	if at, why := p.breaks(j, base); at <= v {
		if _, err := p.part.Plan(versionOf(v), noLoadOptions); err != nil {
			switch {
			case !errors.Is(err, statestore.ErrCleanedUp):
				if errors.Is(why, statestore.ErrMissing) {
					why = err // it says of what the chain consists
				}
			case !p.cut:
				return CleanedUp, err
			}
		}
		return Lost, why
	}
	bad, hard := p.snapshotFault(j, base)
	if bad == nil {
		if soft := p.doubt(j, base, v); soft != nil {
			return ByFallback, soft
		}
		return Loads, nil
	}
	if !hard {
		return ByFallback, bad
	}
	if _, ok := p.fallback(j, base, v); ok {
		return ByFallback, bad
	}
	return Lost, bad
}

// fallback returns the base that a judge can take instead of a damaged
// snapshot.
func (p *partFacts) fallback(j Judge, base, v int64) (int64, bool) {
	if j == SparkBefore41 {
		return 0, false
	}
	for s := base; s > 0; {
		s = atMost(p.snapshots, s-1)
		if j == Spark41 && v-s > repairReach {
			return 0, false
		}
		if at, _ := p.breaks(j, s); at <= v {
			return 0, false // and so it does for whatever is older
		}
		if bad, _ := p.snapshotFault(j, s); bad == nil {
			return s, true
		}
	}
	return 0, false
}

func (p *partFacts) snapshotFault(j Judge, v int64) (err error, hard bool) {
	if v == 0 {
		return nil, false
	}
	return p.file(hdfs.SnapshotName(v)).fault(j)
}

// breaks returns the first version after base whose delta is missing or of no
// use to a judge, and why.
func (p *partFacts) breaks(j Judge, base int64) (int64, error) {
	type key = breakKey
	if b, ok := p.broken[key{j, base}]; ok {
		return b.at, b.why
	}
	b := breakAt{at: base + 1}
	for i, _ := slices.BinarySearch(p.deltas, base+1); i < len(p.deltas) && p.deltas[i] == b.at; i++ {
		if err, hard := p.file(hdfs.DeltaName(b.at)).fault(j); hard {
			b.why = err
			break
		}
		b.at++
	}
	if b.why == nil {
		b.why = &statestore.FileError{Path: path.Join(p.dir, hdfs.DeltaName(b.at)), Offset: -1, Kind: statestore.ErrMissing, Detail: "the file is missing"}
	}
	p.broken[key{j, base}] = b
	return b.at, b.why
}

// doubt returns what a judge can read only if told to look away.
func (p *partFacts) doubt(j Judge, base, v int64) error {
	if j != Library || !p.doubtful {
		return nil
	}
	for d := base + 1; d <= v; d++ {
		if err, _ := p.file(hdfs.DeltaName(d)).fault(j); err != nil {
			return err
		}
	}
	return nil
}

// fault returns what a judge has against a file, and whether that keeps it from
// using the file at all.
func (f *fileFacts) fault(j Judge) (err error, hard bool) {
	switch {
	case f == nil:
		return nil, false
	case f.check == nil:
		err := f.sizeErr()
		return err, err != nil
	case f.check.Err != nil:
		return f.check.Err, true
	case j == Library:
		if f.check.Codec.Checksummed() {
			return nil, false
		}
		return cmp.Or(f.check.Hadoop, f.check.Spark), false
	case f.check.OtherCodec != nil:
		return f.check.OtherCodec, true
	case f.check.Hadoop != nil:
		return f.check.Hadoop, true
	case j == Spark41 && f.check.Spark != nil:
		return f.check.Spark, true
	}
	return nil, false
}

// atMost returns the greatest of ascending numbers that is not above v, or 0.
func atMost(ns []int64, v int64) int64 {
	i, ok := slices.BinarySearch(ns, v)
	switch {
	case ok:
		return v
	case i == 0:
		return 0
	}
	return ns[i-1]
}

// answers draws the conclusions.
func (x *examination) answers() (out [Judges]Answer) {
	for j := range Judges {
		ranges := x.everywhere(j)
		a := Answer{Newest: -1}
		a.Why = x.inTheWay(j)
		a.Restarts = a.Why == nil
		for i := len(ranges) - 1; i >= 0 && a.Newest < 0; i-- {
			a.Newest = x.startable(j, ranges[i])
		}
		if !a.Restarts && j != Library && a.Newest >= 0 {
			a.Back = x.rollback(a.Newest)
		}
		out[j] = a
	}
	return out
}

// everywhere returns the batches that a judge can load in all partitions of all
// stores.
func (x *examination) everywhere(j Judge) []BatchRange {
	if x.first > x.end {
		return nil
	}
	all := []BatchRange{{x.first, x.end}}
	for _, s := range x.stores {
		for _, p := range s.parts {
			if p.unjudged {
				continue
			}
			var can []BatchRange
			for _, sp := range p.spans {
				if l := sp.Loading[j]; l == Loads || l == ByFallback {
					can = append(can, BatchRange{sp.First, sp.Last})
				}
			}
			all = intersect(all, can)
		}
	}
	return all
}

// intersect returns what two ascending lists of ranges share.
func intersect(a, b []BatchRange) []BatchRange {
	var out []BatchRange
	for len(a) > 0 && len(b) > 0 {
		if lo, hi := max(a[0].First, b[0].First), min(a[0].Last, b[0].Last); lo <= hi {
			out = append(out, BatchRange{lo, hi})
		}
		if a[0].Last < b[0].Last {
			a = a[1:]
		} else {
			b = b[1:]
		}
	}
	return out
}

// startable returns the newest batch of a range that is committed and from
// whose logs Spark can start; -1 for none. The library needs no logs.
func (x *examination) startable(j Judge, r BatchRange) int64 {
	if j == Library || len(x.logs) == 0 {
		return min(r.Last, x.last)
	}
	for i := len(x.logs) - 1; i >= 0; i-- {
		l := x.logs[i]
		if l.id > r.Last || !l.startable() {
			continue
		}
		if l.id < r.First {
			return -1
		}
		// Spark wants the offsets of two batches in a row.
		next, before := x.log(l.id+1), x.log(l.id-1)
		if next.planned() || before.planned() || l.id == 0 {
			return l.id
		}
	}
	return -1
}

// rollback says what it takes to go back to a batch.
func (x *examination) rollback(to int64) *Rollback {
	if len(x.logs) == 0 {
		return nil
	}
	r := &Rollback{Above: to + 1, Again: -1, Replayed: BatchRange{to + 1, x.last}}
	keep := to
	if x.log(to + 1).planned() {
		keep, r.Again = to+1, to+1
	}
	for _, id := range x.cp.planned {
		if id > keep {
			r.Offsets = append(r.Offsets, id)
		}
	}
	for _, id := range x.cp.committed {
		if id > to {
			r.Commits = append(r.Commits, id)
		}
	}
	r.Sources = x.sourceLogsAbove(keep)
	r.Input = x.input(to, x.last)
	return r
}

// input returns what the sources gave to the batches after one, up to another.
func (x *examination) input(after, to int64) []SourceProgress {
	a, err := x.cp.OffsetLog(after)
	if err != nil || after >= to {
		return nil
	}
	b, err := x.cp.OffsetLog(to)
	if err != nil {
		return nil // such a log is a finding
	}
	starts := make(map[string]Offset)
	for _, s := range a.Sources {
		starts[s.ID] = s.Parse()
	}
	var out []SourceProgress
	for _, s := range b.Sources {
		p, _ := progress(s.ID, begun{at: starts[s.ID], known: true}, s.Parse())
		out = append(out, p)
	}
	return out
}

// sourceLogsAbove returns the files of sources/ that file sources wrote after a
// batch.
func (x *examination) sourceLogsAbove(batch int64) []string {
	o, err := x.cp.OffsetLog(batch)
	if err != nil {
		return nil // such a batch is none to go back to
	}
	var out []string
	for _, s := range o.Sources {
		end := s.Parse()
		// A name is given by whoever wrote the log; it is to be one directory.
		if end.Kind != FileOffset || !fs.ValidPath(s.ID) || s.ID != path.Base(s.ID) {
			continue
		}
		dir := path.Join(x.cp.at.root, "sources", s.ID)
		_ = x.cp.eachEntry(dir, func(e fs.DirEntry) bool { // not there, as in copies without sources/
			number, _, _ := strings.Cut(e.Name(), ".")
			if n, ok := decimal(number); ok && n > end.Number {
				out = append(out, path.Join(dir, e.Name()))
			}
			return true
		})
	}
	slices.Sort(out)
	return out
}

// inTheWay returns what keeps a query from starting as it is.
func (x *examination) inTheWay(j Judge) error {
	if j != Library {
		if err := x.logsInTheWay(); err != nil {
			return err
		}
	}
	if x.asked < 0 {
		return nil
	}
	for _, s := range x.stores {
		for _, p := range s.parts {
			if p.unjudged {
				continue
			}
			if l, why := p.load(j, x.asked+1); l == Lost || l == CleanedUp {
				return why
			}
		}
	}
	return nil
}

// logsInTheWay returns what is wrong with the logs that a start reads: the
// newest offset log, the one before it, and the newest commit.
func (x *examination) logsInTheWay() error {
	if len(x.cp.planned) == 0 {
		if n := len(x.cp.committed); n > 0 {
			return fmt.Errorf("offsets/ is empty, while commits/ goes up to %d", x.cp.committed[n-1])
		}
		return nil
	}
	n := x.cp.planned[len(x.cp.planned)-1]
	for _, id := range []int64{n, n - 1} {
		switch l := x.log(id); {
		case id < 0:
		case l == nil || !l.hasOffsets:
			return fmt.Errorf("offsets/%d is missing, and Spark needs it to start from batch %d", id, n)
		case l.offsetErr != nil:
			return l.offsetErr
		}
	}
	if c := len(x.cp.committed); c > 0 {
		last := x.cp.committed[c-1]
		if last > n {
			return fmt.Errorf("commits/ goes up to %d, offsets/ only to %d: Spark would run batch %d again and could not commit it", last, n, n)
		}
		if l := x.log(last); l.commitErr != nil {
			return l.commitErr
		}
	}
	return nil
}

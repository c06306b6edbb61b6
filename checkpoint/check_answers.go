package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

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
	// restart as it is; nil if there is nothing to go back to, if that would not
	// help, and for [Library], which restarts nothing.
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

// answers draws the conclusions.
func (x *examination) answers() (out [Judges]Answer) {
	for j := range Judges {
		ranges := x.everywhere(j)
		a := Answer{Newest: -1}
		a.Why = x.inTheWay(j)
		back := a.Why != nil && j != Library
		if a.Why == nil && j != Library {
			a.Why = x.descriptionInTheWay(j) // to go back does not help there
		}
		a.Restarts = a.Why == nil
		for i := len(ranges) - 1; i >= 0 && a.Newest < 0; i-- {
			a.Newest = x.startable(j, ranges[i])
		}
		if back && a.Newest >= 0 {
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

// descriptionInTheWay returns what is wrong with what describes the query, as
// far as a start reads it.
func (x *examination) descriptionInTheWay(j Judge) error {
	if _, err := x.cp.ID(); err != nil {
		return err
	}
	if j == Spark42 && x.noID() {
		return errors.New("the file metadata is missing, and Spark 4.2 and later start no query without")
	}
	if id, missing := x.missingOperator(); missing {
		return fmt.Errorf("there is no state of operator %d", id)
	}
	for _, s := range x.stores {
		if err := s.store.types.err; err != nil {
			return err
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

package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/sparkstate/sparkstate/statestore"
)

// logFile returns the path of a log.
func (x *examination) logFile(dir string, batch int64) string {
	return path.Join(x.cp.at.root, dir, strconv.FormatInt(batch, 10))
}

// aboutLog is a finding about the log of a batch.
func (x *examination) aboutLog(dir string, batch int64, what string, a ...any) Finding {
	f := anywhere(what, a...)
	f.Batch, f.File = batch, x.logFile(dir, batch)
	return f
}

// newestPlanned returns the last batch of offsets/, -1 for none.
func (x *examination) newestPlanned() int64 {
	if n := len(x.cp.planned); n > 0 {
		return x.cp.planned[n-1]
	}
	return -1
}

func (x *examination) newestCommitted() int64 {
	if n := len(x.cp.committed); n > 0 {
		return x.cp.committed[n-1]
	}
	return -1
}

func findOffsetHoles(x *examination, add func(Finding)) {
	newest := x.newestPlanned()
	for _, h := range x.cp.Holes().Offsets {
		f := x.aboutLog("offsets", h.First, "%s missing", holeText("offsets", h))
		if h.Last == newest-1 {
			f.Severity = Critical
			f.What += fmt.Sprintf("; to start from batch %d Spark needs the one before", newest)
		}
		if len(x.cp.operators) == 0 {
			f.Severity, f.Do = Info, "Nothing, if the query tracks its progress asynchronously: it is stateless, and such queries leave holes."
		}
		add(f)
	}
}

func findCommitHoles(x *examination, add func(Finding)) {
	for _, h := range x.cp.Holes().Commits {
		f := x.aboutLog("commits", h.First, "%s missing", holeText("commits", h))
		if len(x.cp.operators) == 0 {
			f.Severity, f.Do = Info, "Nothing, if the query tracks its progress asynchronously: it is stateless, and such queries leave holes."
		}
		add(f)
	}
}

func holeText(dir string, h BatchRange) string {
	if h.First == h.Last {
		return fmt.Sprintf("%s/%d is", dir, h.First)
	}
	return fmt.Sprintf("%s/%d to %d are", dir, h.First, h.Last)
}

// findTwinLogs finds names that Spark takes for the number of a batch when it
// lists a log, and does not open.
func findTwinLogs(x *examination, add func(Finding)) {
	if x.cp.at.root == "" {
		return
	}
	for _, dir := range []string{"offsets", "commits"} {
		full := path.Join(x.cp.at.root, dir)
		_ = x.cp.eachEntry(full, func(e fs.DirEntry) bool { // what cannot be listed is said at opening
			n, err := strconv.ParseInt(e.Name(), 10, 64)
			if _, plain := decimal(e.Name()); err == nil && !plain && !e.IsDir() {
				f := x.aboutLog(dir, n, "%s/%s claims batch %d", dir, e.Name(), n)
				f.File = path.Join(full, e.Name())
				add(f)
			}
			return true
		})
	}
}

func findCommitsAhead(x *examination, add func(Finding)) {
	if c, o := x.newestCommitted(), x.newestPlanned(); c > o {
		add(x.aboutLog("commits", c, "commits/ goes up to batch %d, offsets/ only to %d", c, o))
	}
}

func findCommitsBehind(x *examination, add func(Finding)) {
	if !x.cp.hasCommits {
		return // Spark 2.1 has none
	}
	if c, o := x.newestCommitted(), x.newestPlanned(); o > c+1 && !(c < 0 && len(x.cp.planned) == 1) {
		add(x.aboutLog("offsets", o, "offsets/ goes up to batch %d, commits/ only to %d: Spark would start from the state of batch %d, which is not committed", o, c, o-1))
	}
}

func findInFlight(x *examination, add func(Finding)) {
	if c, o := x.newestCommitted(), x.newestPlanned(); x.cp.hasCommits && o == c+1 {
		add(x.aboutLog("offsets", o, "batch %d was planned and is not committed yet", o))
	}
}

func findDamagedLogs(x *examination, add func(Finding)) {
	o, c := x.newestPlanned(), x.newestCommitted()
	for _, l := range x.logs {
		for _, log := range []struct {
			dir    string
			err    error
			needed bool
		}{
			{"offsets", l.offsetErr, l.id >= o-1}, {"commits", l.commitErr, l.id == c},
			{"offsets", l.offsetSum, false}, {"commits", l.commitSum, false},
		} {
			if log.err == nil {
				continue
			}
			f := x.aboutLog(log.dir, l.id, "%s/%d: %s", log.dir, l.id, plain(log.err))
			var fe *statestore.FileError
			if errors.As(log.err, &fe) {
				f.Offset = fe.Offset
			}
			if log.needed {
				f.Severity = Critical
			}
			add(f)
		}
	}
}

// noID says whether the query's id is not there although it should be.
func (x *examination) noID() bool {
	if x.cp.at.root == "" || len(x.cp.planned) == 0 {
		return false
	}
	_, err := fs.Stat(x.cp.fsys, path.Join(x.cp.at.root, "metadata"))
	return errors.Is(err, fs.ErrNotExist)
}

func findNoID(x *examination, add func(Finding)) {
	if x.noID() {
		f := anywhere("there are offsets, but no file metadata with the query's id")
		f.File = path.Join(x.cp.at.root, "metadata")
		add(f)
	}
}

func findBadID(x *examination, add func(Finding)) {
	if _, err := x.cp.ID(); err != nil {
		f := anywhere("metadata: %s", plain(err))
		f.File = path.Join(x.cp.at.root, "metadata")
		add(f)
	}
}

func findBadOperators(x *examination, add func(Finding)) {
	for _, o := range x.cp.operators {
		if o.err != nil {
			f := anywhere("the metadata of operator %d: %s", o.id, plain(o.err))
			f.Operator, f.File = o.id, pathOf(o.err)
			add(f)
		}
	}
}

func findBadSchemas(x *examination, add func(Finding)) {
	for _, o := range x.cp.operators {
		for _, s := range o.stores {
			if s.types.err != nil {
				f := anywhere("the schema: %s", plain(s.types.err))
				f.Operator, f.Store, f.Partition, f.File = o.id, s.name, 0, pathOf(s.types.err)
				add(f)
			}
		}
	}
}

func pathOf(err error) string {
	var fe *statestore.FileError
	if errors.As(err, &fe) {
		return fe.Path
	}
	return ""
}

func findClock(x *examination, add func(Finding)) {
	for i := 1; i < len(x.logs); i++ {
		a, b := x.logs[i-1], x.logs[i]
		if a.planned() && b.planned() && b.timestamp > 0 && b.timestamp < a.timestamp {
			add(x.aboutLog("offsets", b.id, "batch %d was planned %d ms before batch %d", b.id, a.timestamp-b.timestamp, a.id))
		}
	}
}

func findBackwards(x *examination, add func(Finding)) {
	for _, l := range x.logs {
		if len(l.backwards) > 0 {
			add(x.aboutLog("offsets", l.id, "the offsets of source %s go back in batch %d", strings.Join(l.backwards, ", "), l.id))
		}
	}
}

// still is how many batches without a new watermark are worth a finding.
const still = 10

func findZeroWatermark(x *examination, add func(Finding)) {
	if n := len(x.logs); n >= 3 && x.cp.hasWatermark() && x.logs[n-1].next == 0 {
		f := anywhere("after %d batches the watermark is still 0, so no state has been removed by it", n)
		f.Batch = x.logs[n-1].id
		add(f)
	}
}

func findStillWatermark(x *examination, add func(Finding)) {
	if len(x.logs) == 0 || len(x.stores) == 0 {
		return
	}
	last := x.logs[len(x.logs)-1]
	since := len(x.logs) - 1
	for since > 0 && x.logs[since-1].next == last.next {
		since--
	}
	if n := len(x.logs) - 1 - since; last.next > 0 && n >= still {
		f := anywhere("the watermark has not moved since batch %d, for %d batches", x.logs[since].id, n)
		f.Batch = last.id
		add(f)
	}
}

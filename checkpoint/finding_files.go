package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/sparkstate/sparkstate/statestore"
	"github.com/sparkstate/sparkstate/statestore/hdfs"
	"github.com/sparkstate/sparkstate/statestore/provider"
	"github.com/sparkstate/sparkstate/statestore/sidecar"
)

const missingDelta = "CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS"

// listed calls fn with the partitions that have been listed.
func (x *examination) listed(fn func(*partFacts)) {
	x.partitions(func(p *partFacts) {
		if p.part != nil {
			fn(p)
		}
	})
}

// findMissingDeltas finds gaps between the versions of a partition.
func findMissingDeltas(x *examination, add func(Finding)) {
	x.listed(func(p *partFacts) {
		known := slices.Concat(p.deltas, p.snapshots)
		slices.Sort(known)
		known = slices.Compact(known)
		loadable := p.part.Versions()
		v := x.asked + 1
		base := atMost(p.snapshots, v)
		before := int64(0)
		for _, k := range known {
			first, last := before+1, k-1
			loads := before == 0 || holds(loadable, before)
			// A snapshot starts anew, so what is missing before it matters to
			// older batches only; before the oldest it has been cleaned up.
			needed := base <= before && first <= v
			switch {
			case first > last || first > x.end+1:
			case needed:
				add(p.gap(first, min(last, x.end+1), Critical))
			case before > 0 && loads, before == 0 && p.cut:
				add(p.gap(first, min(last, x.end+1), Warning))
			}
			before = k
		}
		// At the end, only what is known to have been there.
		if x.lastFrom == Recorded && before < v && base <= before && p.hasSidecar(before+1) {
			add(p.gap(before+1, v, Critical))
		}
	})
}

// gap describes missing deltas.
func (p *partFacts) gap(first, last int64, s Severity) Finding {
	f := p.in(anywhere("%s is missing, so no batch from %d on loads before the next snapshot", hdfs.DeltaName(first), first-1))
	if last > first {
		f.What = fmt.Sprintf("%s to %s are missing, so no batch from %d on loads before the next snapshot", hdfs.DeltaName(first), hdfs.DeltaName(last), first-1)
	}
	f.Severity, f.Batch, f.Condition = s, first-1, missingDelta
	f.File = path.Join(p.dir, hdfs.DeltaName(first))
	if p.hasSidecar(first) {
		f.What += "; its .crc file is there, so it was written"
	}
	return f
}

// hasSidecar says whether the checksums of a delta are still there.
func (p *partFacts) hasSidecar(v int64) bool {
	name := hdfs.DeltaName(v)
	return p.file(sidecar.HadoopName(name)) != nil || p.file(sidecar.SparkName(name)) != nil
}

// behind says whether a partition ends before the state that is asked for, in a
// way that no gap explains.
func (x *examination) behind(p *partFacts) bool {
	n := p.newest()
	return p.part != nil && x.lastFrom == Recorded && n < x.asked+1 && !p.hasSidecar(n+1)
}

// left says which operators are behind in all their partitions.
func (x *examination) left() map[*Operator]bool {
	out := make(map[*Operator]bool)
	for _, s := range x.stores {
		out[s.store.op] = true
	}
	x.partitions(func(p *partFacts) {
		if !p.unjudged && !x.behind(p) {
			out[p.of.store.op] = false
		}
	})
	return out
}

// allLeft says whether every operator is behind everywhere.
func (x *examination) allLeft() bool {
	for _, left := range x.left() {
		if !left {
			return false
		}
	}
	return len(x.stores) > 0
}

func findStateBehind(x *examination, add func(Finding)) {
	if !x.allLeft() {
		return
	}
	lo, hi := x.ends()
	f := anywhere("batch %d is committed, but the state ends at version %d, which is that of batch %d", x.asked, hi, hi-1)
	if lo != hi {
		f.What = fmt.Sprintf("batch %d is committed, but the partitions end at different versions from %d to %d, all of them before it", x.asked, lo, hi)
	}
	f.Batch, f.Condition = x.asked, missingDelta
	add(f)
}

// ends returns the lowest and the highest version at which a partition ends.
func (x *examination) ends() (lo, hi int64) {
	lo = -1
	x.listed(func(p *partFacts) {
		n := p.newest()
		if lo < 0 || n < lo {
			lo = n
		}
		hi = max(hi, n)
	})
	return max(lo, 0), hi
}

func findLeftBehind(x *examination, add func(Finding)) {
	if x.allLeft() {
		return
	}
	left := x.left()
	for _, o := range x.cp.operators {
		if !left[o] {
			continue
		}
		hi := int64(0)
		x.listed(func(p *partFacts) {
			if p.of.store.op == o {
				hi = max(hi, p.newest())
			}
		})
		f := anywhere("the state of operator %s ends at version %d in all partitions; other operators have that of batch %d", o.Label(), hi, x.asked)
		f.Operator, f.Batch, f.Condition = o.id, hi, missingDelta
		add(f)
	}
}

func findPartialBatches(x *examination, add func(Finding)) {
	if x.allLeft() {
		return
	}
	left := x.left()
	for _, s := range x.stores {
		if left[s.store.op] {
			continue
		}
		var ids []int64
		first, of := int64(0), 0
		for _, p := range s.parts {
			if p.unjudged {
				continue
			}
			of++
			if x.behind(p) {
				ids = append(ids, int64(p.id))
				if n := p.newest() + 1; first == 0 || n < first {
					first = n
				}
			}
		}
		if len(ids) == 0 {
			continue
		}
		f := s.in(anywhere("%s is missing in %d of %d partitions: %s", hdfs.DeltaName(first), len(ids), of, Ranges(ids)))
		if len(ids) == 1 {
			f.Partition = int(ids[0])
			f.File = path.Join(s.parts[f.Partition].dir, hdfs.DeltaName(first))
		}
		f.Batch, f.Condition = first-1, missingDelta
		add(f)
	}
}

func findUncommitted(x *examination, add func(Finding)) {
	limit := x.last + 1
	n, all, hi := 0, 0, int64(0)
	x.listed(func(p *partFacts) {
		all++
		if v := p.newest(); v > limit {
			n++
			hi = max(hi, v)
		}
	})
	if n == 0 {
		return
	}
	f := anywhere("%d of %d partitions have state beyond batch %d, up to version %d", n, all, x.last, hi)
	f.Batch = hi - 1
	switch planned := x.cp.planned; {
	case x.lastFrom != Recorded:
		f.What = fmt.Sprintf("the partitions end at different versions: %d of %d go on to version %d; without commits nobody can tell which batches were finished", n, all, hi)
		f.Do = "Nothing, if the copy is meant to have no logs. What every partition has is taken for the last batch."
	case len(planned) > 0 && hi > planned[len(planned)-1]+1:
		f.Severity = Warning
		f.What += fmt.Sprintf(", which no batch in offsets/ can have written: it goes up to %d", planned[len(planned)-1])
		f.Do = "The logs are older than the state, or two queries write to this checkpoint. Copy again, in this order: commits, offsets, state; if it is no copy, look for the other query."
	}
	add(f)
}

func findTempFiles(x *examination, add func(Finding)) {
	for _, s := range x.stores {
		harmless, example := 0, ""
		for _, p := range s.parts {
			for i := range p.files {
				f := &p.files[i]
				switch {
				case f.Kind != provider.TempFile:
				case x.mayReplace(p, f):
					add(p.standIn(f))
				default:
					if harmless++; harmless == 1 {
						example = f.path()
					}
				}
			}
		}
		if harmless > 0 {
			f := s.in(anywhere("temporary files that were never renamed: %d", harmless))
			f.File = example
			add(f)
		}
	}
}

// standIn describes a temporary file whose final name is missing.
func (p *partFacts) standIn(f *fileFacts) Finding {
	final, _ := hdfs.Temporary(f.Name)
	_, v := hdfs.ParseName(final)
	out := p.about(f, nil, "%s was never renamed to %s, which is missing", f.Name, final)
	out.Severity, out.Batch = Warning, v-1
	switch {
	case f.check == nil:
		out.Do = "It may hold what is missing: a check of the default level tells whether it is whole."
	case f.check.Err != nil:
		out.Severity = Info
		out.What += ", and it is not whole: " + plain(f.check.Err)
		out.Do = "It cannot stand in for the file that is missing, and may be removed."
	default:
		out.What += fmt.Sprintf("; it ends whole, with %d records", f.check.Puts+f.check.Removes)
		out.Do = "Renaming it, in a copy of the checkpoint, completes the chain."
	}
	return out
}

// claims returns the version that a name claims in Spark's own listing, which
// is laxer than the names that Spark writes and opens.
func claims(name string) (v int64, canonical string, ok bool) {
	number, ext, _ := strings.Cut(name, ".")
	v, err := strconv.ParseInt(number, 10, 64)
	if err != nil || v < 1 {
		return 0, "", false
	}
	switch {
	case strings.EqualFold(ext, "delta"):
		canonical = hdfs.DeltaName(v)
	case strings.EqualFold(ext, "snapshot"):
		canonical = hdfs.SnapshotName(v)
	default:
		return 0, "", false
	}
	return v, canonical, name != canonical
}

func findTwins(x *examination, add func(Finding)) {
	x.files(func(p *partFacts, f *fileFacts) {
		v, canonical, ok := claims(f.Name)
		if !ok {
			return
		}
		out := p.about(f, nil, "%s claims version %d as %s does", f.Name, v, canonical)
		if p.file(canonical) == nil {
			out.What = fmt.Sprintf("%s claims version %d, but Spark opens %s only, which is not there", f.Name, v, canonical)
		}
		out.Batch = v - 1
		add(out)
	})
}

func findForeign(x *examination, add func(Finding)) {
	x.partitions(func(p *partFacts) {
		var found *Finding
		n := 0
		for i := range p.files {
			f := &p.files[i]
			if f.Kind != provider.OtherFile || strings.Count(f.Name, ".") != 1 {
				continue
			}
			if number, _, _ := strings.Cut(f.Name, "."); isLong(number) {
				continue
			}
			if n++; n == 1 {
				about := p.about(f, nil, "%s is no file of a state store", f.Name)
				found = &about
			}
		}
		if n > 1 {
			found.What += fmt.Sprintf(", and neither are %d others here", n-1)
		}
		if found != nil {
			add(*found)
		}
	})
}

func isLong(s string) bool {
	_, err := strconv.ParseInt(s, 10, 64)
	return err == nil
}

func findOtherProvider(x *examination, add func(Finding)) {
	x.listed(func(p *partFacts) {
		var names []string
		for i := range p.files {
			f := &p.files[i]
			if isRocksDBFile(f.Name) {
				names = append(names, f.Name)
			}
		}
		if len(names) > 0 {
			f := p.in(anywhere("%d files of RocksDBStateStoreProvider, such as %s, lie among those of this one", len(names), names[0]))
			f.File = path.Join(p.dir, names[0])
			add(f)
		}
	})
}

func findMissingPartitions(x *examination, add func(Finding)) {
	if x.asked < 0 {
		return
	}
	for _, s := range x.stores {
		var ids []int64
		for _, p := range s.parts {
			if p.part == nil && p.err == nil && !p.unjudged {
				ids = append(ids, int64(p.id))
			}
		}
		if len(ids) == 0 {
			continue
		}
		f := s.in(anywhere("%d of %d partitions have no directory: %s", len(ids), s.store.op.partitions, Ranges(ids)))
		f.Condition = missingDelta
		if len(ids) == 1 {
			f.Partition = int(ids[0])
		}
		f.File = s.parts[ids[0]].expected()
		add(f)
	}
}

func findExtraPartitions(x *examination, add func(Finding)) {
	for _, o := range x.cp.operators {
		n, ok := x.cp.conf.partitions()
		if !ok {
			continue
		}
		var ids []int64
		for p := range o.dirs {
			if p >= n {
				ids = append(ids, int64(p))
			}
		}
		if len(ids) == 0 {
			continue
		}
		slices.Sort(ids)
		f := anywhere("operator %s has directories for partitions %s; the query has %d, counted from 0", o.Label(), Ranges(ids), n)
		f.Operator, f.File = o.id, o.dirs[int(ids[0])]
		add(f)
	}
}

func findMissingOperators(x *examination, add func(Finding)) {
	if x.cp.at.root == "" || len(x.cp.operators) == 0 {
		return
	}
	have := make(map[int]bool)
	for _, o := range x.cp.operators {
		have[o.id] = true
	}
	last := x.cp.operators[len(x.cp.operators)-1].id
	for id := 0; id < last; id++ {
		if !have[id] {
			f := anywhere("there is state of operator %d and none of operator %d", last, id)
			f.Operator, f.File = id, path.Join(x.cp.at.root, "state", strconv.Itoa(id))
			add(f)
			return
		}
	}
}

func findUnrecordedStores(x *examination, add func(Finding)) {
	// Any partition tells.
	const look = 16
	for _, o := range x.cp.operators {
		if o.meta == nil {
			continue
		}
		known := make(map[string]bool)
		for _, s := range o.stores {
			known[s.name] = true
		}
		for i, p := range slices.Sorted(maps.Keys(o.dirs)) {
			if i == look {
				break
			}
			_ = x.cp.eachEntry(o.dirs[p], func(e fs.DirEntry) bool { // what cannot be listed is found elsewhere
				if !isStoreDir(e) || known[e.Name()] {
					return true
				}
				known[e.Name()] = true
				f := anywhere("there is a store %s, which the metadata of operator %s does not name", e.Name(), o.Label())
				f.Operator, f.Store, f.File = o.id, e.Name(), path.Join(o.dirs[p], e.Name())
				add(f)
				return true
			})
		}
	}
}

func findUnlistable(x *examination, add func(Finding)) {
	x.partitions(func(p *partFacts) {
		if p.err != nil {
			f := p.in(anywhere("%v", p.err))
			f.File = p.dir
			add(f)
		}
	})
}

func findOrphans(x *examination, add func(Finding)) {
	for _, s := range x.stores {
		n, example := 0, ""
		for _, p := range s.parts {
			for i := range p.files {
				f := &p.files[i]
				main, ok := strings.CutSuffix(f.Name, ".crc")
				if !ok || p.file(main) != nil || p.file(strings.TrimPrefix(main, ".")) != nil {
					continue
				}
				if n++; n == 1 {
					example = f.path()
				}
			}
		}
		if n > 0 {
			f := s.in(anywhere("checksum files without a file beside them: %d", n))
			f.File = example
			add(f)
		}
	}
}

// retained is how many batches Spark keeps by default.
const retained = 100

func findReclaimable(x *examination, add func(Finding)) {
	for _, s := range x.stores {
		n, bytes := 0, int64(0)
		for _, p := range s.parts {
			oldest := atMost(p.snapshots, p.newest()-retained)
			for i := range p.files {
				f := &p.files[i]
				if f.Version > 0 && f.Version < oldest {
					n++
					bytes += f.Size
				}
			}
		}
		if n > 0 {
			add(s.in(anywhere("%d files with %d bytes are older than the newest snapshot that lies %d batches back", n, bytes, retained)))
		}
	}
}

func findLongChains(x *examination, add func(Finding)) {
	if x.asked < 0 {
		return
	}
	for _, s := range x.stores {
		longest, at, n := int64(0), -1, 0
		for _, p := range s.parts {
			if p.part == nil {
				continue
			}
			v := min(x.asked+1, p.newest())
			if l := v - atMost(p.snapshots, v); l >= x.longChain {
				if n++; l > longest {
					longest, at = l, p.id
				}
			}
		}
		if n > 0 {
			f := s.in(anywhere("%d partitions replay %d deltas or more; the longest, partition %d, replays %d", n, x.longChain, at, longest))
			f.Batch = x.asked
			add(f)
		}
	}
}

func findUnreadProvider(x *examination, add func(Finding)) {
	if p := x.cp.Provider(); p.Format != HDFS && len(x.cp.operators) > 0 {
		add(anywhere("the state was written by %s", p.Name()))
	}
}

// damaged calls fn with every file that does not decode, in whatever way.
func (x *examination) damaged(fn func(p *partFacts, f *fileFacts, err error)) {
	x.files(func(p *partFacts, f *fileFacts) {
		if f.Kind == provider.TempFile || f.sizeErr() != nil || f.check == nil || f.check.Err == nil || replaceable(f) {
			return
		}
		fn(p, f, f.check.Err)
	})
}

// replaceable says whether the deltas lead to the version of a snapshot that
// does not decode.
func replaceable(f *fileFacts) bool {
	return f.Kind == provider.SnapshotFile && f.against != nil && f.check != nil && f.check.Err != nil
}

// broken makes a finding of a file that does not decode.
func (x *examination) broken(p *partFacts, f *fileFacts, err error) Finding {
	out := p.about(f, err, "%s: %s", f.Name, plain(err))
	out.Severity = x.weigh(p, f)
	if f.check != nil {
		if n := f.check.Puts + f.check.Removes; n > 0 {
			out.What += fmt.Sprintf("; %d records before it can be read", n)
		}
		if f.check.Hadoop != nil || f.check.Spark != nil {
			out.What += "; its .crc file does not match either, so it has changed since it was written"
		}
	}
	return out
}

func findEmptyFiles(x *examination, add func(Finding)) {
	x.files(func(p *partFacts, f *fileFacts) {
		if f.sizeErr() == nil || replaceable(f) {
			return
		}
		out := p.about(f, f.sizeErr(), "%s has 0 bytes; not even the file of a batch without changes has", f.Name)
		out.Severity = x.weigh(p, f)
		add(out)
	})
}

func findTruncated(x *examination, add func(Finding)) {
	x.damaged(func(p *partFacts, f *fileFacts, err error) {
		if errors.Is(err, statestore.ErrTruncated) {
			add(x.broken(p, f, err))
		}
	})
}

func findCorrupt(x *examination, add func(Finding)) {
	x.damaged(func(p *partFacts, f *fileFacts, err error) {
		if !errors.Is(err, statestore.ErrTruncated) && !errors.Is(err, statestore.ErrCodec) && !isRowChecksum(err) {
			add(x.broken(p, f, err))
		}
	})
}

func findRowChecksums(x *examination, add func(Finding)) {
	x.damaged(func(p *partFacts, f *fileFacts, err error) {
		if isRowChecksum(err) {
			add(x.broken(p, f, err))
		}
	})
}

func isRowChecksum(err error) bool {
	var fe *statestore.FileError
	return errors.As(err, &fe) && fe.Condition == "STATE_STORE_ROW_CHECKSUM_VERIFICATION_FAILED"
}

func findWrongCodecs(x *examination, add func(Finding)) {
	x.damaged(func(p *partFacts, f *fileFacts, err error) {
		if errors.Is(err, statestore.ErrCodec) {
			add(x.broken(p, f, err))
		}
	})
	x.decoded(func(p *partFacts, f *fileFacts) {
		if err := f.check.OtherCodec; err != nil {
			out := p.about(f, err, "%s: %s", f.Name, plain(err))
			out.Severity, out.Condition = x.weigh(p, f), "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED"
			add(out)
		}
	})
}

func findReplaceable(x *examination, add func(Finding)) {
	x.files(func(p *partFacts, f *fileFacts) {
		if !replaceable(f) {
			return
		}
		err := f.check.Err
		from := "the empty state"
		if f.against.Base > 0 {
			from = hdfs.SnapshotName(f.against.Base)
		}
		out := p.about(f, err, "%s: %s; the deltas from %s on lead to the same version", f.Name, plain(err), from)
		switch a := f.against; {
		case a.Rows > 0 && a.Equal():
			out.What += fmt.Sprintf(", and all %d rows that can still be read of it are the same there", a.Rows)
		case a.Rows > 0:
			out.What += fmt.Sprintf(", but of the %d rows that can still be read of it %d are not the same there", a.Rows, a.Differing+a.Extra)
		}
		if out.Severity = x.weigh(p, f); out.Severity == Critical && f.Version-f.against.Base > repairReach {
			out.What += fmt.Sprintf("; Spark 4.1 does not go back %d versions", f.Version-f.against.Base)
		}
		add(out)
	})
}

// decoded calls fn with every state file that decodes to its end mark.
func (x *examination) decoded(fn func(p *partFacts, f *fileFacts)) {
	x.files(func(p *partFacts, f *fileFacts) {
		if f.Kind != provider.TempFile && f.check != nil && f.check.Err == nil {
			fn(p, f)
		}
	})
}

func findAfterEnd(x *examination, add func(Finding)) {
	x.decoded(func(p *partFacts, f *fileFacts) {
		if err := f.check.AfterEnd; err != nil {
			out := p.about(f, err, "%s: %s", f.Name, plain(err))
			if f.check.Hadoop != nil || f.check.Spark != nil {
				out.What += "; its .crc file does not match either, so it was appended later"
			}
			if f.check.Hadoop != nil { // on a local file system Spark refuses the file
				out.Severity = x.weigh(p, f)
			}
			add(out)
		}
	})
}

func findHadoopSums(x *examination, add func(Finding)) {
	x.decoded(func(p *partFacts, f *fileFacts) {
		// What stands after the end explains the sum.
		if err := f.check.Hadoop; err != nil && f.check.AfterEnd == nil {
			out := p.about(f, err, "%s: %s", f.Name, plain(err))
			out.Severity = x.weigh(p, f)
			if !f.check.Codec.Checksummed() {
				out.What += fmt.Sprintf("; %s has no checksum of its own, so rows may be wrong", f.check.Codec)
			}
			add(out)
		}
	})
}

func findSparkSums(x *examination, add func(Finding)) {
	x.decoded(func(p *partFacts, f *fileFacts) {
		if err := f.check.Spark; err != nil && f.check.AfterEnd == nil && f.check.Hadoop == nil {
			out := p.about(f, err, "%s: %s", f.Name, plain(err))
			out.Severity = min(Warning, x.weigh(p, f))
			if !f.check.Codec.Checksummed() {
				out.What += fmt.Sprintf("; %s has no checksum of its own, so rows may be wrong", f.check.Codec)
			}
			add(out)
		}
	})
}

func findBadSidecars(x *examination, add func(Finding)) {
	x.decoded(func(p *partFacts, f *fileFacts) {
		if err := f.check.Sidecar; err != nil {
			out := p.about(f, nil, "%s", plain(err))
			var fe *statestore.FileError
			if errors.As(err, &fe) && fe.Path != "" {
				out.File = fe.Path
			}
			add(out)
		}
	})
}

// few is how many deltas say nothing yet.
const few = 20

func findEmptyDeltas(x *examination, add func(Finding)) {
	for _, s := range x.stores {
		n, empty, bytes := 0, 0, int64(0)
		for _, p := range s.parts {
			for i := range p.files {
				f := &p.files[i]
				if f.Kind == provider.DeltaFile && f.check != nil && f.check.Err == nil {
					if n++; f.check.Puts+f.check.Removes == 0 {
						empty++
						bytes += f.Size
					}
				}
			}
		}
		if n >= few && 2*empty > n {
			add(s.in(anywhere("%d of %d deltas change nothing (%.0f %%); they take %d bytes, and a file each", empty, n, 100*float64(empty)/float64(n), bytes)))
		}
	}
}

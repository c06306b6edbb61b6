package checkpoint

import (
	"fmt"
	"path"
	"slices"

	"github.com/sparkstate/sparkstate/statestore/hdfs"
	"github.com/sparkstate/sparkstate/statestore/sidecar"
)

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
	p.gaps = append(p.gaps, BatchRange{first, last})
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

// copiedWhileRunning says whether partitions end so far apart that no running
// query can have left them so: it loads all of them before it writes the next
// version of one, so those that lack a version lack one only.
func (x *examination) copiedWhileRunning() bool {
	if x.allLeft() {
		return false
	}
	left, lo := x.left(), x.asked+1
	x.listed(func(p *partFacts) {
		if !left[p.of.store.op] && x.behind(p) {
			lo = min(lo, p.newest())
		}
	})
	return lo < x.asked
}

func findCopiedWhileRunning(x *examination, add func(Finding)) {
	if !x.copiedWhileRunning() {
		return
	}
	left := x.left()
	lo, n, all := x.asked+1, 0, 0
	x.listed(func(p *partFacts) {
		if left[p.of.store.op] {
			return
		}
		if all++; x.behind(p) {
			n++
			lo = min(lo, p.newest())
		}
	})
	f := anywhere("the partitions end at different versions: %d of %d end before version %d, which is that of batch %d, the first of them at version %d", n, all, x.asked+1, x.asked, lo)
	f.Batch, f.Condition = max(lo, 0), missingDelta
	add(f)
}

func findPartialBatches(x *examination, add func(Finding)) {
	if x.allLeft() || x.copiedWhileRunning() {
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

package checkpoint

import (
	"cmp"
	"errors"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/sparkstate/sparkstate/statestore"
	"github.com/sparkstate/sparkstate/statestore/hdfs"
	"github.com/sparkstate/sparkstate/statestore/sidecar"
)

// load says whether a judge can load a version, and if not as it is, why.
func (p *partFacts) load(j Judge, v int64) (Loading, error) {
	switch {
	case v == 0:
		return Loads, nil
	case p.dir == "" || p.err != nil || p.part == nil:
		return Lost, p.missing()
	}
	l, why := p.replay(j, v)
	if err := p.of.store.types.err; l == Loads && j == Library && err != nil {
		return ByFallback, err
	}
	return l, why
}

// replay is load without what lies outside of the files of the state.
func (p *partFacts) replay(j Judge, v int64) (Loading, error) {
	base := atMost(p.snapshots, v)
	if j == Spark42 {
		if p.unlisted != nil {
			return Lost, p.unlisted
		}
		if n := atMost(p.named, v); n > base {
			return Lost, p.misnamed(n)
		}
	}
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
		if odd := p.firstRow(j, base, v); odd != nil {
			return Lost, odd
		}
		if soft := p.doubt(j, base, v); soft != nil {
			return ByFallback, soft
		}
		return Loads, nil
	}
	if !hard {
		return ByFallback, bad
	}
	if p.fallback(j, base, v) {
		return ByFallback, bad
	}
	return Lost, bad
}

// fallback says whether there is a base that a judge can take instead of a
// damaged snapshot.
func (p *partFacts) fallback(j Judge, base, v int64) bool {
	if j == SparkBefore41 || j == Spark41 {
		return false
	}
	for s := base; s > 0; {
		if bad, _ := p.snapshotFault(j, s); j == Spark42 && outOfMemory(bad) {
			return false
		}
		s = atMost(p.snapshots, s-1)
		if j == Spark42 && v-s > repairReach {
			return false
		}
		if at, _ := p.breaks(j, s); at <= v {
			return false // and so it does for whatever is older
		}
		if bad, _ := p.snapshotFault(j, s); bad == nil {
			return p.firstRow(j, s, v) == nil
		}
	}
	return false
}

// outOfMemory says whether Spark meets an error that it repairs nothing after.
func outOfMemory(err error) bool {
	var fe *statestore.FileError
	return errors.As(err, &fe) && strings.HasSuffix(fe.Condition, "OUT_OF_MEMORY")
}

// firstRow returns what is wrong with the first row that a load meets. That is
// the one that Spark compares with the schema; those after it are believed.
func (p *partFacts) firstRow(j Judge, base, v int64) error {
	if j == Library {
		return nil
	}
	if f := p.file(hdfs.SnapshotName(base)); f != nil && f.first != nil {
		return f.first.misfit
	}
	for d := base + 1; d <= v; d++ {
		f := p.file(hdfs.DeltaName(d))
		if f == nil || f.check == nil {
			return nil
		}
		if f.first != nil {
			return f.first.misfit
		}
	}
	return nil
}

// misnamed is why Spark 4.2 does not load a version: it takes a name such as
// 07.snapshot for a snapshot of version 7, and does not find that.
func (p *partFacts) misnamed(v int64) error {
	return &statestore.FileError{Path: path.Join(p.dir, hdfs.SnapshotName(v)), Offset: -1, Kind: statestore.ErrMissing,
		Condition: "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED", Detail: "another file claims to be this snapshot, which is missing"}
}

// namedSnapshot reads a name as the listing of Spark 4.2 does: whatever ends in
// .snapshot is one of a snapshot. The number is Java's: signs and zeros in front
// are fine.
func namedSnapshot(name string) (v int64, err error, ok bool) {
	number, ok := strings.CutSuffix(name, ".snapshot")
	if !ok {
		return 0, nil, false
	}
	v, err = strconv.ParseInt(number, 10, 64)
	return v, err, true
}

func (p *partFacts) snapshotFault(j Judge, v int64) (err error, hard bool) {
	if v == 0 {
		return nil, false
	}
	f := p.file(hdfs.SnapshotName(v))
	if err, hard = f.fault(j); err == nil && j != Library && f != nil && f.first != nil && f.first.misfit != nil {
		return f.first.misfit, true
	}
	return err, hard
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
	case f.check.Err != nil && !(f.check.Tolerated && j != Library):
		return f.check.Err, true
	case j == Library:
		if f.check.Codec.Checksummed() {
			return nil, false
		}
		return cmp.Or(f.check.Hadoop, f.check.Spark), false
	case f.check.OtherCodec != nil:
		return f.check.OtherCodec, true
	case j == Spark41 && f.check.Spark != nil:
		return f.check.Spark, true
	case j == Spark41 && f.spoiledSum():
		return f.check.Sidecar, true
	}
	return nil, false
}

// spoiledSum says whether the JSON sidecar is none, which Spark 4.1 stops at.
func (f *fileFacts) spoiledSum() bool {
	var fe *statestore.FileError
	return errors.As(f.check.Sidecar, &fe) && path.Base(fe.Path) == sidecar.SparkName(f.Name)
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

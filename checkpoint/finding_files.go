package checkpoint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sparkstate/sparkstate/statestore/hdfs"
	"github.com/sparkstate/sparkstate/statestore/provider"
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
		if base := atMost(p.snapshots, x.asked+1); strings.HasSuffix(f.Name, ".snapshot") && base < v && v <= x.asked+1 {
			out.Severity = Critical
		}
		add(out)
	})
}

func findForeign(x *examination, add func(Finding)) {
	x.partitions(func(p *partFacts) {
		// One finding for all names of the same weight.
		var found [Critical + 1]*Finding
		var n [Critical + 1]int
		for i := range p.files {
			f := &p.files[i]
			weight, foreign := weighName(f)
			if !foreign {
				continue
			}
			if n[weight]++; n[weight] == 1 {
				about := p.about(f, nil, "%s is no file of a state store", f.Name)
				about.Severity = weight
				found[weight] = &about
			}
		}
		for weight, f := range found {
			if f == nil {
				continue
			}
			if more := n[weight] - 1; more > 0 {
				f.What += fmt.Sprintf(", and neither are %d others here", more)
			}
			add(*f)
		}
	})
}

// weighName says whether Spark stumbles over the name of a file when it lists
// the directory, and how badly: for a name that ends in .snapshot Spark 4.2
// loads nothing.
func weighName(f *fileFacts) (weight Severity, foreign bool) {
	if f.Kind != provider.OtherFile {
		return 0, false
	}
	if _, err, _ := namedSnapshot(f.Name); err != nil {
		return Critical, true
	}
	number, _, _ := strings.Cut(f.Name, ".")
	return Warning, strings.Count(f.Name, ".") == 1 && !isLong(number)
}

func isLong(s string) bool {
	_, err := strconv.ParseInt(s, 10, 64)
	return err == nil
}

// lost says whether a sidecar is of a delta that is missing, which is found for
// itself.
func (p *partFacts) lost(sidecar string) bool {
	name := strings.TrimPrefix(sidecar, ".")
	for strings.HasSuffix(name, ".crc") {
		name = strings.TrimSuffix(name, ".crc")
	}
	kind, v := hdfs.ParseName(name)
	return kind == provider.DeltaFile && slices.ContainsFunc(p.gaps, func(g BatchRange) bool { return g.First <= v && v <= g.Last })
}

func findOrphans(x *examination, add func(Finding)) {
	for _, s := range x.stores {
		n, example := 0, ""
		for _, p := range s.parts {
			for i := range p.files {
				f := &p.files[i]
				main, ok := strings.CutSuffix(f.Name, ".crc")
				if !ok || p.file(main) != nil || p.file(strings.TrimPrefix(main, ".")) != nil || p.lost(f.Name) {
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

package hdfs

import (
	"cmp"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/sparkstate/sparkstate/statestore/provider"
)

// DeltaName returns the name of the file that turns version v-1 into v.
func DeltaName(v int64) string { return strconv.FormatInt(v, 10) + ".delta" }

// SnapshotName returns the name of the file that holds all of version v.
func SnapshotName(v int64) string { return strconv.FormatInt(v, 10) + ".snapshot" }

// ParseName tells what a name in a partition directory stands for. Spark
// builds the names it opens from the number, so only that spelling counts:
// decimal, no sign, no leading zero, lower case.
func ParseName(name string) (provider.FileKind, int64) {
	switch {
	case strings.HasPrefix(name, ".") && strings.HasSuffix(name, ".tmp"),
		strings.HasPrefix(name, "temp-"), // Spark 2.0 to 2.3
		strings.Contains(name, ".snapshot.temp-"):
		return provider.TempFile, 0
	case strings.HasSuffix(name, ".crc"):
		return provider.SidecarFile, 0
	}
	number, ext, ok := strings.Cut(name, ".")
	if !ok {
		return provider.OtherFile, 0
	}
	v, err := strconv.ParseInt(number, 10, 64)
	if err != nil || v < 1 || strconv.FormatInt(v, 10) != number {
		return provider.OtherFile, 0
	}
	switch ext {
	case "delta":
		return provider.DeltaFile, v
	case "snapshot":
		return provider.SnapshotFile, v
	}
	return provider.OtherFile, 0
}

// listing is a partition directory, read once. It holds as little as it can of
// each name, because there may be a million.
type listing struct {
	files     []provider.File // by version, then name; without sizes
	special   map[string]fs.FileMode
	untyped   bool    // what special says is not known
	deltas    []int64 // ascending
	snapshots []int64 // ascending

	mu    sync.Mutex
	sizes map[string]int64 // as far as they are known
}

// size returns the size of a file in bytes, if it is known.
func (l *listing) size(name string) (int64, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, ok := l.sizes[name]
	return n, ok
}

func (l *listing) setSize(name string, n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sizes == nil {
		l.sizes = make(map[string]int64)
	}
	l.sizes[name] = n
}

// list lists a directory of at most limit entries; see provider.EachEntry.
func list(fsys fs.FS, dir string, limit int) (*listing, error) {
	l := &listing{}
	err := provider.EachEntry(fsys, dir, limit, func(e fs.DirEntry) bool {
		kind, v := ParseName(e.Name())
		if kind == provider.OtherFile && e.IsDir() {
			return true
		}
		l.files = append(l.files, provider.File{Name: e.Name(), Kind: kind, Version: v, Size: -1})
		if kind != provider.OtherFile && provider.Untyped(e) {
			l.untyped = true // whoever opens it asks
		} else if t := e.Type(); t != 0 {
			if l.special == nil {
				l.special = make(map[string]fs.FileMode)
			}
			l.special[e.Name()] = t
		}
		switch kind {
		case provider.DeltaFile:
			l.deltas = append(l.deltas, v)
		case provider.SnapshotFile:
			l.snapshots = append(l.snapshots, v)
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(l.files, CompareFiles)
	slices.Sort(l.deltas)
	slices.Sort(l.snapshots)
	return l, nil
}

// CompareFiles is the order of [Partition.Files]: by version, then by name.
func CompareFiles(a, b provider.File) int {
	return cmp.Or(cmp.Compare(a.Version, b.Version), cmp.Compare(a.Name, b.Name))
}

// has says whether the listing shows a file, and what it is if it is not a
// plain one.
func (l *listing) has(name string) (special fs.FileMode, ok bool) {
	_, v := ParseName(name)
	_, ok = slices.BinarySearchFunc(l.files, provider.File{Name: name, Version: v}, CompareFiles)
	return l.special[name], ok
}

func (l *listing) hasDelta(v int64) bool {
	_, ok := slices.BinarySearch(l.deltas, v)
	return ok
}

func (l *listing) hasSnapshot(v int64) bool {
	_, ok := slices.BinarySearch(l.snapshots, v)
	return ok
}

// snapshotAt returns the newest snapshot that is not newer than v, or 0.
func (l *listing) snapshotAt(v int64) int64 {
	i, ok := slices.BinarySearch(l.snapshots, v)
	if ok {
		return v
	}
	if i == 0 {
		return 0
	}
	return l.snapshots[i-1]
}

// versions returns what can be loaded, judged by names.
func (l *listing) versions() []int64 {
	all := slices.Concat(l.deltas, l.snapshots)
	slices.Sort(all)
	all = slices.Compact(all)
	out := all[:0]
	last := int64(0) // the newest version known to be loadable; 0 always is
	for _, v := range all {
		if l.hasSnapshot(v) || v == last+1 {
			out = append(out, v)
			last = v
		}
	}
	return slices.Clip(out)
}

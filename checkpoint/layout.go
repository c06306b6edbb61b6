package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/sparkstate/sparkstate/statestore/hdfs"
	"github.com/sparkstate/sparkstate/statestore/provider"
)

// level is what a directory is within a checkpoint.
type level uint8

const (
	levelNone      level = iota
	levelRoot            // holds offsets/, commits/ or state/
	levelState           // holds operators
	levelOperator        // holds partitions
	levelPartition       // holds state files, or stores that do
)

// classify looks at a directory, and into a few of those below it, to tell
// what it is.
func classify(fsys fs.FS, dir string) (level, error) { return classifyTo(fsys, dir, 2) }

// classifyTo looks so many levels down: a state directory has partitions two
// below.
func classifyTo(fsys fs.FS, dir string, depth int) (level, error) {
	entries, err := provider.ReadDir(fsys, dir)
	if err != nil {
		return levelNone, err
	}
	for _, e := range entries {
		switch e.Name() {
		case "offsets", "commits", "state":
			if e.IsDir() {
				return levelRoot, nil
			}
		}
	}
	if ok, err := isPartition(fsys, dir, entries); ok || err != nil {
		return levelPartition, err
	}
	if depth == 0 {
		return levelNone, nil
	}
	// Any of the first few tells; a partition may be empty.
	const look = 8
	seen := 0
	for _, e := range entries {
		if _, ok := decimal(e.Name()); !ok || !e.IsDir() {
			continue
		}
		if seen++; seen > look {
			break
		}
		switch below, err := classifyTo(fsys, path.Join(dir, e.Name()), depth-1); {
		case err != nil:
			return levelNone, err
		case below == levelPartition:
			return levelOperator, nil
		case below == levelOperator:
			return levelState, nil
		}
	}
	return levelNone, nil
}

// isPartition says whether a directory holds files of a store, or stores.
func isPartition(fsys fs.FS, dir string, entries []fs.DirEntry) (bool, error) {
	for _, e := range entries {
		if !e.IsDir() && isStateFile(e.Name()) {
			return true, nil
		}
	}
	for _, e := range entries {
		if !isStoreDir(e) {
			continue
		}
		inner, err := provider.ReadDir(fsys, path.Join(dir, e.Name()))
		if err != nil {
			return false, err
		}
		for _, i := range inner {
			if !i.IsDir() && isStateFile(i.Name()) {
				return true, nil
			}
		}
	}
	return false, nil
}

// isStoreDir says whether an entry of a partition directory can be a store
// with a name: not a number, nothing hidden, none of Spark's own.
func isStoreDir(e fs.DirEntry) bool {
	name := e.Name()
	if _, number := decimal(name); number || !e.IsDir() {
		return false
	}
	return !strings.HasPrefix(name, "_") && !strings.HasPrefix(name, ".") && name != "SSTs" && name != "logs"
}

func isStateFile(name string) bool { return isHDFSFile(name) || isRocksDBFile(name) }

func isHDFSFile(name string) bool {
	kind, _ := hdfs.ParseName(name)
	return kind == provider.DeltaFile || kind == provider.SnapshotFile
}

// isRocksDBFile recognises N.zip, N.changelog and, of checkpoint format 2,
// N_<uuid>.zip and the like.
func isRocksDBFile(name string) bool {
	stem, ext, ok := strings.Cut(name, ".")
	if !ok || ext != "zip" && ext != "changelog" {
		return false
	}
	n, _, _ := strings.Cut(stem, "_")
	_, ok = decimal(n)
	return ok
}

// place is where the parts of a checkpoint lie. Of a partial copy only some
// are known.
type place struct {
	root      string         // of the logs; "" where there are none
	operators map[int]string // directory by operator id; nil below a root: state/<id>
	partition map[int]string // directory by partition id, when only one operator's are known
	note      string         // what was assumed
}

// locate finds out what dir is. A partition or operator given on its own is
// taken for the whole; its ids come from the names of the path, where they are
// numbers, and are 0 otherwise.
func locate(fsys fs.FS, dir, name string) (place, error) {
	lv, err := classify(fsys, dir)
	if err != nil {
		return place{}, err
	}
	id := func(s string) int {
		n, ok := decimal(s)
		if !ok || n > maxID {
			return 0
		}
		return int(n)
	}
	up := path.Base(path.Dir(name))
	switch lv {
	case levelRoot:
		return place{root: dir}, nil
	case levelState:
		ids, err := numbered(fsys, dir, true)
		if err != nil {
			return place{}, err
		}
		p := place{operators: make(map[int]string), note: "this is a state directory without its logs"}
		for _, n := range ids {
			if n <= maxID {
				p.operators[int(n)] = path.Join(dir, fmt.Sprint(n))
			}
		}
		return p, nil
	case levelOperator:
		return place{operators: map[int]string{id(path.Base(name)): dir},
			note: "this is one operator's directory without the rest of its checkpoint"}, nil
	case levelPartition:
		op, part := id(up), id(path.Base(name))
		if _, ok := decimal(path.Base(name)); !ok { // a store with a name
			op, part = id(path.Base(path.Dir(path.Dir(name)))), id(up)
		}
		return place{operators: map[int]string{op: dir}, partition: map[int]string{part: dir},
			note: "this is one partition's directory without the rest of its checkpoint"}, nil
	}
	return place{}, nil
}

// maxID bounds the operator and partition numbers that are believed: Spark's
// are ints, and nobody has a million partitions.
const maxID = 1<<20 - 1

// descend looks for the one directory below that is a checkpoint, as in a zip
// file or in a folder made around it.
func descend(fsys fs.FS, dir string) (string, error) {
	entries, err := provider.ReadDir(fsys, dir)
	if err != nil {
		return "", err
	}
	var found []string
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		sub := path.Join(dir, e.Name())
		lv, err := classify(fsys, sub)
		if err != nil && !errors.Is(err, fs.ErrPermission) {
			return "", err
		}
		if lv == levelRoot {
			found = append(found, sub)
		}
	}
	switch len(found) {
	case 0:
		return "", nil
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("%w, but holds several: %s", ErrNotCheckpoint, strings.Join(found, ", "))
}

package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
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
func (c *Checkpoint) classify(dir string) (level, error) { return c.classifyTo(dir, 2) }

// classifyTo looks so many levels down: a state directory has partitions two
// below.
func (c *Checkpoint) classifyTo(dir string, depth int) (level, error) {
	found := levelNone
	var ids []int64
	var stores []string
	err := c.eachEntry(dir, func(e fs.DirEntry) bool {
		name := e.Name()
		n, number := decimal(name)
		switch {
		case !e.IsDir():
			if isStateFile(name) {
				found = levelPartition
			}
		case name == "offsets", name == "commits", name == "state":
			found = levelRoot
			return false
		case number:
			ids = append(ids, n)
		case isStoreDir(e):
			stores = append(stores, name)
		}
		return true
	})
	if err != nil || found != levelNone {
		return found, err
	}
	if ok, err := c.holdsStores(dir, stores); ok || err != nil {
		return levelPartition, err
	}
	if depth == 0 {
		return levelNone, nil
	}
	// Any of the first few tells; a partition may be empty.
	slices.Sort(ids)
	for _, id := range ids[:min(len(ids), 8)] {
		switch below, err := c.classifyTo(path.Join(dir, strconv.FormatInt(id, 10)), depth-1); {
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

// holdsStores says whether a directory has one below that holds the files of a
// store. Any of the first few tells: no operator has more than four.
func (c *Checkpoint) holdsStores(dir string, names []string) (bool, error) {
	slices.Sort(names)
	for _, name := range names[:min(len(names), 16)] {
		found := false
		err := c.eachEntry(path.Join(dir, name), func(e fs.DirEntry) bool {
			found = !e.IsDir() && isStateFile(e.Name())
			return !found
		})
		if err != nil || found {
			return found, err
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
func (c *Checkpoint) locate(dir, name string) (place, error) {
	lv, err := c.classify(dir)
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
		ids, err := c.numbered(dir, true)
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
// are ints, and nobody has a hundred thousand partitions.
const maxID = 1<<17 - 1

// maxAbsent bounds how many partitions without a directory are believed in: each
// costs some memory wherever partitions are counted, and a single number in a
// file or in a name can claim any of them.
const maxAbsent = 1 << 15

// descend looks for the one directory below that is a checkpoint, as in a zip
// file or in a folder made around it.
func (c *Checkpoint) descend(dir string) (string, error) {
	var names []string
	if err := c.eachEntry(dir, func(e fs.DirEntry) bool {
		if e.IsDir() {
			names = append(names, e.Name())
		}
		return true
	}); err != nil {
		return "", err
	}
	slices.Sort(names)
	const look = 1000 // directories, of whatever it is that this is not
	var found []string
	for _, name := range names[:min(len(names), look)] {
		sub := path.Join(dir, name)
		lv, err := c.classify(sub)
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

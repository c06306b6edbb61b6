package exporter

import (
	"encoding/binary"
	"hash"
	"hash/maphash"
	"io/fs"
	"strconv"
	"strings"

	"github.com/sparkstate/sparkstate/checkpoint"
)

// listing stands for the files of a checkpoint: names, sizes and times. Two
// listings that are equal are of the same files, as far as that can be known
// without reading them.
type listing struct {
	digest uint64
	// operators has the digest of each operator's directory alone; that of all
	// files where operators have none of their own, as in a part of a
	// checkpoint.
	operators map[int]uint64
	// Files are those of any kind, and bytes their stored size.
	files, bytes int64
}

// seed is one for the life of the process: so are the listings.
var seed = maphash.MakeSeed()

func newDigest() hash.Hash64 {
	h := new(maphash.Hash)
	h.SetSeed(seed)
	return h
}

// list lists the files of a checkpoint. What goes away meanwhile, as files of a
// running query do, is left out. The order is that of names, so the digest does
// not depend on the file system's.
func list(cp *checkpoint.Checkpoint) (*listing, error) {
	fsys, root := cp.FS()
	l := &listing{operators: make(map[int]uint64)}
	all := newDigest()
	parts := make(map[int]hash.Hash64)
	var entry []byte
	err := fs.WalkDir(fsys, root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return gone(err)
		}
		st, err := d.Info()
		if err != nil {
			return gone(err)
		}
		l.files++
		l.bytes += st.Size()
		entry = append(append(entry[:0], name...), 0)
		entry = binary.LittleEndian.AppendUint64(entry, uint64(st.Size()))
		entry = binary.LittleEndian.AppendUint64(entry, uint64(st.ModTime().UnixNano()))
		all.Write(entry)
		if id, ok := operatorOf(strings.TrimPrefix(name, root+"/")); ok {
			if parts[id] == nil {
				parts[id] = newDigest()
			}
			parts[id].Write(entry)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	l.digest = all.Sum64()
	for _, o := range cp.Operators() {
		l.operators[o.ID()] = l.digest
		if p := parts[o.ID()]; p != nil {
			l.operators[o.ID()] = p.Sum64()
		}
	}
	return l, nil
}

// operatorOf returns the operator below whose directory a file is.
func operatorOf(name string) (id int, ok bool) {
	rest, ok := strings.CutPrefix(name, "state/")
	if !ok {
		return 0, false
	}
	dir, _, ok := strings.Cut(rest, "/")
	if !ok {
		return 0, false
	}
	id, err := strconv.Atoi(dir)
	return id, err == nil && strconv.Itoa(id) == dir
}

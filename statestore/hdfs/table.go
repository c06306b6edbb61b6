package hdfs

import (
	"bytes"
	"hash/maphash"

	"github.com/sparkstate/sparkstate/statestore/provider"
)

// table holds the newest record of every key that the deltas touch. Files are
// added newest first: the first file that mentions a key decides, and within
// that file its last record.
//
// Keys and values lie in an arena of chunks, and slots and records hold
// numbers only, so that the garbage collector has nothing to follow however
// large the table grows.
type table struct {
	seed  maphash.Seed
	slots []slot // open addressing with linear probing; a power of two
	recs  []tableRecord
	arena [][]byte
	file  uint32 // counts the files added, the newest is 1
}

// slot refers to recs[index-1]; index 0 is an empty slot. tag is the upper
// half of the key's hash, which settles most comparisons.
type slot struct {
	tag   uint32
	index uint32
}

type tableRecord struct {
	chunk    uint32
	offset   uint32
	keyLen   uint32
	valueLen int32 // -1 is a remove
	file     uint32
}

// chunkSize is the size of an arena chunk in bytes; a longer record gets a
// chunk of its own.
const chunkSize = 256 << 10

func newTable() *table { return &table{seed: maphash.MakeSeed()} }

func (t *table) len() int { return len(t.recs) }

// olderFile announces that the records that follow are from the next older
// file.
func (t *table) olderFile() { t.file++ }

// add takes a record in, unless a newer file has settled its key.
func (t *table) add(r *record) {
	if len(t.slots) == 0 {
		t.slots = make([]slot, 64)
	}
	h := maphash.Bytes(t.seed, r.key)
	s := t.find(h, r.key)
	if s.index == 0 {
		t.recs = append(t.recs, tableRecord{})
		*s = slot{tag: uint32(h >> 32), index: uint32(len(t.recs))}
		t.store(&t.recs[len(t.recs)-1], r)
		if len(t.recs)*4 > len(t.slots)*3 {
			t.grow()
		}
		return
	}
	if old := &t.recs[s.index-1]; old.file == t.file {
		t.store(old, r)
	}
}

// has says whether the deltas settle the key.
func (t *table) has(key []byte) bool {
	return t.find(maphash.Bytes(t.seed, key), key).index != 0
}

// find returns the key's slot, or the empty slot where it belongs.
func (t *table) find(h uint64, key []byte) *slot {
	mask := uint64(len(t.slots) - 1)
	tag := uint32(h >> 32)
	for i := h & mask; ; i = (i + 1) & mask {
		s := &t.slots[i]
		if s.index == 0 || s.tag == tag && bytes.Equal(t.key(&t.recs[s.index-1]), key) {
			return s
		}
	}
}

func (t *table) grow() {
	t.slots = make([]slot, 2*len(t.slots))
	mask := uint64(len(t.slots) - 1)
	for n := range t.recs {
		h := maphash.Bytes(t.seed, t.key(&t.recs[n]))
		i := h & mask
		for t.slots[i].index != 0 {
			i = (i + 1) & mask
		}
		t.slots[i] = slot{tag: uint32(h >> 32), index: uint32(n + 1)}
	}
}

// store writes the record into the arena, over its older self where that is
// as long.
func (t *table) store(to *tableRecord, r *record) {
	valueLen := int32(len(r.value))
	if r.remove {
		valueLen = -1
	}
	if to.file == t.file && to.keyLen == uint32(len(r.key)) && to.valueLen >= valueLen {
		to.valueLen = valueLen
		copy(t.value(to), r.value)
		return
	}
	n := len(r.key) + len(r.value)
	last := len(t.arena) - 1
	if last < 0 || cap(t.arena[last])-len(t.arena[last]) < n {
		t.arena = append(t.arena, make([]byte, 0, max(n, chunkSize)))
		last++
	}
	c := t.arena[last]
	*to = tableRecord{chunk: uint32(last), offset: uint32(len(c)), keyLen: uint32(len(r.key)), valueLen: valueLen, file: t.file}
	c = append(c, r.key...)
	t.arena[last] = append(c, r.value...)
}

func (t *table) key(r *tableRecord) []byte {
	return t.arena[r.chunk][r.offset : r.offset+r.keyLen]
}

func (t *table) value(r *tableRecord) []byte {
	if r.valueLen <= 0 {
		return nil
	}
	o := r.offset + r.keyLen
	return t.arena[r.chunk][o : o+uint32(r.valueLen)]
}

// each yields the rows that are left once the removes have done their work.
func (t *table) each(yield func(provider.Entry) bool) {
	for i := range t.recs {
		if r := &t.recs[i]; r.valueLen >= 0 && !yield(provider.Entry{Key: t.key(r), Value: t.value(r)}) {
			return
		}
	}
}

package hdfs

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"sync"

	"github.com/sparkstate/sparkstate/statestore/provider"
)

// table holds the newest record of every key that the deltas touch. Files are
// added newest first: the first file that mentions a key decides, and within
// that file its last record.
//
// Records lie in an arena of chunks, one behind the other, and slots hold
// numbers only, so that the garbage collector has nothing to follow however
// large the table grows.
//
//	slot    32 high bits of the key's hash | 32 bits: 1 + place of the record / 8
//	record  key length | value length | key | value
//	        4 bytes      4 bytes
//
// The place of a record is the number of its chunk times chunkSize, plus where
// in the chunk it begins. Key and value are multiples of 8 bytes, and so is the
// record.
//
// The high bits of the hash also say where a key's slot is, so that slots lie in
// the order of their hashes: a table grows by copying them from the first to
// the last, and no key is looked at.
//
// A table works on batches of records and not on one at a time: what it costs
// is waiting for memory, and the waits for the records of a batch overlap.
type table struct {
	seed   maphash.Seed
	slots  []uint64 // open addressing with linear probing; a power of two
	shift  uint     // of a hash, to get its slot
	used   int      // slots in use
	arena  [][]byte
	starts []uint64 // place of the first record of each file, the newest first
	budget *provider.Budget
	taken  int64 // of the budget, in bytes

	// What look has found for each record of a batch.
	hashes  [batchLen]uint64
	heads   [batchLen]uint64
	touched byte // of no meaning: what was read to have it in the cache
}

// batchLen is the number of records that are worked on together: enough for
// their waits to overlap, few enough for what is noted about them to stay in
// the processor's nearest cache.
const batchLen = 64

const (
	chunkBits = 18
	// chunkSize is the size of an arena chunk in bytes; a longer record gets a
	// chunk of its own. The first chunks are smaller: most tables are.
	chunkSize    = 1 << chunkBits
	minChunkSize = 4 << 10
	minSlots     = 64

	tagBits    = 32
	placeMask  = 1<<(64-tagBits) - 1
	recordHead = 8
	// maxChunks is how many of them a slot can tell apart: just under 32 GiB.
	maxChunks = 8 * placeMask >> chunkBits

	// removed is the value length of a remove.
	removed = 0xFFFFFFFF
	// dead marks the key length of a record that a later one of its file has
	// replaced. No key is that long.
	dead = 1 << 31
)

// chunks keeps full-sized chunks from one table to the next.
var chunks = sync.Pool{New: func() any { return new([chunkSize]byte) }}

// slotArrays keeps arrays of slots from one table to the next, by the logarithm
// of their length: memory that is new costs more than to clear what was used.
var slotArrays [64]sync.Pool

func newSlots(log int) []uint64 {
	if s, ok := slotArrays[log].Get().(*[]uint64); ok {
		clear(*s)
		return *s
	}
	return make([]uint64, 1<<log)
}

func giveBackSlots(s []uint64) {
	if s != nil {
		slotArrays[bits.TrailingZeros(uint(len(s)))].Put(&s)
	}
}

// newTable returns an empty table, which the caller closes. It takes what it
// allocates from the budget, which may be nil.
func newTable(b *provider.Budget) *table {
	return &table{seed: maphash.MakeSeed(), budget: b}
}

// close gives back the table's memory. What the table has yielded is not valid
// any more.
func (t *table) close() {
	for _, c := range t.arena {
		if cap(c) == chunkSize {
			chunks.Put((*[chunkSize]byte)(c[:chunkSize]))
		}
	}
	giveBackSlots(t.slots)
	t.arena, t.slots, t.used = nil, nil, 0
	t.release(t.taken)
}

// len returns the number of keys that the table knows of, removed ones too.
func (t *table) len() int { return t.used }

// olderFile announces that the records that follow are from the next older
// file.
func (t *table) olderFile() { t.starts = append(t.starts, t.end()) }

// end returns the place behind the last record.
func (t *table) end() uint64 {
	last := len(t.arena) - 1
	if last < 0 {
		return 0
	}
	// A chunk that is longer than others has its one record at its start.
	return uint64(last)<<chunkBits + min(uint64(len(t.arena[last])), chunkSize)
}

// add takes records in, at most batchLen, unless newer files have settled their
// keys. It fails only where the budget does not allow for more.
func (t *table) add(batch []provider.Entry) error {
	if need := t.used + len(batch); need*8 > len(t.slots)*5 {
		if err := t.grow(need); err != nil {
			return err
		}
	}
	t.look(batch)
	start := t.starts[len(t.starts)-1]
	for i := range batch {
		r := &batch[i]
		h := t.hashes[i]
		// An earlier record of the batch may have taken the slot meanwhile.
		at := t.find(h, t.heads[i], r.Key)
		s := t.slots[at]
		switch {
		case s == 0:
			t.used++
		case place(s) < start:
			continue
		case t.replace(place(s), r):
			continue
		}
		p, err := t.store(r)
		if err != nil {
			return err
		}
		t.slots[at] = slot(h, p)
	}
	return nil
}

// without cuts from a batch, of at most batchLen entries, those whose keys the
// table settles. It works in place.
func (t *table) without(batch []provider.Entry) []provider.Entry {
	if t.look(batch) == 0 {
		return batch
	}
	kept, from := 0, 0
	for i := range batch {
		at := t.heads[i]
		if t.slots[at] == 0 || t.slots[t.find(t.hashes[i], at, batch[i].Key)] == 0 {
			continue
		}
		kept += copy(batch[kept:], batch[from:i])
		from = i + 1
	}
	kept += copy(batch[kept:], batch[from:])
	return batch[:kept]
}

// look hashes the keys of a batch and finds for each the slot that may be its
// own, judged by the hash alone, or the empty one where it belongs. It returns
// how many are not empty.
//
// Every step is done for the whole batch before the next one, so that the waits
// for memory, of which each key has two, overlap.
func (t *table) look(batch []provider.Entry) (suspects int) {
	hashes, heads := t.hashes[:len(batch)], t.heads[:len(batch)]
	for i := range batch {
		hashes[i] = maphash.Bytes(t.seed, batch[i].Key)
	}
	mask := uint64(len(t.slots) - 1)
	for i, h := range hashes {
		heads[i] = t.slots[h>>t.shift]
	}
	for i, s := range heads {
		tag, at := hashes[i]>>tagBits, hashes[i]>>t.shift
		for s != 0 && s>>tagBits != tag {
			at = (at + 1) & mask
			s = t.slots[at]
		}
		heads[i] = at
		if s != 0 {
			suspects++
			p := place(s)
			t.touched += t.arena[p>>chunkBits][p&(chunkSize-1)]
		}
	}
	return suspects
}

// get returns the value that a key has in the table, nil if it was removed.
func (t *table) get(key []byte) (value []byte, ok bool) {
	if t.used == 0 {
		return nil, false
	}
	h := maphash.Bytes(t.seed, key)
	s := t.slots[t.find(h, h>>t.shift, key)]
	if s == 0 {
		return nil, false
	}
	_, e := t.record(place(s))
	return e.Value, true
}

// find returns the slot of a key, or the empty slot where it belongs, looking
// from a slot on.
func (t *table) find(h, at uint64, key []byte) uint64 {
	mask := uint64(len(t.slots) - 1)
	tag := h >> tagBits
	for ; ; at = (at + 1) & mask {
		s := t.slots[at]
		if s == 0 || s>>tagBits == tag && bytes.Equal(t.key(place(s)), key) {
			return at
		}
	}
}

func slot(h, place uint64) uint64 { return h&^uint64(placeMask) | (place>>3 + 1) }
func place(slot uint64) uint64    { return (slot&placeMask - 1) << 3 }

// grow makes room for n keys.
func (t *table) grow(n int) error {
	size := max(len(t.slots), minSlots)
	for n*8 > size*5 {
		size *= 2
	}
	if err := t.take(int64(8 * size)); err != nil {
		return err
	}
	old, log := t.slots, bits.TrailingZeros(uint(size))
	t.slots, t.shift = newSlots(log), uint(64-log)
	mask := uint64(size - 1)
	for _, s := range old {
		if s == 0 {
			continue
		}
		at := s >> t.shift
		for t.slots[at] != 0 {
			at = (at + 1) & mask
		}
		t.slots[at] = s
	}
	giveBackSlots(old)
	t.release(int64(8 * len(old)))
	return nil
}

// take takes memory off the budget.
func (t *table) take(n int64) error {
	if err := t.budget.Take(n); err != nil {
		return err
	}
	t.taken += n
	return nil
}

// release gives memory back to the budget.
func (t *table) release(n int64) {
	t.budget.Release(n)
	t.taken -= n
}

// replace writes a record over an older one of the same key and file, if it is
// as long; if not, it marks the older one as dead.
func (t *table) replace(p uint64, r *provider.Entry) bool {
	b, old := t.record(p)
	if (r.Value == nil) == (old.Value == nil) && len(r.Value) == len(old.Value) {
		copy(old.Value, r.Value)
		return true
	}
	binary.LittleEndian.PutUint32(b, uint32(len(r.Key))|dead)
	return false
}

// store writes a record into the arena and returns its place.
func (t *table) store(r *provider.Entry) (uint64, error) {
	n := recordHead + len(r.Key) + len(r.Value)
	last := len(t.arena) - 1
	if last < 0 || cap(t.arena[last])-len(t.arena[last]) < n {
		c, err := t.chunk(n)
		if err != nil {
			return 0, err
		}
		t.arena = append(t.arena, c)
		last++
	}
	c := t.arena[last]
	p := uint64(last)<<chunkBits + uint64(len(c))
	valueLen := uint32(len(r.Value))
	if r.Value == nil {
		valueLen = removed
	}
	c = binary.LittleEndian.AppendUint32(c, uint32(len(r.Key)))
	c = binary.LittleEndian.AppendUint32(c, valueLen)
	c = append(c, r.Key...)
	t.arena[last] = append(c, r.Value...)
	return p, nil
}

// chunk returns an empty chunk that has room for n bytes.
func (t *table) chunk(n int) ([]byte, error) {
	if len(t.arena) == maxChunks {
		return nil, &provider.FileError{Offset: -1, Kind: provider.ErrUnsupported,
			Detail: "the rows of one partition that the change sets touch need 32 GiB of memory and more"}
	}
	size := minChunkSize
	if last := len(t.arena) - 1; last >= 0 {
		size = min(2*cap(t.arena[last]), chunkSize)
	}
	size = max(size, n)
	if err := t.take(int64(size)); err != nil {
		return nil, err
	}
	if size == chunkSize {
		return chunks.Get().(*[chunkSize]byte)[:0], nil
	}
	return make([]byte, 0, size), nil
}

// key returns the key of the record at a place.
func (t *table) key(p uint64) []byte {
	b := t.arena[p>>chunkBits][p&(chunkSize-1):]
	n := binary.LittleEndian.Uint32(b)
	return b[recordHead : recordHead+n : recordHead+n]
}

// record returns what lies in a chunk from a place on, and the record there.
func (t *table) record(p uint64) ([]byte, provider.Entry) {
	b := t.arena[p>>chunkBits][p&(chunkSize-1):]
	e, _, _ := parse(b)
	return b, e
}

// parse returns the record at the start of b, its length, and whether it is
// alive.
func parse(b []byte) (e provider.Entry, n uint64, alive bool) {
	k, v := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
	end := uint64(recordHead) + uint64(k&^dead)
	e.Key = b[recordHead:end:end]
	if v == removed {
		return e, end, k&dead == 0
	}
	n = end + uint64(v)
	e.Value = b[end:n:n]
	return e, n, k&dead == 0
}

// walk calls fn with every record and its place, in the order in which they
// came in, until it returns false.
func (t *table) walk(fn func(place uint64, e provider.Entry) bool) bool {
	for i, c := range t.arena {
		for at := uint64(0); at < uint64(len(c)); {
			e, n, alive := parse(c[at:])
			if alive && !fn(uint64(i)<<chunkBits+at, e) {
				return false
			}
			at += n
		}
	}
	return true
}

// rows calls fn with the rows that are left once the removes have done their
// work, and with the file that each is from: 0 is the newest.
func (t *table) rows(fn func(file int, e provider.Entry) bool) bool {
	file := 0
	return t.walk(func(p uint64, e provider.Entry) bool {
		for file+1 < len(t.starts) && t.starts[file+1] <= p {
			file++
		}
		return e.Value == nil || fn(file, e)
	})
}

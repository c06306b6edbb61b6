package skew

import (
	"bytes"
	"math/bits"
	"slices"
)

// heavyTable holds the counters of [HeavyHitters]. The keys lie in an arena, and
// neither entries nor slots hold pointers.
//
//	slot    32 high bits of the key's hash | 32 bits: 1 + index of the entry
//
// The high bits also say where a key's slot is, so that a table grows by
// copying the slots from the first to the last.
type heavyTable struct {
	slots   []uint64       // open addressing with linear probing; a power of two
	shift   uint           // of a hash, to get its slot
	entries [][]heavyEntry // chunks; those behind the ones in use are spare
	held    int            // entries in all
	arena   arena
	spare   arena  // the one before, empty
	touched uint64 // of no meaning: what was read to have it in the cache
}

type heavyEntry struct {
	hash   uint64
	place  int // of the key in the arena
	length int32
	tag    int32
	weight float64
}

const heavyIndex = 1<<32 - 1

const (
	entryBits  = 10
	entryChunk = 1 << entryBits
)

func (t *heavyTable) len() int { return t.held }

func (t *heavyTable) entry(i int) *heavyEntry { return &t.entries[i>>entryBits][i&(entryChunk-1)] }

func (t *heavyTable) key(e *heavyEntry) []byte { return t.arena.get(e.place, e.length) }

// each calls fn with every entry.
func (t *heavyTable) each(fn func(e *heavyEntry)) {
	for i := range t.held {
		fn(t.entry(i))
	}
}

// size returns the bytes that the table takes.
func (t *heavyTable) size() int64 {
	return int64(8*len(t.slots) + 32*t.held + t.arena.bytes)
}

// touch reads what will be looked at for a batch, so that the waits for it
// overlap.
func (t *heavyTable) touch(batch []addition) {
	if len(t.slots) == 0 {
		return
	}
	for i := range batch {
		t.touched += t.slots[batch[i].hash>>t.shift]
	}
}

// find returns the key's entry, nil where it is not held.
func (t *heavyTable) find(hash uint64, key []byte) *heavyEntry {
	if len(t.slots) == 0 {
		return nil
	}
	mask := uint64(len(t.slots) - 1)
	for i := hash >> t.shift; t.slots[i] != 0; i = (i + 1) & mask {
		if t.slots[i]>>32 != hash>>32 {
			continue
		}
		if e := t.entry(int(t.slots[i]&heavyIndex - 1)); e.hash == hash && bytes.Equal(t.key(e), key) {
			return e
		}
	}
	return nil
}

// add adds a key that is not held.
func (t *heavyTable) add(a *addition) {
	if 4*(t.held+1) > 3*len(t.slots) {
		t.grow()
	}
	if t.held == len(t.entries)*entryChunk {
		t.entries = append(t.entries, make([]heavyEntry, entryChunk))
	}
	*t.entry(t.held) = heavyEntry{hash: a.hash, place: t.arena.put(a.key), length: int32(len(a.key)), tag: a.tag, weight: a.weight}
	t.held++
	t.place(a.hash&^heavyIndex | uint64(t.held))
}

// place puts a slot where it belongs.
func (t *heavyTable) place(slot uint64) {
	mask := uint64(len(t.slots) - 1)
	i := slot >> t.shift
	for t.slots[i] != 0 {
		i = (i + 1) & mask
	}
	t.slots[i] = slot
}

// slotsFor is how many slots so many keys take.
func slotsFor(keys int) int {
	n := 64
	for 4*keys > 3*n {
		n *= 2
	}
	return n
}

// empty makes the slots so many, all empty.
func (t *heavyTable) empty(n int) {
	if n == len(t.slots) {
		clear(t.slots)
		return
	}
	t.slots = make([]uint64, n)
	t.shift = uint(64 - bits.TrailingZeros(uint(n)))
}

// grow makes room for another key.
func (t *heavyTable) grow() {
	old := t.slots
	t.empty(slotsFor(t.held + 1))
	for _, s := range old {
		if s != 0 {
			t.place(s)
		}
	}
}

// lower takes so much off every weight, and drops what falls to 0. From then on
// the table is one for so many keys.
func (t *heavyTable) lower(by float64, keys int) {
	kept := 0
	t.each(func(e *heavyEntry) {
		if e.weight -= by; e.weight > 0 {
			to := t.entry(kept)
			*to = *e
			to.place = t.spare.put(t.key(e))
			kept++
		}
	})
	t.held = kept
	t.entries = slices.Clip(t.entries[:min(len(t.entries), (keys+entryChunk-1)/entryChunk)])
	t.arena, t.spare = t.spare, t.arena
	if t.spare.bytes > 4*t.arena.bytes {
		t.spare = arena{}
	}
	t.spare.reset()
	t.empty(slotsFor(keys))
	for i := range t.held {
		t.place(t.entry(i).hash&^heavyIndex | uint64(i+1))
	}
}

// reset empties the table, and keeps the memory. It costs no more than filling
// the table did, however large it was before.
func (t *heavyTable) reset() {
	if 16*t.held < len(t.slots) {
		mask := uint64(len(t.slots) - 1)
		for i := range t.held {
			own := t.entry(i).hash&^heavyIndex | uint64(i+1)
			at := own >> t.shift
			for t.slots[at] != own {
				at = (at + 1) & mask
			}
			t.slots[at] = 0
		}
	} else {
		clear(t.slots)
	}
	t.held = 0
	t.arena.reset()
}

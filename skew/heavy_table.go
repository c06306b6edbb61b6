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
	slots   []uint64 // open addressing with linear probing; a power of two
	shift   uint     // of a hash, to get its slot
	entries []heavyEntry
	arena   []byte
	touched uint64 // of no meaning: what was read to have it in the cache
}

type heavyEntry struct {
	hash   uint64
	offset int
	length int32
	tag    int32
	weight float64
}

const heavyIndex = 1<<32 - 1

func (t *heavyTable) len() int { return len(t.entries) }

func (t *heavyTable) key(e *heavyEntry) []byte {
	return t.arena[e.offset : e.offset+int(e.length) : e.offset+int(e.length)]
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
		if e := &t.entries[t.slots[i]&heavyIndex-1]; e.hash == hash && bytes.Equal(t.key(e), key) {
			return e
		}
	}
	return nil
}

// add adds a key that is not held.
func (t *heavyTable) add(a *addition) {
	if 4*(len(t.entries)+1) > 3*len(t.slots) {
		t.resize(slotsFor(len(t.entries) + 1))
	}
	t.entries = append(t.entries, heavyEntry{hash: a.hash, offset: len(t.arena), length: int32(len(a.key)), tag: a.tag, weight: a.weight})
	t.arena = append(t.arena, a.key...)
	t.place(a.hash&^heavyIndex | uint64(len(t.entries)))
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

// resize makes so many slots of none or fewer.
func (t *heavyTable) resize(n int) {
	old := t.slots
	if n <= len(old) {
		return
	}
	t.slots = make([]uint64, n)
	t.shift = uint(64 - bits.TrailingZeros(uint(n)))
	for _, s := range old {
		if s != 0 {
			t.place(s)
		}
	}
}

// lower takes so much off every weight, and drops what falls to 0. From then on
// the table is one for so many keys.
func (t *heavyTable) lower(by float64, keys int) {
	entries, arena := t.entries[:0], t.arena[:0]
	for _, e := range t.entries {
		if e.weight -= by; e.weight > 0 {
			key := t.key(&e)
			e.offset = len(arena)
			arena = append(arena, key...) // they only move down
			entries = append(entries, e)
		}
	}
	if cap(entries) > 4*keys {
		entries, arena = slices.Clone(entries), bytes.Clone(arena)
	}
	t.entries, t.arena = entries, arena
	size := slotsFor(keys)
	if size < len(t.slots) {
		t.slots = nil
	}
	t.resize(size)
	clear(t.slots)
	for i := range entries {
		t.place(entries[i].hash&^heavyIndex | uint64(i+1))
	}
}

// reset empties the table, and keeps the memory.
func (t *heavyTable) reset() {
	clear(t.slots)
	t.entries, t.arena = t.entries[:0], t.arena[:0]
}

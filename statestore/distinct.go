package statestore

import (
	"encoding/binary"
	"hash/maphash"

	"github.com/sparkstate/sparkstate/statestore/provider"
	"github.com/sparkstate/sparkstate/statestore/unsaferow"
)

// distinct counts grouping keys.
type distinct struct {
	shape KeyShape
	last  int // where the slot of the last key column begins
	seen  fingerprints
	buf   []byte
}

// distinct returns a counter of grouping keys, which the caller closes.
func (s *Store) distinct(b *provider.Budget) *distinct {
	d := &distinct{shape: s.cfg.KeyShape, seen: newFingerprints(b)}
	if d.shape == LastColumnApart {
		if s.cfg.Key == nil || len(s.cfg.Key.Fields) == 0 {
			d.shape = UnknownKey
			return d
		}
		d.last = unsaferow.FixedSize(len(s.cfg.Key.Fields)) - 8
	}
	return d
}

func (d *distinct) close() { d.seen.close() }

// add takes in the keys of a batch. Two keys that differ in the last column
// alone have the same bytes but for its slot: the column is a number, so
// nothing else of the row depends on it.
func (d *distinct) add(batch []Entry) error {
	if d.shape != LastColumnApart {
		return nil
	}
	for i := range batch {
		key := batch[i].Key
		if len(key) < d.last+8 {
			return &FileError{Offset: -1, Kind: ErrRow, Detail: "a key is shorter than its fixed part"}
		}
		d.buf = append(d.buf[:0], key...)
		binary.LittleEndian.PutUint64(d.buf[d.last:], 0)
		if err := d.seen.add(d.buf); err != nil {
			return err
		}
	}
	return nil
}

func (d *distinct) count(rows int64) int64 {
	switch d.shape {
	case WholeKey:
		return rows
	case LastColumnApart:
		return int64(d.seen.n)
	}
	return -1
}

// fingerprints is a set of keys that keeps 127 bits of each, and no pointer.
// That two keys of a partition share all of them is not to be expected: with
// 2^32 keys, the chance is one in 2^64. The hashes are seeded anew for every
// set, so that no one can choose keys that do.
type fingerprints struct {
	seeds  [2]maphash.Seed
	slots  [][2]uint64 // open addressing; a power of two; all zero is empty
	n      int
	budget *provider.Budget
}

func newFingerprints(b *provider.Budget) fingerprints {
	return fingerprints{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, budget: b}
}

// size is what the set takes off its budget, in bytes.
func (f *fingerprints) size() int64 { return 16 * int64(len(f.slots)) }

func (f *fingerprints) close() {
	f.budget.Release(f.size())
	f.slots = nil
}

// add fails only where the budget does not allow for more.
func (f *fingerprints) add(key []byte) error {
	if (f.n+1)*4 > len(f.slots)*3 {
		if err := f.grow(); err != nil {
			return err
		}
	}
	// The lowest bit is set so that no fingerprint looks like an empty slot.
	if f.put([2]uint64{maphash.Bytes(f.seeds[0], key), maphash.Bytes(f.seeds[1], key) | 1}) {
		f.n++
	}
	return nil
}

func (f *fingerprints) grow() error {
	old := f.slots
	bigger := max(64, 2*len(old))
	if err := f.budget.Take(16 * int64(bigger-len(old))); err != nil {
		return err
	}
	f.slots = make([][2]uint64, bigger)
	for _, p := range old {
		if p[1] != 0 {
			f.put(p)
		}
	}
	return nil
}

// put reports whether the fingerprint is new.
func (f *fingerprints) put(p [2]uint64) bool {
	mask := uint64(len(f.slots) - 1)
	for at := p[0] & mask; ; at = (at + 1) & mask {
		switch f.slots[at] {
		case p:
			return false
		case [2]uint64{}:
			f.slots[at] = p
			return true
		}
	}
}

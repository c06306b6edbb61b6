package statetest

import (
	"errors"
	"fmt"

	"github.com/sparkstate/sparkstate/statestore/codec"
	"github.com/sparkstate/sparkstate/statestore/placement"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
	"github.com/sparkstate/sparkstate/statestore/unsaferow"
)

// Large describes a state of any size, to measure with: an aggregation that
// counts clicks by profile and adviser, two strings and a long. What it writes
// is the same for the same description. It holds one partition in memory, and 8
// bytes for each key.
//
// A key is the profile, 16 hexadecimal digits that no codec makes anything of,
// and the adviser, of whom there are 5,000: about 90 bytes a row as Spark keeps
// it, and less than half of that in LZ4 files.
type Large struct {
	// Keys is the number of keys after the first batch.
	Keys int
	// Partitions is the number of state partitions; 0 stands for 200.
	Partitions int
	// Codec is the compression of the state files; 0 stands for LZ4.
	Codec codec.Codec
	// Snapshot has the first batch written as a snapshot and not as a delta.
	Snapshot bool
	// Deltas is the number of batches after the first one.
	Deltas int
	// Touched and Removed are the shares of the keys that each of these batches
	// puts again, with another value, and removes: 0.1 is one in ten. They are
	// others in every batch.
	Touched, Removed float64
}

// Write writes the checkpoint.
func (l Large) Write(sink Sink) error {
	switch {
	case l.Keys < 0 || l.Deltas < 0:
		return errors.New("statetest: a large state of less than nothing")
	case l.Touched < 0 || l.Removed < 0 || l.Touched+l.Removed > 1:
		return errors.New("statetest: shares are from 0 to 1")
	}
	key, value, err := largeTypes()
	if err != nil {
		return err
	}
	w := NewWriter(Query{Spark: "4.0", Partitions: l.Partitions, Codec: l.Codec,
		Operators: []Operator{{Name: "stateStoreSave", Stores: []Store{{Key: key, Value: value}}}}}, sink)
	if w.err != nil {
		return w.err
	}
	s := w.stores[storeID{0, "default"}]
	rows := largeRows{key: key, value: value}
	keys, err := rows.place(s, l.Keys)
	if err != nil {
		return err
	}
	for batch := range l.Deltas + 1 {
		w.plan()
		kind := "delta"
		if batch == 0 && l.Snapshot {
			kind = "snapshot"
		}
		for p, of := range keys {
			var body []byte
			for _, i := range of {
				change := largePut
				if batch > 0 {
					change = l.change(i, batch)
				}
				if body, err = rows.append(body, i, batch, change); err != nil {
					return err
				}
			}
			w.state(s, p, fmt.Sprintf("%d.%s", batch+1, kind), append(body, endMark...))
		}
		w.committed()
	}
	return w.err
}

func largeTypes() (key, value *sqltype.Type, err error) {
	if key, err = sqltype.ParseDDL("profile STRING, adviser STRING"); err != nil {
		return nil, nil, err
	}
	value, err = sqltype.ParseDDL("count BIGINT")
	return key, value, err
}

// What a batch does to a key.
const (
	largeNothing = iota
	largePut
	largeRemove
)

// change says what a batch after the first does to a key.
func (l Large) change(i uint64, batch int) int {
	// 53 bits of a number that looks random, as a share.
	share := float64(mix(i^uint64(batch)<<48)>>11) / (1 << 53)
	switch {
	case share < l.Touched:
		return largePut
	case share < l.Touched+l.Removed:
		return largeRemove
	}
	return largeNothing
}

// mix makes of each number another one that looks random (SplitMix64's output
// function). No two numbers give the same.
func mix(x uint64) uint64 {
	x += 0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// largeRows makes the rows of a large state.
type largeRows struct {
	key, value *sqltype.Type
	buf        []byte
}

// keyOf returns key i, valid until the next call.
func (r *largeRows) keyOf(i uint64) ([]byte, error) {
	var err error
	r.buf, err = unsaferow.Append(r.buf[:0], r.key, []any{fmt.Sprintf("%016x", mix(i)), fmt.Sprintf("adviser_%05d", i%5000)})
	return r.buf, err
}

// place returns the keys of each partition.
func (r *largeRows) place(s *storeState, n int) ([][]uint64, error) {
	keys := make([][]uint64, s.partitions)
	for i := range uint64(n) {
		k, err := r.keyOf(i)
		if err != nil {
			return nil, err
		}
		h, err := s.hasher.Hash(k)
		if err != nil {
			return nil, err
		}
		p := placement.Partition(h, s.partitions)
		keys[p] = append(keys[p], i)
	}
	return keys, nil
}

// append appends the record of what a batch does to key i.
func (r *largeRows) append(body []byte, i uint64, batch, change int) ([]byte, error) {
	if change == largeNothing {
		return body, nil
	}
	k, err := r.keyOf(i)
	if err != nil {
		return nil, err
	}
	body = appendFramed(body, k)
	if change == largeRemove {
		return append(body, endMark...), nil // a value length of -1
	}
	r.buf, err = unsaferow.Append(r.buf[:0], r.value, []any{int64(mix(i+uint64(batch))>>44 + 1)})
	if err != nil {
		return nil, err
	}
	return appendFramed(body, r.buf), nil
}

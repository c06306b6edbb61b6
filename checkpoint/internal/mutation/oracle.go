package mutation

import (
	"context"
	"fmt"
	"hash/maphash"
	"iter"
	"path"
	"slices"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/skew"
	"github.com/sparkstate/sparkstate/statestore"
	"github.com/sparkstate/sparkstate/statestore/statetest"
)

// oracle is what the undamaged checkpoint says.
type oracle struct {
	last     int64
	stores   []*storeOracle
	warnings map[string]bool
}

// storeOracle is what it says of one store.
type storeOracle struct {
	operator int
	name     string
	dirs     map[int]string
	// rows are by batch and partition; changes a hash of the sequence. What
	// cannot be read of the undamaged checkpoint, because it was cleaned
	// up, is not there.
	rows    map[at]rows
	changes map[at]uint64
	batches []int64 // that rows has
	changed []int64 // that changes has
	// records are those of the last batch by partition; nil without a schema.
	records map[int][]arrow.Record
	types   [2]checkpoint.Source // where the types of keys and values are from
	skewed  []float64            // rows by partition, as skew has them; nil if it fails
}

type at struct {
	batch     int64
	partition int
}

var keySeed, valueSeed = maphash.MakeSeed(), maphash.MakeSeed()

// rowHash tells rows apart.
func rowHash(key, value []byte) uint64 {
	return maphash.Bytes(keySeed, key)*odd ^ maphash.Bytes(valueSeed, value)
}

// rows are those of a partition.
type rows struct {
	hashes []uint64 // sorted, one a row
	order  uint64   // a hash of the sequence
}

func (r rows) same(as rows) bool { return slices.Equal(r.hashes, as.hashes) }

const odd = 0x100000001b3

func readRows(entries iter.Seq2[statestore.Entry, error]) (rows, error) {
	var out rows
	for e, err := range entries {
		if err != nil {
			return rows{}, err
		}
		h := rowHash(e.Key, e.Value)
		out.hashes = append(out.hashes, h)
		out.order = (out.order + h) * odd
	}
	slices.Sort(out.hashes)
	return out, nil
}

func readChanges(changes iter.Seq2[statestore.Change, error]) (uint64, error) {
	sum := uint64(0)
	for c, err := range changes {
		if err != nil {
			return 0, err
		}
		sum = (sum + rowHash(c.Key, c.Value) + uint64(c.Type)) * odd
	}
	return sum, nil
}

func readRecords(records iter.Seq2[arrow.Record, error]) (_ []arrow.Record, err error) {
	var out []arrow.Record
	for rec, err := range records {
		if err != nil {
			release(out)
			return nil, err
		}
		out = append(out, rec)
	}
	return out, nil
}

func release(records []arrow.Record) {
	for _, r := range records {
		r.Release()
	}
}

// sameRecords compares the names and types of the columns, and the values of
// rows that come in the same order; of rows in another order their number.
func sameRecords(a, b []arrow.Record, ordered bool) bool {
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	if !a[0].Schema().Equal(b[0].Schema()) {
		return false
	}
	if !ordered {
		return count(a) == count(b)
	}
	// NaN is to equal NaN, and nothing else what it is not.
	return slices.EqualFunc(a, b, func(x, y arrow.Record) bool {
		return array.RecordApproxEqual(x, y, array.WithNaNsEqual(true), array.WithAbsTolerance(0))
	})
}

func count(records []arrow.Record) (n int64) {
	for _, r := range records {
		n += r.NumRows()
	}
	return n
}

// typesFrom says where the types of a store's rows are from: a caller can tell
// what is recorded from what is inferred.
func typesFrom(s *checkpoint.Store) (from [2]checkpoint.Source) {
	_, from[0] = s.Key()
	_, from[1] = s.Value()
	return from
}

// consult reads all that the undamaged checkpoint has.
func consult(ctx context.Context, t *tree) (*oracle, error) {
	o := &oracle{warnings: make(map[string]bool)}
	cp, err := checkpoint.OpenFS(damage(t), ".", checkpoint.OnWarning(func(err error) { o.warnings[err.Error()] = true }))
	if err != nil {
		return nil, err
	}
	if o.last, _, err = cp.LastCommitted(); err != nil {
		return nil, err
	}
	for _, level := range levels {
		report, err := cp.Check(ctx, level)
		if err != nil {
			return nil, err
		}
		if n := above(report); n > 0 {
			return nil, fmt.Errorf("a check finds %s in the undamaged checkpoint", report.Findings[0].ID)
		}
	}
	if cp.Provider().Format != checkpoint.HDFS {
		return o, nil
	}
	for _, op := range cp.Operators() {
		for _, s := range op.Stores() {
			so, err := consultStore(ctx, s)
			if err != nil {
				return nil, err
			}
			o.stores = append(o.stores, so)
		}
	}
	return o, nil
}

func consultStore(ctx context.Context, s *checkpoint.Store) (*storeOracle, error) {
	so := &storeOracle{operator: s.Operator().ID(), name: s.Name(), dirs: make(map[int]string), rows: make(map[at]rows), changes: make(map[at]uint64)}
	for _, p := range s.Present() {
		so.dirs[p] = path.Dir(statetest.Delta(so.operator, so.name, p, 1).String())
	}
	so.types = typesFrom(s)
	var err error
	if so.batches, err = s.Readable(ctx); err != nil {
		return nil, err
	}
	if len(so.batches) == 0 {
		return nil, fmt.Errorf("no batch of operator %d can be read", so.operator)
	}
	last := so.batches[len(so.batches)-1]
	for p := range so.dirs {
		for _, b := range so.batches {
			rows, err := readRows(s.Entries(ctx, p, checkpoint.AtBatch(b)))
			if err != nil {
				return nil, err
			}
			so.rows[at{b, p}] = rows
		}
		for b := range last + 1 {
			if sum, err := readChanges(s.ChangeEntries(ctx, p, b)); err == nil {
				so.changes[at{b, p}] = sum
			}
		}
		if _, err := s.Schema(); err != nil {
			continue
		}
		records, err := readRecords(s.Records(ctx, checkpoint.Partitions(p), checkpoint.Workers(1)))
		if err != nil {
			return nil, err
		}
		if so.records == nil {
			so.records = make(map[int][]arrow.Record)
		}
		so.records[p] = records
	}
	for b := range last + 1 {
		if _, ok := so.changes[at{b, 0}]; ok {
			so.changed = append(so.changed, b)
		}
	}
	if r, err := skew.Analyze(ctx, s, skew.Options{Workers: 1}); err == nil {
		so.skewed = r.Rows
	}
	return so, nil
}

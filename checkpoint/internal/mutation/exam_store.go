package mutation

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/skew"
	"github.com/sparkstate/sparkstate/statestore"
)

// batches returns the batches to read: the last, and some before it.
func (x *exam) batches(from []int64, last int64) []int64 {
	out := []int64{last}
	for range 2 {
		if len(from) > 0 {
			out = append(out, min(last, from[x.rnd.IntN(len(from))]))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (x *exam) store(ctx context.Context, so *storeOracle, last int64) {
	s, err := x.cp.Store(so.operator, so.name)
	if err != nil {
		x.notice()
		return
	}
	parts := x.partitions(so)
	if x.elsewhere() && len(parts) > 4 { // all are read alike
		parts = parts[:4]
	}
	right := true                 // at the last batch
	ordered := make(map[int]bool) // in the order of the oracle, then
	for _, b := range x.batches(so.batches, last) {
		for _, p := range parts {
			x.begin()
			rows, err := readRows(s.Entries(ctx, p, checkpoint.AtBatch(b)))
			ok := x.end(err, rows.same(so.rows[at{b, p}]), "entries of operator %d, store %s, partition %d, batch %d", so.operator, so.name, p, b)
			if b == last {
				right = right && ok
				ordered[p] = rows.order == so.rows[at{b, p}].order
			}
			x.salvage(ctx, s, so, p, b)
		}
	}
	for _, b := range x.batches(so.changed, last) {
		for _, p := range parts {
			want, kept := so.changes[at{b, p}]
			x.begin()
			sum, err := readChanges(s.ChangeEntries(ctx, p, b))
			if err != nil && (!kept || errors.Is(err, statestore.ErrMissing)) {
				x.notice()
				continue // the state may not need it: a snapshot stands for it
			}
			x.end(err, sum == want, "changes of operator %d, store %s, partition %d, batch %d", so.operator, so.name, p, b)
		}
	}
	x.records(ctx, s, so, ordered, last, right)
	x.skew(ctx, s, so, right && last == x.last)
}

func (x *exam) records(ctx context.Context, s *checkpoint.Store, so *storeOracle, ordered map[int]bool, last int64, right bool) {
	if so.records == nil {
		return
	}
	if typesFrom(s) != so.types {
		x.notice()
		right = false
	}
	parts := slices.Sorted(maps.Keys(ordered))
	for _, p := range parts {
		x.begin()
		records, err := readRecords(s.Records(ctx, checkpoint.Partitions(p), checkpoint.Workers(1)))
		if last == x.last && (right || err != nil) && !errors.Is(err, statestore.ErrNoSchema) {
			x.end(err, err == nil && sameRecords(records, so.records[p], ordered[p]), "records of operator %d, store %s, partition %d", so.operator, so.name, p)
		}
		release(records)
	}
	for rec, err := range s.Changes(ctx, max(0, last-1), last, checkpoint.Partitions(parts...), checkpoint.Workers(1)) {
		if err == nil {
			rec.Release()
		}
	}
}

func (x *exam) skew(ctx context.Context, s *checkpoint.Store, so *storeOracle, right bool) {
	x.begin()
	report, err := skew.Analyze(ctx, s, skew.Options{Workers: 1})
	if err == nil && right && so.skewed != nil {
		x.end(nil, sameCounts(report.Rows, so.skewed), "skew of operator %d, store %s", so.operator, so.name)
	}
	for _, side := range []checkpoint.Side{checkpoint.Left, checkpoint.Right} {
		j, err := s.Operator().JoinSide(side)
		if err != nil {
			continue
		}
		for rec, err := range j.Records(ctx, nil, checkpoint.Workers(1)) {
			if err == nil {
				rec.Release()
			}
		}
	}
}

// sameCounts compares rows by partition; a partition that is not counted has
// none.
func sameCounts(a, b []float64) bool {
	for i := range max(len(a), len(b)) {
		if i >= len(a) && b[i] != 0 || i >= len(b) && a[i] != 0 || i < len(a) && i < len(b) && a[i] != b[i] {
			return false
		}
	}
	return true
}

// salvage has every row that it says is right looked up.
func (x *exam) salvage(ctx context.Context, s *checkpoint.Store, so *storeOracle, p int, b int64) {
	loss := &checkpoint.Loss{}
	n, wrong := 0, 0
	x.begin()
	for r, err := range s.Salvage(ctx, p, loss, checkpoint.AtBatch(b)) {
		if err != nil {
			x.notice()
			return
		}
		if r.Doubtful {
			continue
		}
		n++
		rows, known := so.rows[at{r.Batch, p}]
		if !known {
			continue
		}
		if _, ok := slices.BinarySearch(rows.hashes, rowHash(r.Key, r.Value)); !ok {
			wrong++
		}
	}
	if len(loss.Files) == 0 {
		wrong += max(0, len(so.rows[at{b, p}].hashes)-n)
	}
	if wrong > 0 && x.knows && len(x.said) == 0 && !x.saidOpen {
		x.fault("salvage of operator %d, store %s, partition %d, batch %d: %d of %d rows are wrong, and nothing said", so.operator, so.name, p, b, wrong, n)
	}
}

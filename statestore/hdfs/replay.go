package hdfs

import (
	"context"
	"iter"
	"path"

	"github.com/sparkstate/sparkstate/statestore/provider"
)

// Batches implements provider.Partition. The rows that the deltas leave in
// place come first, in the snapshot's order, then those that the deltas put,
// newest delta first.
func (p *Partition) Batches(ctx context.Context, v provider.Version, o provider.LoadOptions) iter.Seq2[[]provider.Entry, error] {
	return func(yield func([]provider.Entry, error) bool) {
		plan, err := p.Plan(v, o)
		if err != nil {
			yield(nil, err)
			return
		}
		q := *p
		q.ahead = o.Ahead
		err = q.replay(ctx, plan, o.Budget, func(batch []provider.Entry) bool { return yield(batch, nil) })
		if err != nil {
			yield(nil, err)
		}
	}
}

// replay yields the rows of a version, in batches that may be reordered.
func (p *Partition) replay(ctx context.Context, plan provider.Plan, budget *provider.Budget, yield func([]provider.Entry) bool) error {
	t := newTable(budget)
	defer t.close()
	for i := len(plan.Deltas) - 1; i >= 0; i-- {
		t.olderFile()
		if err := p.into(ctx, plan.Deltas[i], t); err != nil {
			return err
		}
	}
	if plan.Base.Name != "" {
		stopped := false
		err := p.each(ctx, plan.Base, func(batch []provider.Entry) bool {
			// Without deltas nothing is hashed at all.
			if t.len() > 0 {
				batch = t.without(batch)
			}
			stopped = len(batch) > 0 && !yield(batch)
			return !stopped
		})
		if err != nil || stopped {
			return err
		}
	}
	t.batches(yield)
	return nil
}

// into adds the records of a file to a table.
func (p *Partition) into(ctx context.Context, f provider.File, t *table) error {
	var full error
	err := p.each(ctx, f, func(batch []provider.Entry) bool {
		full = t.add(batch)
		return full == nil
	})
	if full != nil {
		return provider.WithPath(full, path.Join(p.dir, f.Name))
	}
	return err
}

// batches yields the rows that are left once the removes have done their work.
func (t *table) batches(yield func([]provider.Entry) bool) {
	var batch [batchLen]provider.Entry
	n := 0
	if t.rows(func(_ int, e provider.Entry) bool {
		batch[n] = e
		n++
		if n < batchLen {
			return true
		}
		n = 0
		return yield(batch[:])
	}) && n > 0 {
		yield(batch[:n])
	}
}

package hdfs

import (
	"context"
	"iter"

	"github.com/sparkstate/sparkstate/statestore/provider"
)

// Entries implements provider.Partition. The rows that the deltas leave in
// place come first, in the snapshot's order, then those that the deltas put,
// newest delta first.
func (p *Partition) Entries(ctx context.Context, v provider.Version, o provider.LoadOptions) iter.Seq2[provider.Entry, error] {
	return func(yield func(provider.Entry, error) bool) {
		plan, err := p.Plan(v, o)
		if err != nil {
			yield(provider.Entry{}, err)
			return
		}
		if err := p.replay(ctx, plan, func(e provider.Entry) bool { return yield(e, nil) }); err != nil {
			yield(provider.Entry{}, err)
		}
	}
}

func (p *Partition) replay(ctx context.Context, plan provider.Plan, yield func(provider.Entry) bool) error {
	t := newTable()
	for i := len(plan.Deltas) - 1; i >= 0; i-- {
		t.olderFile()
		if err := p.each(ctx, plan.Deltas[i], func(r *record) bool {
			t.add(r)
			return true
		}); err != nil {
			return err
		}
	}
	if plan.Base.Name != "" {
		stopped := false
		err := p.each(ctx, plan.Base, func(r *record) bool {
			// Without deltas nothing is hashed at all.
			if t.len() > 0 && t.has(r.key) {
				return true
			}
			stopped = !yield(provider.Entry{Key: r.key, Value: r.value})
			return !stopped
		})
		if err != nil || stopped {
			return err
		}
	}
	t.each(yield)
	return nil
}

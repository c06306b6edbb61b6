package provider

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
)

// listings is how often a directory is listed for one answer, at most.
const listings = 4

// Relisting opens a partition that may belong to a running query, whose
// maintenance writes snapshots and removes files while they are read. Where a
// file turns out to be missing before the first row or change has been handed
// on, the directory is listed again and the same version is read from what is
// there now: mostly from a newer snapshot. That is tried a few times, and not
// where nothing has changed. A version is never replaced by another.
func Relisting(open func() (Partition, error)) (Partition, error) {
	p, err := open()
	if err != nil {
		return nil, err
	}
	return &relisting{open: open, now: p}, nil
}

type relisting struct {
	open func() (Partition, error)

	mu  sync.Mutex
	now Partition
}

func (r *relisting) current() Partition {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

// again lists the directory anew; nil where that shows nothing that was not
// seen before.
func (r *relisting) again(seen Partition) Partition {
	if p := r.current(); p != seen {
		return p // somebody else has
	}
	p, err := r.open()
	if err != nil || slices.Equal(p.Files(), seen.Files()) {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = p
	return p
}

// stale says whether an error may be due to a listing that is no longer true.
func stale(err error) bool { return errors.Is(err, ErrMissing) || errors.Is(err, ErrCleanedUp) }

func (r *relisting) Files() []File     { return r.current().Files() }
func (r *relisting) Versions() []int64 { return r.current().Versions() }

func (r *relisting) Stat(ctx context.Context, files []File) ([]File, error) {
	return r.current().Stat(ctx, files)
}

func (r *relisting) Plan(v Version, o LoadOptions) (Plan, error) {
	p := r.current()
	for n := 1; ; n++ {
		plan, err := p.Plan(v, o)
		if !stale(err) || n == listings {
			return plan, err
		}
		next := r.again(p)
		if next == nil {
			return plan, err
		}
		p = next
	}
}

func (r *relisting) Batches(ctx context.Context, v Version, o LoadOptions) iter.Seq2[[]Entry, error] {
	return retrying(r, func(p Partition) iter.Seq2[[]Entry, error] { return p.Batches(ctx, v, o) })
}

func (r *relisting) Prefetch(v Version, o LoadOptions) { r.current().Prefetch(v, o) }

func (r *relisting) Changes(ctx context.Context, v Version) iter.Seq2[[]Change, error] {
	return retrying(r, func(p Partition) iter.Seq2[[]Change, error] { return p.Changes(ctx, v) })
}

// retrying reads, and starts anew from a fresh listing as long as nothing has
// been handed on.
func retrying[T any](r *relisting, read func(Partition) iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		p := r.current()
		for n := 1; ; n++ {
			begun, failed := false, error(nil)
			for item, err := range read(p) {
				if err != nil && !begun && n < listings && stale(err) {
					failed = err
					break
				}
				begun = true
				if !yield(item, err) {
					return
				}
			}
			if failed == nil {
				return
			}
			next := r.again(p)
			if next == nil {
				var zero T
				yield(zero, failed)
				return
			}
			p = next
		}
	}
}

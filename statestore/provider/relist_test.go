package provider_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/statestore/provider"
)

// listed is a partition of which the listing number n has been made; all
// listings before good are of files that have gone.
type listed struct {
	provider.Partition
	n, good int
	before  int // rows that are handed on before a file is missed
	err     error
}

func (p *listed) Files() []provider.File {
	return []provider.File{{Name: fmt.Sprint(min(p.n, 3+p.good))}}
}

func (p *listed) Plan(provider.Version, provider.LoadOptions) (provider.Plan, error) {
	if p.n < p.good {
		return provider.Plan{}, p.err
	}
	return provider.Plan{Version: int64(p.n)}, nil
}

func (p *listed) Batches(context.Context, provider.Version, provider.LoadOptions) iter.Seq2[[]provider.Entry, error] {
	return func(yield func([]provider.Entry, error) bool) {
		for range p.before {
			if !yield(make([]provider.Entry, 1), nil) {
				return
			}
		}
		if p.n < p.good {
			yield(nil, p.err)
			return
		}
		yield([]provider.Entry{{Key: []byte{byte(p.n)}}}, nil)
	}
}

func TestRelisting(t *testing.T) {
	gone := &provider.FileError{Kind: provider.ErrMissing}
	damaged := &provider.FileError{Kind: provider.ErrCorrupt}
	for _, c := range []struct {
		name   string
		good   int
		before int
		err    error
		want   int // the listing that is read in the end; 0 for none
		opened int
	}{
		{"at once", 1, 0, gone, 1, 1},
		{"from a fresh listing", 2, 0, gone, 2, 2},
		{"from the last one that is tried", 4, 0, gone, 4, 4},
		{"never", 5, 0, gone, 0, 4},
		{"after rows were handed on", 2, 3, gone, 0, 1},
		{"damage is no matter of listings", 2, 0, damaged, 0, 1},
		{"what was cleaned up", 2, 0, &provider.FileError{Kind: provider.ErrCleanedUp}, 2, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			opened := 0
			p, err := provider.Relisting(func() (provider.Partition, error) {
				opened++
				return &listed{n: opened, good: c.good, before: c.before, err: c.err}, nil
			})
			require.NoError(t, err)
			rows, last := 0, provider.Entry{}
			var failed error
			for e, err := range provider.Rows(p.Batches(context.Background(), provider.Version{Number: 1}, provider.LoadOptions{})) {
				require.NoError(t, failed, "nothing follows an error")
				if failed = err; err == nil {
					rows, last = rows+1, e
				}
			}
			assert.Equal(t, c.opened, opened)
			if c.want == 0 {
				assert.ErrorIs(t, failed, c.err)
				return
			}
			require.NoError(t, failed)
			assert.Equal(t, c.before+1, rows)
			assert.Equal(t, []byte{byte(c.want)}, last.Key)
			plan, err := p.Plan(provider.Version{}, provider.LoadOptions{})
			require.NoError(t, err)
			assert.Equal(t, int64(c.want), plan.Version)
		})
	}
}

// Where a fresh listing shows the same, that was it.
func TestRelistingOfTheSame(t *testing.T) {
	opened := 0
	p, err := provider.Relisting(func() (provider.Partition, error) {
		opened++
		return &listed{n: 1, good: 9, err: &provider.FileError{Kind: provider.ErrMissing}}, nil
	})
	require.NoError(t, err)
	_, err = p.Plan(provider.Version{}, provider.LoadOptions{})
	assert.ErrorIs(t, err, provider.ErrMissing)
	assert.Equal(t, 2, opened)

	_, err = provider.Relisting(func() (provider.Partition, error) { return nil, errors.New("no") })
	assert.EqualError(t, err, "no")
}

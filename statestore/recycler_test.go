package statestore

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/statestore/provider"
)

func TestRecycler(t *testing.T) {
	r := new(recycler)
	a := r.Allocate(100)
	require.Len(t, a, 100)
	first := &a[0]
	a = r.Reallocate(128, a)
	require.Same(t, first, &a[0])
	a[127] = 7
	b := r.Reallocate(129, a) // a is given back
	require.NotSame(t, first, &b[0])
	require.Equal(t, byte(7), b[127])
	require.Same(t, first, &r.Allocate(65)[0])
	require.NotSame(t, first, &r.Allocate(65)[0])
	r.Free(b[:3])
	require.Same(t, &b[0], &r.Allocate(256)[0])
	require.Len(t, r.Allocate(0), 0)
	r.Free(make([]byte, 100)) // not its own
	require.Len(t, r.Allocate(100), 100)
}

func TestFingerprints(t *testing.T) {
	f := newFingerprints(provider.NewBudget(1 << 20))
	for range 2 {
		for i := range 10_000 {
			require.NoError(t, f.add(fmt.Append(nil, i)))
		}
	}
	require.Equal(t, 10_000, f.n)
	var err error
	for i := 0; err == nil; i++ {
		err = f.add(binary.LittleEndian.AppendUint64(nil, uint64(i)))
	}
	require.ErrorIs(t, err, ErrMemory)
	f.close()
	require.NoError(t, f.budget.Take(1<<20))
}

package statestore

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestForEach(t *testing.T) {
	var sum atomic.Int64
	require.NoError(t, forEach(context.Background(), 3, 100, func(_ context.Context, i int) error { sum.Add(int64(i)); return nil }))
	assert.EqualValues(t, 4950, sum.Load())
	boom := errors.New("boom")
	assert.Equal(t, boom, forEach(context.Background(), 3, 100, func(_ context.Context, i int) error {
		if i >= 7 {
			return boom
		}
		return nil
	}))
}

package provider_test

import (
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/statestore/provider"
)

var errBroken = errors.New("broken")

// entries yields n rows, all in the same two buffers, and then an error if one
// is wanted.
func entries(n int, err error) iter.Seq2[provider.Entry, error] {
	return func(yield func(provider.Entry, error) bool) {
		var key, value []byte
		for i := range n {
			key, value = fmt.Append(key[:0], i), fmt.Append(value[:0], -i)
			if !yield(provider.Entry{Key: key, Value: value}, nil) {
				return
			}
		}
		if err != nil {
			yield(provider.Entry{}, err)
		}
	}
}

func TestGatherAndRows(t *testing.T) {
	for _, n := range []int{0, 1, 63, 64, 65, 200} {
		for _, fails := range []error{nil, errBroken} {
			i := 0
			var failed error
			for batch, err := range provider.Gather(entries(n, fails)) {
				if err != nil {
					failed = err
					continue
				}
				require.NotEmpty(t, batch)
				for _, e := range batch {
					require.Equal(t, fmt.Sprint(i), string(e.Key))
					require.Equal(t, fmt.Sprint(-i), string(e.Value))
					i++
				}
			}
			require.Equal(t, n, i)
			require.Equal(t, fails, failed)

			i, failed = 0, nil
			for e, err := range provider.Rows(provider.Gather(entries(n, fails))) {
				if err != nil {
					failed = err
					continue
				}
				require.Equal(t, fmt.Sprint(i), string(e.Key))
				i++
			}
			require.Equal(t, n, i)
			require.Equal(t, fails, failed)
		}
	}
	for range provider.Rows(provider.Gather(entries(200, nil))) {
		break // and nothing more is asked for
	}
}

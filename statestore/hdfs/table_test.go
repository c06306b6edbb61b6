package hdfs

import (
	"errors"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/statestore/provider"
)

// row is a row as long as Spark makes them: a multiple of 8 bytes.
func row(s string) []byte {
	return append([]byte(s), make([]byte, (8-len(s)%8)%8)...)
}

// TestTableEqualsMap compares the table with a map, over random files of puts
// and removes that are added newest first.
func TestTableEqualsMap(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 7))
		keys := 1 + r.IntN(3000)
		tab := newTable(nil)
		type state struct {
			value string // "-" is a remove
			file  int
		}
		want := make(map[string]state)
		for file := range 1 + r.IntN(5) {
			tab.olderFile()
			var records []provider.Entry
			for range r.IntN(2 * keys) {
				e := provider.Entry{Key: row(fmt.Sprintf("key %d", r.IntN(keys)))}
				switch n := r.IntN(2000); {
				case n < 400: // a remove
				case n < 401: // longer than a chunk
					e.Value = row(strings.Repeat("x", chunkSize+r.IntN(100)))
				case n < 600:
					e.Value = []byte{}
				default:
					e.Value = row(fmt.Sprintf("value %d", r.IntN(1<<r.IntN(60))))
				}
				records = append(records, e)
				if s, ok := want[string(e.Key)]; !ok || s.file == file {
					v := string(e.Value)
					if e.Value == nil {
						v = "-"
					}
					want[string(e.Key)] = state{v, file}
				}
			}
			for len(records) > 0 {
				n := min(1+r.IntN(batchLen), len(records))
				require.NoError(t, tab.add(records[:n]))
				records = records[n:]
			}
		}
		require.Equal(t, len(want), tab.len())
		got := make(map[string]state)
		tab.rows(func(file int, e provider.Entry) bool {
			require.NotContains(t, got, string(e.Key))
			got[string(e.Key)] = state{string(e.Value), file}
			return true
		})
		for k, s := range want {
			v, ok := tab.get([]byte(k))
			require.True(t, ok)
			if s.value == "-" {
				require.Nil(t, v)
				require.NotContains(t, got, k)
			} else {
				require.Equal(t, s.value, string(v))
				require.Equal(t, s, got[k])
			}
		}
		if tab.len() == 0 {
			continue
		}
		// Half of these the table knows.
		for at := 0; at < 2*keys; {
			var batch []provider.Entry
			var left []string
			for range min(batchLen, 2*keys-at) {
				k := row(fmt.Sprintf("key %d", at))
				batch = append(batch, provider.Entry{Key: k})
				if _, ok := want[string(k)]; !ok {
					left = append(left, string(k))
				}
				at++
			}
			var kept []string
			for _, e := range tab.without(batch) {
				kept = append(kept, string(e.Key))
			}
			require.Equal(t, left, kept)
		}
		tab.close()
	}
}

// Keys that all belong in the last slot follow each other beyond the end of the
// array to its start, before and after the table has grown.
func TestTableWraps(t *testing.T) {
	tab := newTable(nil)
	defer tab.close()
	tab.olderFile()
	var keys [][]byte
	for i := 0; len(keys) < 300; i++ {
		if k := row(fmt.Sprint(i)); maphash.Bytes(tab.seed, k)>>55 == 1<<9-1 {
			keys = append(keys, k)
		}
	}
	for i, k := range keys {
		require.NoError(t, tab.add([]provider.Entry{{Key: k, Value: k}}))
		for _, known := range keys[:i+1] {
			v, ok := tab.get(known)
			require.True(t, ok)
			require.Equal(t, known, v)
		}
	}
	require.Equal(t, len(keys), tab.len())
	require.NotZero(t, tab.slots[0])
	for len(keys) > 0 {
		n := min(batchLen, len(keys))
		var batch []provider.Entry
		for _, k := range keys[:n] {
			batch = append(batch, provider.Entry{Key: k}, provider.Entry{Key: append(row("not"), k...)})
		}
		batch = batch[:min(len(batch), batchLen)]
		for _, e := range tab.without(batch) {
			require.Equal(t, row("not"), e.Key[:8])
		}
		keys = keys[n:]
	}
}

func TestTableBudget(t *testing.T) {
	b := provider.NewBudget(100_000)
	tab := newTable(b)
	tab.olderFile()
	var err error
	added := 0
	for err == nil {
		err = tab.add([]provider.Entry{{Key: row(fmt.Sprint(added)), Value: make([]byte, 64)}})
		added++
	}
	require.ErrorIs(t, err, provider.ErrMemory)
	require.False(t, errors.Is(err, provider.ErrDamaged))
	require.Greater(t, added, 300)
	require.ErrorContains(t, err, "the budget is 100000")
	require.Error(t, b.Take(50_000))
	tab.close()
	require.NoError(t, b.Take(100_000))
}

// While a table grows, both arrays of slots are there.
func TestTableBudgetOfGrowth(t *testing.T) {
	b := provider.NewBudget(8*(64+128) - 1)
	tab := newTable(b)
	require.NoError(t, tab.grow(40))
	require.ErrorIs(t, tab.grow(41), provider.ErrMemory)
	require.Len(t, tab.slots, 64, "it is as it was")
	tab.close()
	b = provider.NewBudget(8 * (64 + 128))
	tab = newTable(b)
	require.NoError(t, tab.grow(40))
	require.NoError(t, tab.grow(41))
	require.NoError(t, b.Take(8*64), "the old one is given back")
	tab.close()
	require.NoError(t, b.Take(8*128))
}

// The last place that a slot can tell is not passed.
func TestTableFull(t *testing.T) {
	last := uint64(maxChunks)<<chunkBits - 8
	const hash = 0xfedcba98_76543210
	require.Equal(t, last, place(slot(hash, last)))
	require.EqualValues(t, hash>>tagBits, slot(hash, last)>>tagBits)

	tab := newTable(nil)
	tab.olderFile()
	tab.arena = make([][]byte, maxChunks)
	_, err := tab.store(&provider.Entry{Key: row("key")})
	require.ErrorIs(t, err, provider.ErrUnsupported)
	require.NotErrorIs(t, err, provider.ErrDamaged)
}

// TestTableMemory holds what the table takes against what it holds.
func TestTableMemory(t *testing.T) {
	b := provider.NewBudget(1 << 40)
	tab := newTable(b)
	tab.olderFile()
	raw := 0
	for i := range 200_000 {
		e := provider.Entry{Key: row(fmt.Sprintf("profile and adviser number %08d", i)), Value: make([]byte, 16)}
		raw += 8 + len(e.Key) + len(e.Value)
		require.NoError(t, tab.add([]provider.Entry{e}))
	}
	require.Less(t, float64(tab.taken), 1.5*float64(raw))
	tab.close()
}

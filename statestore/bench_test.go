package statestore_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore/codec"
	"github.com/sparkstate/sparkstate/statestore/statetest"
)

// benchKeys is the number of keys of the state that is measured.
const benchKeys = 1_000_000

// large is a checkpoint of two strings and a count in 16 partitions: batch 0
// is a snapshot, batch 1 changes a tenth of the keys on top. Batch 2 of the
// directory without snapshots is in deltas only.
var large = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "statestore-bench")
	if err != nil {
		return "", err
	}
	key, value, err := benchTypes()
	if err != nil {
		return "", err
	}
	w := statetest.NewWriter(statetest.Query{Spark: "4.0", Partitions: 16, Operators: []statetest.Operator{{Name: "stateStoreSave", Stores: []statetest.Store{{Key: key, Value: value}}}}}, statetest.Dir(dir))
	put := func(i, n int) {
		w.Put(0, "default", []any{fmt.Sprintf("profile_%08d", i), fmt.Sprintf("adviser_%05d", i%5000)}, []any{n})
	}
	for i := range benchKeys {
		put(i, i)
	}
	if err := w.Commit(); err != nil {
		return "", err
	}
	if err := w.Snapshot(0, "default"); err != nil {
		return "", err
	}
	for i := 0; i < benchKeys; i += 10 {
		put(i, -i)
	}
	return dir, w.Commit()
})

func TestMain(m *testing.M) {
	code := m.Run()
	if benched {
		if dir, err := large(); err == nil {
			os.RemoveAll(dir)
		}
	}
	os.Exit(code)
}

var benched bool

// bench opens the large checkpoint's store.
func bench(b *testing.B) (string, *checkpoint.Store) {
	b.Helper()
	benched = true
	dir, err := large()
	require.NoError(b, err)
	cp, err := checkpoint.Open(dir)
	require.NoError(b, err)
	b.Cleanup(func() { cp.Close() })
	s, err := cp.Store(0, "default")
	require.NoError(b, err)
	return dir, s
}

func rowsPerSecond(b *testing.B, rows int) {
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
}

// BenchmarkLimit decompresses the snapshots, checksums verified, and nothing
// else: what reading cannot be faster than.
func BenchmarkLimit(b *testing.B) {
	dir, _ := bench(b)
	files, err := filepath.Glob(dir + "/state/0/*/1.snapshot")
	require.NoError(b, err)
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			for range b.N {
				var running sync.WaitGroup
				for w := range workers {
					running.Go(func() {
						for i := w; i < len(files); i += workers {
							if err := decompress(files[i]); err != nil {
								b.Error(err)
							}
						}
					})
				}
				running.Wait()
			}
			rowsPerSecond(b, benchKeys)
		})
	}
}

func decompress(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	r, err := codec.NewReader(f, st.Size())
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		switch _, err := r.Next(); err {
		case nil:
		case io.EOF:
			return nil
		default:
			return err
		}
	}
}

// each runs a benchmark for a version that is a snapshot and for one that is a
// snapshot with a tenth of it changed, with one worker and with two.
func each(b *testing.B, run func(opts ...checkpoint.Option)) {
	for _, c := range []struct {
		name  string
		batch int64
	}{{"snapshot", 0}, {"snapshot+10%", 1}} {
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/workers=%d", c.name, workers), func(b *testing.B) {
				b.ReportAllocs()
				for range b.N {
					run(checkpoint.AtBatch(c.batch), checkpoint.Workers(workers))
				}
				rowsPerSecond(b, benchKeys)
			})
		}
	}
}

func BenchmarkCounts(b *testing.B) {
	_, s := bench(b)
	each(b, func(opts ...checkpoint.Option) {
		_, err := s.Counts(b.Context(), opts...)
		require.NoError(b, err)
	})
}

func BenchmarkRecords(b *testing.B) {
	_, s := bench(b)
	each(b, func(opts ...checkpoint.Option) {
		for rec, err := range s.Records(b.Context(), opts...) {
			require.NoError(b, err)
			rec.Release()
		}
	})
}

// BenchmarkDeltasOnly replays a state without any snapshot: it is in the table
// as a whole.
func BenchmarkDeltasOnly(b *testing.B) {
	dir, _ := bench(b)
	bare := b.TempDir()
	require.NoError(b, os.CopyFS(bare, os.DirFS(dir)))
	snapshots, err := filepath.Glob(bare + "/state/0/*/*.snapshot")
	require.NoError(b, err)
	for _, name := range snapshots {
		require.NoError(b, os.Remove(name))
	}
	cp, err := checkpoint.Open(bare)
	require.NoError(b, err)
	defer cp.Close()
	s, err := cp.Store(0, "default")
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		_, err := s.Counts(b.Context())
		require.NoError(b, err)
	}
	rowsPerSecond(b, benchKeys)
}

func BenchmarkChanges(b *testing.B) {
	_, s := bench(b)
	b.ReportAllocs()
	for b.Loop() {
		for rec, err := range s.Changes(b.Context(), 1, 1) {
			require.NoError(b, err)
			rec.Release()
		}
	}
	rowsPerSecond(b, benchKeys/10)
}

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

// large writes the state that is measured, once for each codec and shape:
// batch 0 is a snapshot, or a delta, and batch 1 changes a tenth of the keys on
// top.
var large = func() func(c codec.Codec, snapshot bool) (string, error) {
	type shape struct {
		codec    codec.Codec
		snapshot bool
	}
	made := make(map[shape]string)
	return func(c codec.Codec, snapshot bool) (string, error) {
		if dir, ok := made[shape{c, snapshot}]; ok {
			return dir, nil
		}
		dir, err := os.MkdirTemp(benchDir, "")
		if err != nil {
			return "", err
		}
		made[shape{c, snapshot}] = dir
		return dir, statetest.Large{Keys: benchKeys, Partitions: 16, Codec: c, Snapshot: snapshot, Deltas: 1, Touched: 0.1}.Write(statetest.Dir(dir))
	}
}()

// benchDir is where the states are.
var benchDir string

func TestMain(m *testing.M) {
	var err error
	if benchDir, err = os.MkdirTemp("", "statestore-bench"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(benchDir)
	os.Exit(code)
}

// bench opens the store of a large state.
func bench(b *testing.B, c codec.Codec, snapshot bool) (string, *checkpoint.Store) {
	b.Helper()
	dir, err := large(c, snapshot)
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

// shapes are the states that reading is measured on.
var shapes = []struct {
	name     string
	snapshot bool
	batch    int64
}{
	{"snapshot", true, 0},
	{"snapshot+10%", true, 1},
	{"deltas", false, 1},
}

// each runs a benchmark for every shape, with one worker and with two.
func each(b *testing.B, run func(b *testing.B, s *checkpoint.Store, opts ...checkpoint.Option)) {
	for _, c := range shapes {
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/workers=%d", c.name, workers), func(b *testing.B) {
				_, s := bench(b, codec.LZ4, c.snapshot)
				b.ReportAllocs()
				for b.Loop() {
					run(b, s, checkpoint.AtBatch(c.batch), checkpoint.Workers(workers))
				}
				rowsPerSecond(b, benchKeys)
			})
		}
	}
}

// BenchmarkLimit decompresses the files of the version, checksums verified, and
// does nothing else: what reading cannot be faster than.
func BenchmarkLimit(b *testing.B) {
	for _, c := range shapes {
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/workers=%d", c.name, workers), func(b *testing.B) {
				dir, _ := bench(b, codec.LZ4, c.snapshot)
				files := filesOf(b, dir, c.batch)
				for b.Loop() {
					decompressAll(b, files, workers)
				}
				rowsPerSecond(b, benchKeys)
			})
		}
	}
}

// BenchmarkCodecs is the limit and the counting of a snapshot for each codec,
// with one worker.
func BenchmarkCodecs(b *testing.B) {
	for _, c := range codec.All() {
		b.Run(c.String()+"/limit", func(b *testing.B) {
			dir, _ := bench(b, c, true)
			files := filesOf(b, dir, 0)
			for b.Loop() {
				decompressAll(b, files, 1)
			}
			rowsPerSecond(b, benchKeys)
		})
		b.Run(c.String()+"/counts", func(b *testing.B) {
			_, s := bench(b, c, true)
			for b.Loop() {
				_, err := s.Counts(b.Context(), checkpoint.AtBatch(0), checkpoint.Workers(1))
				require.NoError(b, err)
			}
			rowsPerSecond(b, benchKeys)
		})
	}
}

// filesOf returns the state files that a batch is read from.
func filesOf(b *testing.B, dir string, batch int64) (files []string) {
	b.Helper()
	for v := range batch + 1 {
		some, err := filepath.Glob(fmt.Sprintf("%s/state/0/*/%d.*", dir, v+1))
		require.NoError(b, err)
		files = append(files, some...)
	}
	require.NotEmpty(b, files)
	return files
}

func decompressAll(b *testing.B, files []string, workers int) {
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

func BenchmarkCounts(b *testing.B) {
	each(b, func(b *testing.B, s *checkpoint.Store, opts ...checkpoint.Option) {
		_, err := s.Counts(b.Context(), opts...)
		require.NoError(b, err)
	})
}

func BenchmarkRecords(b *testing.B) {
	each(b, func(b *testing.B, s *checkpoint.Store, opts ...checkpoint.Option) {
		for rec, err := range s.Records(b.Context(), opts...) {
			require.NoError(b, err)
			rec.Release()
		}
	})
}

// BenchmarkRecordsRecycled is BenchmarkRecords with buffers that are used again,
// and in any order of the partitions.
func BenchmarkRecordsRecycled(b *testing.B) {
	each(b, func(b *testing.B, s *checkpoint.Store, opts ...checkpoint.Option) {
		for rec, err := range s.Records(b.Context(), append(opts, checkpoint.RecycleBuffers(), checkpoint.AnyOrder())...) {
			require.NoError(b, err)
			rec.Release()
		}
	})
}

func BenchmarkChanges(b *testing.B) {
	_, s := bench(b, codec.LZ4, true)
	b.ReportAllocs()
	for b.Loop() {
		for rec, err := range s.Changes(b.Context(), 1, 1) {
			require.NoError(b, err)
			rec.Release()
		}
	}
	rowsPerSecond(b, benchKeys/10)
}

// BenchmarkCheck is what the levels of a check cost on a snapshot with a tenth
// changed on top.
func BenchmarkCheck(b *testing.B) {
	dir, _ := bench(b, codec.LZ4, true)
	for _, level := range []checkpoint.CheckLevel{checkpoint.QuickCheck, checkpoint.DefaultCheck, checkpoint.DeepCheck} {
		b.Run(level.String(), func(b *testing.B) {
			for b.Loop() {
				cp, err := checkpoint.Open(dir)
				require.NoError(b, err)
				_, err = cp.Check(b.Context(), level)
				require.NoError(b, err)
				require.NoError(b, cp.Close())
			}
			rowsPerSecond(b, benchKeys)
		})
	}
}

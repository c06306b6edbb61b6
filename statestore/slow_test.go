package statestore_test

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
	"github.com/sparkstate/sparkstate/statestore/statetest"
)

// slowFS is a file system of which every call takes its time, as one of a
// mounted bucket does. It keeps the entries of its directories apart: a MapFS
// goes through all files for each.
type slowFS struct {
	files map[string]*fstest.MapFile
	dirs  map[string][]fs.DirEntry
	delay time.Duration
	calls atomic.Int64
}

func newSlowFS(t testing.TB, m fstest.MapFS, delay time.Duration) *slowFS {
	s := &slowFS{files: m, dirs: map[string][]fs.DirEntry{".": nil}, delay: delay}
	dirs := map[string]bool{".": true}
	for name, f := range m {
		s.dirs[path.Dir(name)] = append(s.dirs[path.Dir(name)], slowEntry{s, path.Base(name), int64(len(f.Data)), 0})
		for d := path.Dir(name); !dirs[d]; d = path.Dir(d) {
			dirs[d] = true
			s.dirs[path.Dir(d)] = append(s.dirs[path.Dir(d)], slowEntry{s, path.Base(d), 0, fs.ModeDir})
		}
	}
	for _, entries := range s.dirs {
		slices.SortFunc(entries, func(a, b fs.DirEntry) int {
			if a.Name() < b.Name() {
				return -1
			}
			return 1
		})
	}
	return s
}

func (s *slowFS) call() {
	s.calls.Add(1)
	time.Sleep(s.delay)
}

func (s *slowFS) Open(name string) (fs.File, error) {
	s.call()
	if f, ok := s.files[name]; ok {
		return &slowFile{slowEntry{s, path.Base(name), int64(len(f.Data)), 0}, f.Data}, nil
	}
	if _, ok := s.dirs[name]; ok {
		return &slowFile{slowEntry{s, path.Base(name), 0, fs.ModeDir}, nil}, nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

func (s *slowFS) Stat(name string) (fs.FileInfo, error) {
	s.call()
	if f, ok := s.files[name]; ok {
		return slowEntry{s, path.Base(name), int64(len(f.Data)), 0}, nil
	}
	if _, ok := s.dirs[name]; ok {
		return slowEntry{s, path.Base(name), 0, fs.ModeDir}, nil
	}
	return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
}

func (s *slowFS) ReadDir(name string) ([]fs.DirEntry, error) {
	s.call()
	entries, ok := s.dirs[name]
	if !ok {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrNotExist}
	}
	return slices.Clone(entries), nil
}

type slowEntry struct {
	s    *slowFS
	name string
	size int64
	mode fs.FileMode
}

func (e slowEntry) Name() string               { return e.name }
func (e slowEntry) Size() int64                { return e.size }
func (e slowEntry) Mode() fs.FileMode          { return e.mode | 0o444 }
func (e slowEntry) Type() fs.FileMode          { return e.mode }
func (e slowEntry) IsDir() bool                { return e.mode.IsDir() }
func (e slowEntry) ModTime() time.Time         { return time.Time{} }
func (e slowEntry) Sys() any                   { return nil }
func (e slowEntry) Info() (fs.FileInfo, error) { e.s.call(); return e, nil }

type slowFile struct {
	slowEntry
	rest []byte
}

func (f *slowFile) Stat() (fs.FileInfo, error) { f.s.call(); return f.slowEntry, nil }
func (f *slowFile) Close() error               { return nil }

func (f *slowFile) Read(p []byte) (int, error) {
	f.s.call()
	if len(f.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// manyFiles is a checkpoint of 4 stores with 200 partitions each, and with so
// many deltas in each, the first of which may be a snapshot.
func manyFiles(t testing.TB, deltas int, snapshot bool) fstest.MapFS {
	key, err := sqltype.ParseDDL("k STRING")
	require.NoError(t, err)
	value, err := sqltype.ParseDDL("n BIGINT")
	require.NoError(t, err)
	m := fstest.MapFS{}
	w := statetest.NewWriter(statetest.Query{Spark: "4.0",
		Operators: []statetest.Operator{{Name: "stateStoreSave", Stores: []statetest.Store{{Key: key, Value: value}}}}}, statetest.Map(m, "."))
	if snapshot {
		for i := range 400 {
			w.Put(0, "default", []any{fmt.Sprint("key ", i)}, []any{i})
		}
		require.NoError(t, w.Commit())
		require.NoError(t, w.Snapshot(0, "default"))
		for p := range 200 {
			delete(m, fmt.Sprintf("state/0/%d/1.delta", p))
		}
	}
	for d := range deltas {
		w.Put(0, "default", []any{fmt.Sprint("key ", d)}, []any{-d})
		require.NoError(t, w.Commit())
	}
	// The other operators are like the first.
	for name, f := range maps.Clone(m) {
		rest, ok := strings.CutPrefix(name, "state/0/")
		for op := 1; ok && op < 4; op++ {
			g := *f
			if rest == "_metadata/metadata" {
				g.Data = bytes.Replace(f.Data, []byte(`"operatorId":0`), fmt.Appendf(nil, `"operatorId":%d`, op), 1)
			}
			m[fmt.Sprintf("state/%d/%s", op, rest)] = &g
		}
	}
	return m
}

// countAll counts the rows of all stores.
func countAll(t testing.TB, fsys fs.FS) (rows int64) {
	cp, err := checkpoint.OpenFS(fsys, ".")
	require.NoError(t, err)
	defer cp.Close()
	for _, op := range cp.Operators() {
		s, err := op.Store("default")
		require.NoError(t, err)
		c, err := s.Counts(t.Context())
		require.NoError(t, err)
		for _, n := range c.Rows() {
			rows += n
		}
	}
	return rows
}

// TestSlowMount: where each call takes 20 ms, waiting is all that counts, and it
// is done for many files at once. The clock is that of the bubble, which moves
// only while all wait, so that the test takes no time and depends on no machine.
func TestSlowMount(t *testing.T) {
	for _, c := range []struct {
		name     string
		deltas   int
		snapshot bool
		rows     int64
		within   time.Duration
	}{
		{"snapshot and 10 deltas", 10, true, 4 * 400, 15 * time.Second},
		{"100 deltas", 100, false, 4 * 100, 120 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := manyFiles(t, c.deltas, c.snapshot)
			synctest.Test(t, func(t *testing.T) {
				fsys := newSlowFS(t, m, 20*time.Millisecond)
				start := time.Now()
				require.Equal(t, c.rows, countAll(t, fsys))
				took := time.Since(start)
				t.Logf("%d files, %d calls: %v", len(m), fsys.calls.Load(), took)
				require.Less(t, took, c.within)
			})
		})
	}
}

// BenchmarkSlowMount is TestSlowMount by the clock on the wall.
func BenchmarkSlowMount(b *testing.B) {
	m := manyFiles(b, 10, true)
	for b.Loop() {
		countAll(b, newSlowFS(b, m, 20*time.Millisecond))
	}
}

package checkpoint_test

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
)

// crowd is a file system with a directory of any number of files more than it
// holds. It makes them up as they are asked for, so that what is measured is
// the library's.
type crowd struct {
	fstest.MapFS
	dir  string
	n    int
	name func(i int) string
	data []byte // of each
}

func (c *crowd) Open(name string) (fs.File, error) {
	f, err := c.MapFS.Open(name)
	if name != c.dir {
		if err != nil && path.Dir(name) == c.dir {
			return fstest.MapFS{path.Base(name): {Data: c.data}}.Open(path.Base(name))
		}
		return f, err
	}
	if err != nil {
		return nil, err
	}
	return &crowdDir{File: f, of: c}, nil
}

// Stat and ReadDir hide those of MapFS.
func (c *crowd) Stat(name string) (fs.FileInfo, error) {
	f, err := c.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Stat()
}

func (c *crowd) ReadDir(name string) ([]fs.DirEntry, error) {
	f, err := c.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.(fs.ReadDirFile).ReadDir(-1)
}

type crowdDir struct {
	fs.File
	of *crowd
	at int
}

func (d *crowdDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if d.at == d.of.n {
		return d.File.(fs.ReadDirFile).ReadDir(n)
	}
	if n <= 0 {
		n = d.of.n - d.at
	}
	var out []fs.DirEntry
	for len(out) < n && d.at < d.of.n {
		out = append(out, crowdEntry{d.of, d.of.name(d.at)})
		d.at++
	}
	return out, nil
}

type crowdEntry struct {
	of   *crowd
	name string
}

func (e crowdEntry) Name() string               { return e.name }
func (e crowdEntry) IsDir() bool                { return false }
func (e crowdEntry) Type() fs.FileMode          { return 0 }
func (e crowdEntry) Info() (fs.FileInfo, error) { return e.of.Stat(path.Join(e.of.dir, e.name)) }

// What a name costs does not depend on how many there are, whatever they are
// called and wherever they lie; and beyond the limit there is an error. (A
// million takes ten times as long, and as much memory for each.)
func TestCrowdedDirectories(t *testing.T) {
	empty := fixture(t, "3.5.9/ad_billing").get("state/0/0/1.delta")
	for _, c := range []struct {
		dir, what string
		name      func(i int) string
	}{
		{"state/0/0", "junk", func(i int) string { return fmt.Sprintf("core.%d.dump", i) }},
		{"state/0/0", "what Spark stumbles over", func(i int) string { return fmt.Sprintf("note%d.txt", i) }},
		{"state/0/0", "temporary files", func(i int) string { return fmt.Sprintf(".9.delta.%d.TID7.tmp", i) }},
		{"state/0/0", "deltas", func(i int) string { return fmt.Sprintf("%d.delta", 100+i) }},
		{"state/0/0", "sidecars", func(i int) string { return fmt.Sprintf(".%d.delta.crc", 100+i) }},
		{"state/0", "junk", func(i int) string { return fmt.Sprintf("junk%d", i) }},
		{"state", "junk", func(i int) string { return fmt.Sprintf("junk%d", i) }},
		{"offsets", "temporary files", func(i int) string { return fmt.Sprintf(".9.%d.tmp", i) }},
		{".", "junk", func(i int) string { return fmt.Sprintf("junk%d", i) }},
	} {
		n := 100_000
		if testing.Short() {
			n = 20_000
		}
		t.Run(c.dir+" full of "+c.what, func(t *testing.T) {
			r := fixture(t, "3.5.9/ad_billing")
			fsys := &crowd{MapFS: r.m, dir: c.dir, n: n, name: c.name, data: empty}
			run := func(opts ...checkpoint.OpenOption) error {
				cp, err := checkpoint.OpenFS(fsys, ".", opts...)
				if err != nil {
					return err
				}
				report, err := cp.Check(context.Background(), checkpoint.QuickCheck)
				if err != nil {
					return err
				}
				assert.Less(t, len(report.Findings), 100)
				for _, f := range report.Findings {
					if f.ID == "directory-unreadable" {
						return fmt.Errorf("%s", f.What)
					}
				}
				s, err := cp.Store(0, "default")
				if err != nil {
					return err
				}
				_, err = s.Counts(context.Background())
				return err
			}
			start := time.Now()
			peak, err := peakOf(func() error { return run() })
			require.NoError(t, err)
			t.Logf("%d names: %v, at most %d MB in use, %d bytes a name", n, time.Since(start).Round(time.Millisecond), peak>>20, int(peak)/n)
			assert.Less(t, int(peak), 16<<20+500*n)
			assert.ErrorContains(t, run(checkpoint.WithLimits(checkpoint.Limits{DirectoryEntries: n / 2})), "entries in one directory")
		})
	}
}

// peakOf returns how much more of the heap was in use during a call than
// before, as far as sampling shows.
func peakOf(fn func() error) (uint64, error) {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before, peak := m.HeapAlloc, m.HeapAlloc
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		var m runtime.MemStats
		for {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
				runtime.ReadMemStats(&m)
				peak = max(peak, m.HeapAlloc)
			}
		}
	}()
	err := fn()
	close(stop)
	<-done
	runtime.ReadMemStats(&m)
	return max(peak, m.HeapAlloc) - before, err
}

package provider_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/statestore/provider"
)

// countedFS counts the files that are open, and lets go of them one by one if
// gate is set.
type countedFS struct {
	fs.FS
	gate   chan struct{}
	open   atomic.Int64
	opened atomic.Int64
}

func (c *countedFS) Open(name string) (fs.File, error) {
	if c.gate != nil {
		<-c.gate
	}
	f, err := c.FS.Open(name)
	if err != nil {
		return nil, err
	}
	c.open.Add(1)
	c.opened.Add(1)
	return &countedFile{File: f, c: c}, nil
}

type countedFile struct {
	fs.File
	c      *countedFS
	closed bool
}

func (f *countedFile) Close() error {
	if !f.closed {
		f.c.open.Add(-1)
	}
	f.closed = true
	return f.File.Close()
}

const long = 300_000 // more than is read ahead of a file

func files(n int) (fstest.MapFS, []string) {
	m := fstest.MapFS{"long": {Data: []byte(strings.Repeat("0123456789", long/10))}, "empty": {}}
	names := []string{"long", "empty", "missing"}
	for i := range n {
		name := fmt.Sprint(i)
		m[name] = &fstest.MapFile{Data: []byte("this is " + name)}
		names = append(names, name)
	}
	return m, names
}

func TestAhead(t *testing.T) {
	m, names := files(300)
	c := &countedFS{FS: m}
	lane := provider.NewAhead(c, 3).Lane(t.Context())
	lane.Start(names...)
	for _, name := range names {
		f, err := lane.Open(c, name)
		if name == "missing" {
			require.ErrorIs(t, err, fs.ErrNotExist)
			continue
		}
		require.NoError(t, err)
		st, err := f.Stat()
		require.NoError(t, err)
		got, err := io.ReadAll(f)
		require.NoError(t, err)
		require.Equal(t, string(m[name].Data), string(got), name)
		require.EqualValues(t, len(got), st.Size())
		require.NoError(t, f.Close())
		require.NoError(t, f.Close(), "closing twice gives nothing back twice")
	}
	lane.Close()
	require.Zero(t, c.open.Load())
	require.GreaterOrEqual(t, c.opened.Load(), int64(len(names)-1))
}

// TestAheadDoesNotWaitForItsTurn: whoever needs a file that is far down the
// queue opens it by itself, so that memory that is used up by others cannot
// block it.
func TestAheadDoesNotWaitForItsTurn(t *testing.T) {
	m, names := files(5)
	blocked := &countedFS{FS: m, gate: make(chan struct{})}
	lane := provider.NewAhead(blocked, 1).Lane(t.Context())
	lane.Start(names...)
	f, err := lane.Open(m, "4") // the file system below is not blocked
	require.NoError(t, err)
	got, err := io.ReadAll(f)
	require.NoError(t, err)
	require.Equal(t, "this is 4", string(got))
	require.NoError(t, f.Close())
	close(blocked.gate)
	lane.Close()
	require.Zero(t, blocked.open.Load())
}

// TestAheadGivesUp: what was read for nothing is closed, and its memory can be
// used again by other lanes: by more of them than fit at a time.
func TestAheadGivesUp(t *testing.T) {
	m, names := files(50)
	c := &countedFS{FS: m}
	a := provider.NewAhead(c, 2)
	for i := range 400 {
		lane := a.Lane(t.Context())
		lane.Start(names...)
		if i%2 == 0 {
			f, err := lane.Open(c, "long")
			require.NoError(t, err)
			defer f.Close()
			if i%4 == 0 {
				require.NoError(t, f.Close())
			}
		}
		if i%3 == 0 {
			f, err := lane.Open(c, names[len(names)-1])
			require.NoError(t, err)
			require.NoError(t, f.Close())
		}
		lane.Close()
	}
	require.LessOrEqual(t, c.open.Load(), int64(100), "only those that were handed out")
}

func TestBudget(t *testing.T) {
	b := provider.NewBudget(10)
	require.NoError(t, b.Take(4))
	require.NoError(t, b.Take(6))
	err := b.Take(1)
	require.ErrorIs(t, err, provider.ErrMemory)
	require.False(t, errors.Is(err, provider.ErrDamaged))
	b.Release(6)
	require.NoError(t, b.Take(6))
	var none *provider.Budget
	require.NoError(t, none.Take(1<<62))
	none.Release(1)
}

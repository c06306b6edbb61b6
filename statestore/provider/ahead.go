package provider

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"sync"

	"golang.org/x/sync/semaphore"
)

// Ahead opens files before they are needed, several at a time, and reads their
// beginnings: where every call takes long, as on a mounted bucket, that is what
// reading costs. Its lanes share how many reads there are at once and the
// memory for what was read.
type Ahead struct {
	fsys  fs.FS
	reads *semaphore.Weighted
	held  *semaphore.Weighted // bytes
}

const (
	// aheadHead is how much of a file is read ahead, in bytes: all of a small
	// one. Of a larger one the rest is read when it is needed, in pieces that
	// are large enough for a call not to matter.
	aheadHead = 256 << 10
	// aheadHeld is the memory for beginnings that wait to be used, in bytes,
	// beside what those take that are being read.
	aheadHeld = 16 << 20
)

// NewAhead returns an Ahead with so many reads at once, at least one.
func NewAhead(fsys fs.FS, reads int) *Ahead {
	n := int64(max(reads, 1))
	return &Ahead{fsys: fsys, reads: semaphore.NewWeighted(n), held: semaphore.NewWeighted(n*aheadHead + aheadHeld)}
}

// Lane is what is read ahead for one user of an [Ahead]. A nil Lane has nothing
// that was read ahead.
type Lane struct {
	a       *Ahead
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
	mu      sync.Mutex
	files   map[string]*aheadFile
}

// aheadFile is a file that was asked for. Either a reader has taken it before
// its turn came, or its reading has begun.
type aheadFile struct {
	name         string
	taken, begun bool          // under the lane's lock
	done         chan struct{} // closed once what follows is set
	file         fs.File
	held         int64
	err          error
}

// Lane returns a new lane, which the caller closes.
func (a *Ahead) Lane(ctx context.Context) *Lane {
	ctx, cancel := context.WithCancel(ctx)
	return &Lane{a: a, ctx: ctx, cancel: cancel, files: make(map[string]*aheadFile)}
}

// Go calls fn when it is the turn of one more read.
func (l *Lane) Go(fn func()) {
	l.running.Go(func() {
		if l.a.reads.Acquire(l.ctx, 1) != nil {
			return
		}
		defer l.a.reads.Release(1)
		fn()
	})
}

// Start begins to read files, in this order. It does not wait.
func (l *Lane) Start(names ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var files []*aheadFile
	for _, name := range names {
		if l.files[name] == nil {
			f := &aheadFile{name: name, done: make(chan struct{})}
			l.files[name] = f
			files = append(files, f)
		}
	}
	l.running.Go(func() { l.read(files) })
}

// read reads files as there are turns and memory.
func (l *Lane) read(files []*aheadFile) {
	for _, f := range files {
		if l.a.held.Acquire(l.ctx, aheadHead) != nil {
			return
		}
		if l.a.reads.Acquire(l.ctx, 1) != nil {
			l.a.held.Release(aheadHead)
			return
		}
		l.mu.Lock()
		f.begun = !f.taken
		l.mu.Unlock()
		if !f.begun {
			l.a.reads.Release(1)
			l.a.held.Release(aheadHead)
			continue
		}
		l.running.Go(func() {
			defer l.a.reads.Release(1)
			defer close(f.done)
			f.file, f.held, f.err = l.a.open(f.name)
			l.a.held.Release(aheadHead - f.held)
		})
	}
}

// open opens a file and reads its beginning. What it holds is what it has read.
func (a *Ahead) open(name string) (_ fs.File, held int64, err error) {
	f, err := a.fsys.Open(name)
	if err != nil {
		return nil, 0, err
	}
	fail := func(err error) (fs.File, int64, error) { return nil, 0, errors.Join(err, f.Close()) }
	st, err := f.Stat()
	if err != nil {
		return fail(err)
	}
	if !st.Mode().IsRegular() {
		return f, 0, nil // whoever needs it will say what is wrong
	}
	head := make([]byte, min(max(st.Size(), 0), aheadHead))
	n, err := io.ReadFull(f, head)
	if err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
		return fail(err)
	}
	head = head[:n]
	out := &headFile{info: st, head: bytes.NewReader(head)}
	if int64(n) < st.Size() && n == aheadHead {
		out.rest = f
		return out, int64(n), nil
	}
	return out, int64(n), f.Close()
}

// Open opens a file, the one that was read ahead if there is one.
func (l *Lane) Open(fsys fs.FS, name string) (fs.File, error) {
	if l == nil {
		return fsys.Open(name)
	}
	l.mu.Lock()
	f := l.files[name]
	delete(l.files, name)
	if f != nil && !f.begun {
		f.taken = true // it is not its turn yet, and will not be waited for
		f = nil
	}
	l.mu.Unlock()
	if f == nil {
		return fsys.Open(name)
	}
	<-f.done
	if f.err != nil {
		return nil, f.err
	}
	if h, ok := f.file.(*headFile); ok {
		h.release = func() { l.a.held.Release(f.held) }
	}
	return f.file, nil
}

// Close gives up what was read and not opened. It does not concern the files
// that Open has returned.
func (l *Lane) Close() {
	if l == nil {
		return
	}
	l.cancel()
	l.running.Wait()
	for _, f := range l.files {
		if f.file != nil {
			_ = f.file.Close() // it was only read, and by no one
		}
		if f.held > 0 {
			l.a.held.Release(f.held)
		}
	}
	l.files = nil
}

// headFile is a file of which the beginning was read. It ends where it ended
// when it was opened.
type headFile struct {
	info    fs.FileInfo
	head    *bytes.Reader
	rest    fs.File // nil: there is nothing more
	release func()
}

func (f *headFile) Stat() (fs.FileInfo, error) { return f.info, nil }

func (f *headFile) Read(p []byte) (int, error) {
	if f.head.Len() > 0 || f.rest == nil {
		return f.head.Read(p)
	}
	return f.rest.Read(p)
}

func (f *headFile) Close() error {
	if f.release != nil {
		f.release()
		f.release = nil
	}
	if f.rest == nil {
		return nil
	}
	rest := f.rest
	f.rest = nil
	f.head.Reset(nil)
	return rest.Close()
}

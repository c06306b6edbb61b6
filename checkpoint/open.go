package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"

	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

// Checkpoint is an open checkpoint directory. Its methods may be used from
// several goroutines.
type Checkpoint struct {
	fsys    fs.FS
	closers []io.Closer
	path    string // for people: what was opened
	dir     string // what was opened, within fsys
	at      place
	notes   []string

	limits         Limits
	ignoreSidecars bool
	warnTo         func(error)
	warnMu         sync.Mutex
	given          []givenSchema

	planned, committed []int64
	hasCommits         bool

	conf      conf
	confBatch int64 // whose conf it is; -1 for none
	operators []*Operator

	// Found out when they are first asked for.
	last     func() (lastBatch, error)
	provider func() Provider
	// Whether the query declares a watermark.
	watermarked func() bool
}

// OpenOption changes how a checkpoint is opened.
type OpenOption func(*Checkpoint)

// IgnoreSidecars leaves the .crc files unread. Without it, a schema or
// metadata file that does not match its sidecar is an error, and so is a state
// file whose compression has no checksum of its own; everything else that does
// not match is a warning.
func IgnoreSidecars() OpenOption { return func(c *Checkpoint) { c.ignoreSidecars = true } }

// OnWarning has fn told of everything that is wrong and changes no row, such
// as a log that does not match its sidecar. Calls do not overlap. Without it
// warnings are dropped.
func OnWarning(fn func(error)) OpenOption { return func(c *Checkpoint) { c.warnTo = fn } }

// WithSchema gives the row types of a store for which none are recorded, or
// instead of the recorded ones. Either may be nil, to keep what is recorded.
func WithSchema(operator int, store string, key, value *sqltype.Type) OpenOption {
	return func(c *Checkpoint) { c.given = append(c.given, givenSchema{operator, store, key, value}) }
}

type givenSchema struct {
	operator   int
	store      string
	key, value *sqltype.Type
}

func (c *Checkpoint) warn(err error) {
	if c.warnTo == nil {
		return
	}
	c.warnMu.Lock()
	defer c.warnMu.Unlock()
	c.warnTo(err)
}

// Open opens the checkpoint at a path of the local file system, or of whatever
// is mounted there. Links that lead out of the directory are not followed.
//
// The path may also be that of a zip file of a checkpoint, of a directory that
// holds exactly one, or of a part: the state directory, an operator's, a
// partition's. A part of a whole checkpoint opens the whole; what was assumed
// is in [Checkpoint.Notes]. What is none of this is ErrNotCheckpoint. The
// caller closes the checkpoint.
func Open(name string, opts ...OpenOption) (*Checkpoint, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	if err := openable(abs); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	root, err := os.OpenRoot(abs)
	if err != nil {
		if z, zerr := openZip(abs, opts); z != nil || zerr != nil {
			return z, zerr
		}
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	c, err := open(fsOf(root), ".", filepath.ToSlash(abs), name, opts)
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	c.closers = append(c.closers, root)
	if c.at.root != "" {
		return c, nil
	}
	// A part was given. The whole may be above it.
	if up, rel := above(abs); up != "" {
		whole, err := Open(up, opts...)
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		whole.notes = append(whole.notes, fmt.Sprintf("%s is a part (%s) of the checkpoint %s, which was opened", name, rel, up))
		return whole, c.Close()
	}
	return c, nil
}

// openable refuses what is neither a directory nor a file: opening a FIFO
// would block for ever. What cannot be looked at is left to whoever opens it.
func openable(abs string) error {
	parent := filepath.Dir(abs)
	if parent == abs {
		return nil
	}
	dir, err := os.OpenRoot(parent)
	if err != nil {
		return nil
	}
	defer dir.Close()
	st, err := dir.Lstat(filepath.Base(abs))
	if err != nil {
		return nil
	}
	if m := st.Mode(); !m.IsDir() && !m.IsRegular() && m&fs.ModeSymlink == 0 {
		return fmt.Errorf("neither a directory nor a file (%s)", m.Type())
	}
	return nil
}

// above looks for the checkpoint of which a directory is a part: state/…
// beside its logs.
func above(abs string) (root, rel string) {
	dir := abs
	for range 4 { // <root>/state/<operator>/<partition>/<store>
		parent, base := filepath.Dir(dir), filepath.Base(dir)
		rel = path.Join(base, rel)
		if base == "state" && hasLogs(parent) {
			return parent, rel
		}
		dir = parent
	}
	return "", ""
}

func hasLogs(dir string) bool {
	r, err := os.OpenRoot(dir)
	if err != nil {
		return false
	}
	defer r.Close()
	for _, name := range []string{"offsets", "commits", "metadata"} {
		if _, err := r.Stat(name); err == nil {
			return true
		}
	}
	return false
}

// OpenFS opens the checkpoint at root within any file system: "." or a
// slash-separated path. It never leaves root.
func OpenFS(fsys fs.FS, root string, opts ...OpenOption) (*Checkpoint, error) {
	if root == "" {
		root = "."
	}
	if !fs.ValidPath(root) {
		return nil, &fs.PathError{Op: "open", Path: root, Err: fs.ErrInvalid}
	}
	return open(fsys, root, root, root, opts)
}

// open opens the checkpoint in dir of fsys. full is its whole path, the last
// elements of which may be the ids of a partial copy; shown is for messages.
func open(fsys fs.FS, dir, full, shown string, opts []OpenOption) (*Checkpoint, error) {
	c := &Checkpoint{fsys: fsys, path: shown, dir: dir, confBatch: -1, limits: Limits{}.orDefaults()}
	for _, o := range opts {
		o(c)
	}
	at, err := c.locate(dir, full)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shown, err)
	}
	if at.root == "" && at.operators == nil {
		sub, err := c.descend(dir)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: %w", shown, err)
		case sub == "":
			return nil, fmt.Errorf("%s: %w: it holds none of offsets/, commits/ and state/, nor files of a state store", shown, ErrNotCheckpoint)
		}
		at = place{root: sub, note: "the checkpoint is in " + path.Base(sub) + "/ below"}
	}
	c.at = at
	if at.note != "" {
		c.notes = append(c.notes, at.note)
	}
	if err := c.readLogs(); err != nil {
		return nil, fmt.Errorf("%s: %w", shown, err)
	}
	if err := c.findOperators(); err != nil {
		return nil, fmt.Errorf("%s: %w", shown, err)
	}
	c.last = sync.OnceValues(c.findLast)
	c.watermarked = sync.OnceValue(c.findWatermark)
	c.provider = sync.OnceValue(c.findProvider)
	return c, nil
}

// Close closes what Open opened. Stores and iterators must not be used after
// it.
func (c *Checkpoint) Close() error {
	var errs []error
	for _, cl := range c.closers {
		errs = append(errs, cl.Close())
	}
	c.closers = nil
	return errors.Join(errs...)
}

// Path returns the path that was opened.
func (c *Checkpoint) Path() string { return c.path }

// FS returns the file system that the checkpoint is in, and the path within it
// below which all its files are: for those who look at names, sizes and times
// themselves. It must not be used after Close.
func (c *Checkpoint) FS() (fsys fs.FS, root string) {
	if c.at.root == "" { // a part without logs
		return c.fsys, c.dir
	}
	return c.fsys, c.at.root
}

// Root returns the path of the checkpoint's own directory: Path, or what was
// found below it. Of a part of a checkpoint it is the part.
func (c *Checkpoint) Root() string {
	if c.at.root == "" {
		return c.path
	}
	return filepath.Join(c.path, filepath.FromSlash(c.at.root))
}

// Notes returns what was assumed in opening the checkpoint, a sentence each.
func (c *Checkpoint) Notes() []string { return slices.Clone(c.notes) }

// readLogs lists the logs and takes the conf of the newest batch that has one.
func (c *Checkpoint) readLogs() error {
	if c.at.root == "" {
		return nil
	}
	var err error
	if c.planned, err = c.numbered(path.Join(c.at.root, "offsets"), false); err != nil {
		return err
	}
	if c.committed, err = c.numbered(path.Join(c.at.root, "commits"), false); err != nil {
		return err
	}
	if st, err := fs.Stat(c.fsys, path.Join(c.at.root, "commits")); err == nil {
		c.hasCommits = st.IsDir()
	}
	// The conf that counts is that of the batch that is read by default; where
	// its log is missing or damaged, the nearest before it, then the next.
	last := int64(-1)
	if n := len(c.committed); n > 0 {
		last = c.committed[n-1]
	} else if n := len(c.planned); n > 0 {
		last = c.planned[n-1]
	}
	order := slices.Clone(c.planned)
	slices.SortStableFunc(order, func(a, b int64) int {
		switch {
		case a <= last && b <= last:
			return int(b - a)
		case a > last && b > last:
			return int(a - b)
		case a <= last:
			return -1
		}
		return 1
	})
	for _, b := range order {
		o, err := c.OffsetLog(b)
		if err != nil {
			c.warn(err)
			continue
		}
		c.conf, c.confBatch = o.Conf, b
		break
	}
	return nil
}

// Conf returns the configuration that the checkpoint pins, as of the last
// committed batch, and the batch whose offset log it is from; nil and -1 where
// no log tells.
func (c *Checkpoint) Conf() (map[string]string, int64) { return c.conf, c.confBatch }

// lastBatch is the newest batch whose state is whole.
type lastBatch struct {
	batch  int64 // -1: none
	source Source
}

// LastCommitted returns the newest committed batch, and whether the commit log
// says so or, where there is none, it was inferred as the newest that every
// partition of every store can load. It is -1 where no batch has been
// committed.
func (c *Checkpoint) LastCommitted() (int64, Source, error) {
	l, err := c.last()
	return l.batch, l.source, err
}

func (c *Checkpoint) findLast() (lastBatch, error) {
	if n := len(c.committed); n > 0 {
		return lastBatch{c.committed[n-1], Recorded}, nil
	}
	if c.hasCommits {
		return lastBatch{-1, Recorded}, nil
	}
	versions, err := c.loadable()
	if err != nil {
		return lastBatch{-1, Unknown}, err
	}
	if len(versions) == 0 {
		return lastBatch{-1, Inferred}, nil
	}
	return lastBatch{versions[len(versions)-1] - 1, Inferred}, nil
}

package checkpoint

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/sparkstate/sparkstate/statestore"
	"github.com/sparkstate/sparkstate/statestore/sidecar"
)

// SourceLog is a directory of sources/, where a source keeps what the offset
// log has no room for.
//
//	files:  3           v1, and a line of JSON for each file of log batch 3
//	        9.compact   the same for all batches up to 9, in place of a file 9
//	Kafka:  0           a zero byte, v1, and the JSON of where the source started
//	rate:   0           v1, and the time it started, in milliseconds since 1970
//
// The log of files is numbered by itself: a batch of the query that found no
// new file has none in the log. Every tenth file is a compact one unless
// configured otherwise, and what it replaces is removed after a while.
type SourceLog struct {
	cp   *Checkpoint
	name string
	dir  string
	// Both in ascending order.
	compact, plain []int64
}

// SourceLogs returns the directories of sources/: first the numbered ones.
func (c *Checkpoint) SourceLogs() ([]*SourceLog, error) {
	if c.at.root == "" {
		return nil, nil
	}
	dir := path.Join(c.at.root, "sources")
	var out []*SourceLog
	err := c.eachEntry(dir, func(e fs.DirEntry) bool {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			out = append(out, &SourceLog{cp: c, name: e.Name(), dir: path.Join(dir, e.Name())})
		}
		return true
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, l := range out {
		if err := l.list(); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(out, func(a, b *SourceLog) int {
		return cmp.Or(cmp.Compare(a.order(), b.order()), cmp.Compare(a.name, b.name))
	})
	return out, nil
}

// order is the number of a numbered directory; names come after them.
func (l *SourceLog) order() uint64 {
	if n, ok := decimal(l.name); ok {
		return uint64(n)
	}
	return 1 << 63
}

func (l *SourceLog) list() error {
	if err := l.cp.eachEntry(l.dir, func(e fs.DirEntry) bool {
		stem, compact := strings.CutSuffix(e.Name(), compactSuffix)
		n, ok := decimal(stem)
		switch {
		case !ok || e.IsDir():
		case compact:
			l.compact = append(l.compact, n)
		default:
			l.plain = append(l.plain, n)
		}
		return true
	}); err != nil {
		return err
	}
	slices.Sort(l.plain)
	slices.Sort(l.compact)
	return nil
}

const compactSuffix = ".compact"

// SourceLog returns the log of a source of an offset log, by the source's id.
// The error is a *NotFoundError where it has none, or where it cannot be told.
//
// In version 2 of the offset log the directory is called like the source. In
// version 1 it has the number of the source in the plan, but a source that is
// read twice has two lines and one directory: beyond the first source, the
// numbers can be trusted only where there are as many directories as lines.
func (c *Checkpoint) SourceLog(o *OffsetLog, id string) (*SourceLog, error) {
	logs, err := c.SourceLogs()
	if err != nil {
		return nil, err
	}
	notFound := &NotFoundError{What: "log of source", Name: id}
	var found *SourceLog
	lines := 0
	for _, l := range logs {
		notFound.Have = append(notFound.Have, l.name)
		if l.name == id {
			found = l
		}
		if n, ok := decimal(l.name); ok && n < maxID {
			lines = max(lines, int(n)+1)
		}
	}
	if found == nil || o.Version < 2 && id != "0" && lines != len(o.Sources) {
		return nil, notFound
	}
	return found, nil
}

// Name returns the name of the directory: the number of the source in the
// plan, or the source's own name.
func (l *SourceLog) Name() string { return l.name }

// Start returns where the source started: of Kafka a KafkaOffset, of rate a
// NumberOffset in milliseconds since 1970. It is an OtherOffset where the file
// says something else, as the log of files does, and fs.ErrNotExist where
// there is none.
func (l *SourceLog) Start() (Offset, error) {
	name := path.Join(l.dir, "0")
	b, err := l.cp.readSmall(name, false)
	if err != nil {
		return Offset{}, err
	}
	o, err := ParseSourceStart(b)
	return o, statestore.WithPath(err, name)
}

// ParseSourceStart parses the file 0 of a source that records where it
// started. Errors are *statestore.FileError without a path.
//
// Kafka puts a zero byte in front of the version, so that Spark 2.1.0 fails on
// it: that version wrote no version line, and the length of the JSON as a
// single byte.
func ParseSourceStart(b []byte) (Offset, error) {
	if len(b) == 0 {
		return Offset{}, &statestore.FileError{Offset: 0, Kind: statestore.ErrTruncated, Detail: "the file is empty"}
	}
	if b[0] != 'v' && b[0] != '{' || len(b) > 1 && b[1] == '{' {
		b = b[1:]
	}
	if bytes.HasPrefix(b, []byte("{")) {
		return ParseOffset(strings.TrimSpace(string(b))), nil
	}
	v, lines, err := logLines(b)
	if err != nil {
		return Offset{}, err
	}
	if v > 1 {
		return Offset{}, unsupportedLog("source", v)
	}
	return ParseOffset(strings.Join(lines, "\n")), nil
}

// Compact returns the newest compact file of the log, and the distance to the
// one before it: -1 without any, 0 where the distance cannot be told.
func (l *SourceLog) Compact() (batch, interval int64) {
	switch n := len(l.compact); n {
	case 0:
		return -1, 0
	case 1:
		return l.compact[0], 0
	default:
		return l.compact[n-1], l.compact[n-1] - l.compact[n-2]
	}
}

// SourceFile is an input file of a file source.
type SourceFile struct {
	// Path is the file's path or URL, with its escapes resolved.
	Path string
	// Raw is the path as it is recorded: %20 for a space.
	Raw string
	// TimestampMs is when the file was changed, in milliseconds since 1970.
	TimestampMs int64
	// LogBatch is the batch of the source's log that the file came with; see
	// [FileOffset].
	LogBatch int64
}

// Files yields the input files in the order of the log: those of the newest
// compact file, and then of the files after it. Memory does not grow with the
// log.
//
// An error costs the rest of its file, and batches that are missing cost
// themselves: the caller who goes on gets what comes after them. A directory
// of another kind of source is ErrUnsupported.
func (l *SourceLog) Files(ctx context.Context) iter.Seq2[SourceFile, error] {
	return func(yield func(SourceFile, error) bool) {
		for part := range l.parts() {
			if part.name == "" {
				err := &statestore.FileError{Path: l.dir, Offset: -1, Kind: statestore.ErrMissing, Detail: part.text()}
				if !yield(SourceFile{}, err) {
					return
				}
				continue
			}
			for f, err := range l.filesOf(ctx, part.name) {
				if !yield(f, err) {
					return
				}
			}
			if ctx.Err() != nil {
				return
			}
		}
	}
}

// logPart is a file of the log, or batches that have none.
type logPart struct {
	name string // empty where there is none
	lost BatchRange
}

func (p logPart) text() string {
	if p.lost.First == p.lost.Last {
		return fmt.Sprintf("batch %d of the log of files is missing", p.lost.First)
	}
	return fmt.Sprintf("batches %d to %d of the log of files are missing", p.lost.First, p.lost.Last)
}

// parts yields what makes up the log.
func (l *SourceLog) parts() iter.Seq[logPart] {
	return func(yield func(logPart) bool) {
		next := int64(0)
		if n := len(l.compact); n > 0 {
			name := strconv.FormatInt(l.compact[n-1], 10) + compactSuffix
			if !yield(logPart{name: name}) {
				return
			}
			next = l.compact[n-1] + 1
		}
		for _, b := range l.plain {
			if b < next {
				continue // in the compact file
			}
			if b > next && !yield(logPart{lost: BatchRange{next, b - 1}}) {
				return
			}
			if !yield(logPart{name: strconv.FormatInt(b, 10)}) {
				return
			}
			next = b + 1
		}
	}
}

// maxLogLine bounds a line of a log of files, in bytes. A line is a path and
// two numbers.
const maxLogLine = 1 << 20

// filesOf yields the entries of one file of the log.
func (l *SourceLog) filesOf(ctx context.Context, base string) iter.Seq2[SourceFile, error] {
	return func(yield func(SourceFile, error) bool) {
		name := path.Join(l.dir, base)
		r, err := l.open(name)
		if err != nil {
			yield(SourceFile{}, err)
			return
		}
		for f, err := range ParseSourceFiles(r) {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(SourceFile{}, errors.Join(statestore.WithPath(err, name), r.Close()))
				return
			}
			if !yield(f, nil) {
				// What has been read is right, whatever closing says.
				_ = r.Close()
				return
			}
		}
		if err := r.Close(); err != nil {
			yield(SourceFile{}, err)
		}
	}
}

// open opens a file of the log, which may be large, to be verified by its
// hidden sidecar as it is read. As of all logs, a mismatch is a warning.
func (l *SourceLog) open(name string) (io.ReadCloser, error) {
	c := l.cp
	st, err := fs.Stat(c.fsys, name) // before opening: a FIFO would block
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, &statestore.FileError{Path: name, Offset: -1, Kind: statestore.ErrCorrupt, Detail: "not a regular file"}
	}
	opened, err := c.fsys.Open(name)
	if err != nil {
		return nil, err
	}
	// A file that never ends is none.
	f := readCloser{io.LimitReader(opened, st.Size()), opened}
	if c.ignoreSidecars {
		return f, nil
	}
	dir, base := path.Split(name)
	crc := dir + sidecar.HadoopName(base)
	sums, err := readBounded(c.fsys, crc, sidecar.HadoopSize(min(st.Size(), maxVerified)))
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	var h *sidecar.Hadoop
	if err == nil {
		h, err = sidecar.ParseHadoop(sums)
	}
	if err != nil {
		c.warn(statestore.WithPath(err, crc))
		return f, nil
	}
	verified := h.Reader(f, func(err error) { c.warn(statestore.WithPath(err, name)) })
	return readCloser{verified, opened}, nil
}

// readCloser reads from the one and closes the other.
type readCloser struct {
	io.Reader
	io.Closer
}

// maxVerified is the size up to which a log is verified, in bytes: the sums
// are held in memory, one for each 512 bytes.
const maxVerified = 4 << 30

// ParseSourceFiles yields the entries of one file of a log of files, plain or
// compact, and ends with the first error. Errors are *statestore.FileError
// without a path, or those of r.
func ParseSourceFiles(r io.Reader) iter.Seq2[SourceFile, error] {
	return func(yield func(SourceFile, error) bool) {
		lines := newLineReader(r)
		if !lines.next() {
			err := lines.err
			if err == nil {
				err = &statestore.FileError{Offset: 0, Kind: statestore.ErrTruncated, Detail: "the file is empty"}
			}
			yield(SourceFile{}, err)
			return
		}
		if t := lines.text; t[0] == 0 || t[0] == '{' || len(t) > 1 && t[1] == '{' { // Kafka: see ParseSourceStart
			yield(SourceFile{}, notFiles())
			return
		}
		switch v, _, err := logLines(lines.text); {
		case err != nil:
			yield(SourceFile{}, err)
			return
		case v > 1:
			yield(SourceFile{}, unsupportedLog("file source", v))
			return
		}
		for lines.next() {
			if _, ok := integer(lines.text); ok && lines.number == 2 { // the start of rate
				yield(SourceFile{}, notFiles())
				return
			}
			f, err := parseSourceFile(lines.text)
			if err != nil {
				yield(SourceFile{}, &statestore.FileError{Offset: lines.start, Kind: statestore.ErrCorrupt,
					Detail: fmt.Sprintf("line %d is no JSON of an input file", lines.number), Err: err})
				return
			}
			if f.Raw == "" && lines.number == 2 {
				yield(SourceFile{}, notFiles())
				return
			}
			if f.Raw == "" {
				yield(SourceFile{}, &statestore.FileError{Offset: lines.start, Kind: statestore.ErrCorrupt,
					Detail: fmt.Sprintf("line %d names no path", lines.number)})
				return
			}
			if !yield(f, nil) {
				return
			}
		}
		if lines.err != nil {
			yield(SourceFile{}, lines.err)
		}
	}
}

func notFiles() error {
	return &statestore.FileError{Offset: -1, Kind: statestore.ErrUnsupported, Detail: "not the log of a file source"}
}

func parseSourceFile(line []byte) (SourceFile, error) {
	var m struct {
		Path      string `json:"path"`
		Timestamp int64  `json:"timestamp"`
		Batch     int64  `json:"batchId"`
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return SourceFile{}, err
	}
	f := SourceFile{Path: m.Path, Raw: m.Path, TimestampMs: m.Timestamp, LogBatch: m.Batch}
	if p, err := url.PathUnescape(m.Path); err == nil {
		f.Path = p
	}
	return f, nil
}

// lineReader reads the lines of a log that may be large, leaving out empty
// ones. As in Java, \n, \r and \r\n end a line.
type lineReader struct {
	s *bufio.Scanner
	// text is the line without its end, valid until the next call.
	text []byte
	// start is its place in the file in bytes, number counts from 1.
	start  int64
	number int
	err    error

	read int64
}

func newLineReader(r io.Reader) *lineReader {
	l := &lineReader{s: bufio.NewScanner(r)}
	l.s.Buffer(nil, maxLogLine)
	l.s.Split(l.split)
	return l
}

func (l *lineReader) split(data []byte, atEOF bool) (advance int, token []byte, err error) {
	i := bytes.IndexAny(data, "\r\n")
	switch {
	case len(data) == 0 && atEOF:
		return 0, nil, nil
	case i < 0 && !atEOF, i == len(data)-1 && data[i] == '\r' && !atEOF:
		return 0, nil, nil
	case i < 0:
		i, advance = len(data), len(data)
	case data[i] == '\r' && i+1 < len(data) && data[i+1] == '\n':
		advance = i + 2
	default:
		advance = i + 1
	}
	l.start = l.read
	l.read += int64(advance)
	return advance, data[:i], nil
}

func (l *lineReader) next() bool {
	for l.s.Scan() {
		l.number++
		if l.text = l.s.Bytes(); len(l.text) > 0 {
			return true
		}
	}
	switch err := l.s.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		l.err = &statestore.FileError{Offset: l.read, Kind: statestore.ErrTooLarge,
			Detail: fmt.Sprintf("line %d has more than %d bytes", l.number+1, maxLogLine)}
	default:
		l.err = err
	}
	return false
}

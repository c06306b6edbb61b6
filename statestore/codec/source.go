package codec

import (
	"errors"
	"fmt"
	"io"

	"github.com/sparkstate/sparkstate/statestore/provider"
)

// ErrTrailing is the cause, as the Err of a [provider.FileError] of kind
// ErrCorrupt, of the error for a file that goes on after its stream has ended.
// Everything before it was decoded and is whole: Java's LZ4 reader does not
// look at up to 20 such bytes, its Snappy reader ignores up to 3.
var ErrTrailing = errors.New("bytes after the end of the stream")

// sparkCondition is what Spark 4 reports, while it loads a state, for whatever
// a codec's reader throws.
const sparkCondition = "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED"

const (
	// readSize is how much is asked of a file at once: enough for the cost of
	// a call not to matter, little enough to stay in the processor's cache
	// until it is decoded.
	readSize = 128 << 10
	// minBuffer is the least size of the buffer, for files that are said to
	// be shorter.
	minBuffer = 512
)

// source reads a file in large pieces and hands out views of them, so that a
// block is decoded from where the read put it. It knows the stored offset of
// every byte.
type source struct {
	r io.Reader
	// buf[pos:end] is what was read and not yet consumed.
	buf      []byte
	pos, end int
	// base is the stored offset of buf[0].
	base int64
	// at is the stored offset of the unit that is being decoded.
	at int64
	// err is what the reader said last, io.EOF at the end of the file. It
	// applies once the buffer has run out.
	err error
}

// reset starts on a new file of size bytes, -1 if that is not known.
func (s *source) reset(r io.Reader, size int64) {
	want := int64(readSize)
	if size >= 0 {
		want = min(want, max(size, minBuffer))
	}
	if int64(len(s.buf)) < want {
		s.buf = make([]byte, want)
	}
	s.r, s.pos, s.end, s.base, s.at, s.err = r, 0, 0, 0, 0, nil
}

// offset returns the stored offset of the next byte.
func (s *source) offset() int64 { return s.base + int64(s.pos) }

// begin marks the next byte as the start of a block, to which errors and
// Reader.Offset refer.
func (s *source) begin() { s.at = s.offset() }

// peek returns the next n bytes without consuming them; fewer, and no error,
// where the file ends before. The bytes are valid until the next peek or skip.
// The buffer grows as bytes arrive, never by n alone, so that a length out of
// a damaged file allocates no more than twice what the file holds.
func (s *source) peek(n int) ([]byte, error) {
	for s.end-s.pos < n {
		if s.err == io.EOF {
			return s.buf[s.pos:s.end], nil
		}
		if s.err != nil {
			return nil, &provider.FileError{Offset: s.base + int64(s.end), Detail: "read failed", Err: s.err}
		}
		s.fill(n)
	}
	return s.buf[s.pos : s.pos+n], nil
}

// advance consumes n bytes that peek has returned.
func (s *source) advance(n int) { s.pos += n }

// skip consumes n bytes unseen and returns how many the file had.
func (s *source) skip(n int64) (int64, error) {
	left := n
	for left > 0 {
		p, err := s.peek(1)
		if err != nil {
			return n - left, err
		}
		if len(p) == 0 {
			break
		}
		m := min(left, int64(s.end-s.pos))
		s.advance(int(m))
		left -= m
	}
	return n - left, nil
}

// fill reads once, after it has made room for it. The buffer is on its way to
// n bytes from pos.
func (s *source) fill(n int) {
	if s.pos == s.end {
		s.base += int64(s.pos)
		s.pos, s.end = 0, 0
	} else if s.pos > 0 && len(s.buf)-s.pos < n {
		s.base += int64(s.pos)
		s.end = copy(s.buf, s.buf[s.pos:s.end])
		s.pos = 0
	}
	if s.end == len(s.buf) {
		grown := make([]byte, max(min(2*len(s.buf), n), minBuffer))
		copy(grown, s.buf)
		s.buf = grown
	}
	// A reader may return nothing without an error, but not for ever.
	for range 100 {
		m, err := s.r.Read(s.buf[s.end:])
		if m < 0 || m > len(s.buf)-s.end {
			s.err = errors.New("reader returned an impossible count")
			return
		}
		s.end += m
		s.err = err
		if m > 0 || err != nil {
			return
		}
	}
	s.err = io.ErrNoProgress
}

// fail returns an error about the unit being decoded, in which Spark fails as
// well.
func (s *source) fail(kind error, format string, args ...any) *provider.FileError {
	e := s.refuse(kind, format, args...)
	e.Condition = sparkCondition
	return e
}

// refuse returns an error about the unit being decoded, where Spark would not
// notice or where the limit is ours.
func (s *source) refuse(kind error, format string, args ...any) *provider.FileError {
	return &provider.FileError{Offset: s.at, Kind: kind, Detail: fmt.Sprintf(format, args...)}
}

// trailing returns the error for a file that goes on after its stream, with
// the bytes p. noticed is whether Spark fails there too.
func (s *source) trailing(p []byte, noticed bool) *provider.FileError {
	report := s.refuse
	if noticed {
		report = s.fail
	}
	e := report(provider.ErrCorrupt, "the stream has ended, but the file goes on with %s", hexBytes(p[:min(len(p), HeadLen)]))
	e.Err = ErrTrailing
	return e
}

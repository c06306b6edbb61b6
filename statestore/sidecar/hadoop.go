package sidecar

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/sparkstate/sparkstate/statestore/provider"
)

// HadoopName returns the name of the hidden sidecar of a file, .7.delta.crc for
// 7.delta. It lies in the same directory, which is part of neither.
func HadoopName(name string) string { return "." + name + ".crc" }

// Hadoop is a parsed hidden sidecar.
type Hadoop struct {
	// BytesPerChecksum is the length of a piece in bytes; 512 unless somebody
	// configured another.
	BytesPerChecksum int
	// Sums holds the CRC-32 of each piece in order.
	Sums []uint32
}

// maxPiece bounds the piece length that a sidecar may claim: the verifying
// reader holds one piece in memory.
const maxPiece = 1 << 20

// HadoopSize returns how long, in bytes, the sidecar of a file of the given
// size is with pieces of 512 bytes. It bounds what is worth reading.
func HadoopSize(size int64) int64 { return 8 + 4*((size+511)/512) }

// ParseHadoop parses a hidden sidecar. A file that does not start like one is
// provider.ErrCorrupt; Hadoop itself then skips the check with a warning, and
// so should the caller.
func ParseHadoop(b []byte) (*Hadoop, error) {
	bad := func(format string, a ...any) error {
		return &provider.FileError{Kind: provider.ErrCorrupt, Detail: "not a Hadoop checksum file: " + fmt.Sprintf(format, a...)}
	}
	if len(b) < 8 {
		return nil, bad("%d bytes", len(b))
	}
	if string(b[:4]) != "crc\x00" {
		return nil, bad("it starts with %x", b[:4])
	}
	n := binary.BigEndian.Uint32(b[4:])
	if n == 0 || n > maxPiece {
		return nil, bad("pieces of %d bytes", n)
	}
	h := &Hadoop{BytesPerChecksum: int(n), Sums: make([]uint32, 0, (len(b)-8)/4)}
	for b = b[8:]; len(b) >= 4; b = b[4:] {
		h.Sums = append(h.Sums, binary.BigEndian.Uint32(b))
	}
	return h, nil
}

// Verify checks a whole file that is in memory. The error is a
// *provider.FileError of kind ErrChecksum with the offset of the first piece
// that differs.
func (h *Hadoop) Verify(b []byte) error {
	for off, i := 0, 0; off < len(b); off, i = off+h.BytesPerChecksum, i+1 {
		piece := b[off:min(off+h.BytesPerChecksum, len(b))]
		if err := h.check(i, int64(off), piece); err != nil {
			return err
		}
	}
	return nil
}

// Covers says whether there are sums for a file of that size in bytes; where
// there are too few, the file differs whatever is in it.
func (h *Hadoop) Covers(size int64) bool {
	return size <= int64(len(h.Sums))*int64(h.BytesPerChecksum)
}

// TooFew is the error of a file that the sums do not cover.
func (h *Hadoop) TooFew() error {
	return &provider.FileError{Offset: int64(len(h.Sums)) * int64(h.BytesPerChecksum), Kind: provider.ErrChecksum,
		Detail: fmt.Sprintf("the hidden .crc file has %d sums, too few for this file", len(h.Sums))}
}

func (h *Hadoop) check(i int, off int64, piece []byte) error {
	if i >= len(h.Sums) {
		return h.TooFew()
	}
	if got := crc32.ChecksumIEEE(piece); got != h.Sums[i] {
		return &provider.FileError{Offset: off, Kind: provider.ErrChecksum,
			Detail: fmt.Sprintf("the hidden .crc file says %08x for these %d bytes, they give %08x", h.Sums[i], len(piece), got)}
	}
	return nil
}

// Reader returns a reader of the same bytes that hands out none before the
// piece they belong to has been verified. With a nil onMismatch a piece that
// differs ends the stream with the error that [Hadoop.Verify] describes;
// otherwise onMismatch is told of the first such piece, and reading goes on.
func (h *Hadoop) Reader(r io.Reader, onMismatch func(error)) io.Reader {
	// Several pieces are read at once: 512 bytes a system call would be slow.
	n := max(1, 64<<10/h.BytesPerChecksum) * h.BytesPerChecksum
	return &hadoopReader{h: h, r: r, buf: make([]byte, n), onMismatch: onMismatch}
}

type hadoopReader struct {
	h          *Hadoop
	r          io.Reader
	buf        []byte
	ready      []byte // verified, not yet handed out
	off        int64
	piece      int
	onMismatch func(error)
	told       bool
	err        error
}

func (r *hadoopReader) Read(p []byte) (int, error) {
	if len(r.ready) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		r.fill()
		if len(r.ready) == 0 {
			return 0, r.err
		}
	}
	n := copy(p, r.ready)
	r.ready = r.ready[n:]
	return n, nil
}

// fill reads the next run of pieces and keeps those that verify.
func (r *hadoopReader) fill() {
	n, err := io.ReadFull(r.r, r.buf)
	if err == io.ErrUnexpectedEOF {
		err = io.EOF
	}
	r.err = err
	good := 0
	for good < n {
		end := min(good+r.h.BytesPerChecksum, n)
		if cerr := r.h.check(r.piece, r.off+int64(good), r.buf[good:end]); cerr != nil {
			if r.onMismatch == nil {
				r.err = cerr
				break
			}
			if !r.told {
				r.told = true
				r.onMismatch(cerr)
			}
		}
		r.piece++
		good = end
	}
	r.ready = r.buf[:good]
	r.off += int64(good)
}

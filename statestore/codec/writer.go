package codec

import (
	"errors"
	"fmt"
	"io"
)

// defaultBlockSize is Spark's default for LZ4 and Snappy
// (spark.io.compression.lz4.blockSize, …snappy.blockSize).
const defaultBlockSize = 32 << 10

var errWriterClosed = errors.New("codec: write after Close")

// Writer compresses a state store file as Spark does. It collects what is
// written into full blocks; Close writes the last one and whatever ends the
// stream.
type Writer struct {
	enc  encoder
	size int // of a full block
	buf  []byte
	err  error
}

// NewWriter returns a Writer of a stream of codec c in w. What it writes has
// the structure of what Spark's Java libraries write: the same headers, blocks
// cut at the same places, the same end. The compressed bytes within a block
// are the compressor's own affair.
//
// blockSize is in bytes, within what [Codec.BlockSizes] says; 0 stands for
// Spark's default. None is written through.
func NewWriter(w io.Writer, c Codec, blockSize int) (*Writer, error) {
	f := c.lookup()
	if f == nil {
		return nil, fmt.Errorf("codec: no writer for codec %v", c)
	}
	switch b := f.blocks; {
	case b == (sizes{}): // written through
		blockSize = defaultBlockSize
	case blockSize == 0:
		blockSize = b.usual
	case blockSize < b.least || blockSize > b.most:
		return nil, fmt.Errorf("codec: %v blocks are of %d to %d bytes, not %d", c, b.least, b.most, blockSize)
	}
	enc, err := f.newEncoder(blockSize)
	if err != nil {
		return nil, err
	}
	e := &Writer{enc: enc, size: blockSize}
	if e.Reset(w); e.err != nil {
		return nil, e.err
	}
	return e, nil
}

// Reset starts on another file of the same codec and block size. What was not
// closed before is lost.
func (e *Writer) Reset(w io.Writer) {
	e.buf = e.buf[:0]
	e.err = e.enc.start(w)
}

// Write adds p to the stream. It returns the first error of the writer below,
// from then on always.
func (e *Writer) Write(p []byte) (int, error) {
	if e.err != nil {
		return 0, e.err
	}
	size := e.size
	for done := 0; done < len(p); {
		if len(e.buf) == 0 && len(p)-done >= size {
			// A full block needs no collecting.
			if e.err = e.enc.block(p[done : done+size]); e.err != nil {
				return done, e.err
			}
			done += size
			continue
		}
		n := min(size-len(e.buf), len(p)-done)
		e.buf = append(e.buf, p[done:done+n]...)
		done += n
		if len(e.buf) == size {
			if e.err = e.flush(); e.err != nil {
				return done, e.err
			}
		}
	}
	return len(p), nil
}

func (e *Writer) flush() error {
	err := e.enc.block(e.buf)
	e.buf = e.buf[:0]
	return err
}

// Close writes what is left and ends the stream. It does not close the writer
// below. A second Close does nothing.
func (e *Writer) Close() error {
	if e.err == errWriterClosed {
		return nil
	}
	if e.err == nil && len(e.buf) > 0 {
		e.err = e.flush()
	}
	if e.err == nil {
		e.err = e.enc.finish()
	}
	err := e.err
	if err == nil {
		e.err = errWriterClosed
	}
	return err
}

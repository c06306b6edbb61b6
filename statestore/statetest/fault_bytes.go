package statetest

import (
	"errors"
	"fmt"
	"slices"
)

var (
	errUnchanged = errors.New("the file would stay as it is")
	errOutside   = errors.New("beyond the file")
)

// Truncate cuts a file to its first n bytes, or cuts -n bytes off its end: a
// copy that was cut short, or a writer that was killed.
func Truncate(f File, n int64) Fault {
	return edit("Truncate", f, func(b []byte) ([]byte, error) {
		at, err := within(b, n)
		return b[:at], err
	})
}

// TruncateAtBlock cuts a state file behind its first n blocks of compression.
// A Snappy or LZF file ends properly there, so that nothing but the missing
// end mark of the records tells.
func TruncateAtBlock(f File, n int) Fault {
	return edit("TruncateAtBlock", f, func(b []byte) ([]byte, error) {
		u, err := unpack(b)
		if err != nil {
			return nil, err
		}
		if n < 0 || n >= len(u.blocks) {
			return nil, fmt.Errorf("%w, which has %d blocks", errOutside, len(u.blocks))
		}
		return b[:u.blocks[n]], nil
	})
}

// Empty leaves a file of no bytes, as a disk that was full does.
func Empty(f File) Fault {
	return edit("Empty", f, func([]byte) ([]byte, error) { return nil, nil })
}

// FlipByte flips the bits of the mask in the byte at an offset; a negative
// offset counts from the end.
func FlipByte(f File, offset int64, mask byte) Fault {
	return edit("FlipByte", f, func(b []byte) ([]byte, error) {
		at, err := within(b, offset)
		if err == nil && at == len(b) {
			err = errOutside
		}
		if err == nil {
			b[at] ^= mask
		}
		return b, err
	})
}

// ZeroRange writes zeros over n bytes from an offset on, or up to the end of
// the file: a block of a disk that was never written.
func ZeroRange(f File, offset, n int64) Fault {
	return edit("ZeroRange", f, func(b []byte) ([]byte, error) {
		at, err := within(b, offset)
		if err == nil {
			clear(b[at:min(int64(at)+max(n, 0), int64(len(b)))])
		}
		return b, err
	})
}

// InsertBytes puts bytes before the one at an offset. An offset that is the
// length of the file puts them behind its end; see [AfterEndMark] for what is
// still in the compression.
func InsertBytes(f File, offset int64, insert ...byte) Fault {
	return edit("InsertBytes", f, func(b []byte) ([]byte, error) {
		at, err := within(b, offset)
		return slices.Insert(b, at, insert...), err
	})
}

// within returns the position that an offset means.
func within(b []byte, offset int64) (int, error) {
	if offset < 0 {
		offset += int64(len(b))
	}
	if offset < 0 || offset > int64(len(b)) {
		return 0, fmt.Errorf("%w, which has %d bytes", errOutside, len(b))
	}
	return int(offset), nil
}

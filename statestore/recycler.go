package statestore

import (
	"math/bits"
	"sync"

	"github.com/apache/arrow/go/v17/arrow/memory"
)

// recycler is an allocator that hands out again what the records of a read give
// back when they are released: most of what a fresh buffer for each would cost
// is clearing it and collecting it. What is never released is left to the
// garbage collector, and so is all of it after the read.
//
// Sizes are rounded up to powers of two.
type recycler struct {
	mu   sync.Mutex
	free [64][][]byte // by the logarithm of the capacity
	go_  memory.GoAllocator
}

// smallest is the logarithm of the smallest buffer, which is as long as Arrow
// aligns them.
const smallest = 6

func class(size int) int { return max(bits.Len(uint(max(size, 1)-1)), smallest) }

// Allocate returns size bytes; what they hold is not known.
func (r *recycler) Allocate(size int) []byte {
	c := class(size)
	r.mu.Lock()
	if n := len(r.free[c]); n > 0 {
		b := r.free[c][n-1]
		r.free[c] = r.free[c][:n-1]
		r.mu.Unlock()
		return b[:size]
	}
	r.mu.Unlock()
	return r.go_.Allocate(1 << c)[:size]
}

func (r *recycler) Reallocate(size int, b []byte) []byte {
	if cap(b) >= size {
		return b[:size]
	}
	out := r.Allocate(size)
	copy(out, b)
	r.Free(b)
	return out
}

// Free takes a buffer back.
func (r *recycler) Free(b []byte) {
	c := class(cap(b))
	if cap(b) != 1<<c {
		return
	}
	b = b[:cap(b)]
	if poison {
		for i := range b {
			b[i] = 0xDB
		}
	}
	r.mu.Lock()
	r.free[c] = append(r.free[c], b)
	r.mu.Unlock()
}

// poison has tests see a use after the release.
var poison = false

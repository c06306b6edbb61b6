package provider

import (
	"fmt"
	"sync/atomic"
)

// ErrMemory is the kind of the errors of a load for which its [Budget] does not
// suffice.
var ErrMemory error = &kind{text: "memory budget is used up"}

// Budget bounds the memory that loads take together for what they cannot
// stream: the rows that change sets touch. It may be used from several
// goroutines. A nil budget bounds nothing.
type Budget struct {
	limit int64
	taken atomic.Int64
}

// NewBudget returns a budget of so many bytes.
func NewBudget(bytes int64) *Budget { return &Budget{limit: bytes} }

// Take takes n bytes. Where they are not there it takes nothing, and returns a
// [*FileError] of kind ErrMemory.
func (b *Budget) Take(n int64) error {
	if b == nil {
		return nil
	}
	if taken := b.taken.Add(n); taken > b.limit {
		b.taken.Add(-n)
		return &FileError{Offset: -1, Kind: ErrMemory,
			Detail: fmt.Sprintf("the rows that the change sets touch need %d bytes and more, the budget is %d", taken, b.limit)}
	}
	return nil
}

// Release gives back n bytes that were taken.
func (b *Budget) Release(n int64) {
	if b != nil {
		b.taken.Add(-n)
	}
}

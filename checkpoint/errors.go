package checkpoint

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

var (
	// ErrNotCheckpoint: the directory is none that Structured Streaming wrote,
	// nor a part of one.
	ErrNotCheckpoint = errors.New("not a Structured Streaming checkpoint")
	// ErrNotFound: there is no such operator, store or batch. The error is a
	// *NotFoundError or a *BatchError.
	ErrNotFound = errors.New("not found")
	// ErrNotCommitted: the batch was planned, but has not been committed. The
	// error is a *BatchError.
	ErrNotCommitted = errors.New("not committed")
)

// NotFoundError is returned for an operator or a store that is not there.
type NotFoundError struct {
	// What was looked for: "operator" or "store".
	What string
	// Name is what was asked for.
	Name string
	// Have lists what there is.
	Have []string
}

func (e *NotFoundError) Error() string {
	if len(e.Have) == 0 {
		return fmt.Sprintf("there is no %s %s; this checkpoint has none", e.What, e.Name)
	}
	return fmt.Sprintf("there is no %s %s; there is: %s", e.What, e.Name, strings.Join(e.Have, ", "))
}

// Is makes errors.Is(err, ErrNotFound) true.
func (e *NotFoundError) Is(target error) bool { return target == ErrNotFound }

// BatchError is returned for a batch that cannot be read. It unwraps to the
// reason: ErrNotCommitted, or the provider's error about the file that is
// missing.
type BatchError struct {
	// Batch is the one that was asked for; negative where none was, or where it
	// is none.
	Batch int64
	// Readable lists the batches that every partition of the store can load,
	// judged by file names, in ascending order.
	Readable []int64
	Err      error
}

func (e *BatchError) Error() string {
	can := "no batch of this store can be read"
	if len(e.Readable) > 0 {
		can = "batches that can be read: " + Ranges(e.Readable)
	}
	if e.Batch < 0 {
		return fmt.Sprintf("%v; %s", e.Err, can)
	}
	return fmt.Sprintf("batch %d: %v; %s", e.Batch, e.Err, can)
}

func (e *BatchError) Unwrap() error { return e.Err }

// Is makes errors.Is(err, ErrNotFound) true.
func (e *BatchError) Is(target error) bool { return target == ErrNotFound }

// Ranges writes ascending numbers as "0-4, 7, 9-12".
func Ranges(ns []int64) string {
	var b strings.Builder
	for i := 0; i < len(ns); {
		j := i
		for j+1 < len(ns) && ns[j+1] == ns[j]+1 {
			j++
		}
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.FormatInt(ns[i], 10))
		if j > i {
			b.WriteString("-" + strconv.FormatInt(ns[j], 10))
		}
		i = j + 1
	}
	return b.String()
}

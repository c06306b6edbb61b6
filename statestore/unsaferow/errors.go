package unsaferow

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/sparkstate/sparkstate/statestore/provider"
)

// RowError says in what a row does not fit its schema. It is an error of kind
// provider.ErrRow.
type RowError struct {
	// Row is the row's index in the batch that was decoded; -1 where there is
	// no batch.
	Row int
	// Column is the path to the column, such as window.start. Elements of an
	// array are .element, keys and values of a map .key and .value. A field is
	// named by its position, [3], where its name is empty or not unique. It is
	// empty where the row as a whole is meant.
	Column string
	// Offset is where in the row it was noticed, in bytes from its start.
	Offset int
	// Reason says what was found.
	Reason string
}

// Error returns one line.
func (e *RowError) Error() string {
	where := "row"
	if e.Row >= 0 {
		where += " " + strconv.Itoa(e.Row)
	}
	if e.Column != "" {
		where += ", column " + e.Column
	}
	return fmt.Sprintf("%s: at byte %d: %s", where, e.Offset, e.Reason)
}

// Unwrap returns provider.ErrRow.
func (e *RowError) Unwrap() error { return provider.ErrRow }

// ErrBatchTooLarge is the error of a batch that does not fit into one array:
// the text of one column takes more than 2 GiB, or the rows unfold to far more
// values than they have bytes. Nothing is wrong with the rows; decode them in
// smaller batches. (One row alone that is too large is a [*RowError].)
var ErrBatchTooLarge = errors.New("unsaferow: batch too large for one array, use a smaller one")

// inside makes an error about a nested value one about the value around it, in
// which the nested one has the name and starts at the offset.
func inside(err error, name string, offset int) error {
	switch e := err.(type) {
	case *RowError:
		e.Column = join(name, e.Column)
		e.Offset += offset
	case *ValueError:
		e.Column = join(name, e.Column)
	}
	return err
}

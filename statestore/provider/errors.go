package provider

import (
	"errors"
	"fmt"
	"strings"
)

// kind is a sentinel error that may belong to a wider one, so that a caller
// can ask for as much detail as is wanted: a failed checksum is ErrChecksum,
// and it is ErrDamaged too.
type kind struct {
	text string
	of   error
}

func (k *kind) Error() string { return k.text }
func (k *kind) Unwrap() error { return k.of }

// What can be wrong with a file. Every error about a file is a [*FileError]
// of one of these kinds; ask with errors.Is.
var (
	// ErrDamaged is the kind of all damage: of ErrTruncated, ErrChecksum,
	// ErrCorrupt, ErrCodec, ErrTooLarge and ErrRow.
	ErrDamaged error = &kind{text: "damaged"}

	// ErrTruncated: the file ends before its end mark. Typical of a copy that
	// was cut short or of a writer that was killed.
	ErrTruncated error = &kind{"file ends too early", ErrDamaged}
	// ErrChecksum: a checksum of the file, of a block or of a row does not
	// match its bytes.
	ErrChecksum error = &kind{"checksum does not match", ErrDamaged}
	// ErrCorrupt: the bytes break the rules of the format.
	ErrCorrupt error = &kind{"file is corrupt", ErrDamaged}
	// ErrCodec: the file starts like none of the formats that Spark writes.
	ErrCodec error = &kind{"unknown compression", ErrDamaged}
	// ErrTooLarge: a length in the file is beyond what the file can hold or
	// what the caller allows.
	ErrTooLarge error = &kind{"a length is too large", ErrDamaged}
	// ErrRow: a row does not fit the schema it is read with.
	ErrRow error = &kind{"row does not fit its schema", ErrDamaged}

	// ErrMissing: a file that is needed is not there.
	ErrMissing error = &kind{text: "file is missing"}
	// ErrCleanedUp: the version is older than what retention has kept.
	ErrCleanedUp error = &kind{text: "version has been cleaned up"}
	// ErrUnsupported: the format is known, but this library does not read it.
	ErrUnsupported error = &kind{text: "not read by this library"}
)

// FileError is an error about one file.
type FileError struct {
	// Path is the file's path within the file system it was read from. Codecs
	// leave it empty; whoever knows the file fills it in with [WithPath].
	Path string
	// Offset is the position in the file as stored, in bytes, of the block or
	// record in which the damage was met; -1 where no position applies.
	Offset int64
	// Kind is one of the sentinel errors of this package.
	Kind error
	// Condition is the error condition that Spark 4 reports for the same
	// damage, such as
	// CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS; empty where
	// Spark has none.
	Condition string
	// Detail says what was found, in a few words.
	Detail string
	// Err is the cause below, if there is one.
	Err error
}

// Error returns one line: path, offset, what is wrong, Spark's condition.
func (e *FileError) Error() string {
	var b strings.Builder
	if e.Path != "" {
		b.WriteString(e.Path)
		b.WriteString(": ")
	}
	if e.Offset >= 0 {
		fmt.Fprintf(&b, "at byte %d: ", e.Offset)
	}
	switch {
	case e.Detail != "":
		b.WriteString(e.Detail)
	case e.Kind != nil:
		b.WriteString(e.Kind.Error())
	}
	if e.Err != nil {
		b.WriteString(": ")
		b.WriteString(e.Err.Error())
	}
	if e.Condition != "" {
		fmt.Fprintf(&b, " (Spark: %s)", e.Condition)
	}
	return b.String()
}

// Unwrap makes both the kind and the cause visible to errors.Is and errors.As.
func (e *FileError) Unwrap() []error {
	var out []error
	if e.Kind != nil {
		out = append(out, e.Kind)
	}
	if e.Err != nil {
		out = append(out, e.Err)
	}
	return out
}

// WithPath fills in the path of a [*FileError] that has none yet; other errors
// are returned as they are.
func WithPath(err error, path string) error {
	var fe *FileError
	if errors.As(err, &fe) && fe.Path == "" {
		c := *fe
		c.Path = path
		if err == error(fe) {
			return &c
		}
		// The error was wrapped on its way up; name the file in front.
		return &FileError{Path: path, Offset: -1, Kind: fe.Kind, Condition: fe.Condition, Err: err}
	}
	return err
}

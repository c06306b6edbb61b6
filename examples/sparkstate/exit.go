package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/examples/sparkstate/internal/slack"
	"github.com/sparkstate/sparkstate/statestore"
)

// The exit codes of every verb.
const (
	exitOK     = 0
	exitFound  = 1 // what was looked for was found (skew --fail) or not (get)
	exitUsage  = 2 // wrong usage, or an operator, store or batch that isn't there
	exitInput  = 3 // not a checkpoint, an I/O error, or damage
	exitOutput = 4 // the output could not be written, or a notification not sent

	// exitInterrupted is what a shell says of a program that SIGINT has ended.
	exitInterrupted = 130
)

// usageError is wrong usage.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usagef(format string, a ...any) error { return &usageError{fmt.Sprintf(format, a...)} }

// outputError is a failure to write the answer.
type outputError struct{ err error }

func (e *outputError) Error() string { return "writing the output: " + e.err.Error() }
func (e *outputError) Unwrap() error { return e.err }

func output(err error) error {
	if err == nil {
		return nil
	}
	return &outputError{err}
}

// errFound makes a verb exit with 1 after its answer; it prints nothing more.
type errFound struct{ text string }

func (e *errFound) Error() string { return e.text }

// errInterrupted is the end of a run that was told to stop.
var errInterrupted = errors.New("interrupted")

// interrupted returns errInterrupted in the place of the error that a verb ends
// in because its context does, however deep it was: nothing is wrong then with
// the checkpoint, nor with the output. Another error stays.
func interrupted(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && (errors.Is(err, cause) || errors.Is(err, ctx.Err())) {
		return errInterrupted
	}
	return err
}

// rangeError is an error of a verb that takes a range of batches and not one.
type rangeError struct{ error }

func (e *rangeError) Unwrap() error { return e.error }

// ofRange marks the error of a verb that was asked for a range of batches.
func ofRange(cmd *cobra.Command, err error) error {
	f := cmd.Flags()
	one := f.Lookup("batch")
	if err == nil || f.Lookup("to") == nil || one != nil && !one.Hidden && !f.Changed("changes") {
		return err
	}
	return &rangeError{err}
}

func exitCode(err error) int {
	var usage *usageError
	var out *outputError
	var found *errFound
	var notifying *notifyError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	case errors.As(err, &notifying): // before what was found: that is not told to anyone
		return exitOutput
	case errors.As(err, &found):
		return exitFound
	case errors.As(err, &usage):
		return exitUsage
	case errors.As(err, &out):
		return exitOutput
	case errors.Is(err, statestore.ErrMissing), errors.Is(err, statestore.ErrDamaged):
		return exitInput
	case errors.Is(err, checkpoint.ErrNotFound), errors.Is(err, statestore.ErrNoPartition):
		return exitUsage
	}
	return exitInput
}

// message is the one line that people get: what is wrong, where, and what to
// do next.
func message(err error) string {
	text := oneLine(err.Error())
	if hint := hint(err); hint != "" {
		text += "; " + hint
	}
	return text
}

func hint(err error) string {
	var be *checkpoint.BatchError
	var ranged *rangeError
	var refused *slack.StatusError
	switch {
	case errors.As(err, &refused) && refused.Status < 500 && refused.Status != 429:
		return "see whether the webhook in " + webhookVariable + " is still there and may post"
	case errors.Is(err, checkpoint.ErrNotCheckpoint):
		return "give the directory that holds offsets/, commits/ and state/"
	case errors.Is(err, statestore.ErrNoSchema):
		return "metadata and skew work without one"
	case errors.As(err, &be) && len(be.Readable) > 0 && errors.As(err, &ranged):
		return "pick one with --from and --to"
	case errors.As(err, &be) && len(be.Readable) > 0:
		return "pick one with --batch"
	case errors.Is(err, statestore.ErrChecksum) && strings.Contains(err.Error(), ".crc file"):
		return "copy the file again, or read it as it is with --ignore-crc"
	case errors.Is(err, statestore.ErrMemory):
		return "allow more with --memory, or fewer partitions at once with --workers 1"
	case errors.Is(err, statestore.ErrTooLarge):
		return "copy the file again if this is a copy; if it is meant to be so large, --limits allows more (go doc ./checkpoint Limits)"
	case errors.Is(err, statestore.ErrDamaged):
		return "copy the file again if this is a copy; an older batch that does not need it may still be readable"
	// os.OpenRoot has an error of its own for a path that is a file.
	case errors.Is(err, syscall.ENOTDIR), strings.HasSuffix(err.Error(), ": not a directory"):
		return "give a directory, or a zip file whose name ends in .zip, without a path inside it"
	case errors.Is(err, fs.ErrNotExist):
		return "check the path"
	}
	return ""
}

func oneLine(s string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(s, "\n", "; ")), " ")
}

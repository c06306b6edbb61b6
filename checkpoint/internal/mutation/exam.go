package mutation

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"path"
	"runtime/debug"
	"slices"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore/codec"
	"github.com/sparkstate/sparkstate/statestore/sidecar"
	"github.com/sparkstate/sparkstate/statestore/statetest"
)

// Outcome is what the library makes of a mutation.
type Outcome uint8

const (
	// Harmless: nothing was said, and every row that was read is right.
	Harmless Outcome = iota
	// Noticed: where rows are wrong or missing, there was an error or a warning.
	Noticed
	// Passed: wrong rows were read, and nothing was said.
	Passed
)

// String returns the word in lower case.
func (o Outcome) String() string {
	switch o {
	case Harmless:
		return "harmless"
	case Noticed:
		return "noticed"
	case Passed:
		return "passed"
	}
	return fmt.Sprintf("Outcome(%d)", o)
}

// Result is what came of a mutation.
type Result struct {
	Mutation
	Subject *Subject
	Outcome Outcome
	// Found says that a deep check finds something above info.
	Found bool
	// Faults of the library: a panic, wrong rows where something knew, a read
	// that fails on a file that no check finds fault with.
	Faults []string
}

var levels = []checkpoint.CheckLevel{checkpoint.QuickCheck, checkpoint.DefaultCheck, checkpoint.DeepCheck}

// above counts the findings above info.
func above(r *checkpoint.CheckReport) int {
	n := 0
	for _, f := range r.Findings {
		if f.Severity > checkpoint.Info && f.ID != "provider-not-read" {
			n++
		}
	}
	return n
}

// exam is the reading of one damaged checkpoint.
type exam struct {
	*oracle
	files  *damaged
	result *Result
	rnd    *rand.Rand

	cp       *checkpoint.Checkpoint
	opened   bool     // what is said now is said by Open
	said     []string // by the read that is under way
	saidOpen bool
	// knows says that something can know of the damage: a sum of the file, or
	// the codec.
	knows  bool
	failed string // a read that failed
}

// examine reads a damaged checkpoint in every way there is.
func examine(ctx context.Context, o *oracle, files *damaged, rnd *rand.Rand, r *Result) {
	x := &exam{oracle: o, files: files, rnd: rnd, result: r, knows: true}
	defer func() {
		if p := recover(); p != nil {
			r.Faults = append(r.Faults, fmt.Sprintf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	for name := range files.changed {
		x.knows = x.knows && x.known(name)
	}
	cp, err := checkpoint.OpenFS(files, ".", checkpoint.OnWarning(x.warned))
	if err != nil {
		x.notice()
		return
	}
	x.cp, x.opened = cp, true
	last, _, err := cp.LastCommitted()
	if err != nil {
		x.notice()
		last = x.last
	}
	for _, so := range x.stores {
		if x.concerns(so) {
			x.store(ctx, so, last)
		}
	}
	x.check(ctx)
}

func (x *exam) warned(err error) {
	switch {
	case x.warnings[err.Error()]: // it is said of the undamaged checkpoint as well
	case x.opened:
		x.said = append(x.said, err.Error())
	default:
		x.saidOpen = true
		x.notice()
	}
}

func (x *exam) notice() { x.result.Outcome = max(x.result.Outcome, Noticed) }

func (x *exam) fault(format string, a ...any) {
	x.result.Faults = append(x.result.Faults, fmt.Sprintf(format, a...))
}

// begin starts a read, end judges it: same says whether its rows are those of
// the oracle. It returns whether the read was right.
func (x *exam) begin() { x.said = x.said[:0] }

func (x *exam) end(err error, same bool, what string, a ...any) bool {
	switch {
	case err != nil:
		x.notice()
		if x.failed == "" {
			x.failed = fmt.Sprintf(what, a...) + ": " + err.Error()
		}
		return false
	case len(x.said) > 0:
		x.notice()
		return false
	case same:
		return true
	case x.saidOpen:
		return false
	}
	x.result.Outcome = Passed
	if x.knows {
		x.fault("wrong rows, and nothing said: "+what, a...)
	}
	return false
}

// known says whether anything can know that a file is not what it was.
func (x *exam) known(name string) bool {
	b, there := x.files.file(name)
	if !there || bytes.Equal(b, x.files.tree.files[name]) {
		return true // what is missing is missed
	}
	switch class := classOf(name); {
	case class == Sidecar:
		return true // no row comes from it
	case class == State && x.result.Subject.Codec == codec.LZ4 && x.result.Kind.edits():
		return true
	case class == State && x.result.Subject.RowSums && x.result.Kind == Flip:
		return true
	case class == Other:
		return true // it is not read
	}
	sums, ok := x.files.file(statetest.Path(name).HadoopCRC().String())
	if !ok {
		return false
	}
	h, err := sidecar.ParseHadoop(sums)
	return err == nil && h.Verify(b) != nil
}

// concerns says whether a store may have changed: one of whose files is
// damaged, and every store where the damage is elsewhere.
func (x *exam) concerns(so *storeOracle) bool { return x.elsewhere() || len(x.partitions(so)) > 0 }

// elsewhere says whether anything but state files is damaged.
func (x *exam) elsewhere() bool { return x.result.Class != State && x.result.Class != Sidecar }

// partitions returns the partitions of a store that are damaged.
func (x *exam) partitions(so *storeOracle) []int {
	var out []int
	for p, dir := range so.dirs {
		for name := range x.files.changed {
			if path.Dir(name) == dir || x.elsewhere() {
				out = append(out, p)
				break
			}
		}
	}
	slices.Sort(out)
	return out
}

func (x *exam) check(ctx context.Context) {
	for _, level := range levels {
		report, err := x.cp.Check(ctx, level, checkpoint.CheckWorkers(1))
		if err != nil {
			x.fault("check: %v", err)
			continue
		}
		x.result.Found = above(report) > 0
	}
	if x.failed != "" && !x.result.Found {
		x.fault("a read fails and a deep check finds nothing: %s", x.failed)
	}
}

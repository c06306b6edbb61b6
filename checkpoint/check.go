package checkpoint

import (
	"context"
	"fmt"
	"slices"
)

// CheckLevel says how much of the checkpoint a check reads. Levels are ordered,
// and the zero value is the default.
type CheckLevel int8

const (
	// QuickCheck judges by names and sizes; of files only the logs are opened.
	QuickCheck CheckLevel = iota - 1
	// DefaultCheck decodes once each file that a batch which can be restored
	// needs, and compares its sums.
	DefaultCheck
	// DeepCheck decodes every state file, validates every row against its
	// schema and its partition, and compares each snapshot with the deltas that
	// lead to it. It holds one partition's state in memory for each worker.
	DeepCheck
)

// String returns quick, default or deep.
func (l CheckLevel) String() string {
	switch l {
	case QuickCheck:
		return "quick"
	case DefaultCheck:
		return "default"
	case DeepCheck:
		return "deep"
	}
	return fmt.Sprintf("CheckLevel(%d)", l)
}

// MarshalText makes JSON use the words.
func (l CheckLevel) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// CheckOption changes what a check asks.
type CheckOption func(*examination)

// CheckWorkers sets how many partitions are looked at at once; 0 or less means
// one for each processor. The answer does not depend on it.
func CheckWorkers(n int) CheckOption { return func(x *examination) { x.workers = n } }

// LongChain sets from how many deltas on a load is worth a finding; 0 leaves
// the default of 100.
func LongChain(deltas int64) CheckOption {
	return func(x *examination) {
		if deltas > 0 {
			x.longChain = deltas
		}
	}
}

// CheckReport is what a check has found.
type CheckReport struct {
	Level CheckLevel
	// LastCommitted is the newest committed batch, -1 for none, and where that
	// is from.
	LastCommitted int64
	From          Source
	// Asked is the batch whose state Spark asks for when the query starts, -1
	// for none: the last committed one, as long as the logs agree.
	Asked int64
	// Findings are sorted by severity, the worst first, then by place.
	Findings []Finding
	// LeftOut is how many findings there are beyond those that
	// [Limits].Findings allows of each kind and severity.
	LeftOut int64
	// Map says of each batch, store and partition whether it can be loaded.
	Map Map
	// Answers holds the conclusions of each [Judge].
	Answers [Judges]Answer
	// Files and Bytes count the state files that were decoded, and their stored
	// size.
	Files, Bytes int64
}

// Worst returns the highest severity of the findings; false if there are none.
func (r *CheckReport) Worst() (Severity, bool) {
	if len(r.Findings) == 0 {
		return Info, false
	}
	return r.Findings[0].Severity, true
}

// Check looks whether the checkpoint is whole, what of it can be restored, and
// what to do about the rest. Damage is no error: it is in the report. The error
// is that of a context that is done, or a *NotFoundError about a store that
// [CompareSchema] names.
//
// Nothing is written, and a copy that lacks parts can be checked too: what a
// part of a checkpoint cannot have is not held against it. State of another
// provider than HDFSBackedStateStoreProvider is named and not judged.
func (c *Checkpoint) Check(ctx context.Context, level CheckLevel, opts ...CheckOption) (*CheckReport, error) {
	x := &examination{ctx: ctx, cp: c, level: level, longChain: 100}
	for _, o := range opts {
		o(x)
	}
	for _, g := range x.proposed {
		if _, err := c.Store(g.operator, g.store); err != nil {
			return nil, err
		}
	}
	if err := x.readLogs(); err != nil {
		return nil, err
	}
	if err := x.readStores(); err != nil {
		return nil, err
	}
	r := &CheckReport{Level: level, LastCommitted: x.last, From: x.lastFrom, Asked: x.asked}
	r.Map = x.restorable()
	r.Answers = x.answers()
	x.files(func(_ *partFacts, f *fileFacts) {
		if f.check != nil {
			r.Files++
			r.Bytes += f.check.File.Size
		}
	})
	for _, k := range findingKinds {
		if k.level > level {
			continue
		}
		var found [Critical + 1]int
		k.find(x, func(f Finding) {
			f.ID = k.id
			if f.Severity == unrated {
				f.Severity = k.severity
			}
			if found[f.Severity]++; found[f.Severity] > c.limits.Findings {
				r.LeftOut++
				return
			}
			if f.Do == "" {
				f.Do = k.do
			}
			x.findings = append(x.findings, f)
		})
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	r.Findings = x.findings
	slices.SortStableFunc(r.Findings, compareFindings)
	return r, nil
}

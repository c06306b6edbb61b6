package hdfs

import (
	"fmt"
	"path"

	"github.com/sparkstate/sparkstate/statestore/provider"
)

// Spark's error conditions for this provider; all belong to
// CANNOT_LOAD_STATE_STORE.
const (
	condMissingDelta    = "CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS"
	condMissingSnapshot = "CANNOT_LOAD_STATE_STORE.CANNOT_READ_MISSING_SNAPSHOT_FILE"
	condDeltaKey        = "CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_KEY_SIZE"
	condSnapshotKey     = "CANNOT_LOAD_STATE_STORE.CANNOT_READ_SNAPSHOT_FILE_KEY_SIZE"
	condSnapshotValue   = "CANNOT_LOAD_STATE_STORE.CANNOT_READ_SNAPSHOT_FILE_VALUE_SIZE"
	condMemory          = "CANNOT_LOAD_STATE_STORE.HDFS_STORE_PROVIDER_OUT_OF_MEMORY"
	condRowChecksum     = "STATE_STORE_ROW_CHECKSUM_VERIFICATION_FAILED"
	condUncategorized   = "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED"
)

// Plan implements provider.Partition: the newest snapshot not newer than the
// version, and every delta after it. Spark takes the empty state as the base
// where there is no snapshot, so then the deltas must begin at 1.
func (p *Partition) Plan(v provider.Version, o provider.LoadOptions) (provider.Plan, error) {
	plan := provider.Plan{Version: v.Number}
	switch {
	case v.ID != "":
		return plan, &provider.FileError{Path: p.dir, Offset: -1, Kind: provider.ErrUnsupported,
			Detail: "this provider has no versions with unique ids (checkpoint format 2)"}
	case v.Number < 0:
		return plan, &provider.FileError{Path: p.dir, Offset: -1, Kind: provider.ErrMissing,
			Detail: fmt.Sprintf("version %d: versions count from 0", v.Number)}
	}
	base := p.l.snapshotAt(v.Number)
	if o.BaseVersion != 0 {
		base = o.BaseVersion
		if base > v.Number || !p.l.hasSnapshot(base) {
			return plan, &provider.FileError{Path: path.Join(p.dir, SnapshotName(base)), Offset: -1,
				Kind: provider.ErrMissing, Condition: condMissingSnapshot,
				Detail: fmt.Sprintf("there is no such snapshot to start version %d from", v.Number)}
		}
	}
	if base > 0 {
		plan.Base = provider.File{Name: SnapshotName(base), Kind: provider.SnapshotFile, Version: base, Size: -1}
	}
	for d := base + 1; d <= v.Number; d++ {
		if !p.l.hasDelta(d) {
			return provider.Plan{Version: v.Number}, p.gap(v.Number, base, d)
		}
		plan.Deltas = append(plan.Deltas, provider.File{Name: DeltaName(d), Kind: provider.DeltaFile, Version: d, Size: -1})
	}
	return plan, nil
}

// gap explains why the chain to version v breaks at delta d.
func (p *Partition) gap(v, base, d int64) error {
	e := &provider.FileError{Path: path.Join(p.dir, DeltaName(d)), Offset: -1, Kind: provider.ErrMissing, Condition: condMissingDelta}
	oldest := int64(0)
	if len(p.l.snapshots) > 0 {
		oldest = p.l.snapshots[0]
	}
	newest := p.newest()
	switch {
	case base == 0 && oldest > v && p.onlyAbove(d):
		// Retention removes whole prefixes, and only below a snapshot.
		e.Kind = provider.ErrCleanedUp
		e.Detail = fmt.Sprintf("version %d has been cleaned up: the oldest snapshot kept is version %d", v, oldest)
	case newest == 0:
		e.Detail = fmt.Sprintf("the file is missing, and so is every other delta and snapshot of this partition; version %d needs it", v)
	case d > newest:
		e.Detail = fmt.Sprintf("the file is missing: version %d is asked for, the newest in this partition is %d", v, newest)
	case base == 0:
		e.Detail = fmt.Sprintf("the file is missing: without a snapshot at or below version %d every delta from 1 on is needed", v)
	default:
		e.Detail = fmt.Sprintf("the file is missing: version %d needs every delta after snapshot %d", v, base)
	}
	return e
}

// onlyAbove says whether nothing is left of the versions up to d that a chain
// from the empty state would need, that is, whether a prefix was removed.
func (p *Partition) onlyAbove(d int64) bool {
	return len(p.l.deltas) == 0 || d == 1 && p.l.deltas[0] > d
}

// newest returns the highest version that a file names, or 0.
func (p *Partition) newest() int64 {
	var v int64
	if n := len(p.l.deltas); n > 0 {
		v = p.l.deltas[n-1]
	}
	if n := len(p.l.snapshots); n > 0 {
		v = max(v, p.l.snapshots[n-1])
	}
	return v
}

package checkpoint

import (
	"fmt"

	"github.com/sparkstate/sparkstate/statestore"
	"github.com/sparkstate/sparkstate/statestore/hdfs"
	"github.com/sparkstate/sparkstate/statestore/provider"
)

func findStale(x *examination, add func(Finding)) {
	x.decoded(func(p *partFacts, f *fileFacts) {
		a := f.against
		if f.Kind != provider.SnapshotFile || a == nil || a.Damage != nil || a.Equal() {
			return
		}
		from := "the empty state"
		if a.Base > 0 {
			from = hdfs.SnapshotName(a.Base)
		}
		add(p.about(f, nil, "%s differs from the deltas after %s: of its %d rows %d have another value and %d are not there, and %d more are",
			f.Name, from, a.Rows, a.Differing, a.Extra, a.Lacking))
	})
}

// looked calls fn with every file whose rows were looked at and that decodes.
// In one that does not, damage explains all that its rows show.
func (x *examination) looked(fn func(p *partFacts, f *fileFacts, r *rowFacts)) {
	x.decoded(func(p *partFacts, f *fileFacts) {
		if f.rows != nil {
			fn(p, f, f.rows)
		}
	})
}

func findMisfits(x *examination, add func(Finding)) {
	x.decoded(func(p *partFacts, f *fileFacts) {
		if f.rows == nil && f.first != nil && f.first.misfit != nil { // only that one was looked at
			out := p.about(f, f.first.misfit, "%s: %s", f.Name, plain(f.first.misfit))
			out.Severity = x.weigh(p, f)
			add(out)
		}
	})
	x.looked(func(p *partFacts, f *fileFacts, r *rowFacts) {
		if r.misfit == nil {
			return
		}
		what := "value"
		condition := "CANNOT_LOAD_STATE_STORE.VALUE_ROW_FORMAT_VALIDATION_FAILURE"
		if r.inKey {
			what, condition = "key", "CANNOT_LOAD_STATE_STORE.KEY_ROW_FORMAT_VALIDATION_FAILURE"
		}
		out := p.about(f, nil, "%s: %d of %d rows do not fit the schema; the first in its %s: %v", f.Name, r.misfits, f.check.Puts+f.check.Removes, what, r.misfit)
		out.Severity, out.Offset, out.Condition = x.weigh(p, f), r.offset, condition
		add(out)
	})
}

func findMisplaced(x *examination, add func(Finding)) {
	x.looked(func(p *partFacts, f *fileFacts, r *rowFacts) {
		if r.misplaced == 0 {
			return
		}
		out := p.about(f, nil, "%s: the keys of %d of %d rows belong in other partitions, the first in partition %d", f.Name, r.misplaced, f.check.Puts+f.check.Removes, r.belongs)
		out.Severity, out.Offset = x.weigh(p, f), r.at
		add(out)
	})
}

func findTimeouts(x *examination, add func(Finding)) {
	for _, s := range x.stores {
		n, file := int64(0), ""
		for _, p := range s.parts {
			for i := range p.files {
				f := &p.files[i]
				if f.Kind != provider.TempFile && f.rows != nil && f.rows.timeouts > 0 {
					if n += f.rows.timeouts; file == "" {
						file = f.path()
					}
				}
			}
		}
		if n > 0 {
			f := s.in(anywhere("rows that were written with a timeout in 1970: %d", n))
			f.File = file
			add(f)
		}
	}
}

// findJoinCounts compares, at the last committed batch, the number of rows that
// a join records for each key with the rows that are there.
func findJoinCounts(x *examination, add func(Finding)) {
	if x.last < 0 {
		return
	}
	for _, o := range x.cp.operators {
		for _, side := range []Side{Left, Right} {
			j, err := o.JoinSide(side)
			if err != nil {
				continue // no join, or not all of it
			}
			rows, counts, err := j.states()
			if err != nil {
				continue // no schema: nothing says what the key is
			}
			for p := range o.partitions {
				var loss JoinLoss
				if err := countSide(x, j, rows, counts, p, &loss); err != nil {
					continue // its files are damaged, and that is said of them
				}
				if loss.Holes == 0 && loss.Leftover == 0 {
					continue
				}
				f := anywhere("on the %s side %d rows that the counts promise are not there, and %d are left over beyond them", side, loss.Holes, loss.Leftover)
				f.Operator, f.Store, f.Partition, f.Batch = o.id, j.rows.name, p, x.last
				add(f)
			}
		}
	}
}

func countSide(x *examination, j *JoinSide, rows, counts *statestore.Store, partition int, loss *JoinLoss) error {
	opts := []statestore.Option{statestore.AtVersion(x.last + 1)}
	for _, err := range j.visible(x.ctx, rows, counts, partition, opts, loss) {
		if err != nil {
			return fmt.Errorf("partition %d: %w", partition, err)
		}
	}
	return nil
}

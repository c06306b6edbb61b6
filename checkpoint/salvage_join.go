package checkpoint

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/sparkstate/sparkstate/statestore"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
	"github.com/sparkstate/sparkstate/statestore/unsaferow"
)

// SideLoss counts what could not be salvaged of a join's side.
type SideLoss struct {
	// Loss is that of the store of the rows, and of the store of their numbers.
	Rows, Numbers Loss
	// Yielded is how many rows were yielded. Of those, Outdated are known from
	// an older batch than the one asked for, and Doubtful are doubtful.
	Yielded, Outdated, Doubtful int64
	// Holes is the number of rows that a key has by its number, where nothing of
	// the numbers is lost, and that are not there.
	Holes int64
	// Leftover is the number of rows beyond their key's number, which Spark does
	// not show. They are not yielded.
	Leftover int64
}

// Files says what is wrong with each file of both stores that is damaged or
// missing.
func (l *SideLoss) Files() []error {
	return append(l.Rows.Files[:len(l.Rows.Files):len(l.Rows.Files)], l.Numbers.Files...)
}

// number is how many rows a key has, as far as that can still be read.
type number struct {
	rows     int64
	batch    int64
	doubtful bool
	met      int64 // of the rows
}

// Salvage yields the rows of the side in one partition that can still be read,
// whatever is damaged or missing in either of its stores, under the join key
// alone; see [Store.Salvage].
//
// A row and the number of its key are known each from a batch, and the row is
// marked with the older of the two. A row that an outdated number does not
// cover, or whose key's number is lost, may be one or may be left over: it is
// doubtful. The types of the key must be known, from any store of the join:
// without them the error is statestore.ErrNoSchema.
func (j *JoinSide) Salvage(ctx context.Context, partition int, loss *SideLoss, opts ...Option) iter.Seq2[SalvagedRow, error] {
	return func(yield func(SalvagedRow, error) bool) {
		at, err := j.rows.SalvageAt(ctx, opts...)
		keyType, _ := j.SalvageTypes()
		if err == nil && keyType == nil {
			err = fmt.Errorf("store %s: %w: without the types of the key its rows cannot be told apart from their numbers", j.rows.name, statestore.ErrNoSchema)
		}
		if err != nil {
			yield(SalvagedRow{}, err)
			return
		}
		lost := len(loss.Numbers.Files)
		numbers, err := j.salvageNumbers(ctx, partition, loss, opts)
		if err != nil {
			yield(SalvagedRow{}, err)
			return
		}
		whole := lost == len(loss.Numbers.Files) // so that what is not there never was
		cut := newKeyCutter(keyType.Fields)
		for r, err := range j.rows.Salvage(ctx, partition, &loss.Rows, opts...) {
			if err != nil {
				yield(SalvagedRow{}, err)
				return
			}
			key, index, err := cut.last(r.Key)
			if err != nil || index < 0 {
				loss.Leftover++ // no key of a join
				continue
			}
			n := numbers[string(key)]
			switch {
			case n != nil && index < n.rows:
				n.met++
				r.Batch, r.Doubtful = min(r.Batch, n.batch), r.Doubtful || n.doubtful
			case whole || n != nil && n.batch == at.Batch && !n.doubtful:
				loss.Leftover++
				continue
			default:
				r.Doubtful = true
			}
			r.Key = key
			loss.Yielded++
			if r.Batch < at.Batch {
				loss.Outdated++
			}
			if r.Doubtful {
				loss.Doubtful++
			}
			if !yield(r, nil) {
				return
			}
		}
		for _, n := range numbers {
			if n.batch == at.Batch && !n.doubtful {
				loss.Holes += n.rows - n.met
			}
		}
	}
}

// salvageNumbers reads what can still be read of the numbers of rows.
func (j *JoinSide) salvageNumbers(ctx context.Context, partition int, loss *SideLoss, opts []Option) (map[string]*number, error) {
	out := make(map[string]*number)
	for r, err := range j.counts.Salvage(ctx, partition, &loss.Numbers, opts...) {
		if err != nil {
			return nil, err
		}
		v, err := unsaferow.View(r.Value, 1)
		if err != nil || v.IsNull(0) || v.Int64(0) <= 0 {
			continue
		}
		out[string(r.Key)] = &number{rows: v.Int64(0), batch: r.Batch, doubtful: r.Doubtful}
	}
	return out, nil
}

// SalvageTypes returns the types of the rows that Salvage yields: of the join
// key, and of the values as they are stored, which in format 2 have a column
// more than [JoinSide.Value], whether the row has been matched. Where the side's
// own schema cannot be read, the key's is that of another store of the join,
// since all have the same; nil is what is not known.
func (j *JoinSide) SalvageTypes() (key, value *sqltype.Type) {
	if j.key != nil {
		return j.key, j.rows.types.value
	}
	for _, s := range j.rows.op.stores {
		k := s.types.key
		switch {
		case k == nil:
		case strings.HasSuffix(s.name, countsSuffix):
			return k, j.rows.types.value
		case strings.HasSuffix(s.name, rowsSuffix) && len(k.Fields) > 0:
			return &sqltype.Type{Kind: sqltype.Struct, Fields: k.Fields[:len(k.Fields)-1]}, j.rows.types.value
		}
	}
	return nil, j.rows.types.value
}

// SalvageAt is [Store.SalvageAt] for the side.
func (j *JoinSide) SalvageAt(ctx context.Context, opts ...Option) (At, error) {
	return j.rows.SalvageAt(ctx, opts...)
}

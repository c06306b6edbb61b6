package checkpoint

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/apache/arrow/go/v17/arrow"

	"github.com/sparkstate/sparkstate/statestore"
	"github.com/sparkstate/sparkstate/statestore/provider"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
	"github.com/sparkstate/sparkstate/statestore/unsaferow"
)

// Side is one of the two inputs of a stream-stream join.
type Side string

const (
	Left  Side = "left"
	Right Side = "right"
)

// JoinSide is one side of a join as Spark shows it: a row for every input row
// that the join still holds, with the join key and the input's columns.
//
// A side is two stores, one with the number of rows of each key, one with the
// rows themselves, numbered from 0. The number is the truth: a row beyond it
// is left over and invisible, and a row that is missing below it is a hole.
type JoinSide struct {
	counts, rows *Store
	key, value   *sqltype.Type // without index, without matched
}

// JoinSide returns the view of one side of a join; for another operator, or a
// copy without both of the side's stores, the error is a *NotFoundError.
func (o *Operator) JoinSide(side Side) (*JoinSide, error) {
	if o.kind != &symmetricHashJoin {
		return nil, &NotFoundError{What: "join side", Name: fmt.Sprintf("%s: operator %s is not a stream-stream join", side, o.Label())}
	}
	if side != Left && side != Right {
		return nil, &NotFoundError{What: "join side", Name: string(side), Have: []string{string(Left), string(Right)}}
	}
	counts, err := o.Store(string(side) + countsSuffix)
	if err != nil {
		return nil, err
	}
	rows, err := o.Store(string(side) + rowsSuffix)
	if err != nil {
		return nil, err
	}
	j := &JoinSide{counts: counts, rows: rows}
	if k := rows.types.key; k != nil && len(k.Fields) > 0 {
		j.key = &sqltype.Type{Kind: sqltype.Struct, Fields: k.Fields[:len(k.Fields)-1]}
	}
	if v := rows.types.value; v != nil {
		j.value = v
		if last, ok := lastField(v); ok && last.Name == matchedColumn && last.Type.Kind == sqltype.Boolean {
			j.value = &sqltype.Type{Kind: sqltype.Struct, Fields: v.Fields[:len(v.Fields)-1]}
		}
	}
	return j, nil
}

// matchedColumn is the column that format 2 adds to the values. Spark hides it
// by its name and type, and so hides a user's own of format 1 as well.
const matchedColumn = "matched"

// Operator returns the join.
func (j *JoinSide) Operator() *Operator { return j.rows.op }

// Store returns the store that holds the side's rows.
func (j *JoinSide) Store() *Store { return j.rows }

// Key returns the type of the join key, nil where it is not known.
func (j *JoinSide) Key() *sqltype.Type { return j.key }

// Value returns the type of the input's rows, nil where it is not known.
func (j *JoinSide) Value() *sqltype.Type { return j.value }

// At is Store.At for the side.
func (j *JoinSide) At(ctx context.Context, opts ...Option) (At, error) {
	return j.rows.At(ctx, opts...)
}

// JoinLoss counts what of a side's stores does not fit together.
type JoinLoss struct {
	// Holes is the number of rows that a key should have and has not.
	Holes int64
	// Leftover is the number of rows beyond their key's number.
	Leftover int64

	mu sync.Mutex
}

// add takes in one partition; partitions are read at the same time.
func (l *JoinLoss) add(holes, leftover int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Holes += holes
	l.Leftover += leftover
}

// Schema returns the schema of the side's Arrow records.
func (j *JoinSide) Schema() (*arrow.Schema, error) {
	if _, _, err := j.states(); err != nil {
		return nil, err
	}
	return j.view().Schema(), nil
}

// view is the reading of the rows that shows the side, still without entries.
func (j *JoinSide) view() statestore.View {
	return statestore.View{Key: j.key, Value: j.rows.types.value, Shown: j.value}
}

// Records yields the visible rows as Arrow records {key, value, partition_id},
// partition by partition. It holds the numbers of one partition's keys at a
// time for each worker. Once the sequence has ended without an error, loss
// (which may be nil) says what did not fit together. The caller releases the
// records.
func (j *JoinSide) Records(ctx context.Context, loss *JoinLoss, opts ...Option) iter.Seq2[arrow.Record, error] {
	return func(yield func(arrow.Record, error) bool) {
		at, below, err := j.rows.resolve(ctx, opts)
		if err != nil {
			yield(nil, err)
			return
		}
		rows, counts, err := j.states()
		if err != nil {
			yield(nil, err)
			return
		}
		view := j.view()
		view.Batches = func(ctx context.Context, partition int, opts []statestore.Option) iter.Seq2[[]statestore.Entry, error] {
			return provider.Gather(j.visible(ctx, rows, counts, partition, opts, loss))
		}
		for rec, err := range rows.RecordsOf(ctx, view, below...) {
			if err != nil {
				yield(nil, j.rows.explain(ctx, at.Batch, err))
				return
			}
			if !yield(rec, nil) {
				return
			}
		}
	}
}

func (j *JoinSide) states() (rows, counts *statestore.Store, err error) {
	if rows, err = j.rows.state(); err != nil {
		return nil, nil, err
	}
	if counts, err = j.counts.state(); err != nil {
		return nil, nil, err
	}
	if _, err = rows.Schema(); err != nil {
		return nil, nil, err
	}
	if j.key == nil {
		return nil, nil, &statestore.FileError{Path: j.rows.op.dir, Offset: -1, Kind: statestore.ErrRow,
			Detail: fmt.Sprintf("the key of store %s has no columns, and a join's has its index at least", j.rows.name)}
	}
	for _, f := range j.key.Fields {
		if f.Type.Resolved().Kind == sqltype.Unknown {
			return nil, nil, &statestore.FileError{Path: j.rows.op.dir, Offset: -1, Kind: statestore.ErrUnsupported,
				Detail: fmt.Sprintf("join key %s is of a type that is not known (%s), so rows cannot be matched to their key's number", f.Name, f.Type.DDL())}
		}
	}
	return rows, counts, nil
}

// visible yields the rows of one partition that their keys' numbers cover,
// under the join key alone.
func (j *JoinSide) visible(ctx context.Context, rows, counts *statestore.Store, partition int, opts []statestore.Option, loss *JoinLoss) iter.Seq2[statestore.Entry, error] {
	return func(yield func(statestore.Entry, error) bool) {
		numbers, err := keyNumbers(ctx, counts, partition, opts)
		if err != nil {
			yield(statestore.Entry{}, err)
			return
		}
		left := int64(0)
		for _, n := range numbers {
			left += n
		}
		cut := newKeyCutter(j.key.Fields)
		leftover := int64(0)
		for e, err := range rows.Entries(ctx, partition, opts...) {
			if err != nil {
				yield(e, err)
				return
			}
			key, index, err := cut.last(e.Key)
			if err != nil {
				yield(statestore.Entry{}, err)
				return
			}
			if n := numbers[string(key)]; index < 0 || index >= n {
				leftover++
				continue
			}
			left--
			if !yield(statestore.Entry{Key: key, Value: e.Value}, nil) {
				return
			}
		}
		if loss != nil {
			loss.add(left, leftover)
		}
	}
}

// keyNumbers loads the number of rows of each key of one partition.
func keyNumbers(ctx context.Context, counts *statestore.Store, partition int, opts []statestore.Option) (map[string]int64, error) {
	out := make(map[string]int64)
	for e, err := range counts.Entries(ctx, partition, opts...) {
		if err != nil {
			return nil, err
		}
		v, err := unsaferow.View(e.Value, 1)
		if err != nil {
			return nil, fmt.Errorf("store %s, partition %d: %w", counts.Name(), partition, err)
		}
		if n := v.Int64(0); !v.IsNull(0) && n > 0 {
			out[string(e.Key)] = n
		}
	}
	return out, nil
}

// keyCutter takes the last column, a long, off key rows. What is left is byte
// for byte the row that Spark makes of the other columns: the fixed part is
// shorter, so every offset into the variable-length region moves.
type keyCutter struct {
	columns  int // without the last
	variable []int
	buf      []byte
}

// newKeyCutter returns a cutter for keys of the columns and one more.
func newKeyCutter(columns []sqltype.Field) *keyCutter {
	c := &keyCutter{columns: len(columns)}
	for i, f := range columns {
		if !f.Type.InSlot() {
			c.variable = append(c.variable, i)
		}
	}
	return c
}

var errShortKey = errors.New("a key is shorter than its fixed part")

// last returns the key without its last column, and that column. The key is
// valid until the next call.
func (c *keyCutter) last(key []byte) ([]byte, int64, error) {
	before, after := unsaferow.FixedSize(c.columns+1), unsaferow.FixedSize(c.columns)
	if len(key) < before {
		return nil, 0, &statestore.FileError{Offset: -1, Kind: statestore.ErrRow, Err: errShortKey}
	}
	wordsBefore, words := 8*((c.columns+1+63)/64), 8*((c.columns+63)/64)
	b := append(c.buf[:0], key[:words]...)
	if wordsBefore == words && words > 0 {
		b[c.columns/8] &^= 1 << (c.columns % 8)
	}
	b = append(b, key[wordsBefore:wordsBefore+8*c.columns]...)
	b = append(b, key[before:]...)
	moved := uint64(before-after) << 32
	for _, i := range c.variable {
		slot := b[words+8*i:]
		if v := binary.LittleEndian.Uint64(slot); v != 0 { // 0 is a null without a place
			binary.LittleEndian.PutUint64(slot, v-moved)
		}
	}
	c.buf = b
	return b, int64(binary.LittleEndian.Uint64(key[before-8:])), nil
}

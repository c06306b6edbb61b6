package checkpoint

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"

	"github.com/sparkstate/sparkstate/statestore"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
	"github.com/sparkstate/sparkstate/statestore/unsaferow"
)

// State is a store as one batch left it: one side of a comparison.
type State struct {
	Store *Store
	// Options say which batch, as in [Store.Entries]; without any it is the
	// last committed one. Where they pick partitions, the others are taken for
	// empty.
	Options []Option
}

// DiffKind says in what two states differ at a key.
type DiffKind uint8

const (
	// Added: only the second state has the key.
	Added DiffKind = iota
	// Removed: only the first state has it.
	Removed
	// Changed: both have it, with values of different bytes.
	Changed
)

// String returns the word in lower case.
func (k DiffKind) String() string {
	switch k {
	case Added:
		return "added"
	case Removed:
		return "removed"
	case Changed:
		return "changed"
	}
	return fmt.Sprintf("DiffKind(%d)", k)
}

// Difference is a key at which two states differ. The bytes are the caller's to
// keep.
type Difference struct {
	Kind DiffKind
	// Partition is where the second state has the row, or where the first had
	// one that is removed.
	Partition int
	Key       []byte
	// Before is nil for an added row, After for a removed one.
	Before, After []byte
}

// ErrIncomparable: the rows of two stores are of different types, so that equal
// bytes do not mean equal values.
var ErrIncomparable = errors.New("the rows cannot be compared")

// Diff is the comparison of two states: of one store after two batches, or of
// two stores, such as those of a checkpoint before and after a migration.
type Diff struct {
	before, after side
	key, value    *sqltype.Type
	notes         []string
	// apart: a key is in the same partition in both, so that partitions can be
	// compared one by one.
	apart bool
}

// side is one of the two states, looked up.
type side struct {
	store *Store
	state *statestore.Store
	at    At
	below []statestore.Option
}

// Compare makes ready to compare two states, and reads no rows yet. Stores of
// different types are ErrIncomparable. Where the same types are recorded
// differently, under other names, say, or where only one store has a schema,
// [Diff.Notes] tells. Stores without any are compared as well.
func Compare(ctx context.Context, before, after State) (*Diff, error) {
	d := &Diff{}
	for _, s := range []struct {
		to   *side
		from State
	}{{&d.before, before}, {&d.after, after}} {
		at, below, err := s.from.Store.resolve(ctx, s.from.Options)
		if err != nil {
			return nil, err
		}
		state, err := s.from.Store.state()
		if err != nil {
			return nil, err
		}
		*s.to = side{store: s.from.Store, state: state, at: at, below: below}
	}
	var err error
	a, b := before.Store, after.Store
	if d.key, err = d.common("key", a.types.key, b.types.key); err != nil {
		return nil, err
	}
	if d.value, err = d.common("value", a.types.value, b.types.value); err != nil {
		return nil, err
	}
	d.apart = a == b || placedAlike(a, b)
	return d, nil
}

// common returns the type that both stores have.
func (d *Diff) common(what string, a, b *sqltype.Type) (*sqltype.Type, error) {
	switch {
	case a == nil && b == nil:
		return nil, nil
	case a == nil:
		d.notes = append(d.notes, "no "+what+" schema is known of the first state; that of the second is taken for both")
		return b, nil
	case b == nil:
		d.notes = append(d.notes, "no "+what+" schema is known of the second state; that of the first is taken for both")
		return a, nil
	}
	if text := unlike(what, a, b); text != "" {
		return nil, fmt.Errorf("%w: %s", ErrIncomparable, text)
	}
	if a.JSON() != b.JSON() {
		d.notes = append(d.notes, "the "+what+" schemas name or describe the same types differently; rows are compared byte by byte, and columns have the names of the second state")
	}
	return b, nil
}

// unlike says in what two types differ, "" where equal bytes mean equal values.
// Names and nullability do not count, nor does what an interval or a time shows
// of its number.
func unlike(what string, a, b *sqltype.Type) string {
	a, b = a.Resolved(), b.Resolved()
	switch {
	case a.Kind != b.Kind,
		a.Kind == sqltype.Decimal && (a.Precision != b.Precision || a.Scale != b.Scale),
		a.Kind == sqltype.Unknown && a.Text != b.Text:
		return fmt.Sprintf("%s is %v in the first, %v in the second", what, a, b)
	case a.Kind == sqltype.Struct:
		if len(a.Fields) != len(b.Fields) {
			return fmt.Sprintf("%s has %d columns in the first, %d in the second", what, len(a.Fields), len(b.Fields))
		}
		for i, f := range a.Fields {
			if text := unlike(fmt.Sprintf("%s column %d (%s)", what, i, f.Name), f.Type, b.Fields[i].Type); text != "" {
				return text
			}
		}
	case a.Kind == sqltype.Array:
		return unlike(what+" element", a.Element, b.Element)
	case a.Kind == sqltype.Map:
		if text := unlike(what+" key", a.Key, b.Key); text != "" {
			return text
		}
		return unlike(what+" value", a.Value, b.Value)
	}
	return ""
}

// placedAlike says whether both stores promise to have a key in the same
// partition.
func placedAlike(a, b *Store) bool {
	p, q := a.Placement(), b.Placement()
	return p == q && p.Strict && p.Columns >= 0 &&
		a.op.partFrom == Recorded && b.op.partFrom == Recorded && a.op.partitions == b.op.partitions
}

// Before and After return which states are compared.
func (d *Diff) Before() At { return d.before.at }

// After is described at Before.
func (d *Diff) After() At { return d.after.at }

// Key and Value return the types of the rows, nil where they are not known.
func (d *Diff) Key() *sqltype.Type { return d.key }

// Value is described at Key.
func (d *Diff) Value() *sqltype.Type { return d.value }

// Notes returns what is not the same in how the two states are recorded, a
// sentence each.
func (d *Diff) Notes() []string { return d.notes }

// Differences yields the keys at which the states differ. The order is the same
// at every call: for each partition what was added and changed, in the order of
// the second state, and then what was removed, in the order of the first.
//
// Within one checkpoint, and between two that both place keys strictly over as
// many partitions, each worker holds the rows of one partition of the first
// state. Otherwise a key may be in another partition than before, so all of the
// first state is held, and what was removed comes last.
func (d *Diff) Differences(ctx context.Context) iter.Seq2[Difference, error] {
	return func(yield func(Difference, error) bool) {
		if d.apart {
			d.walk(ctx, yield, func(ctx context.Context, partition int, to *chunk) error {
				var rows held
				if err := rows.load(ctx, d.before, partition); err != nil {
					return err
				}
				if err := rows.compare(ctx, d.after, partition, to.add); err != nil {
					return err
				}
				rows.rest(to.add)
				return nil
			})
			return
		}
		var rows held
		for partition := range d.before.state.Partitions() {
			if err := rows.load(ctx, d.before, partition); err != nil {
				yield(Difference{}, err)
				return
			}
		}
		if d.walk(ctx, yield, func(ctx context.Context, partition int, to *chunk) error {
			return rows.compare(ctx, d.after, partition, to.add)
		}) {
			rows.rest(func(x Difference) bool { return yield(x, nil) })
		}
	}
}

// walk compares partition by partition, several at a time, and yields what is
// found. It reports whether it came to the end.
func (d *Diff) walk(ctx context.Context, yield func(Difference, error) bool, visit func(ctx context.Context, partition int, to *chunk) error) bool {
	for found, err := range statestore.Walk(ctx, d.after.state, func(ctx context.Context, partition int, emit func([]Difference) bool) error {
		to := &chunk{emit: emit}
		if err := visit(ctx, partition, to); err != nil {
			return err
		}
		to.flush()
		return nil
	}, d.after.below...) {
		if err != nil {
			yield(Difference{}, err)
			return false
		}
		for _, x := range found {
			if !yield(x, nil) {
				return false
			}
		}
	}
	return true
}

// chunk collects differences, because to hand over each by itself would cost
// more than to find it.
type chunk struct {
	emit  func([]Difference) bool
	found []Difference
	bytes int
	done  bool // no more are wanted
}

const (
	chunkRows  = 512
	chunkBytes = 1 << 20
)

// add reports whether more are wanted.
func (c *chunk) add(x Difference) bool {
	c.found = append(c.found, x)
	if c.bytes += len(x.Key) + len(x.Before) + len(x.After); len(c.found) >= chunkRows || c.bytes >= chunkBytes {
		c.flush()
	}
	return !c.done
}

func (c *chunk) flush() {
	if len(c.found) > 0 && !c.done {
		c.done = !c.emit(c.found)
	}
	c.found, c.bytes = nil, 0
}

// held are rows of the first state, in the order in which they were read.
type held struct {
	rows  []heldRow
	index map[string]int // by key
}

type heldRow struct {
	key, value string
	partition  int
	// met: the second state has the key too. Several of its partitions are
	// compared at the same time.
	met atomic.Bool
}

// load takes in a partition.
func (h *held) load(ctx context.Context, s side, partition int) error {
	if h.index == nil {
		h.index = make(map[string]int)
	}
	var buf []byte
	for e, err := range s.state.Entries(ctx, partition, s.below...) {
		if err != nil {
			return s.store.explain(ctx, s.at.Batch, err)
		}
		buf = append(append(buf[:0], e.Key...), e.Value...)
		row := string(buf) // one allocation for both
		key, value := row[:len(e.Key)], row[len(e.Key):]
		h.index[key] = len(h.rows)
		h.rows = append(h.rows, heldRow{key: key, value: value, partition: partition})
	}
	return nil
}

// compare hands on what a partition of the second state has and the first has
// not, or has with another value.
func (h *held) compare(ctx context.Context, s side, partition int, add func(Difference) bool) error {
	for e, err := range s.state.Entries(ctx, partition, s.below...) {
		if err != nil {
			return s.store.explain(ctx, s.at.Batch, err)
		}
		x := Difference{Kind: Added, Partition: partition}
		if i, ok := h.index[string(e.Key)]; ok {
			old := &h.rows[i]
			old.met.Store(true)
			if old.value == string(e.Value) {
				continue
			}
			x.Kind, x.Before = Changed, []byte(old.value)
		}
		x.Key, x.After = owned(e.Key), owned(e.Value)
		if !add(x) {
			break
		}
	}
	return nil
}

// rest hands on the rows that the second state has not.
func (h *held) rest(add func(Difference) bool) {
	for i := range h.rows {
		if r := &h.rows[i]; !r.met.Load() &&
			!add(Difference{Kind: Removed, Partition: r.partition, Key: []byte(r.key), Before: []byte(r.value)}) {
			return
		}
	}
}

// Fields returns the positions of the value's columns that a changed row has
// otherwise than before; none for other rows, and where no schema is known. A
// row may differ in none of them, but in bytes that belong to no column. A row
// that does not fit the schema is an error of kind ErrRow.
func (d *Diff) Fields(x Difference) ([]int, error) {
	if x.Kind != Changed || d.value == nil {
		return nil, nil
	}
	n := len(d.value.Fields)
	before, err := unsaferow.View(x.Before, n)
	if err != nil {
		return nil, d.inRow(d.before, x, err)
	}
	after, err := unsaferow.View(x.After, n)
	if err != nil {
		return nil, d.inRow(d.after, x, err)
	}
	var out []int
	for i, f := range d.value.Fields {
		a, err := column(before, i, f.Type)
		if err != nil {
			return nil, d.inRow(d.before, x, err)
		}
		b, err := column(after, i, f.Type)
		if err != nil {
			return nil, d.inRow(d.after, x, err)
		}
		if before.IsNull(i) != after.IsNull(i) || !before.IsNull(i) && !bytes.Equal(a, b) {
			out = append(out, i)
		}
	}
	return out, nil
}

func (d *Diff) inRow(s side, x Difference, err error) error {
	return fmt.Errorf("operator %s, store %s, batch %d, partition %d: value: %w", s.store.op.Label(), s.store.name, s.at.Batch, x.Partition, err)
}

// column returns the bytes by which a value equals another of its type: those
// of the slot, or of what the slot points at, since the place may be another in
// another row.
func column(r unsaferow.Row, i int, t *sqltype.Type) ([]byte, error) {
	if r.IsNull(i) {
		return nil, nil
	}
	slot := binary.LittleEndian.AppendUint64(nil, r.Word(i))
	if t.InSlot() {
		return slot, nil
	}
	b, err := r.Bytes(i)
	if err != nil && t.Resolved().Kind == sqltype.Unknown { // it may lie in the slot
		return slot, nil
	}
	return b, err
}

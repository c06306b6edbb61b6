package unsaferow

import (
	"errors"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

// chunk is how many values are decoded at a time: few enough that their bytes
// are still in the cache when the next column comes to them, and that what is
// noted about each takes no memory to speak of; many enough that calls per
// column and chunk do not count.
const chunk = 1024

// The limit on the values that a batch unfolds to. A field takes at least 8
// bytes of its row and an element one of its array, but a null struct of many
// fields takes no more than any other null: its fields are values that no byte
// pays for. The share per byte lets wide schemas through, the allowance small
// batches of them.
const (
	valuesPerByte   = 64
	valuesAllowance = 16 << 20
)

// Stats are counts of what a batch held that is worth a remark.
type Stats struct {
	// InvalidUTF8 is the number of strings in which U+FFFD stands for bytes
	// that are not UTF-8.
	InvalidUTF8 int64
	// Slack is the number of rows and structs that are larger than what their
	// values take. Spark leaves no gaps, so that more than a few hint at a
	// schema that is not the one they were written with.
	Slack int64
}

// Decoder decodes rows of one struct type into Arrow arrays. It keeps its
// scratch memory from one batch to the next, and is not safe for use by several
// goroutines at a time.
type Decoder struct {
	root *structColumn
	mem  memory.Allocator
	run  run
	rows int // of the batch so far
}

// run is what the columns of a decoder share while a batch is decoded.
type run struct {
	stats Stats
	// budget is how many more values the batch may unfold to.
	budget int64
	// maxText is how many bytes one column of text may take.
	maxText int
}

// spend takes values off the budget.
func (r *run) spend(values int) error {
	if r.budget -= int64(values); r.budget < 0 {
		return ErrBatchTooLarge
	}
	return nil
}

// NewDecoder makes a decoder for rows of the type, which is a struct. Buffers of
// the arrays come from mem (nil means memory.DefaultAllocator).
func NewDecoder(t *sqltype.Type, mem memory.Allocator) (*Decoder, error) {
	if err := checkType(t, 0); err != nil {
		return nil, err
	}
	if mem == nil {
		mem = memory.DefaultAllocator
	}
	d := &Decoder{mem: mem, run: run{maxText: maxText}}
	d.root = newStructColumn(&node{run: &d.run, mem: mem}, t.Resolved())
	return d, nil
}

// Type returns the Arrow type of the arrays that the decoder makes.
func (d *Decoder) Type() *arrow.StructType { return d.root.dtype.(*arrow.StructType) }

// Decode decodes a batch of rows into a struct array of as many elements, none
// of which is null. The caller releases it. The array does not refer to the
// bytes of the rows.
//
// If any row breaks a rule, there is no array, and the error is the [*RowError]
// of one that does. A batch that is sound but too large for one array gives
// [ErrBatchTooLarge].
func (d *Decoder) Decode(rows [][]byte) (*array.Struct, Stats, error) {
	total := 0
	for _, r := range rows {
		total += len(r)
	}
	d.Begin(len(rows), total)
	if err := d.Add(rows); err != nil {
		return nil, Stats{}, err
	}
	out, stats := d.Finish()
	return out, stats, nil
}

// Begin starts a batch that is decoded piece by piece: [Decoder.Add] as often
// as wanted, then [Decoder.Finish] or [Decoder.Discard]. It is told about how
// many rows will come, and how many bytes they have.
func (d *Decoder) Begin(rows, bytes int) {
	d.run.stats = Stats{}
	d.run.budget = valuesAllowance
	d.rows = 0
	d.root.begin(rows, bytes)
}

// Add decodes rows that are appended to the batch. It keeps nothing of their
// bytes. The errors are those of [Decoder.Decode], RowError.Row counts from the
// start of the batch; after an error there is no batch any more.
func (d *Decoder) Add(rows [][]byte) error {
	for len(rows) > 0 {
		some := rows[:min(chunk, len(rows))]
		rows = rows[len(some):]
		d.rows += len(some)
		if err := d.root.addRows(some); err != nil {
			d.root.discard()
			if errors.Is(err, ErrBatchTooLarge) && d.rows == 1 {
				err = &RowError{Reason: "it unfolds to more than one array can hold"}
			}
			return err
		}
	}
	return nil
}

// Finish returns the rows that were added since Begin. The caller releases
// them.
func (d *Decoder) Finish() (*array.Struct, Stats) {
	data := d.root.finish()
	defer data.Release()
	return array.NewStructData(data), d.run.stats
}

// Discard gives up a batch.
func (d *Decoder) Discard() { d.root.discard() }

// cells are values of one column, up to a chunk of them: value i is at byte at[i]
// of base[i] if it lies in a slot or among the elements of an array, and in
// bytes at[i] to end[i] if it lies in a region. A null has at[i] = -1; dense
// says that there is none.
type cells struct {
	base    [][]byte
	at, end []int32
	dense   bool
}

// A column turns values into an Arrow array.
type column interface {
	// begin makes ready for a batch: about as many values, with as many bytes
	// in the region.
	begin(values, bytes int)
	// add decodes values. In a RowError it returns, Row is the index of the
	// value among all the values of the column in the batch, and Offset counts
	// from the start of its base.
	add(cells) error
	// finish returns what was added since begin; the caller releases it.
	finish() *array.Data
	// discard gives back the memory of a batch that failed.
	discard()
}

// node is what every column has.
type node struct {
	run   *run
	mem   memory.Allocator
	path  string
	dtype arrow.DataType
}

// errorAt makes the error of value i among all values of the column.
func (c *node) errorAt(i, offset int, reason string) error {
	return &RowError{Row: i, Column: c.path, Offset: offset, Reason: reason}
}

func newColumn(n *node, t *sqltype.Type) column {
	t = t.Resolved()
	n.dtype = t.Arrow()
	if opaque(t) {
		return &nullColumn{node: n}
	}
	switch t.Kind {
	case sqltype.Void:
		return &nullColumn{node: n}
	case sqltype.Boolean:
		return &boolColumn{node: n}
	case sqltype.String, sqltype.Binary:
		return &textColumn{node: n, text: text{node: n, utf8: t.Kind == sqltype.String}}
	case sqltype.Decimal:
		return &decimalColumn{node: n, precision: t.Precision, inSlot: t.InSlot()}
	case sqltype.CalendarInterval:
		return newIntervalColumn(n)
	case sqltype.TimestampNanos, sqltype.TimestampNTZNanos:
		return newNanosColumn(n)
	case sqltype.Variant:
		return newVariantColumn(n)
	case sqltype.Geometry, sqltype.Geography:
		return newGeoColumn(n)
	case sqltype.Struct:
		return newStructColumn(n, t)
	case sqltype.Array:
		return newListColumn(n, t)
	case sqltype.Map:
		return newMapColumn(n, t)
	}
	return &numberColumn{node: n, width: t.ElementWidth()}
}

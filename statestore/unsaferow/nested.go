package unsaferow

import (
	"math"
	"sort"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

// structColumn holds structs, and at the top the rows themselves.
type structColumn struct {
	*node
	fields []structField
	bits   int // size of the null bits
	fixed  int // size of null bits and slots
	region int // fields that lie in the region
	// exact: what a value takes is known of every field.
	exact bool
	valid validity

	// Scratch for one chunk.
	rows    [][]byte // nil for a null
	at, end []int32
	used    []int // bytes that values of the row take, without filler
	kept    []int // the same with filler
}

type structField struct {
	shape
	column column
	path   string
}

func newStructColumn(n *node, t *sqltype.Type) *structColumn {
	n.dtype = t.Arrow()
	c := &structColumn{
		node:   n,
		fields: make([]structField, len(t.Fields)),
		bits:   bitsSize(len(t.Fields)),
		fixed:  FixedSize(len(t.Fields)),
		exact:  len(t.Fields) > 0,
	}
	names := fieldNames(t.Fields)
	for i, f := range t.Fields {
		path := join(n.path, names[i])
		c.fields[i] = structField{
			shape:  shapeOf(f.Type),
			column: newColumn(&node{run: n.run, mem: n.mem, path: path}, f.Type),
			path:   path,
		}
		switch {
		case c.fields[i].opaque:
			c.exact = false
		case !c.fields[i].inSlot:
			c.region++
		}
	}
	return c
}

func (c *structColumn) begin(n, bytes int) {
	c.valid.begin(c.mem, n)
	bytes -= n * c.fixed
	for _, f := range c.fields {
		f.column.begin(n, max(bytes, 0)/max(c.region, 1))
	}
}

// add decodes structs that lie in a region.
func (c *structColumn) add(in cells) error {
	from := c.valid.n
	c.valid.add(in)
	c.rows = scratch(c.rows, len(in.at))
	rows := c.rows
	for i, p := range in.at {
		if p < 0 {
			rows[i] = nil
			continue
		}
		rows[i] = in.base[i][p:in.end[i]]
	}
	if err := c.addFields(rows, from); err != nil {
		if re, ok := err.(*RowError); ok {
			re.Offset += int(in.at[re.Row-from])
		}
		return err
	}
	return nil
}

// addRows decodes rows that stand for themselves.
func (c *structColumn) addRows(rows [][]byte) error {
	from := c.valid.n
	bytes := 0
	for i, r := range rows {
		// None is null, but one without bytes would pass for it below.
		if r == nil && len(c.fields) > 0 {
			return c.errorAt(from+i, 0, checkFixed(0, len(c.fields)))
		}
		bytes += len(r)
	}
	c.run.budget += valuesPerByte * int64(bytes)
	c.valid.n += len(rows)
	return c.addFields(rows, from)
}

func (c *structColumn) addFields(rows [][]byte, from int) error {
	if err := c.run.spend(len(rows) * len(c.fields)); err != nil {
		return err
	}
	c.at, c.end = scratch(c.at, len(rows)), scratch(c.end, len(rows))
	c.used, c.kept = scratch(c.used, len(rows)), scratch(c.kept, len(rows))
	bits := uint64(0) // not 0 if any field of any row is null
	for i, r := range rows {
		if r == nil {
			bits = 1
			continue
		}
		if len(r)%8 != 0 || len(r) < c.fixed || len(r) > math.MaxInt32 || c.fixed == 0 && len(r) != 0 {
			return c.errorAt(from+i, 0, checkFixed(len(r), len(c.fields)))
		}
		for w := 0; w < c.bits; w += 8 {
			bits |= le.Uint64(r[w:])
		}
		c.used[i], c.kept[i] = c.fixed, c.fixed
	}
	for i := range c.fields {
		if err := c.addField(i, rows, bits != 0, from); err != nil {
			return err
		}
	}
	if c.exact {
		for i, r := range rows {
			if r != nil && c.kept[i] != len(r) {
				c.run.stats.Slack++
			}
		}
	}
	return nil
}

// addField finds the values of one field in all rows, checks what their slots
// say and hands them to their column.
func (c *structColumn) addField(i int, rows [][]byte, nulls bool, from int) error {
	f := &c.fields[i]
	slot := int32(c.bits + 8*i)
	at, end := c.at, c.end
	fail := func(j int, reason string) error {
		return &RowError{Row: from + j, Column: f.path, Offset: int(slot), Reason: reason}
	}
	switch {
	case !nulls && !f.inSlot && !f.opaque && !f.void: // where they are is found below
	case !nulls:
		for j := range at {
			at[j] = slot
		}
	default:
		for j, r := range rows {
			at[j] = slot
			switch {
			case r == nil:
				at[j] = -1
			case isNull(r, i):
				at[j] = -1
				if word := le.Uint64(r[slot:]); word != 0 {
					kept, reason := f.nullSlot(word, len(r))
					if reason != "" {
						return fail(j, reason)
					}
					c.kept[j] += kept
				}
			}
		}
	}
	switch {
	case f.opaque:
	case f.void:
		for j, p := range at {
			if p >= 0 {
				return fail(j, reasonVoid)
			}
		}
	case f.spare != 0:
		for j, p := range at {
			if p >= 0 {
				if word := le.Uint64(rows[j][p:]); word&f.spare != 0 {
					return fail(j, reasonSpare(word))
				}
			}
		}
	case !f.inSlot:
		at, end := at[:len(rows)], end[:len(rows)]
		used, kept := c.used[:len(rows)], c.kept[:len(rows)]
		for j, r := range rows {
			if nulls && at[j] < 0 {
				continue
			}
			word := le.Uint64(r[slot:])
			start, stop, ok := span(word, c.fixed, len(r))
			if !ok {
				return fail(j, spanReason(word, c.fixed, len(r)))
			}
			at[j], end[j] = int32(start), int32(stop)
			if used[j] += stop - start; used[j] > len(r) {
				return fail(j, reasonCrowded)
			}
			kept[j] += roundUp8(max(stop-start, f.kept))
		}
	}
	return f.column.add(cells{base: rows, at: at, end: end, dense: !nulls})
}

func (c *structColumn) finish() *array.Data {
	children := make([]arrow.ArrayData, len(c.fields))
	for i, f := range c.fields {
		children[i] = f.column.finish()
	}
	valid := c.valid.take()
	out := array.NewData(c.dtype, c.valid.n, []*memory.Buffer{valid}, children, c.valid.nulls, 0)
	release(valid)
	for _, child := range children {
		child.Release()
	}
	return out
}

func (c *structColumn) discard() {
	c.valid.discard()
	for _, f := range c.fields {
		f.column.discard()
	}
}

// elements takes the elements out of arrays and hands them to their column, a
// chunk at a time.
type elements struct {
	*node
	shape
	keys   bool // null is forbidden
	column column

	n       int // elements that have been handed on
	base    [][]byte
	at, end []int32
}

func newElements(parent *node, t *sqltype.Type, name string) *elements {
	n := &node{run: parent.run, mem: parent.mem, path: join(parent.path, name)}
	return &elements{
		node:   n,
		shape:  shapeOf(t),
		column: newColumn(n, t),
	}
}

func (e *elements) begin(bytes int) {
	// How many there will be is not known; as many as in the batch before is a
	// good guess.
	guess := min(max(e.n, chunk), bytes/max(e.width, 1))
	e.n = 0
	e.clear()
	e.column.begin(guess, 0)
}

func (e *elements) clear() {
	e.base, e.at, e.end = e.base[:0], e.at[:0], e.end[:0]
}

// add takes the elements of one array and returns their number. Errors about the
// array itself have its index as their Row; those of elements have the
// element's, and badElement is true.
func (e *elements) add(b []byte, index int) (n int, badElement bool, err error) {
	fail := func(at int, reason string) (int, bool, error) {
		return 0, false, e.errorAt(index, at, reason)
	}
	head, reason := readArrayHead(b, e.width)
	if reason != "" {
		return fail(0, reason)
	}
	if e.n+len(e.at)+head.n > math.MaxInt32 {
		return 0, false, ErrBatchTooLarge
	}
	if err := e.run.spend(head.n); err != nil {
		return 0, false, err
	}
	used := head.region
	for i := range head.n {
		if len(e.at) == chunk {
			if err := e.flush(); err != nil {
				return 0, true, err
			}
		}
		at := head.first + i*e.width
		switch {
		case e.opaque:
			at = -1
		case isNull(b[8:], i):
			if e.keys {
				return fail(at, reasonNullKey)
			}
			if word := element(b, at, e.width); word != 0 {
				return fail(at, reasonNullElement(word))
			}
			at = -1
		case e.void:
			return fail(at, reasonVoid)
		}
		end := 0
		if at >= 0 && !e.inSlot {
			word := le.Uint64(b[at:])
			start, stop, ok := span(word, head.region, len(b))
			if !ok {
				return fail(at, spanReason(word, head.region, len(b)))
			}
			if used += stop - start; used > len(b) {
				return fail(at, reasonCrowded)
			}
			at, end = start, stop
		}
		e.base, e.at, e.end = append(e.base, b), append(e.at, int32(at)), append(e.end, int32(end))
	}
	return head.n, false, nil
}

func (e *elements) flush() error {
	err := e.column.add(cells{base: e.base, at: e.at, end: e.end})
	e.n += len(e.at)
	e.clear()
	return err
}

// listColumn holds arrays.
type listColumn struct {
	*node
	valid   validity
	offsets buffer
	element *elements
}

func newListColumn(n *node, t *sqltype.Type) *listColumn {
	return &listColumn{node: n, element: newElements(n, t.Element, "element")}
}

func (c *listColumn) begin(n, bytes int) {
	c.valid.begin(c.mem, n)
	c.offsets.begin(c.mem, 4*(n+1))
	asInt32(c.offsets.more(4))[0] = 0
	c.element.begin(bytes)
}

func (c *listColumn) add(in cells) error {
	from := c.valid.n
	c.valid.add(in)
	last := asInt32(c.offsets.buf.Bytes())[from]
	offsets := asInt32(c.offsets.more(4 * len(in.at)))
	for i, p := range in.at {
		if p >= 0 {
			n, badElement, err := c.element.add(in.base[i][p:in.end[i]], from+i)
			if err != nil {
				return c.located(err, badElement, in, from, i)
			}
			last += int32(n)
		}
		offsets[i] = last
	}
	if err := c.element.flush(); err != nil {
		return c.located(err, true, in, from, len(in.at)-1)
	}
	return nil
}

// located turns an error of an element into one of the array that it is in, and
// counts its offset from the base of that array. Arrays of this call up to the
// one at index current have been begun.
func (c *listColumn) located(err error, badElement bool, in cells, from, current int) error {
	re, ok := err.(*RowError)
	if !ok {
		return err
	}
	if badElement {
		re.Row = owner(asInt32(c.offsets.buf.Bytes()), re.Row, from+current)
	}
	re.Offset += int(in.at[re.Row-from])
	return re
}

// owner returns the array that an element belongs to, among those up to last,
// whose own end is not noted yet.
func owner(offsets []int32, element, last int) int {
	return sort.Search(last, func(i int) bool { return int(offsets[i+1]) > element })
}

func (c *listColumn) finish() *array.Data {
	child := c.element.column.finish()
	defer child.Release()
	bufs := []*memory.Buffer{c.valid.take(), c.offsets.take()}
	defer release(bufs...)
	return array.NewData(c.dtype, c.valid.n, bufs, []arrow.ArrayData{child}, c.valid.nulls, 0)
}

func (c *listColumn) discard() {
	c.valid.discard()
	c.offsets.discard()
	c.element.column.discard()
}

// mapColumn holds maps.
type mapColumn struct {
	*node
	valid      validity
	offsets    buffer
	key, value *elements
}

func newMapColumn(n *node, t *sqltype.Type) *mapColumn {
	c := &mapColumn{node: n, key: newElements(n, t.Key, "key"), value: newElements(n, t.Value, "value")}
	c.key.keys = true
	return c
}

func (c *mapColumn) begin(n, bytes int) {
	c.valid.begin(c.mem, n)
	c.offsets.begin(c.mem, 4*(n+1))
	asInt32(c.offsets.more(4))[0] = 0
	c.key.begin(bytes / 2)
	c.value.begin(bytes / 2)
}

func (c *mapColumn) add(in cells) error {
	from := c.valid.n
	c.valid.add(in)
	last := asInt32(c.offsets.buf.Bytes())[from]
	offsets := asInt32(c.offsets.more(4 * len(in.at)))
	for i, p := range in.at {
		if p >= 0 {
			keys, values, reason := readMap(in.base[i][p:in.end[i]])
			if reason != "" {
				return c.errorAt(from+i, int(p), reason)
			}
			nk, badElement, err := c.key.add(keys, from+i)
			if err != nil {
				return c.located(err, badElement, false, in, from, i)
			}
			nv, badElement, err := c.value.add(values, from+i)
			if err != nil {
				return c.located(err, badElement, true, in, from, i)
			}
			if nk != nv {
				return c.errorAt(from+i, int(p), reasonCounts(nk, nv))
			}
			last += int32(nk)
		}
		offsets[i] = last
	}
	if err := c.key.flush(); err != nil {
		return c.located(err, true, false, in, from, len(in.at)-1)
	}
	if err := c.value.flush(); err != nil {
		return c.located(err, true, true, in, from, len(in.at)-1)
	}
	return nil
}

// located is that of lists, for one of the two arrays of a map.
func (c *mapColumn) located(err error, badElement, inValues bool, in cells, from, current int) error {
	re, ok := err.(*RowError)
	if !ok {
		return err
	}
	if badElement {
		re.Row = owner(asInt32(c.offsets.buf.Bytes()), re.Row, from+current)
	}
	i := re.Row - from
	re.Offset += 8
	if inValues {
		re.Offset += int(le.Uint64(in.base[i][in.at[i]:]))
	}
	re.Offset += int(in.at[i])
	return re
}

func (c *mapColumn) finish() *array.Data {
	key, value := c.key.column.finish(), c.value.column.finish()
	entries := array.NewData(c.dtype.(*arrow.MapType).Elem(), key.Len(), []*memory.Buffer{nil}, []arrow.ArrayData{key, value}, 0, 0)
	key.Release()
	value.Release()
	defer entries.Release()
	bufs := []*memory.Buffer{c.valid.take(), c.offsets.take()}
	defer release(bufs...)
	return array.NewData(c.dtype, c.valid.n, bufs, []arrow.ArrayData{entries}, c.valid.nulls, 0)
}

func (c *mapColumn) discard() {
	c.valid.discard()
	c.offsets.discard()
	for _, e := range []*elements{c.key, c.value} {
		e.column.discard()
	}
}

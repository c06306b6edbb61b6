package checkpoint

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/sparkstate/sparkstate/statestore"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
	"github.com/sparkstate/sparkstate/statestore/unsaferow"
)

// Key says which rows of a store are meant.
type Key struct {
	values []any
	row    []byte
	isRow  bool
}

// KeyOf is the key with these values, one for each column, as
// [unsaferow.Append] takes them. Where the last column only numbers the rows of
// a key (a session's start, a join's index), it may be left out: then all rows
// of that key are meant.
//
// Spark compares keys by their bytes, and these are not always settled by the
// values. Of floating-point numbers -0.0 and 0.0 are two keys in some operators
// (deduplication) and one in others, which store it as 0.0 (aggregations and
// joins since Spark 3.0). So -0.0 means that very key, and only where it is not
// there the one with 0.0. NaN means every NaN, whatever its bits. A null
// calendar interval or nanosecond timestamp has 16 bytes that Spark leaves as
// they were; any will do.
func KeyOf(values ...any) Key { return Key{values: values} }

// RowKey is the key with these very bytes. It needs no schema.
func RowKey(row []byte) Key { return Key{row: row, isRow: true} }

// pattern is what the bytes of a key have to look like.
type pattern struct {
	row    []byte
	blanks []blank // in ascending order
}

// blank is a place in a row where other bytes than the pattern's will do: any,
// or those of a NaN.
type blank struct {
	at, size int
	nan      bool
}

func (p *pattern) matches(key []byte) bool {
	if len(key) != len(p.row) {
		return false
	}
	at := 0
	for _, b := range p.blanks {
		end := b.at + b.size
		if !bytes.Equal(key[at:b.at], p.row[at:b.at]) || b.nan && !isNaN(key[b.at:end]) {
			return false
		}
		at = end
	}
	return bytes.Equal(key[at:], p.row[at:])
}

func isNaN(b []byte) bool {
	if len(b) == 4 {
		f := math.Float32frombits(binary.LittleEndian.Uint32(b))
		return f != f
	}
	return math.IsNaN(math.Float64frombits(binary.LittleEndian.Uint64(b)))
}

// patterns returns what the key's rows may look like, what was asked for first.
func (s *Store) patterns(k Key) ([]pattern, error) {
	if k.isRow {
		return []pattern{{row: k.row}}, nil
	}
	t := s.types.key
	if t == nil {
		return nil, fmt.Errorf("operator %s, store %s: %w: without the types of its columns a key can only be given as bytes",
			s.op.Label(), s.name, statestore.ErrNoSchema)
	}
	values := slices.Clone(k.values)
	var number []blank
	if g := s.GroupingKey(); g != nil && len(values) == len(g.Fields) && len(g.Fields) < len(t.Fields) {
		values = append(values, 0)
		number = []blank{{at: unsaferow.FixedSize(len(t.Fields)) - 8, size: 8}}
	}
	asked, err := newPattern(t, values, number)
	if err != nil {
		return nil, err
	}
	zeros := 0
	positive := rewrite(t, values, true, func(t *sqltype.Type, v any, _ bool) any {
		if f, ok := toFloat(t, v); ok && f == 0 && math.Signbit(f) {
			zeros++
			return 0.0
		}
		return v
	})
	if zeros == 0 {
		return []pattern{asked}, nil
	}
	normalised, err := newPattern(t, positive.([]any), number)
	if err != nil {
		return nil, err
	}
	return []pattern{asked, normalised}, nil
}

// newPattern encodes the values. Where in the row a blank is, it finds by
// encoding them twice more, with two values there that differ in their bytes.
func newPattern(t *sqltype.Type, values []any, blanks []blank) (pattern, error) {
	var loose []looseness
	plain := rewrite(t, values, true, func(t *sqltype.Type, v any, inRow bool) any {
		l, ok := loosenessOf(t, v, inRow)
		if !ok {
			return v
		}
		loose = append(loose, l)
		if l.nan {
			return l.low
		}
		return v
	})
	row, err := unsaferow.Append(nil, t, plain.([]any))
	if err != nil {
		return pattern{}, err
	}
	p := pattern{row: row, blanks: slices.Clone(blanks)}
	for i, l := range loose {
		low, err := withLoose(t, plain, i, l.low)
		if err != nil {
			return pattern{}, err
		}
		high, err := withLoose(t, plain, i, l.high)
		if err != nil {
			return pattern{}, err
		}
		at := 0
		for at < len(low) && low[at] == high[at] {
			at++
		}
		if at < len(low) { // a processor may know but one NaN of 32 bits
			p.blanks = append(p.blanks, blank{at: at, size: l.size, nan: l.nan})
		}
	}
	slices.SortFunc(p.blanks, func(a, b blank) int { return cmp.Compare(a.at, b.at) })
	return p, nil
}

// withLoose encodes the values with another one in the i-th place whose bytes
// are not settled.
func withLoose(t *sqltype.Type, values any, i int, v any) ([]byte, error) {
	n := -1
	changed := rewrite(t, values, true, func(t *sqltype.Type, old any, inRow bool) any {
		if _, ok := loosenessOf(t, old, inRow); ok {
			if n++; n == i {
				return v
			}
		}
		return old
	})
	return unsaferow.Append(nil, t, changed.([]any))
}

// looseness is what may be in the place of a value whose bytes are not settled.
type looseness struct {
	size int
	nan  bool
	// low and high are two values that are written to the same place, in other
	// bytes from the first on.
	low, high any
}

// loosenessOf says whether the bytes of a value are not settled. inRow tells a
// field of a struct from an element of an array, which keeps no bytes for a
// null.
func loosenessOf(t *sqltype.Type, v any, inRow bool) (looseness, bool) {
	switch t.Kind {
	case sqltype.Float, sqltype.Double:
		if f, ok := toFloat(t, v); ok && f != f {
			l := looseness{size: 8, nan: true, low: math.Float64frombits(0x7ff8000000000000), high: math.Float64frombits(math.MaxUint64)}
			if t.Kind == sqltype.Float {
				l.size = 4
			}
			return l, true
		}
	case sqltype.CalendarInterval:
		return looseness{size: 16, low: unsaferow.Interval{}, high: unsaferow.Interval{Months: -1}}, v == nil && inRow
	case sqltype.TimestampNanos, sqltype.TimestampNTZNanos:
		return looseness{size: 16, low: unsaferow.TimestampNanos{}, high: unsaferow.TimestampNanos{Microseconds: -1}}, v == nil && inRow
	}
	return looseness{}, false
}

// toFloat returns a value of a floating-point column.
func toFloat(t *sqltype.Type, v any) (float64, bool) {
	if t.Kind != sqltype.Float && t.Kind != sqltype.Double {
		return 0, false
	}
	switch v := v.(type) {
	case float64:
		return v, true
	case float32:
		return float64(v), true
	}
	return 0, false
}

// rewrite returns the value with whatever replace makes of those of its parts
// that have no parts themselves, at any depth. inRow tells fields of structs
// from elements of arrays and maps.
func rewrite(t *sqltype.Type, v any, inRow bool, replace func(t *sqltype.Type, v any, inRow bool) any) any {
	t = t.Resolved()
	switch vs := v.(type) {
	case []any:
		out := make([]any, len(vs))
		switch {
		case t.Kind == sqltype.Struct && len(vs) == len(t.Fields):
			for i, f := range t.Fields {
				out[i] = rewrite(f.Type, vs[i], true, replace)
			}
			return out
		case t.Kind == sqltype.Array:
			for i := range vs {
				out[i] = rewrite(t.Element, vs[i], false, replace)
			}
			return out
		}
	case [][2]any:
		if t.Kind == sqltype.Map {
			out := make([][2]any, len(vs))
			for i, e := range vs {
				out[i] = [2]any{rewrite(t.Key, e[0], false, replace), rewrite(t.Value, e[1], false, replace)}
			}
			return out
		}
	}
	return replace(t, v, inRow)
}

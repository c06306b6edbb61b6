package skew

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
	"github.com/sparkstate/sparkstate/statestore/unsaferow"
)

// What can be measured of a row of state.
const (
	// ByRows counts rows of state.
	ByRows = "rows"
	// ByBytes counts the bytes of their keys and values.
	ByBytes = "bytes"
	// ByChanges counts the rows that batches changed: all batches up to the one
	// asked for that can still be read.
	ByChanges = "changes"
)

// weigher returns what a row counts.
type weigher func(g checkpoint.Grouped) (float64, error)

// weigh returns the weigher of a measure: rows, bytes, or a numeric column
// such as value.count or key.window.start, named by its path.
func weigh(s *checkpoint.Store, measure string) (weigher, error) {
	switch measure {
	case ByRows, ByChanges:
		return func(checkpoint.Grouped) (float64, error) { return 1, nil }, nil
	case ByBytes:
		return func(g checkpoint.Grouped) (float64, error) {
			return float64(len(g.Stored.Key) + len(g.Stored.Value)), nil
		}, nil
	}
	side, path, ok := strings.Cut(measure, ".")
	var t *sqltype.Type
	switch side {
	case "key":
		t, _ = s.Key()
	case "value":
		t, _ = s.Value()
	default:
		ok = false
	}
	if !ok {
		return nil, fmt.Errorf("%w: %q is none of rows, bytes, changes, key.COLUMN and value.COLUMN", ErrMeasure, measure)
	}
	if t == nil {
		return nil, fmt.Errorf("%w: %s: no schema is known", ErrMeasure, measure)
	}
	read, err := numberAt(t, strings.Split(path, "."))
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrMeasure, measure, err)
	}
	return func(g checkpoint.Grouped) (float64, error) {
		row := g.Stored.Value
		if side == "key" {
			row = g.Stored.Key
		}
		v, err := read(row)
		if err != nil {
			return 0, err
		}
		// What is negative or no number weighs nothing: there is no share of it.
		if !(v > 0) || math.IsInf(v, 0) {
			return 0, nil
		}
		return v, nil
	}, nil
}

// numberAt returns a reader of a numeric column, by its path through structs.
// A null counts 0.
func numberAt(t *sqltype.Type, path []string) (func(row []byte) (float64, error), error) {
	index, err := indexOf(t, path)
	if err != nil {
		return nil, err
	}
	find, leaf := fieldAt(t, index)
	number, err := numberOf(leaf)
	if err != nil {
		return nil, fmt.Errorf("column %s: %w", path[len(path)-1], err)
	}
	return func(row []byte) (float64, error) {
		r, i, ok, err := find(row)
		if !ok {
			return 0, err
		}
		return number(r, i)
	}, nil
}

// indexOf turns the names of a path through structs into positions; of columns
// of one name the first is meant.
func indexOf(t *sqltype.Type, path []string) ([]int, error) {
	if t.Kind != sqltype.Struct {
		return nil, fmt.Errorf("there is nothing called %s in a %s", path[0], t.DDL())
	}
	i := slices.IndexFunc(t.Fields, func(f sqltype.Field) bool { return f.Name == path[0] })
	if i < 0 {
		var names []string
		for _, f := range t.Fields {
			names = append(names, f.Name)
		}
		return nil, fmt.Errorf("there is no column %s among %s", path[0], strings.Join(names, ", "))
	}
	if len(path) == 1 {
		return []int{i}, nil
	}
	rest, err := indexOf(t.Fields[i].Type.Resolved(), path[1:])
	return append([]int{i}, rest...), err
}

func numberOf(t *sqltype.Type) (func(unsaferow.Row, int) (float64, error), error) {
	switch t.Kind {
	case sqltype.Byte:
		return func(r unsaferow.Row, i int) (float64, error) { return float64(r.Int8(i)), nil }, nil
	case sqltype.Short:
		return func(r unsaferow.Row, i int) (float64, error) { return float64(r.Int16(i)), nil }, nil
	case sqltype.Integer:
		return func(r unsaferow.Row, i int) (float64, error) { return float64(r.Int32(i)), nil }, nil
	case sqltype.Long:
		return func(r unsaferow.Row, i int) (float64, error) { return float64(r.Int64(i)), nil }, nil
	case sqltype.Float:
		return func(r unsaferow.Row, i int) (float64, error) { return float64(r.Float32(i)), nil }, nil
	case sqltype.Double:
		return func(r unsaferow.Row, i int) (float64, error) { return r.Float64(i), nil }, nil
	case sqltype.Decimal:
		scale := math.Pow10(-t.Scale)
		if t.InSlot() {
			return func(r unsaferow.Row, i int) (float64, error) { return float64(r.Int64(i)) * scale, nil }, nil
		}
		return func(r unsaferow.Row, i int) (float64, error) {
			b, err := r.Bytes(i)
			if err != nil {
				return 0, err
			}
			n := new(big.Int).SetBytes(b)
			if len(b) > 0 && b[0]&0x80 != 0 {
				n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
			}
			f, _ := new(big.Float).SetInt(n).Float64()
			return f * scale, nil
		}, nil
	}
	return nil, fmt.Errorf("a %s is no number", t.DDL())
}

package statetest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
	"github.com/sparkstate/sparkstate/statestore/unsaferow"
)

// Join is a stream-stream join of state format 2, that of Spark since 3.0:
// key are the columns that are equal on both sides, whose names Spark does not
// keep, and left and right all columns of the two inputs. [Writer.PutJoin] and
// [Writer.RemoveJoin] keep its four stores in step.
//
// Formats 3 and 4 need column families, which this provider has not.
func Join(key, left, right string) Operator {
	return join(key, left, right, sqltype.Field{Name: "matched", Type: &sqltype.Type{Kind: sqltype.Boolean}, Nullable: true})
}

// JoinV1 is a join of state format 1, whose rows do not say whether they ever
// matched.
func JoinV1(key, left, right string) Operator {
	op := join(key, left, right)
	op.conf = map[string]string{checkpoint.ConfJoinFormat: "1"}
	return op
}

func join(key, left, right string, matched ...sqltype.Field) Operator {
	op := Operator{Name: "symmetricHashJoin"}
	k := structOf(op.columns(key).Fields)
	for i := range k.Fields {
		k.Fields[i].Name = fmt.Sprintf("field%d", i)
	}
	long := func(name string) []sqltype.Field {
		return []sqltype.Field{{Name: name, Type: &sqltype.Type{Kind: sqltype.Long}, Nullable: true}}
	}
	for _, side := range []struct {
		name  checkpoint.Side
		input string
	}{{checkpoint.Left, left}, {checkpoint.Right, right}} {
		op.Stores = append(op.Stores,
			Store{Name: counts(side.name), Key: k, Value: structOf(long("value"))},
			Store{Name: numbered(side.name), Key: structOf(k.Fields, long("index")), Hashed: upTo(len(k.Fields)),
				Value: structOf(op.columns(side.input).Fields, matched)})
	}
	return op
}

// counts and numbered name the stores of a side: how many rows a key has, and
// the rows, numbered from 0.
func counts(side checkpoint.Side) string   { return string(side) + "-keyToNumValues" }
func numbered(side checkpoint.Side) string { return string(side) + "-keyWithIndexToValue" }

// PutJoin adds an input row to a side of a join, as the last one of its key.
// matched says whether it has met a row of the other side; format 1 does not
// keep it.
func (w *Writer) PutJoin(operator int, side checkpoint.Side, key, row []any, matched bool) {
	n, s := w.joined(operator, side, key)
	if w.err != nil {
		return
	}
	if len(s.Value.Fields) == len(row)+1 {
		row = slices.Concat(row, []any{matched})
	}
	w.Put(operator, numbered(side), slices.Concat(key, []any{n}), row)
	w.Put(operator, counts(side), key, []any{n + 1})
}

// RemoveJoin removes a row of a key from a side of a join, by its number. The
// last one takes its place, as with Spark.
func (w *Writer) RemoveJoin(operator int, side checkpoint.Side, key []any, index int64) {
	n, s := w.joined(operator, side, key)
	if w.err != nil {
		return
	}
	if index < 0 || index >= n {
		w.fail(fmt.Errorf("statetest: a key with %d rows has no row %d", n, index))
		return
	}
	at := func(i int64) []byte {
		k, err := unsaferow.Append(nil, s.Key, slices.Concat(key, []any{i}))
		if err != nil {
			w.fail(err)
		}
		return k
	}
	last := at(n - 1)
	if index < n-1 {
		p, _ := w.place(s, last)
		row, ok := s.rows[p][string(last)]
		if !ok {
			w.fail(fmt.Errorf("statetest: row %d of the key is not there", n-1))
			return
		}
		w.PutRow(operator, numbered(side), at(index), []byte(row))
	}
	w.RemoveRow(operator, numbered(side), last)
	if n == 1 {
		w.Remove(operator, counts(side), key)
	} else {
		w.Put(operator, counts(side), key, []any{n - 1})
	}
}

// joined returns how many rows a key of a side has, and the store with the rows.
func (w *Writer) joined(operator int, side checkpoint.Side, key []any) (int64, *storeState) {
	rows, numbers := w.store(operator, numbered(side)), w.store(operator, counts(side))
	if w.err != nil {
		return 0, nil
	}
	k, err := unsaferow.Append(nil, numbers.Key, key)
	if err != nil {
		w.fail(err)
		return 0, nil
	}
	p, ok := w.place(numbers, k)
	if !ok {
		return 0, nil
	}
	v, ok := numbers.rows[p][string(k)]
	if !ok {
		return 0, rows
	}
	if len(v) != unsaferow.FixedSize(1) {
		w.fail(errors.New("statetest: the number of rows of a key is no number"))
		return 0, nil
	}
	return int64(binary.LittleEndian.Uint64([]byte(v)[8:])), rows
}

package main

import (
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/bitutil"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"github.com/sparkstate/sparkstate/examples/sparkstate/internal/sparkjson"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
	"github.com/sparkstate/sparkstate/statestore/unsaferow"
)

// decode makes an array of keys or values that are at hand as bytes, each with
// its partition; one that is nil is a null. The caller releases the array.
func (a *app) decode(what string, t *sqltype.Type, rows [][]byte, partitions []int) (*array.Struct, error) {
	d, err := unsaferow.NewDecoder(t, memory.DefaultAllocator)
	if err != nil {
		return nil, err
	}
	none, err := unsaferow.Append(nil, t, make([]any, len(t.Fields)))
	if err != nil {
		return nil, err
	}
	n, nulls := len(rows), 0
	valid := make([]byte, bitutil.BytesForBits(int64(n)))
	whole := make([][]byte, n)
	for i, row := range rows {
		if row == nil {
			row = none
			nulls++
		} else {
			bitutil.SetBit(valid, i)
		}
		whole[i] = row
	}
	all, stats, err := d.Decode(whole)
	var re *unsaferow.RowError
	if errors.As(err, &re) && re.Row >= 0 {
		return nil, fmt.Errorf("a %s in partition %d: %w", what, partitions[re.Row], err)
	}
	if err != nil {
		return nil, err
	}
	a.stats.InvalidUTF8.Add(stats.InvalidUTF8)
	if nulls == 0 {
		return all, nil
	}
	defer all.Release()
	columns := make([]arrow.ArrayData, all.NumField())
	for i := range columns {
		columns[i] = all.Field(i).Data()
	}
	data := array.NewData(all.DataType(), n, []*memory.Buffer{memory.NewBufferBytes(valid)}, columns, nulls, 0)
	defer data.Release()
	return array.NewStructData(data), nil
}

// partitionIDs makes the array of partitions that [rowSheet.each] takes.
func partitionIDs(ids []int) *array.Int32 {
	b := array.NewInt32Builder(memory.DefaultAllocator)
	defer b.Release()
	for _, id := range ids {
		b.Append(int32(id))
	}
	return b.NewInt32Array()
}

// hexWriter writes rows as hex, those that are nil as null.
func hexWriter(rows [][]byte) sparkjson.Writer {
	return func(b []byte, i int) []byte {
		if rows[i] == nil {
			return append(b, "null"...)
		}
		b = append(b, '"')
		b = hex.AppendEncode(b, rows[i])
		return append(b, '"')
	}
}

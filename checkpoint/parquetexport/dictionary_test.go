package parquetexport_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/apache/arrow/go/v17/parquet/file"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint/parquetexport"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

// Texts that repeat get a dictionary, at any depth, and those that do not get
// none. The first record decides, if it is a slice too.
func TestDictionaries(t *testing.T) {
	typ, err := sqltype.ParseDDL("all STRING, few STRING, row STRUCT<few: STRING, all: STRING>, list ARRAY<STRING>, map MAP<STRING, STRING>")
	require.NoError(t, err)
	schema := arrow.NewSchema(typ.Arrow().(*arrow.StructType).Fields(), nil)
	record := func(from, rows int) arrow.Record {
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		defer b.Release()
		add := func(b array.Builder, s string) { b.(*array.StringBuilder).Append(s) }
		for i := from; i < from+rows; i++ {
			all, few := fmt.Sprint("text ", i), fmt.Sprint("text ", i%10)
			add(b.Field(0), all)
			if i%3 == 0 {
				b.Field(1).AppendNull()
			} else {
				add(b.Field(1), few)
			}
			row := b.Field(2).(*array.StructBuilder)
			row.Append(true)
			add(row.FieldBuilder(0), few)
			add(row.FieldBuilder(1), all)
			list, m := b.Field(3).(*array.ListBuilder), b.Field(4).(*array.MapBuilder)
			list.Append(true)
			m.Append(true)
			for j := range i % 3 {
				add(list.ValueBuilder(), few)
				add(m.KeyBuilder(), fmt.Sprint(j))
				add(m.ItemBuilder(), fmt.Sprint(all, j))
			}
		}
		return b.NewRecord()
	}
	first, later := record(0, 1200), record(0, 100)
	defer first.Release()
	defer later.Release()
	slice := first.NewSlice(100, 1100)
	defer slice.Release()

	var buf bytes.Buffer
	w, err := parquetexport.NewWriter(&buf, schema)
	require.NoError(t, err)
	require.NoError(t, w.Write(slice))
	require.NoError(t, w.Write(later))
	require.NoError(t, w.Close())
	r, err := file.NewParquetReader(bytes.NewReader(buf.Bytes()))
	require.NoError(t, err)
	defer r.Close()
	require.Equal(t, 2, r.NumRowGroups())
	for g := range 2 {
		got := make(map[string]bool)
		for i := range r.MetaData().Schema.NumColumns() {
			c, err := r.RowGroup(g).MetaData().ColumnChunk(i)
			require.NoError(t, err)
			got[c.PathInSchema().String()] = c.HasDictionaryPage()
		}
		assert.Equal(t, map[string]bool{
			"all": false, "few": true, "row.few": true, "row.all": false,
			"list.list.element": true, "map.key_value.key": true, "map.key_value.value": false,
		}, got)
	}
}

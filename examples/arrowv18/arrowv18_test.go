package arrowv18_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	v17 "github.com/apache/arrow/go/v17/arrow"
	v17array "github.com/apache/arrow/go/v17/arrow/array"
	v17ipc "github.com/apache/arrow/go/v17/arrow/ipc"
	v17memory "github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/checkpoint/portable"
	"github.com/sparkstate/sparkstate/examples/arrowv18"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

// throughIPC has v18 read what v17 writes: the same record, copied.
func throughIPC(t *testing.T, rec v17.Record) arrow.RecordBatch {
	t.Helper()
	var buf bytes.Buffer
	w := v17ipc.NewWriter(&buf, v17ipc.WithSchema(rec.Schema()))
	require.NoError(t, w.Write(rec))
	require.NoError(t, w.Close())
	r, err := ipc.NewReader(&buf)
	require.NoError(t, err)
	defer r.Release()
	require.True(t, r.Next())
	out := r.RecordBatch()
	out.Retain()
	return out
}

// check converts a record and compares: the values and metadata are those that
// v18 reads of a copy, and the memory is v17's.
func check(t *testing.T, rec v17.Record, types map[string]bool) {
	t.Helper()
	got, err := arrowv18.Record(rec)
	require.NoError(t, err)
	defer got.Release()
	want := throughIPC(t, rec)
	defer want.Release()
	require.True(t, got.Schema().Equal(want.Schema()), "%s\n%s", got.Schema(), want.Schema())
	require.True(t, got.Schema().Metadata().Equal(want.Schema().Metadata()))
	require.True(t, array.RecordApproxEqual(want, got, array.WithNaNsEqual(true)), "%v\n%v", want, got)
	for i, c := range rec.Columns() {
		sameMemory(t, c.Data(), got.Column(i).Data())
		collect(c.DataType(), types)
	}
}

// checkSlice converts a slice of a record: it is the slice of the converted one.
func checkSlice(t *testing.T, rec v17.Record) {
	t.Helper()
	from, to := rec.NumRows()/2, rec.NumRows()
	half := rec.NewSlice(from, to)
	defer half.Release()
	got, err := arrowv18.Record(half)
	require.NoError(t, err)
	defer got.Release()
	whole, err := arrowv18.Record(rec)
	require.NoError(t, err)
	defer whole.Release()
	want := whole.NewSlice(from, to)
	defer want.Release()
	require.True(t, array.RecordApproxEqual(want, got, array.WithNaNsEqual(true)))
}

func sameMemory(t *testing.T, a v17.ArrayData, b arrow.ArrayData) {
	t.Helper()
	for i, buf := range a.Buffers() {
		if buf == nil || buf.Len() == 0 {
			continue
		}
		require.Same(t, unsafe.SliceData(buf.Bytes()), unsafe.SliceData(b.Buffers()[i].Bytes()))
		require.Equal(t, buf.Len(), b.Buffers()[i].Len())
	}
	for i, c := range a.Children() {
		sameMemory(t, c, b.Children()[i])
	}
}

func collect(t v17.DataType, types map[string]bool) {
	types[t.ID().String()] = true
	if n, ok := t.(v17.NestedType); ok {
		for _, f := range n.Fields() {
			collect(f.Type, types)
		}
	}
}

// Every record of every fixture, changes and join sides too, and as portable
// ones.
func TestFixtures(t *testing.T) {
	fixtures, err := filepath.Glob("../../testdata/[0-9]*/*")
	require.NoError(t, err)
	require.NotEmpty(t, fixtures)
	ctx := context.Background()
	types := make(map[string]bool)
	for _, name := range fixtures {
		if strings.Contains(name, "rocksdb") {
			continue // not read yet
		}
		cp, err := checkpoint.Open(name)
		require.NoError(t, err)
		for _, op := range cp.Operators() {
			for _, st := range op.Stores() {
				schema, err := st.Schema()
				require.NoError(t, err)
				shape, err := portable.New(schema)
				require.NoError(t, err)
				for rec, err := range st.Records(ctx) {
					require.NoError(t, err)
					check(t, rec, types)
					checkSlice(t, rec)
					p, err := shape.Record(rec)
					require.NoError(t, err)
					check(t, p, types)
					p.Release()
					rec.Release()
				}
				at, err := st.At(ctx)
				require.NoError(t, err)
				for rec, err := range st.Changes(ctx, 0, at.Batch) {
					require.NoError(t, err)
					check(t, rec, types)
					rec.Release()
				}
			}
			if j, err := op.JoinSide(checkpoint.Left); err == nil {
				for rec, err := range j.Records(ctx, nil) {
					require.NoError(t, err)
					check(t, rec, types)
					rec.Release()
				}
			}
		}
		require.NoError(t, cp.Close())
	}
	// Every type that package sqltype gives was among them.
	for _, k := range everyType(t) {
		collect(k.Arrow(), types)
		assert.True(t, types[k.Arrow().ID().String()])
	}
	for _, id := range []v17.Type{v17.NULL, v17.BOOL, v17.INT8, v17.INT16, v17.INT32, v17.INT64, v17.FLOAT32, v17.FLOAT64, v17.STRING, v17.BINARY, v17.DATE32,
		v17.TIMESTAMP, v17.TIME64, v17.DECIMAL128, v17.INTERVAL_MONTHS, v17.DURATION, v17.STRUCT, v17.LIST, v17.MAP} {
		assert.True(t, types[id.String()], id)
	}
}

// everyType is a type of each kind.
func everyType(t *testing.T) []*sqltype.Type {
	t.Helper()
	all, err := sqltype.ParseDDL("a BOOLEAN, b TINYINT, c SMALLINT, d INT, e BIGINT, f FLOAT, g DOUBLE, h STRING, i BINARY, j DATE, k TIMESTAMP, l TIMESTAMP_NTZ," +
		" m TIME(6), n DECIMAL(38,10), o INTERVAL YEAR TO MONTH, p INTERVAL DAY TO SECOND, q INTERVAL, r VOID, s VARIANT, t STRUCT<x: INT>, u STRUCT<>," +
		" v ARRAY<STRUCT<y: ARRAY<STRING>>>, w MAP<STRING, MAP<INT, BINARY>>, x TIMESTAMP_LTZ(9), y TIMESTAMP_NTZ(9), z DECIMAL(9,2)")
	require.NoError(t, err)
	out := []*sqltype.Type{all}
	for _, f := range all.Fields {
		out = append(out, f.Type)
	}
	return out
}

// Columns without rows, with nothing but nulls, and with one of each, of every
// type; and all memory is given back, whichever side is released first.
func TestEveryType(t *testing.T) {
	for _, typ := range everyType(t) {
		for _, rows := range []int{0, 1, 9} {
			for _, v17First := range []bool{false, true} {
				mem := v17memory.NewCheckedAllocator(v17memory.DefaultAllocator)
				schema := v17.NewSchema([]v17.Field{{Name: "x", Type: typ.Arrow(), Nullable: true}}, nil)
				b := v17array.NewRecordBuilder(mem, schema)
				for range rows {
					b.Field(0).AppendNull()
					b.Field(0).AppendEmptyValue()
				}
				rec := b.NewRecord()
				b.Release()
				check(t, rec, map[string]bool{})
				out, err := arrowv18.Record(rec)
				require.NoError(t, err)
				want := throughIPC(t, rec)
				if v17First {
					rec.Release()
				}
				assert.True(t, array.RecordEqual(want, out), typ.DDL())
				if v, ok := out.Column(0).(interface{ ValidateFull() error }); ok {
					assert.NoError(t, v.ValidateFull())
				}
				out.Release()
				if !v17First {
					rec.Release()
				}
				mem.AssertSize(t, 0)
			}
		}
	}
}

// What is not of the library's types is an error.
func TestOtherTypes(t *testing.T) {
	for _, typ := range []v17.DataType{
		v17.PrimitiveTypes.Uint8, v17.FixedWidthTypes.Float16, v17.BinaryTypes.LargeString,
		&v17.DictionaryType{IndexType: v17.PrimitiveTypes.Int32, ValueType: v17.BinaryTypes.String},
		v17.ListOf(v17.PrimitiveTypes.Uint8), v17.MapOf(v17.BinaryTypes.String, v17.PrimitiveTypes.Uint8), v17.StructOf(v17.Field{Name: "u", Type: v17.PrimitiveTypes.Uint8}),
	} {
		_, err := arrowv18.DataType(typ)
		assert.ErrorContains(t, err, "no record of sparkstate is of", "%s", typ)
	}
}

// A sequence is released as it is passed on, also on errors and when nobody
// wants more of it.
func TestRecords(t *testing.T) {
	mem := v17memory.NewCheckedAllocator(v17memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	make3 := func(typ v17.DataType, last error) func(func(v17.Record, error) bool) {
		return func(yield func(v17.Record, error) bool) {
			for i := range 3 {
				b := v17array.NewRecordBuilder(mem, v17.NewSchema([]v17.Field{{Name: "x", Type: typ}}, nil))
				b.Field(0).AppendEmptyValue()
				rec := b.NewRecord()
				b.Release()
				if !yield(rec, nil) {
					return
				}
				if i == 1 && last != nil {
					yield(nil, last)
					return
				}
			}
		}
	}
	n := 0
	for rec, err := range arrowv18.Records(make3(v17.PrimitiveTypes.Int64, nil)) {
		require.NoError(t, err)
		n += int(rec.NumRows())
		rec.Release()
	}
	assert.Equal(t, 3, n)
	for rec, err := range arrowv18.Records(make3(v17.PrimitiveTypes.Int64, nil)) {
		require.NoError(t, err)
		rec.Release()
		break
	}
	bad := errors.New("bad")
	var last error
	for rec, err := range arrowv18.Records(make3(v17.PrimitiveTypes.Int64, bad)) {
		if last = err; err == nil {
			rec.Release()
		}
	}
	assert.Equal(t, bad, last)
	for _, err := range arrowv18.Records(make3(v17.PrimitiveTypes.Uint8, nil)) {
		last = err
	}
	assert.ErrorContains(t, last, "uint8")
}

// BenchmarkRecord converts 78 MB: 3 million rows of two longs and a text, of
// which no byte is copied.
func BenchmarkRecord(b *testing.B) {
	key := v17.StructOf(v17.Field{Name: "id", Type: v17.PrimitiveTypes.Int64}, v17.Field{Name: "name", Type: v17.BinaryTypes.String})
	schema := v17.NewSchema([]v17.Field{{Name: "key", Type: key}, {Name: "value", Type: v17.PrimitiveTypes.Int64}}, nil)
	rb := v17array.NewRecordBuilder(v17memory.DefaultAllocator, schema)
	st := rb.Field(0).(*v17array.StructBuilder)
	const rows = 3_000_000
	for i := range int64(rows) {
		st.Append(true)
		st.FieldBuilder(0).(*v17array.Int64Builder).Append(i)
		st.FieldBuilder(1).(*v17array.StringBuilder).Append("adviser")
		rb.Field(1).(*v17array.Int64Builder).Append(i)
	}
	rec := rb.NewRecord()
	defer rec.Release()
	b.SetBytes(rows * (8 + 8 + 4 + 7))
	b.ReportAllocs()
	for b.Loop() {
		out, err := arrowv18.Record(rec)
		if err != nil {
			b.Fatal(err)
		}
		out.Release()
	}
}

// The rows of a store as records of arrow-go v18.
func Example() {
	cp, err := checkpoint.Open("../../testdata/4.1.4/ad_billing/checkpoint")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer cp.Close()
	st, err := cp.Store(0, "default")
	if err != nil {
		fmt.Println(err)
		return
	}
	for rec, err := range arrowv18.Records(st.Records(context.Background(), checkpoint.Partitions(0))) {
		if err != nil {
			fmt.Println(err)
			return
		}
		value := rec.Column(1).(*array.Struct)
		fmt.Println(rec.NumRows(), value.Field(0).(*array.Int64).Value(0))
		rec.Release()
	}
	// Output: 10 1
}

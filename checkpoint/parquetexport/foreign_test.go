package parquetexport_test

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"math/big"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/xitongsys/parquet-go/reader"
	"github.com/xitongsys/parquet-go/source"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/checkpoint/parquetexport"
	"github.com/sparkstate/sparkstate/checkpoint/portable"
)

// memFile is a file in memory as parquet-go wants it.
type memFile struct {
	*bytes.Reader
	data []byte
}

func (f memFile) Open(string) (source.ParquetFile, error) {
	return memFile{bytes.NewReader(f.data), f.data}, nil
}
func (f memFile) Create(string) (source.ParquetFile, error) { return nil, fmt.Errorf("read-only") }
func (f memFile) Write([]byte) (int, error)                 { return 0, fmt.Errorf("read-only") }
func (f memFile) Close() error                              { return nil }

// leaf is a column as Parquet has it.
type leaf struct {
	values []any
	rep    []int32
	def    []int32
}

// shred takes the i-th value of an array apart into leaves, by the book and
// slowly. It returns how many of them lie below.
func shred(a arrow.Array, i int, optional bool, r, d, depth int32, out []*leaf) int {
	if optional && i >= 0 {
		if a.DataType().ID() == arrow.NULL || a.IsNull(i) {
			i = -1
		} else {
			d++
		}
	}
	switch a := a.(type) {
	case *array.Struct:
		n := 0
		for f := range a.NumField() {
			nullable := a.DataType().(*arrow.StructType).Field(f).Nullable
			n += shred(a.Field(f), i, nullable, r, d, depth, out[n:])
		}
		return n
	case array.ListLike:
		elements := func(j int, r, d, depth int32) int { return shred(a.ListValues(), j, true, r, d, depth, out) }
		if m, ok := a.(*array.Map); ok {
			elements = func(j int, r, d, depth int32) int {
				n := shred(m.Keys(), j, false, r, d, depth, out)
				return n + shred(m.Items(), j, true, r, d, depth, out[n:])
			}
		}
		var from, to int64
		if i >= 0 {
			from, to = a.ValueOffsets(i)
		}
		if from == to {
			return elements(-1, r, d, depth)
		}
		n := 0
		for j := from; j < to; j++ {
			if j > from {
				r = depth + 1
			}
			n = elements(int(j), r, d+1, depth+1)
		}
		return n
	}
	var v any
	if i >= 0 {
		v = plain(a, i)
	}
	out[0].values, out[0].rep, out[0].def = append(out[0].values, v), append(out[0].rep, r), append(out[0].def, d)
	return 1
}

// plain is a value as Parquet's physical types have it.
func plain(a arrow.Array, i int) any {
	switch a := a.(type) {
	case *array.Boolean:
		return a.Value(i)
	case *array.Int8:
		return int32(a.Value(i))
	case *array.Int16:
		return int32(a.Value(i))
	case *array.Int32:
		return a.Value(i)
	case *array.Int64:
		return a.Value(i)
	case *array.Float32:
		return fmt.Sprint(a.Value(i)) // NaN equals NaN
	case *array.Float64:
		return fmt.Sprint(a.Value(i))
	case *array.String:
		return a.Value(i)
	case *array.Binary:
		return string(a.Value(i))
	case *array.Date32:
		return int32(a.Value(i))
	case *array.Timestamp:
		return int64(a.Value(i))
	case *array.Time64:
		return int64(a.Value(i))
	case *array.Decimal128:
		n := a.Value(i).BigInt()
		switch p := a.DataType().(*arrow.Decimal128Type).Precision; {
		case p <= 9:
			return int32(n.Int64())
		case p <= 18:
			return n.Int64()
		}
		return n.String()
	}
	panic(fmt.Sprintf("%T", a))
}

// foreign is a value that parquet-go read, of a leaf of an Arrow type.
func foreign(v any, t arrow.DataType) any {
	switch v := v.(type) {
	case float32, float64:
		return fmt.Sprint(v)
	case string:
		if d, ok := t.(*arrow.Decimal128Type); ok && d.Precision > 18 {
			n := new(big.Int).SetBytes([]byte(v))
			if v[0]&0x80 != 0 {
				n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(v))))
			}
			return n.String()
		}
	}
	return v
}

func leafTypes(t arrow.DataType) []arrow.DataType {
	var out []arrow.DataType
	switch t := t.(type) {
	case *arrow.MapType:
		return append(leafTypes(t.KeyType()), leafTypes(t.ItemType())...)
	case *arrow.ListType:
		return leafTypes(t.Elem())
	case *arrow.StructType:
		for _, f := range t.Fields() {
			out = append(out, leafTypes(f.Type)...)
		}
		return out
	}
	return []arrow.DataType{t}
}

// compare writes records and has parquet-go read the file: every column, with
// its levels, is what shred makes of the records. It returns the rows.
func compare(t *testing.T, schema *arrow.Schema, records iter.Seq2[arrow.Record, error]) int64 {
	t.Helper()
	var buf bytes.Buffer
	w, err := parquetexport.NewWriter(&buf, schema)
	require.NoError(t, err)
	shape, err := portable.New(schema)
	require.NoError(t, err)
	var types []arrow.DataType
	for _, f := range shape.Schema().Fields() {
		types = append(types, leafTypes(f.Type)...)
	}
	want := make([]*leaf, len(types))
	for i := range want {
		want[i] = &leaf{}
	}
	for rec, err := range records {
		require.NoError(t, err)
		require.NoError(t, w.Write(rec))
		p, err := shape.Record(rec)
		require.NoError(t, err)
		for i := range int(p.NumRows()) {
			n := 0
			for c := range int(p.NumCols()) {
				n += shred(p.Column(c), i, shape.Schema().Field(c).Nullable, 0, 0, 0, want[n:])
			}
		}
		p.Release()
		rec.Release()
	}
	require.NoError(t, w.Close())

	r, err := reader.NewParquetColumnReader(memFile{bytes.NewReader(buf.Bytes()), buf.Bytes()}, 1)
	require.NoError(t, err)
	defer r.ReadStop()
	require.Equal(t, w.Rows(), r.GetNumRows())
	require.Len(t, r.SchemaHandler.ValueColumns, len(types))
	if w.Rows() == 0 {
		return 0
	}
	for i, typ := range types {
		name := strings.ReplaceAll(r.SchemaHandler.ValueColumns[i], "\x01", ".")
		values, rep, def, err := r.ReadColumnByIndex(int64(i), w.Rows())
		require.NoError(t, err, name)
		for j := range values {
			values[j] = foreign(values[j], typ)
		}
		require.Equal(t, want[i].values, values, name)
		require.Equal(t, want[i].def, def, name)
		require.Equal(t, want[i].rep, rep, name)
	}
	return w.Rows()
}

// An independent reader sees the rows of every store and join side, and of every
// change feed, that real checkpoints hold.
func TestForeignReader(t *testing.T) {
	fixtures, err := filepath.Glob("../../testdata/[0-9]*/*")
	require.NoError(t, err)
	require.NotEmpty(t, fixtures)
	ctx := context.Background()
	for _, name := range fixtures {
		if strings.Contains(name, "rocksdb") {
			continue // not read yet
		}
		t.Run(filepath.Base(filepath.Dir(name))+"/"+filepath.Base(name), func(t *testing.T) {
			cp, err := checkpoint.Open(name)
			require.NoError(t, err)
			defer cp.Close()
			rows := int64(0)
			for _, op := range cp.Operators() {
				for _, st := range op.Stores() {
					schema, err := st.Schema()
					require.NoError(t, err)
					n := compare(t, schema, st.Records(ctx, checkpoint.BatchSize(50, 0)))
					counts, err := st.Counts(ctx)
					require.NoError(t, err)
					for _, p := range counts.Partitions {
						n -= p.Rows
					}
					assert.Zero(t, n, "rows more than there are")
					feed, err := st.ChangeSchema()
					require.NoError(t, err)
					rows += compare(t, feed, st.Changes(ctx, 0, counts.Batch))
				}
				for _, side := range []checkpoint.Side{checkpoint.Left, checkpoint.Right} {
					j, err := op.JoinSide(side)
					if err != nil {
						continue
					}
					schema, err := j.Schema()
					require.NoError(t, err)
					compare(t, schema, j.Records(ctx, nil))
				}
			}
			assert.Positive(t, rows)
		})
	}
}

package parquetexport_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/file"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/checkpoint/parquetexport"
)

const adBilling = "../../testdata/4.1.4/ad_billing/checkpoint"

// fixture returns the deduplication of the ad-billing query as records.
func fixture(t *testing.T, op int) (*checkpoint.Store, []arrow.Record) {
	t.Helper()
	cp, err := checkpoint.Open(adBilling)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, cp.Close()) })
	st, err := cp.Store(op, "default")
	require.NoError(t, err)
	var recs []arrow.Record
	for rec, err := range st.Records(context.Background()) {
		require.NoError(t, err)
		t.Cleanup(rec.Release)
		recs = append(recs, rec)
	}
	return st, recs
}

func TestMetadata(t *testing.T) {
	st, recs := fixture(t, 1)
	at, err := st.At(context.Background())
	require.NoError(t, err)
	meta := st.Origin(at).Metadata()
	var buf bytes.Buffer
	w, err := parquetexport.NewWriter(&buf, arrow.NewSchema(recs[0].Schema().Fields(), &meta))
	require.NoError(t, err)
	for _, r := range recs {
		require.NoError(t, w.Write(r))
	}
	require.NoError(t, w.Close())
	assert.Error(t, w.Close())
	assert.Error(t, w.Write(recs[0]))
	r, err := file.NewParquetReader(bytes.NewReader(buf.Bytes()))
	require.NoError(t, err)
	defer r.Close()
	kv := r.MetaData().KeyValueMetadata()
	const columns = `{"type":"struct","fields":[{"name":"key","type":{"type":"struct","fields":[` +
		`{"name":"profile_id","type":"string","nullable":true,"metadata":{}},{"name":"adviser_id","type":"string","nullable":true,"metadata":{}}]},"nullable":false,"metadata":{}},` +
		`{"name":"value","type":{"type":"struct","fields":[{"name":"__dummy__","type":"VOID","nullable":true,"metadata":{}}]},"nullable":false,"metadata":{}},` +
		`{"name":"partition_id","type":"integer","nullable":false,"metadata":{}}]}`
	for key, want := range map[string]string{
		"sparkstate.query": "2e457384-811d-4474-8099-4d705067ae12", "sparkstate.operator": "1", "sparkstate.operator_name": "dedupe",
		"sparkstate.store": "default", "sparkstate.batch": "6", "sparkstate.version": "7",
		"sparkstate.schema":                         replace(columns, "VOID", "void"),
		"org.apache.spark.sql.parquet.row.metadata": replace(columns, "VOID", "integer"),
	} {
		if v := kv.FindValue(key); assert.NotNil(t, v, key) {
			assert.Equal(t, want, *v, key)
		}
	}
	root := r.MetaData().Schema.Root()
	assert.Equal(t, "spark_schema", root.Name())
	assert.Equal(t, parquet.Repetitions.Required, root.RepetitionType())
}

func replace(s, old, new string) string {
	return string(bytes.ReplaceAll([]byte(s), []byte(old), []byte(new)))
}

// A record that is longer than a row group is cut, and one without rows is
// nothing.
func TestRowGroups(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "partition_id", Type: arrow.PrimitiveTypes.Int32}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	var buf bytes.Buffer
	w, err := parquetexport.NewWriter(&buf, schema)
	require.NoError(t, err)
	none := b.NewRecord()
	defer none.Release()
	const rows = 2*parquetexport.BatchRows + 5
	for i := range int32(rows) {
		b.Field(0).(*array.Int32Builder).Append(i)
	}
	long := b.NewRecord()
	defer long.Release()
	for _, r := range []arrow.Record{none, long, none} {
		require.NoError(t, w.Write(r))
	}
	assert.EqualValues(t, rows, w.Rows())
	require.NoError(t, w.Close())
	r, err := file.NewParquetReader(bytes.NewReader(buf.Bytes()))
	require.NoError(t, err)
	defer r.Close()
	assert.EqualValues(t, rows, r.NumRows())
	assert.Equal(t, 3, r.NumRowGroups())
}

func TestEmptyFile(t *testing.T) {
	st, _ := fixture(t, 0)
	schema, err := st.Schema()
	require.NoError(t, err)
	assert.Zero(t, compare(t, schema, func(func(arrow.Record, error) bool) {}))
}

var errFull = errors.New("no space left")

// full takes so many bytes.
type full int

func (f *full) Write(b []byte) (int, error) {
	if len(b) > int(*f) {
		n := int(*f)
		*f = 0
		return n, errFull
	}
	*f -= full(len(b))
	return len(b), nil
}

// Wherever the medium is full, the file's maker is told, though pqarrow keeps
// much to itself.
func TestWriteErrors(t *testing.T) {
	for op := range 2 {
		_, recs := fixture(t, op)
		var buf bytes.Buffer
		write := func(w interface{ Write([]byte) (int, error) }) error {
			p, err := parquetexport.NewWriter(w, recs[0].Schema())
			if err != nil {
				return err
			}
			for _, r := range recs {
				if err := p.Write(r); err != nil {
					assert.Equal(t, err, p.Write(r))
					assert.Equal(t, err, p.Close())
					return err
				}
			}
			return p.Close()
		}
		require.NoError(t, write(&buf))
		step := max(1, buf.Len()/60)
		for n := 0; n < buf.Len(); n += step {
			f := full(n)
			require.ErrorIs(t, write(&f), errFull, "after %d of %d bytes", n, buf.Len())
		}
		f := full(buf.Len() - 1)
		require.ErrorIs(t, write(&f), errFull)
	}
}

// A record of another schema is an error and no panic.
func TestOtherRecords(t *testing.T) {
	_, recs := fixture(t, 0)
	_, others := fixture(t, 1)
	w, err := parquetexport.NewWriter(&bytes.Buffer{}, recs[0].Schema())
	require.NoError(t, err)
	assert.Error(t, w.Write(others[0]))
	_, err = parquetexport.NewWriter(&bytes.Buffer{}, arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Float64}}, nil))
	assert.ErrorContains(t, err, "spark.type")
}

package checkpoint_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore/codec"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
	"github.com/sparkstate/sparkstate/statestore/unsaferow"
)

// memory builds checkpoints in memory, a batch at a time.
type memory struct {
	t    testing.TB
	fsys fstest.MapFS
}

func newMemory(t testing.TB) *memory { return &memory{t, fstest.MapFS{}} }

func (m *memory) file(name string, b []byte) { m.fsys["ck/"+name] = &fstest.MapFile{Data: b} }

// commit writes both logs of a batch.
func (m *memory) commit(batch int, conf map[string]string) {
	b, err := json.Marshal(conf)
	require.NoError(m.t, err)
	m.file(fmt.Sprintf("offsets/%d", batch), fmt.Appendf(nil, "v1\n{\"batchWatermarkMs\":0,\"batchTimestampMs\":0,\"conf\":%s}\n0", b))
	m.file(fmt.Sprintf("commits/%d", batch), []byte("v1\n{}"))
}

// schema writes a store's schema file.
func (m *memory) schema(dir string, key, value *sqltype.Type) {
	text := func(t *sqltype.Type) string { return t.JSON() }
	m.file(dir+"/_metadata/schema", append(append(javaUTF("v2"), chunked(text(key))...), chunked(text(value))...))
}

// pair is a put, or a remove where the value is nil.
type pair struct{ key, value []byte }

// delta writes a delta.
func (m *memory) delta(name string, rows ...pair) {
	var body []byte
	for _, r := range rows {
		body = append(binary.BigEndian.AppendUint32(body, uint32(len(r.key))), r.key...)
		if r.value == nil {
			body = append(body, 0xff, 0xff, 0xff, 0xff)
			continue
		}
		body = append(binary.BigEndian.AppendUint32(body, uint32(len(r.value))), r.value...)
	}
	var out bytes.Buffer
	w, err := codec.NewWriter(&out, codec.LZ4, 0)
	require.NoError(m.t, err)
	_, err = w.Write(append(body, 0xff, 0xff, 0xff, 0xff))
	require.NoError(m.t, err)
	require.NoError(m.t, w.Close())
	m.file(name, out.Bytes())
}

func (m *memory) open(opts ...checkpoint.OpenOption) *checkpoint.Checkpoint {
	cp, err := checkpoint.OpenFS(m.fsys, "ck", opts...)
	require.NoError(m.t, err)
	return cp
}

func ddl(t testing.TB, s string) *sqltype.Type {
	t.Helper()
	typ, err := sqltype.ParseDDL(s)
	require.NoError(t, err)
	return typ
}

func rowOf(t testing.TB, typ *sqltype.Type, values ...any) []byte {
	t.Helper()
	b, err := unsaferow.Append(nil, typ, values)
	require.NoError(t, err)
	return b
}

// Rows beyond their key's number are invisible, rows that it promises and that
// are not there are counted, whatever the types of the key: also those whose
// offsets move when the index is cut off, and nulls.
func TestJoinSide(t *testing.T) {
	var wide []string
	for i := range 63 { // with the index 64 columns, and a second word of null bits without it no more
		wide = append(wide, fmt.Sprintf("field%d INT", i))
	}
	for _, c := range []struct {
		key    string
		values func(i int) []any
	}{
		{"field0 STRING", func(i int) []any { return []any{[]any{"", "a", nil, "a longer key than eight"}[i]} }},
		{"field0 INT, field1 STRING", func(i int) []any { return []any{i, []any{nil, "x", "", "yy"}[i]} }},
		{"field0 DECIMAL(38,2), field1 STRING", func(i int) []any { return []any{[]any{nil, 1, 2, -3}[i], "s"} }},
		{"field0 STRUCT<start: TIMESTAMP, end: TIMESTAMP>", func(i int) []any { return []any{[]any{[]any{1, 2}, nil, []any{nil, 3}, []any{4, nil}}[i]} }},
		{"field0 ARRAY<STRING>", func(i int) []any { return []any{[]any{[]any{}, nil, []any{"a", nil}, []any{"b"}}[i]} }},
		{strings.Join(wide, ", "), func(i int) []any {
			v := make([]any, 63)
			v[0], v[62] = i, i
			return v
		}},
		{strings.Join(append(wide, "last STRING"), ", "), func(i int) []any {
			v := make([]any, 64)
			v[0], v[63] = i, "text"
			return v
		}},
	} {
		t.Run(c.key[:min(len(c.key), 40)], func(t *testing.T) {
			key, indexed := ddl(t, c.key), ddl(t, c.key+", index BIGINT")
			value := ddl(t, "v STRING, matched BOOLEAN")
			number := ddl(t, "value BIGINT")
			m := newMemory(t)
			m.commit(0, map[string]string{"spark.sql.shuffle.partitions": "1"})
			row := func(i, index int) pair {
				return pair{rowOf(t, indexed, append(c.values(i), index)...), rowOf(t, value, fmt.Sprintf("%d.%d", i, index), true)}
			}
			count := func(i, n int) pair { return pair{rowOf(t, key, c.values(i)...), rowOf(t, number, n)} }
			m.schema("state/0/0/left-keyToNumValues", key, number)
			m.schema("state/0/0/left-keyWithIndexToValue", indexed, value)
			m.delta("state/0/0/left-keyToNumValues/1.delta", count(0, 2), count(1, 1), count(2, 3))
			m.delta("state/0/0/left-keyWithIndexToValue/1.delta",
				row(0, 0), row(0, 1), row(0, 2), // one left over
				row(1, 0),
				row(2, 0), row(2, 2), // a hole at 1
				row(3, 0)) // a key without a number
			cp := m.open()
			op, err := cp.Operator(0)
			require.NoError(t, err)
			name, from := op.Name()
			assert.Equal(t, "symmetricHashJoin", name)
			assert.Equal(t, checkpoint.Inferred, from)
			side, err := op.JoinSide(checkpoint.Left)
			require.NoError(t, err)
			var loss checkpoint.JoinLoss
			var got []string
			for rec, err := range side.Records(context.Background(), &loss) {
				require.NoError(t, err)
				values := rec.Column(1).(*array.Struct)
				require.Equal(t, 1, values.NumField(), "matched is hidden")
				require.Equal(t, len(key.Fields), rec.Column(0).(*array.Struct).NumField(), "index is cut off")
				for i := range int(rec.NumRows()) {
					got = append(got, values.Field(0).(*array.String).Value(i))
				}
				rec.Release()
			}
			assert.Equal(t, []string{"0.0", "0.1", "1.0", "2.0", "2.2"}, got)
			assert.EqualValues(t, 1, loss.Holes)
			assert.EqualValues(t, 2, loss.Leftover)

			_, err = op.JoinSide(checkpoint.Right)
			require.ErrorIs(t, err, checkpoint.ErrNotFound)
			_, err = op.JoinSide("middle")
			require.ErrorIs(t, err, checkpoint.ErrNotFound)
		})
	}
}

// The keys of a join's rows are counted in the store of their numbers, and are
// not known where that one is missing.
func TestJoinKeys(t *testing.T) {
	key, indexed := ddl(t, "field0 STRING"), ddl(t, "field0 STRING, index BIGINT")
	value, number := ddl(t, "v INT"), ddl(t, "value BIGINT")
	m := newMemory(t)
	m.commit(0, map[string]string{"spark.sql.shuffle.partitions": "2"})
	m.delta("state/0/0/right-keyToNumValues/1.delta", pair{rowOf(t, key, "a"), rowOf(t, number, 3)})
	m.delta("state/0/0/right-keyWithIndexToValue/1.delta", pair{rowOf(t, indexed, "a", 0), rowOf(t, value, 1)}, pair{rowOf(t, indexed, "a", 1), rowOf(t, value, 2)})
	m.delta("state/0/1/right-keyWithIndexToValue/1.delta", pair{rowOf(t, indexed, "b", 0), rowOf(t, value, 1)})
	cp := m.open()
	rows, err := cp.Store(0, "right-keyWithIndexToValue")
	require.NoError(t, err)
	counts, err := rows.Counts(context.Background())
	require.NoError(t, err)
	assert.Equal(t, checkpoint.At{Batch: 0, Version: 1}, counts.At)
	assert.Equal(t, []int64{2, 1}, counts.Rows())
	assert.EqualValues(t, 1, counts.Partitions[0].Keys)
	assert.EqualValues(t, -1, counts.Partitions[1].Keys)
	for p := range m.fsys {
		if strings.Contains(p, "keyToNumValues") {
			delete(m.fsys, p)
		}
	}
	cp = m.open()
	rows, err = cp.Store(0, "right-keyWithIndexToValue")
	require.NoError(t, err)
	counts, err = rows.Counts(context.Background())
	require.NoError(t, err)
	assert.EqualValues(t, -1, counts.Partitions[0].Keys)
}

package checkpoint_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
	"github.com/sparkstate/sparkstate/statestore/statetest"
	"github.com/sparkstate/sparkstate/statestore/unsaferow"
)

// written is a checkpoint in memory.
type written struct {
	*statetest.Writer
	t    testing.TB
	fsys fstest.MapFS
}

// write starts a checkpoint of a query of one operator with these stores.
// Without a version of Spark it is one of 3.2, which pins no strict placement.
func write(t testing.TB, q statetest.Query, stores ...statetest.Store) *written {
	m := &written{t: t, fsys: fstest.MapFS{}}
	m.restart(q, stores...)
	return m
}

// restart writes over what is there.
func (m *written) restart(q statetest.Query, stores ...statetest.Store) {
	if q.Spark == "" {
		q.Spark = "3.2"
	}
	q.Operators = []statetest.Operator{{Stores: stores}}
	m.Writer = statetest.NewWriter(q, m.files())
}

func (m *written) files() statetest.Files { return statetest.Map(m.fsys, "ck") }

// damage does faults to what is written.
func (m *written) damage(faults ...statetest.Fault) {
	m.t.Helper()
	require.NoError(m.t, statetest.Damage(m.files(), faults...))
}

// commit ends a batch.
func (m *written) commit() {
	m.t.Helper()
	require.NoError(m.t, m.Commit())
}

// schema has the default store's schema file say something else.
func (m *written) schema(key, value *sqltype.Type) {
	m.t.Helper()
	other := write(m.t, statetest.Query{Partitions: 1}, statetest.Store{Key: key, Value: value})
	other.commit()
	name := statetest.SchemaFile(0, "").String()
	require.NoError(m.t, m.files().WriteFile(name, other.fsys["ck/"+name].Data))
}

func (m *written) open(opts ...checkpoint.OpenOption) *checkpoint.Checkpoint {
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
			counts := statetest.Store{Name: "left-keyToNumValues", Key: key, Value: number}
			rows := statetest.Store{Name: "left-keyWithIndexToValue", Key: indexed, Value: value}
			m := write(t, statetest.Query{Partitions: 1}, counts, rows)
			for i, n := range []int{2, 1, 3} {
				m.Put(0, counts.Name, c.values(i), []any{n})
			}
			for _, at := range [][2]int{
				{0, 0}, {0, 1}, {0, 2}, // one left over
				{1, 0},
				{2, 0}, {2, 2}, // a hole at 1
				{3, 0}, // a key without a number
			} {
				m.Put(0, rows.Name, append(c.values(at[0]), at[1]), []any{fmt.Sprintf("%d.%d", at[0], at[1]), true})
			}
			m.commit()
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
	numbers := statetest.Store{Name: "right-keyToNumValues", Key: key, Value: number, NoSchema: true}
	numbered := statetest.Store{Name: "right-keyWithIndexToValue", Key: indexed, Value: value, NoSchema: true}
	m := write(t, statetest.Query{Partitions: 2}, numbers, numbered)
	m.PutAt(0, numbers.Name, 0, rowOf(t, key, "a"), rowOf(t, number, 3))
	m.PutAt(0, numbered.Name, 0, rowOf(t, indexed, "a", 0), rowOf(t, value, 1))
	m.PutAt(0, numbered.Name, 0, rowOf(t, indexed, "a", 1), rowOf(t, value, 2))
	m.PutAt(0, numbered.Name, 1, rowOf(t, indexed, "b", 0), rowOf(t, value, 1))
	m.commit()
	m.damage(statetest.Drop(statetest.Delta(0, numbers.Name, 1, 1)))
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

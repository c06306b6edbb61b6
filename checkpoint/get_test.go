package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore"
	"github.com/sparkstate/sparkstate/statestore/placement"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
	"github.com/sparkstate/sparkstate/statestore/statetest"
	"github.com/sparkstate/sparkstate/statestore/unsaferow"
)

// hashed returns the partition that a key belongs in.
func hashed(t testing.TB, typ *sqltype.Type, partitions int, values ...any) int {
	t.Helper()
	h, err := placement.NewHasher(typ, nil)
	require.NoError(t, err)
	hash, err := h.Hash(rowOf(t, typ, values...))
	require.NoError(t, err)
	return placement.Partition(hash, partitions)
}

func get(t testing.TB, s *checkpoint.Store, key checkpoint.Key, opts ...checkpoint.Option) *checkpoint.Found {
	t.Helper()
	f, err := s.Get(context.Background(), key, opts...)
	require.NoError(t, err)
	return f
}

// Every row of every store is found under its key, given as bytes: alone, and
// where rows are placed strictly in the one partition that is read.
func TestGetEveryRow(t *testing.T) {
	everyStore(t, func(t *testing.T, _ string, s *checkpoint.Store) {
		n, from := s.Operator().Partitions()
		rule := s.Placement()
		hashable := false
		if g := s.GroupingKey(); g != nil {
			_, err := placement.NewHasher(g, nil)
			hashable = err == nil
		}
		for p := range n {
			i := 0
			for e, err := range s.Entries(context.Background(), p) {
				require.NoError(t, err)
				if i++; i%37 != 1 { // each is found by reading a partition
					continue
				}
				f := get(t, s, checkpoint.RowKey(e.Key))
				require.Equal(t, []checkpoint.Row{{Partition: p, Key: slices.Clone(e.Key), Value: append([]byte{}, e.Value...)}}, f.Rows)
				if rule.Strict && from == checkpoint.Recorded && hashable || rule.Single {
					assert.Empty(t, f.Reason)
					assert.Equal(t, p, f.Own)
					assert.Equal(t, []int{p}, f.Read)
				}
			}
		}
	})
}

// Where placement is strict one partition is read, whether the key is there or
// not.
func TestGetStrict(t *testing.T) {
	w := newWords(t, 4)
	w.place = func(word string) int { return hashed(t, ddl(t, "w STRING"), 4, word) }
	w.strict = true
	w.first([]any{"a", 1, "x"}, []any{"b", 2, "y"}, []any{"abcd", 3, "z"})
	w.batch([]any{"b"}, []any{"a", 10, "x"})
	s := w.store()

	f := get(t, s, checkpoint.KeyOf("a"))
	own := w.place("a")
	assert.Equal(t, checkpoint.Lookup{Own: own, Read: []int{own}}, f.Lookup)
	assert.Equal(t, checkpoint.At{Batch: 1, Version: 2}, f.At)
	require.Len(t, f.Rows, 1)
	assert.Equal(t, checkpoint.Row{Partition: own, Key: rowOf(t, ddl(t, "w STRING"), "a"), Value: rowOf(t, ddl(t, w.value), 10, "x")}, f.Rows[0])

	f = get(t, s, checkpoint.KeyOf("b"))
	assert.Empty(t, f.Rows)
	assert.Equal(t, []int{w.place("b")}, f.Read)
	f = get(t, s, checkpoint.KeyOf("b"), checkpoint.AtBatch(0))
	assert.Len(t, f.Rows, 1)

	// The same key as bytes.
	f = get(t, s, checkpoint.RowKey(rowOf(t, ddl(t, "w STRING"), "abcd")))
	assert.Len(t, f.Rows, 1)
	assert.Equal(t, []int{w.place("abcd")}, f.Read)

	// A partition without a directory has nothing to read.
	w.damage(statetest.DropPartition(0, own))
	f = get(t, w.store(), checkpoint.KeyOf("a"))
	assert.Equal(t, own, f.Own)
	assert.Empty(t, f.Rows)
	assert.Empty(t, f.Read)
}

// Where a key may be elsewhere, its own partition comes first, and all others
// are read before it is said not to be there.
func TestGetWhereverItIs(t *testing.T) {
	key := ddl(t, "w STRING")
	own := hashed(t, key, 5, "a")
	elsewhere := (own + 3) % 5
	place := func(p int) func(string) int { return func(string) int { return p } }
	others := slices.DeleteFunc([]int{0, 1, 2, 3, 4}, func(p int) bool { return p == own })
	until := func(p int) []int { return append([]int{own}, others[:slices.Index(others, p)+1]...) }
	for _, c := range []struct {
		name   string
		in     int
		change func(w *words)
		own    int
		reason string
		read   []int // where it is there
		all    []int // where it is not
	}{
		{"not strict, in its own", own, nil, own, "does not promise", []int{own}, append([]int{own}, others...)},
		{"not strict, in another", elsewhere, nil, own, "does not promise", until(elsewhere), append([]int{own}, others...)},
		{"number of partitions not recorded", elsewhere, func(w *words) {
			w.damage(statetest.ChangeConf(0, checkpoint.ConfShufflePartitions, ""), statetest.ChangeConf(0, checkpoint.ConfStrictDistribution, "true"))
		}, own, "number of partitions is not recorded", until(elsewhere), append([]int{own}, others...)},
		{"collated key", elsewhere, func(w *words) {
			w.schema(&sqltype.Type{Kind: sqltype.Struct, Fields: []sqltype.Field{
				{Name: "w", Type: &sqltype.Type{Kind: sqltype.String, Collation: "UNICODE_CI"}}}}, ddl(t, w.value))
		}, -1, "the hash of a STRING COLLATE UNICODE_CI is not known", []int{0, 1, 2, 3, 4}[:elsewhere+1], []int{0, 1, 2, 3, 4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWords(t, 5)
			w.place = place(c.in)
			w.strict = c.own < 0
			w.first([]any{"a", 1, "x"})
			if c.change != nil {
				c.change(w)
			}
			s := w.store()
			for _, workers := range []int{1, 2, 16} {
				f := get(t, s, checkpoint.KeyOf("a"), checkpoint.Workers(workers))
				require.Len(t, f.Rows, 1)
				assert.Equal(t, c.in, f.Rows[0].Partition)
				assert.Equal(t, c.own, f.Own)
				assert.Contains(t, f.Reason, c.reason)
				assert.Equal(t, c.read, f.Read)
			}
			f := get(t, s, checkpoint.KeyOf("nowhere"))
			assert.Empty(t, f.Rows)
			if c.own >= 0 {
				assert.Equal(t, hashed(t, key, 5, "nowhere"), f.Own)
				assert.Equal(t, f.Own, f.Read[0])
			}
			assert.ElementsMatch(t, c.all, f.Read)
		})
	}
}

// The last column of a join's key numbers the rows of a key: without it all of
// them are meant. It is not hashed.
func TestGetByGroupingKey(t *testing.T) {
	indexed, grouping := ddl(t, "field0 STRING, field1 DOUBLE, index BIGINT"), ddl(t, "field0 STRING, field1 DOUBLE")
	value := ddl(t, "v STRING")
	rows := statetest.Store{Name: "left-keyWithIndexToValue", Key: indexed, Value: value, Hashed: []int{0, 1}}
	m := write(t, statetest.Query{Partitions: 3}, rows)
	add := func(text any, f float64, index int) {
		m.Put(0, rows.Name, []any{text, f, index}, []any{fmt.Sprint(text, index)})
	}
	for i := range 3 {
		add("a", 1.5, i)
		add("longer than eight bytes", math.NaN(), 2-i)
		add(nil, 0, i)
	}
	add("b", 1.5, 0)
	m.commit()
	s, err := m.open().Store(0, rows.Name)
	require.NoError(t, err)
	for _, c := range []struct {
		key  []any
		want string
	}{
		{[]any{"a", 1.5}, "[a0 a1 a2]"},
		{[]any{"a", 1.5, 1}, "[a1]"},
		{[]any{"a", 1.5, 3}, "[]"},
		{[]any{"b", 1.5}, "[b0]"},
		{[]any{"longer than eight bytes", math.NaN()}, "[longer than eight bytes2 longer than eight bytes1 longer than eight bytes0]"},
		{[]any{nil, 0}, "[<nil> 0 <nil> 1 <nil> 2]"},
		{[]any{"a", 1.25}, "[]"},
		{[]any{nil, nil}, "[]"},
	} {
		f := get(t, s, checkpoint.KeyOf(c.key...))
		got := []string{}
		for _, r := range f.Rows {
			v, err := unsaferow.View(r.Value, 1)
			require.NoError(t, err)
			b, err := v.Bytes(0)
			require.NoError(t, err)
			got = append(got, string(b))
		}
		assert.Equal(t, c.want, fmt.Sprint(got), c.key)
		assert.Equal(t, []int{hashed(t, grouping, 3, c.key[:2]...)}, f.Read, c.key)
		assert.Empty(t, f.Reason)
	}
	var ve *unsaferow.ValueError
	for _, key := range []checkpoint.Key{checkpoint.KeyOf(), checkpoint.KeyOf("a"), checkpoint.KeyOf(1, 1.5), checkpoint.KeyOf("a", 1.5, 1, 2), checkpoint.KeyOf("a", "b")} {
		_, err := s.Get(context.Background(), key)
		require.ErrorAs(t, err, &ve)
	}
}

// -0.0 and 0.0 are two keys where they are stored as two, and one where only
// one of them is; every NaN is a NaN, at any depth.
func TestGetFloats(t *testing.T) {
	const odd = 0xfff8000000000001
	negative := math.Copysign(0, -1)
	key := ddl(t, "f FLOAT, d DOUBLE, a ARRAY<DOUBLE>, s STRUCT<x: FLOAT, t: STRING>, m MAP<FLOAT, DOUBLE>")
	value := ddl(t, "n BIGINT")
	oddNaN := math.Float64frombits(odd)
	none := func(f, d any) []any { return []any{f, d, nil, nil, nil} }
	stored := [][]any{
		none(negative, 1.5),
		none(0.0, 1.5),
		none(0.0, 2.5),
		none(math.Float32frombits(0xffc00001), oddNaN),
		{1.5, 2.5, []any{1.0, oddNaN, nil, oddNaN}, []any{math.Float32frombits(0x7fc00000), "text"}, nil},
		{1.5, 2.5, []any{negative}, []any{0.0, nil}, [][2]any{{1.5, oddNaN}, {0.0, negative}}},
	}
	m := write(t, statetest.Query{Partitions: 1}, statetest.Store{Key: key, Value: value})
	for i, k := range stored {
		m.PutAt(0, "", 0, rowOf(t, key, k...), rowOf(t, value, i))
	}
	m.commit()
	s, err := m.open().Store(0, "default")
	require.NoError(t, err)
	nan, nan32 := math.NaN(), float32(math.NaN())
	for _, c := range []struct {
		key  []any
		want int // -1 is not there
	}{
		{none(negative, 1.5), 0},
		{none(float32(negative), float32(1.5)), 0},
		{none(0.0, 1.5), 1},
		{none(0, 1.5), 1},
		{none(negative, 2.5), 2},
		{none(negative, 3.5), -1},
		{none(nan, nan), 3},
		{none(nan32, nan32), 3},
		{none(nan, 1.5), -1},
		{none(1.5, nan), -1},
		{[]any{1.5, 2.5, []any{1.0, nan, nil, nan}, []any{nan, "text"}, nil}, 4},
		{[]any{1.5, 2.5, []any{1.0, nan, nil, 2.0}, []any{nan, "text"}, nil}, -1},
		{[]any{1.5, 2.5, []any{1.0, nan, nil, nan}, []any{1.0, "text"}, nil}, -1},
		{[]any{1.5, 2.5, []any{negative}, []any{0.0, nil}, [][2]any{{1.5, nan}, {0.0, negative}}}, 5},
		{[]any{1.5, 2.5, []any{negative}, []any{0.0, nil}, [][2]any{{1.5, nan}, {0.0, 0.0}}}, -1},
	} {
		f := get(t, s, checkpoint.KeyOf(c.key...))
		if c.want < 0 {
			assert.Empty(t, f.Rows, c.key)
			continue
		}
		if assert.Len(t, f.Rows, 1, c.key) {
			assert.Equal(t, rowOf(t, key, stored[c.want]...), f.Rows[0].Key, c.key)
		}
	}

	// Elsewhere may be the exact one: it is looked for first.
	doubles := ddl(t, "d DOUBLE")
	own := hashed(t, doubles, 3, 0.0)
	w := write(t, statetest.Query{Partitions: 3}, statetest.Store{Key: doubles, Value: value})
	w.PutAt(0, "", own, rowOf(t, doubles, 0.0), rowOf(t, value, 1))
	w.PutAt(0, "", 2, rowOf(t, doubles, negative), rowOf(t, value, 2))
	w.commit()
	require.NotEqual(t, 2, own)
	s, err = w.open().Store(0, "default")
	require.NoError(t, err)
	f := get(t, s, checkpoint.KeyOf(negative))
	require.Len(t, f.Rows, 1)
	assert.Equal(t, 2, f.Rows[0].Partition)
	f = get(t, s, checkpoint.KeyOf(0.0))
	require.Len(t, f.Rows, 1)
	assert.Equal(t, []int{own}, f.Read)
}

// Spark keeps what was before in the place of some nulls, and takes keys for
// different that are not: all of them are found.
func TestGetNullsThatWereNotCleared(t *testing.T) {
	key, value := ddl(t, "a INTERVAL, b STRUCT<x: TIMESTAMP_LTZ(9), y: STRING>, c TIMESTAMP_NTZ(7), d ARRAY<INTERVAL>, e DECIMAL(38,2)"), ddl(t, "n BIGINT")
	null := []any{nil, []any{nil, "text"}, nil, []any{nil}, nil}
	row := rowOf(t, key, null...)
	// The places of the nulls are those where values would be.
	some := rowOf(t, key, unsaferow.Interval{Months: -1, Days: -1, Microseconds: -1},
		[]any{unsaferow.TimestampNanos{Microseconds: -1, Nanoseconds: 999}, "text"}, unsaferow.TimestampNanos{Microseconds: -1, Nanoseconds: 1}, []any{nil}, nil)
	require.Len(t, some, len(row))
	dirty := slices.Clone(row)
	for i := unsaferow.FixedSize(5); i < len(row); i++ {
		if some[i] != row[i] && i != unsaferow.FixedSize(5)+16 { // not the null bits of b
			dirty[i] = some[i]
		}
	}
	require.NotEqual(t, row, dirty)
	require.NoError(t, unsaferow.Validate(dirty, key))
	m := write(t, statetest.Query{Partitions: 1}, statetest.Store{Key: key, Value: value})
	for i, k := range [][]byte{row, dirty, some} {
		m.PutAt(0, "", 0, k, rowOf(t, value, i+1))
	}
	m.commit()
	s, err := m.open().Store(0, "default")
	require.NoError(t, err)
	f := get(t, s, checkpoint.KeyOf(null...))
	require.Len(t, f.Rows, 2)
	assert.Equal(t, row, f.Rows[0].Key)
	assert.Equal(t, dirty, f.Rows[1].Key)
	null[0] = unsaferow.Interval{}
	assert.Empty(t, get(t, s, checkpoint.KeyOf(null...)).Rows)
}

// Joins have always been strict, but -0.0 had a hash of its own once.
func TestGetNegativeZeroOfOldJoin(t *testing.T) {
	key, value := ddl(t, "field0 DOUBLE"), ddl(t, "value BIGINT")
	counts := statetest.Store{Name: "left-keyToNumValues", Key: key, Value: value}
	m := write(t, statetest.Query{Partitions: 2}, counts)
	negative := math.Copysign(0, -1)
	m.PutAt(0, counts.Name, 1-hashed(t, key, 2, 0.0), rowOf(t, key, negative), rowOf(t, value, 1))
	m.commit()
	s, err := m.open().Store(0, counts.Name)
	require.NoError(t, err)
	f := get(t, s, checkpoint.KeyOf(negative))
	assert.Len(t, f.Rows, 1)
	assert.Contains(t, f.Reason, "-0.0")
	assert.Empty(t, get(t, s, checkpoint.KeyOf(1.5)).Reason)
}

// Without a schema a key is its bytes, and may be anywhere.
func TestGetWithoutSchema(t *testing.T) {
	w := newWords(t, 3)
	w.recorded = false
	w.strict = true
	w.first([]any{"a", 1, "x"}, []any{"bb", 1, "x"})
	s := w.store()
	_, err := s.Get(context.Background(), checkpoint.KeyOf("a"))
	require.ErrorIs(t, err, statestore.ErrNoSchema)
	f := get(t, s, checkpoint.RowKey(rowOf(t, ddl(t, "w STRING"), "bb")))
	require.Len(t, f.Rows, 1)
	assert.Equal(t, 2, f.Rows[0].Partition)
	assert.Equal(t, -1, f.Own)
	assert.Equal(t, []int{0, 1, 2}, f.Read)
	assert.NotEmpty(t, f.Reason)
	// No row at all.
	f = get(t, s, checkpoint.RowKey([]byte{1, 2, 3}))
	assert.Empty(t, f.Rows)

	w.first([]any{"a", 1, "x"}, []any{"bb", 1, "x"})
	s = w.store(checkpoint.WithSchema(0, "default", ddl(t, "w STRING"), nil))
	f = get(t, s, checkpoint.KeyOf("a"))
	assert.Len(t, f.Rows, 1)
	f = get(t, s, checkpoint.RowKey([]byte{1, 2, 3}))
	assert.Empty(t, f.Rows)
	assert.Equal(t, []int{0, 1, 2}, f.Read)
}

// A global aggregation has one key, without columns.
func TestGetOfOneTask(t *testing.T) {
	m := write(t, statetest.Query{})
	m.Writer = statetest.NewWriter(statetest.Query{Operators: []statetest.Operator{statetest.Aggregation("", "n BIGINT")}}, m.files())
	m.Put(0, "", nil, []any{1})
	m.commit()
	s, err := m.open().Store(0, "default")
	require.NoError(t, err)
	f := get(t, s, checkpoint.KeyOf())
	assert.Equal(t, checkpoint.Lookup{Own: 0, Read: []int{0}}, f.Lookup)
	require.Len(t, f.Rows, 1)
	assert.Equal(t, []byte{}, f.Rows[0].Key)
}

// Damage in a partition that is read is an error, whatever was found.
func TestGetOfDamage(t *testing.T) {
	w := newWords(t, 2)
	w.place = func(word string) int { return hashed(t, ddl(t, "w STRING"), 2, word) }
	w.first([]any{"a", 1, "x"})
	own := w.place("a")
	w.damage(statetest.FlipByte(statetest.Delta(0, "", 1-own, 1), 21, 1))
	s := w.store()
	assert.Len(t, get(t, s, checkpoint.KeyOf("a")).Rows, 1)
	_, err := s.Get(context.Background(), checkpoint.KeyOf("elsewhere"))
	require.ErrorIs(t, err, statestore.ErrDamaged)
	_, err = s.GetHistory(context.Background(), checkpoint.KeyOf("elsewhere"))
	require.ErrorIs(t, err, statestore.ErrDamaged)

	w.damage(statetest.DropDelta(0, "", own, 1))
	s = w.store()
	var be *checkpoint.BatchError
	_, err = s.Get(context.Background(), checkpoint.KeyOf("a"))
	require.ErrorAs(t, err, &be)
	_, err = s.Get(context.Background(), checkpoint.KeyOf("a"), checkpoint.AtBatch(7))
	require.ErrorAs(t, err, &be)
	_, err = s.GetHistory(context.Background(), checkpoint.KeyOf("a"), checkpoint.AtBatch(7))
	require.ErrorAs(t, err, &be)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = w.store().Get(ctx, checkpoint.KeyOf("a"))
	require.Error(t, err)
	require.False(t, errors.As(err, new(*unsaferow.ValueError)))
}

// A history is every change that is still there, and says from when on it is
// all of them.
func TestGetHistory(t *testing.T) {
	w := newWords(t, 2)
	w.place = func(word string) int { return hashed(t, ddl(t, "w STRING"), 2, word) }
	w.strict = true
	w.first([]any{"a", 1, "x"}, []any{"b", 1, "x"})
	w.batch([]any{"a", 2, "x"}, []any{"a", 3, "x"})
	w.batch([]any{"a"})
	require.NoError(t, w.Snapshot(0, "", w.place("a")))
	w.batch()
	w.batch([]any{"a", 4, "x"})
	require.NoError(t, w.Snapshot(0, "", w.place("a")))
	history := func(key string, opts ...checkpoint.Option) (string, *checkpoint.KeyHistory) {
		h, err := w.store().GetHistory(context.Background(), checkpoint.KeyOf(key), opts...)
		require.NoError(t, err)
		text := ""
		for _, c := range h.Changes {
			n := int64(-1)
			if c.Type != statestore.Delete {
				v, err := unsaferow.View(c.Value, 2)
				require.NoError(t, err)
				n = v.Int64(0)
			} else {
				assert.Nil(t, c.Value)
			}
			assert.Equal(t, w.place(key), c.Partition)
			text += fmt.Sprintf("%d:%s:%d ", c.Batch, c.Type, n)
		}
		return text, h
	}
	text, h := history("a")
	assert.Equal(t, "0:update:1 1:update:2 1:update:3 2:delete:-1 4:update:4 ", text)
	assert.Zero(t, h.Since)
	assert.Equal(t, checkpoint.Lookup{Own: w.place("a"), Read: []int{w.place("a")}}, h.Lookup)
	assert.Equal(t, checkpoint.At{Batch: 4, Version: 5}, h.At)
	text, _ = history("a", checkpoint.AtBatch(2))
	assert.Equal(t, "0:update:1 1:update:2 1:update:3 2:delete:-1 ", text)
	text, h = history("nowhere")
	assert.Empty(t, text)
	assert.Equal(t, []int{w.place("nowhere")}, h.Read)

	// Retention has left a snapshot and what is after it, and an older delta.
	own := w.place("a")
	w.damage(statetest.DropDelta(0, "", own, 2))
	text, h = history("a")
	assert.Equal(t, "0:update:1 2:delete:-1 4:update:4 ", text)
	assert.Equal(t, int64(2), h.Since)
	for _, v := range []int64{1, 3, 4, 5} {
		w.damage(statetest.DropDelta(0, "", own, v))
	}
	text, h = history("a")
	assert.Empty(t, text)
	assert.Equal(t, int64(5), h.Since)

	// Not strict: the other partition is looked through, too.
	w = newWords(t, 2)
	w.place = func(string) int { return 1 - own }
	w.first([]any{"a", 1, "x"})
	text, h = history("a")
	assert.Equal(t, "0:update:1 ", text)
	assert.Equal(t, []int{own, 1 - own}, h.Read)
	_, err := w.store().GetHistory(context.Background(), checkpoint.KeyOf(1))
	var ve *unsaferow.ValueError
	require.ErrorAs(t, err, &ve)
}

func ExampleStore_Get() {
	cp, err := checkpoint.Open("../testdata/4.1.4/ad_billing/checkpoint")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer cp.Close()
	seen, err := cp.Store(1, "default")
	if err != nil {
		fmt.Println(err)
		return
	}
	f, err := seen.Get(context.Background(), checkpoint.KeyOf("profile_001201", "adviser_00010"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("after batch %d: %d row, read partitions %v\n", f.Batch, len(f.Rows), f.Read)
	// Output:
	// after batch 6: 1 row, read partitions [0]
}

package skew_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/skew"
	"github.com/sparkstate/sparkstate/statestore/placement"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
	"github.com/sparkstate/sparkstate/statestore/statetest"
	"github.com/sparkstate/sparkstate/statestore/unsaferow"
)

func ddl(t testing.TB, s string) *sqltype.Type {
	t.Helper()
	typ, err := sqltype.ParseDDL(s)
	require.NoError(t, err)
	return typ
}

// query writes a checkpoint of one operator and opens its store.
func query(t testing.TB, partitions int, op statetest.Operator, store string, write func(w *statetest.Writer)) *checkpoint.Store {
	t.Helper()
	m := fstest.MapFS{}
	w := statetest.NewWriter(statetest.Query{Spark: "4.0", Partitions: partitions, Operators: []statetest.Operator{op}}, statetest.Map(m, "ck"))
	write(w)
	require.NoError(t, w.Commit())
	cp, err := checkpoint.OpenFS(m, "ck")
	require.NoError(t, err)
	s, err := cp.Store(0, store)
	require.NoError(t, err)
	return s
}

func analyze(t testing.TB, s *checkpoint.Store, o skew.Options) *skew.Report {
	t.Helper()
	r, err := skew.Analyze(context.Background(), s, o)
	require.NoError(t, err)
	return r
}

// joinWith is a join's left side: rows[key] rows of each key; "" is the null
// key.
func joinWith(t testing.TB, partitions int, rows map[string]int) *checkpoint.Store {
	key, indexed := ddl(t, "field0 STRING"), ddl(t, "field0 STRING, index BIGINT")
	value, number := ddl(t, "v STRING, matched BOOLEAN"), ddl(t, "value BIGINT")
	op := statetest.Operator{Name: "symmetricHashJoin", Stores: []statetest.Store{
		{Name: "left-keyToNumValues", Key: key, Value: number},
		{Name: "left-keyWithIndexToValue", Key: indexed, Value: value, Hashed: []int{0}},
	}}
	return query(t, partitions, op, "left-keyWithIndexToValue", func(w *statetest.Writer) {
		for k, n := range rows {
			var v any = k
			if k == "" {
				v = nil
			}
			w.Put(0, "left-keyToNumValues", []any{v}, []any{n})
			for i := range n {
				w.Put(0, "left-keyWithIndexToValue", []any{v, i}, []any{"x", false})
			}
		}
	})
}

// keysOf returns n keys with some rows each.
func keysOf(n, rows int) map[string]int {
	out := make(map[string]int, n)
	for i := range n {
		out[fmt.Sprintf("key %d", i)] = rows
	}
	return out
}

func TestHotKeyOfAJoin(t *testing.T) {
	rows := keysOf(2000, 2)
	rows["hot"] = 3000
	r := analyze(t, joinWith(t, 20, rows), skew.Options{Floor: 100})
	assert.Equal(t, skew.HotKey, r.Verdict)
	assert.Equal(t, skew.Critical, r.Severity)
	require.NotEmpty(t, r.TopKeys)
	assert.EqualValues(t, 3000, r.TopKeys[0].Value)
	assert.Equal(t, r.Summary.Fullest, r.TopKeys[0].Partition)
	assert.Contains(t, string(r.TopKeys[0].Row), "hot")
	assert.InDelta(t, 3000.0/7000, float64(r.TopKeys[0].OfAll), 1e-9)
	assert.InDelta(t, 7000.0/2001, float64(r.RowsPerKey), 1e-9)
	assert.Greater(t, float64(r.SkewRate), 0.3)
	assert.InDelta(t, 0, float64(r.UnexplainedRate), 0.05)
	assert.Zero(t, r.Placement.Misplaced)
	require.NotEmpty(t, r.Salting)
	last := r.Salting[len(r.Salting)-1]
	assert.Equal(t, 1, last.Keys)
	assert.Less(t, float64(last.MaxOverMedian), float64(r.Summary.MaxOverMedian)/2)
	assert.Contains(t, strings.Join(r.Advice, "\n"), "repartitioning will not help: the key field0 = \"hot\" alone holds 43 %")
	assert.Contains(t, strings.Join(r.Advice, "\n"), "salt field0 = \"hot\" over")
	for _, w := range r.WhatIf {
		assert.GreaterOrEqual(t, float64(w.Max/w.Mean)+1e-9, float64(w.Floor), "nothing gets below the largest key")
	}
}

func TestNullKeyOfAJoin(t *testing.T) {
	rows := keysOf(2000, 2)
	rows[""] = 3000
	r := analyze(t, joinWith(t, 20, rows), skew.Options{Floor: 100})
	assert.Equal(t, skew.NullKey, r.Verdict)
	assert.EqualValues(t, 3000, r.NullKeys)
	assert.InDelta(t, 3000.0/7000, float64(r.Columns[0].Null), 1e-9)
	assert.Contains(t, strings.Join(r.Advice, "\n"), "every column is null")
}

func TestEvenJoin(t *testing.T) {
	r := analyze(t, joinWith(t, 4, keysOf(4000, 2)), skew.Options{})
	assert.Equal(t, skew.Even, r.Verdict)
	assert.Equal(t, skew.Info, r.Severity)
	assert.Empty(t, r.Advice)
}

// pairs is a deduplication by two columns.
func pairs(t testing.TB, partitions int, write func(put func(a, b any), at func(partition int, a, b any))) *checkpoint.Store {
	key, value := ddl(t, "profile STRING, adviser STRING"), ddl(t, "__dummy__ VOID")
	op := statetest.Operator{Name: "dedupe", Stores: []statetest.Store{{Key: key, Value: value}}}
	return query(t, partitions, op, "default", func(w *statetest.Writer) {
		write(func(a, b any) { w.Put(0, "default", []any{a, b}, []any{nil}) },
			func(p int, a, b any) {
				k, err := unsaferow.Append(nil, key, []any{a, b})
				require.NoError(t, err)
				v, err := unsaferow.Append(nil, value, []any{nil})
				require.NoError(t, err)
				w.PutAt(0, "default", p, k, v)
			})
	})
}

// A column with a hot value fills no partition where the other one is hashed
// with it; it is named all the same.
func TestHotValueOfOneColumn(t *testing.T) {
	s := pairs(t, 8, func(put func(a, b any), _ func(int, any, any)) {
		for i := range 3000 {
			adviser := fmt.Sprint("adviser ", i%50)
			if i%10 < 3 {
				adviser = "hot"
			}
			put(fmt.Sprint("profile ", i), adviser)
		}
	})
	r := analyze(t, s, skew.Options{})
	assert.Equal(t, skew.Even, r.Verdict)
	require.Len(t, r.Columns, 2)
	assert.Equal(t, "adviser", r.Columns[1].Name)
	assert.Contains(t, string(r.Columns[1].Top[0].Row), "hot")
	assert.InDelta(t, 0.3, float64(r.Columns[1].Top[0].OfAll), 1e-9)
	assert.EqualValues(t, 3000, r.Columns[0].Distinct)
	assert.Contains(t, strings.Join(r.Advice, "\n"), "adviser = \"hot\" has 30 % of the rows")
}

// Rows that were partitioned by one column alone are found out.
func TestPartitionedByASubset(t *testing.T) {
	adviserOnly, err := placement.NewHasher(ddl(t, "adviser STRING"), nil)
	require.NoError(t, err)
	s := pairs(t, 20, func(_ func(a, b any), at func(int, any, any)) {
		for i := range 5000 {
			adviser := fmt.Sprint("adviser ", i%60)
			if i%10 < 5 {
				adviser = "hot"
			}
			row, err := unsaferow.Append(nil, ddl(t, "adviser STRING"), []any{adviser})
			require.NoError(t, err)
			h, err := adviserOnly.Hash(row)
			require.NoError(t, err)
			at(placement.Partition(h, 20), fmt.Sprint("profile ", i), adviser)
		}
	})
	r := analyze(t, s, skew.Options{Floor: 100})
	assert.Equal(t, skew.WrongPartitioning, r.Verdict)
	assert.Equal(t, []string{"adviser"}, r.Placement.PartitionedBy)
	assert.Greater(t, r.Placement.Misplaced, r.Placement.Checked/2)
	assert.Contains(t, strings.Join(r.Advice, "\n"), "partitioned by adviser alone")
}

func TestFewKeys(t *testing.T) {
	s := pairs(t, 200, func(put func(a, b any), _ func(int, any, any)) {
		for i := range 137 {
			put(fmt.Sprint(i), "a")
		}
	})
	r := analyze(t, s, skew.Options{})
	assert.Equal(t, skew.FewKeys, r.Verdict)
	assert.Contains(t, strings.Join(r.Advice, "\n"), "spark.sql.shuffle.partitions = 200 is too many for 137 keys")
	assert.Contains(t, strings.Join(r.Advice, "\n"), "32 would do")
}

// counts is an aggregation: a key, a count and a text.
func counts(t testing.TB, partitions int, put func(put func(key string, n int, text string))) *checkpoint.Store {
	op := statetest.Operator{Name: "stateStoreSave", Stores: []statetest.Store{{Key: ddl(t, "adviser STRING"), Value: ddl(t, "count BIGINT, text STRING, total DECIMAL(38,2)")}}}
	return query(t, partitions, op, "default", func(w *statetest.Writer) {
		put(func(key string, n int, text string) { w.Put(0, "default", []any{key}, []any{n, text, 100 * n}) })
	})
}

func TestFatValues(t *testing.T) {
	s := counts(t, 8, func(put func(string, int, string)) {
		for i := range 4000 {
			put(fmt.Sprint("key ", i), 1, "short")
		}
		put("fat", 1, strings.Repeat("x", 200_000))
	})
	r := analyze(t, s, skew.Options{})
	assert.Equal(t, skew.FatValues, r.Verdict)
	assert.Contains(t, strings.Join(r.Advice, "\n"), "bytes are not")
	r = analyze(t, s, skew.Options{Measure: skew.ByBytes, Floor: 1000})
	assert.Equal(t, skew.FatValues, r.Verdict)
	assert.Contains(t, string(r.TopKeys[0].Row), "fat")
}

// An aggregation keeps one row a key; its count remembers the traffic.
func TestWeighing(t *testing.T) {
	s := counts(t, 20, func(put func(string, int, string)) {
		for i := range 2000 {
			put(fmt.Sprint("key ", i), 10, "")
		}
		put("busy", 20_000, "")
	})
	assert.Equal(t, skew.Even, analyze(t, s, skew.Options{}).Verdict)
	for _, measure := range []string{"value.count", "value.total"} {
		r := analyze(t, s, skew.Options{Measure: measure})
		assert.Equal(t, skew.HotKey, r.Verdict, measure)
		assert.Contains(t, string(r.TopKeys[0].Row), "busy")
		assert.InDelta(t, 0.5, float64(r.TopKeys[0].OfAll), 1e-9)
	}
	for _, measure := range []string{"value.nothing", "value.text", "count", "key.adviser", "value.count.more"} {
		_, err := skew.Analyze(context.Background(), s, skew.Options{Measure: measure})
		assert.ErrorIs(t, err, skew.ErrMeasure, measure)
	}
}

// A key that every batch touches is hot by changes, though it is one row.
func TestChanges(t *testing.T) {
	m := fstest.MapFS{}
	w := statetest.NewWriter(statetest.Query{Partitions: 8, Operators: []statetest.Operator{{Stores: []statetest.Store{{Key: ddl(t, "k STRING"), Value: ddl(t, "n BIGINT")}}}}}, statetest.Map(m, "ck"))
	for b := range 4 {
		for i := range 500 {
			w.Put(0, "default", []any{fmt.Sprint(b, "/", i)}, []any{i})
		}
		for i := range 300 {
			w.Put(0, "default", []any{"busy"}, []any{i})
		}
		require.NoError(t, w.Commit())
	}
	cp, err := checkpoint.OpenFS(m, "ck")
	require.NoError(t, err)
	s, err := cp.Store(0, "default")
	require.NoError(t, err)
	r := analyze(t, s, skew.Options{Measure: skew.ByChanges})
	assert.EqualValues(t, 4*800, r.Summary.Total)
	assert.Equal(t, skew.HotKey, r.Verdict)
	assert.EqualValues(t, 1200, r.TopKeys[0].Value)
	assert.Contains(t, r.Advice[0], `k = "busy"`)
	assert.Equal(t, skew.Even, analyze(t, s, skew.Options{}).Verdict)
	r, err = skew.Analyze(t.Context(), s, skew.Options{Measure: skew.ByChanges}, checkpoint.AtBatch(1))
	require.NoError(t, err)
	assert.EqualValues(t, 2*800, r.Summary.Total)
}

func TestSinglePartition(t *testing.T) {
	op := statetest.Operator{Name: "stateStoreSave", OneTask: true, Stores: []statetest.Store{{Key: ddl(t, ""), Value: ddl(t, "count BIGINT")}}}
	s := query(t, 200, op, "default", func(w *statetest.Writer) { w.Put(0, "default", nil, []any{1}) })
	r := analyze(t, s, skew.Options{})
	assert.Equal(t, skew.SinglePartition, r.Verdict)
	assert.Len(t, r.Values, 1)
}

// At the present count the what-if is the state as it is, and elsewhere it is
// what Spark's hash gives.
func TestWhatIf(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	s := pairs(t, 16, func(put func(a, b any), _ func(int, any, any)) {
		for range 3000 {
			put(fmt.Sprint(r.IntN(1<<30)), nil)
		}
	})
	got := analyze(t, s, skew.Options{WhatIf: []int{64, 1, 7}})
	var counts []int
	for _, w := range got.WhatIf {
		counts = append(counts, w.Partitions)
		if w.Partitions == 16 {
			assert.Equal(t, got.Summary, w.Summary)
		}
		assert.Equal(t, got.Summary.Total, w.Total)
	}
	assert.Equal(t, []int{1, 7, 16, 64}, counts)
}

// However many workers and however few keys are kept, the answer is the same
// where it is exact, and marked where it is not.
func TestBoundedMemory(t *testing.T) {
	rows := keysOf(3000, 1)
	rows["hot"] = 4000
	s := joinWith(t, 10, rows)
	whole := analyze(t, s, skew.Options{Workers: 1})
	other := analyze(t, s, skew.Options{Workers: 7})
	assert.Equal(t, whole.TopKeys, other.TopKeys)
	assert.Equal(t, whole.WhatIf, other.WhatIf)
	assert.Equal(t, whole.Advice, other.Advice)
	few := analyze(t, s, skew.Options{ExactKeys: 100})
	assert.EqualValues(t, "hot", strings.Trim(string(few.TopKeys[0].Row[16:]), "\x00"))
	assert.Equal(t, whole.Keys, few.Keys)
	assert.False(t, few.Columns[0].Exact)
	assert.Equal(t, skew.HotKey, few.Verdict)
}

// withoutSchema is a store of a hundred rows of which no schema is recorded.
func withoutSchema(t *testing.T) *checkpoint.Store {
	t.Helper()
	m := fstest.MapFS{}
	w := statetest.NewWriter(statetest.Query{Partitions: 4, Operators: []statetest.Operator{{Stores: []statetest.Store{
		{Key: ddl(t, "k STRING"), Value: ddl(t, "n BIGINT"), NoSchema: true}}}}}, statetest.Map(m, "ck"))
	for i := range 100 {
		w.Put(0, "default", []any{fmt.Sprint(i)}, []any{1})
	}
	require.NoError(t, w.Commit())
	cp, err := checkpoint.OpenFS(m, "ck")
	require.NoError(t, err)
	s, err := cp.Store(0, "default")
	require.NoError(t, err)
	return s
}

func TestWithoutSchema(t *testing.T) {
	s := withoutSchema(t)
	r := analyze(t, s, skew.Options{})
	assert.EqualValues(t, 100, r.Summary.Total)
	assert.Nil(t, r.Keys)
	assert.Empty(t, r.WhatIf)
	assert.NotEmpty(t, r.Notes)
	assert.Contains(t, []skew.Verdict{skew.Even, skew.ByChance}, r.Verdict)
}

// What a review found: none of these may panic, nor claim what is not so.
func TestNothingIsClaimed(t *testing.T) {
	// No row at all.
	empty := counts(t, 4, func(func(string, int, string)) {})
	r := analyze(t, empty, skew.Options{})
	assert.Equal(t, skew.Even, r.Verdict)
	assert.Empty(t, r.Advice)

	// Keys that crowd into every other partition, one row each: no key is hot.
	typ, value := ddl(t, "k BIGINT"), ddl(t, "n INT")
	op := statetest.Operator{Name: "stateStoreSave", Stores: []statetest.Store{{Key: typ, Value: value}}}
	crowded := query(t, 100, op, "default", func(w *statetest.Writer) {
		for i := range 400 {
			k, err := unsaferow.Append(nil, typ, []any{i})
			require.NoError(t, err)
			v, err := unsaferow.Append(nil, value, []any{1})
			require.NoError(t, err)
			w.PutAt(0, "default", i%50*2, k, v)
		}
	})
	r = analyze(t, crowded, skew.Options{})
	assert.Equal(t, skew.WrongPartitioning, r.Verdict)
	assert.Equal(t, skew.Critical, r.Severity, "Spark promises that no key is elsewhere")
	require.NotEmpty(t, r.Placement.Examples)
	for _, x := range r.Placement.Examples {
		assert.NotEqual(t, x.Partition, x.Belongs)
	}
	assert.Contains(t, strings.Join(r.Advice, " "), "Spark promises")
}

// Values whose sizes vary as they please are not fat: 40 of them over four
// partitions are uneven by chance.
func TestSizesVaryByChance(t *testing.T) {
	wrong := 0
	const runs = 60
	for seed := range uint64(runs) {
		r := rand.New(rand.NewPCG(seed, 4))
		s := counts(t, 4, func(put func(string, int, string)) {
			for range 40 {
				put(fmt.Sprint(r.Uint64()), 1, strings.Repeat("x", 1+r.IntN(1000)))
			}
		})
		if v := analyze(t, s, skew.Options{}).Verdict; v != skew.Even && v != skew.ByChance {
			wrong++
		}
	}
	assert.Zero(t, wrong, "of %d", runs)
}

// Weights may be fractions, and beyond what an integer holds.
func TestFractionalWeights(t *testing.T) {
	op := statetest.Operator{Name: "stateStoreSave", Stores: []statetest.Store{{Key: ddl(t, "k STRING"), Value: ddl(t, "w DOUBLE")}}}
	for _, unit := range []float64{1e-9, 1, 1e30} {
		s := query(t, 20, op, "default", func(w *statetest.Writer) {
			for i := range 400 {
				w.Put(0, "default", []any{fmt.Sprint(i)}, []any{unit})
			}
			w.Put(0, "default", []any{"heavy"}, []any{400 * unit})
		})
		r := analyze(t, s, skew.Options{Measure: "value.w"})
		assert.Equal(t, skew.HotKey, r.Verdict, unit)
		assert.InEpsilon(t, 400*unit, r.TopKeys[0].Value, 1e-9)
	}
}

// A partition count from a conf gone wrong, as far as it is believed, costs little
// memory and time.
func TestHugePartitionCounts(t *testing.T) {
	m := fstest.MapFS{}
	w := statetest.NewWriter(statetest.Query{Partitions: 2, Conf: map[string]string{"spark.sql.shuffle.partitions": "32000"},
		Operators: []statetest.Operator{{Stores: []statetest.Store{{Key: ddl(t, "k STRING"), Value: ddl(t, "n INT")}}}}}, statetest.Map(m, "ck"))
	w.Put(0, "default", []any{"a"}, []any{1})
	require.NoError(t, w.Commit())
	cp, err := checkpoint.OpenFS(m, "ck")
	require.NoError(t, err)
	s, err := cp.Store(0, "default")
	require.NoError(t, err)
	r := analyze(t, s, skew.Options{})
	assert.Len(t, r.Values, 32_000)
}

// Bytes that follow the rows are not fat: the key is hot by bytes as well.
func TestHotKeyByBytes(t *testing.T) {
	rows := keysOf(100, 2)
	rows["hot"] = 500
	r := analyze(t, joinWith(t, 20, rows), skew.Options{Measure: skew.ByBytes})
	assert.Equal(t, skew.HotKey, r.Verdict)
	assert.Contains(t, r.Advice[0], "hot")
}

// Two keys are too few to say that one of them stands out.
func TestTwoKeysAreFewKeys(t *testing.T) {
	r := analyze(t, joinWith(t, 5, map[string]int{"a": 1, "b": 3}), skew.Options{})
	assert.Equal(t, skew.FewKeys, r.Verdict)
}

// Changes can be counted without a schema.
func TestChangesWithoutSchema(t *testing.T) {
	s := withoutSchema(t)
	for _, measure := range []string{skew.ByChanges, skew.ByBytes} {
		r := analyze(t, s, skew.Options{Measure: measure})
		assert.Contains(t, []skew.Verdict{skew.Even, skew.ByChance}, r.Verdict, measure)
	}
}

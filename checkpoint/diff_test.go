package checkpoint_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
	"github.com/sparkstate/sparkstate/statestore/statetest"
)

// everyStore calls fn for every store that can be read of the fixtures, and of
// a larger set beside the module where there is one.
func everyStore(t *testing.T, fn func(t *testing.T, path string, s *checkpoint.Store)) {
	t.Helper()
	var paths []string
	for _, pattern := range []string{"../testdata/*/*/checkpoint", "../testdata/*/*.zip", "../../shared/corpus/*/*/ckpt"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		if len(found) == 0 {
			t.Logf("there is no %s", pattern)
		}
		paths = append(paths, found...)
	}
	for _, p := range paths {
		cp := openFixture(t, p)
		if cp.Provider().Format != checkpoint.HDFS {
			continue
		}
		for _, o := range cp.Operators() {
			for _, s := range o.Stores() {
				name := strings.TrimPrefix(strings.TrimPrefix(p, "../"), "../")
				t.Run(fmt.Sprintf("%s/%d/%s", name, o.ID(), s.Name()), func(t *testing.T) { fn(t, p, s) })
			}
		}
	}
}

// place is where a row is found.
type place struct {
	partition int
	key       string
}

// rowsAt returns the values of a store after a batch.
func rowsAt(t *testing.T, s *checkpoint.Store, batch int64) map[place]string {
	t.Helper()
	rows := make(map[place]string)
	n, _ := s.Operator().Partitions()
	for p := range n {
		for e, err := range s.Entries(context.Background(), p, checkpoint.AtBatch(batch)) {
			require.NoError(t, err)
			rows[place{p, string(e.Key)}] = string(e.Value)
		}
	}
	return rows
}

func compare(t *testing.T, a *checkpoint.Store, x int64, b *checkpoint.Store, y int64) *checkpoint.Diff {
	t.Helper()
	d, err := checkpoint.Compare(context.Background(),
		checkpoint.State{Store: a, Options: []checkpoint.Option{checkpoint.AtBatch(x)}},
		checkpoint.State{Store: b, Options: []checkpoint.Option{checkpoint.AtBatch(y)}})
	require.NoError(t, err)
	return d
}

func differences(t *testing.T, d *checkpoint.Diff) []checkpoint.Difference {
	t.Helper()
	var out []checkpoint.Difference
	for x, err := range d.Differences(context.Background()) {
		require.NoError(t, err)
		out = append(out, x)
	}
	return out
}

// apply turns the rows of the first state into those of the second.
func apply(t *testing.T, rows map[place]string, ds []checkpoint.Difference) {
	t.Helper()
	for _, x := range ds {
		k := place{x.Partition, string(x.Key)}
		before, ok := rows[k]
		if ok != (x.Kind != checkpoint.Added) || ok != (x.Before != nil) || before != string(x.Before) ||
			(x.After == nil) != (x.Kind == checkpoint.Removed) || ok && x.After != nil && before == string(x.After) {
			t.Fatalf("%v does not fit the first state", x)
		}
		if x.After == nil {
			delete(rows, k)
		} else {
			rows[k] = string(x.After)
		}
	}
}

// The differences of x and y, applied to the rows of x, give those of y, as the
// change feed does; those of a batch and itself are none. It makes no difference
// that the two are of two checkpoints.
func TestDifferencesLeadFromOneStateToTheOther(t *testing.T) {
	everyStore(t, func(t *testing.T, path string, s *checkpoint.Store) {
		batches, err := s.Readable(context.Background())
		require.NoError(t, err)
		require.NotEmpty(t, batches)
		x, y := batches[0], batches[len(batches)-1]
		first, last := rowsAt(t, s, x), rowsAt(t, s, y)
		assert.Empty(t, differences(t, compare(t, s, y, s, y)))

		ds := differences(t, compare(t, s, x, s, y))
		rows := maps.Clone(first)
		apply(t, rows, ds)
		assert.True(t, maps.Equal(last, rows))
		assert.Equal(t, ds, differences(t, compare(t, s, x, s, y)), "the order is not the same")
		apply(t, rows, differences(t, compare(t, s, y, s, x)))
		assert.True(t, maps.Equal(first, rows))

		touched := make(map[place]bool)
		n, _ := s.Operator().Partitions()
		for b := x + 1; b <= y; b++ {
			for p := range n {
				for c, err := range s.ChangeEntries(context.Background(), p, b) {
					require.NoError(t, err)
					k := place{p, string(c.Key)}
					touched[k] = true
					if c.Type == statestore.Delete {
						delete(rows, k)
					} else {
						rows[k] = string(c.Value)
					}
				}
			}
		}
		assert.True(t, maps.Equal(last, rows))
		for _, d := range ds {
			assert.True(t, touched[place{d.Partition, string(d.Key)}], "no batch has made this difference")
		}

		cp := openFixture(t, path)
		twin, err := cp.Store(s.Operator().ID(), s.Name())
		require.NoError(t, err)
		d := compare(t, s, x, twin, y)
		assert.Empty(t, d.Notes())
		assert.Equal(t, sorted(ds), sorted(differences(t, d)))
	})
}

// sorted brings what was removed among the rest, by partition and key.
func sorted(ds []checkpoint.Difference) []checkpoint.Difference {
	slices.SortFunc(ds, func(a, b checkpoint.Difference) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), bytes.Compare(a.Key, b.Key))
	})
	return ds
}

// words is a checkpoint of an aggregation in memory. Rows are placed by place.
type words struct {
	*written
	key, value string
	partitions int
	place      func(w string) int
	recorded   bool // whether there is a schema file
	strict     bool // whether the placement is pinned
}

func newWords(t *testing.T, partitions int) *words {
	return &words{written: &written{t: t, fsys: fstest.MapFS{}}, key: "w STRING", value: "n BIGINT, s STRING", partitions: partitions, recorded: true,
		place: func(w string) int { return len(w) % partitions }}
}

// first writes batch 0, over what there is.
func (w *words) first(rows ...[]any) {
	q := statetest.Query{Partitions: w.partitions}
	if w.strict {
		q.Spark = "3.5"
	}
	w.restart(q, statetest.Store{Key: ddl(w.t, w.key), Value: ddl(w.t, w.value), NoSchema: !w.recorded})
	w.batch(rows...)
}

// batch writes a batch of rows: a word and its values, none for a remove.
func (w *words) batch(rows ...[]any) {
	w.t.Helper()
	for _, r := range rows {
		p, key := w.place(r[0].(string)), rowOf(w.t, ddl(w.t, w.key), r[0])
		if len(r) > 1 {
			w.PutAt(0, "", p, key, rowOf(w.t, ddl(w.t, w.value), r[1:]...))
		} else {
			w.RemoveAt(0, "", p, key)
		}
	}
	w.commit()
}

func (w *words) store(opts ...checkpoint.OpenOption) *checkpoint.Store {
	cp := w.open(opts...)
	s, err := cp.Store(0, "default")
	require.NoError(w.t, err)
	return s
}

// told writes differences as text: what, where, which columns.
func told(t *testing.T, d *checkpoint.Diff) []string {
	t.Helper()
	var out []string
	for _, x := range differences(t, d) {
		fields, err := d.Fields(x)
		require.NoError(t, err)
		word := strings.TrimRight(string(x.Key[16:]), "\x00")
		out = append(out, fmt.Sprintf("%s %s in %d %v", x.Kind, word, x.Partition, fields))
	}
	return out
}

// Added and changed rows come in the order of the second state, removed ones
// after them, partition by partition. Columns are compared by what they hold,
// wherever it lies in the row.
func TestDiffOrderAndFields(t *testing.T) {
	w := newWords(t, 2)
	w.value = "n BIGINT, s STRING, a ARRAY<STRING>, d DECIMAL(38,2), w STRUCT<x: INT, y: STRING>, s STRING"
	w.first(
		[]any{"a", 1, "text", []any{"x"}, 5, []any{1, "y"}, "end"},
		[]any{"b", 1, "text", []any{"x"}, 5, []any{1, "y"}, "end"},
		[]any{"c", 1, nil, nil, nil, nil, nil},
		[]any{"gone", 1, "x", nil, nil, nil, nil},
		[]any{"same", 1, "x", nil, nil, nil, nil},
		[]any{"lost", 1, "x", nil, nil, nil, nil})
	w.batch(
		[]any{"a", 2, "another, longer text", []any{"x"}, 5, []any{1, "y"}, "end"}, // everything behind it has moved
		[]any{"b", 1, "text", []any{"x", nil}, nil, []any{1, "z"}, "END"},
		[]any{"c", 1, nil, nil, 0, nil, nil},
		[]any{"gone"}, []any{"lost"},
		[]any{"fresh", 1, "", nil, nil, nil, nil},
		[]any{"newcomer", 1, "", nil, nil, nil, nil})
	s := w.store()
	d := compare(t, s, 0, s, 1)
	assert.Equal(t, []string{
		"added newcomer in 0 []", "removed gone in 0 []", "removed lost in 0 []",
		"changed a in 1 [0 1]", "changed b in 1 [2 3 4 5]", "changed c in 1 [3]", "added fresh in 1 []",
	}, told(t, d))
	assert.Equal(t, checkpoint.At{Batch: 0, Version: 1}, d.Before())
	assert.Equal(t, checkpoint.At{Batch: 1, Version: 2}, d.After())

	// A caller may stop where it likes.
	for x, err := range d.Differences(context.Background()) {
		require.NoError(t, err)
		assert.Equal(t, checkpoint.Added, x.Kind)
		break
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, err := range d.Differences(ctx) {
		require.ErrorIs(t, err, context.Canceled)
	}
}

// Between checkpoints of other numbers of partitions a key is found where it
// is; rows that are the same in both do not differ.
func TestDiffAfterRepartitioning(t *testing.T) {
	a, b := newWords(t, 2), newWords(t, 5)
	b.place = func(w string) int { return int(w[0]) % 5 }
	rows := [][]any{{"one", 1, "x"}, {"two", 2, "x"}, {"three", 3, "x"}, {"four", 4, "x"}, {"five", 5, "x"}}
	a.first(rows...)
	rows[1], rows[4] = []any{"two", 2, "y"}, []any{"six", 6, "x"}
	b.first(rows...)
	d := compare(t, a.store(), 0, b.store(), 0)
	assert.Equal(t, []string{"added six in 0 []", "changed two in 1 [1]", "removed five in 0 []"}, told(t, d))
	n := 0
	for _, err := range d.Differences(context.Background()) {
		require.NoError(t, err)
		if n++; n == 3 { // the one that comes last
			break
		}
	}
	assert.Equal(t, 3, n)
}

// Where both promise that a key is where its hash says, partitions are compared
// one by one; a row that breaks the promise is a difference then.
func TestDiffOfStrictPlacement(t *testing.T) {
	a, b := newWords(t, 3), newWords(t, 3)
	a.strict, b.strict = true, true
	b.place = func(w string) int { return int(w[0]) % 3 }
	a.first([]any{"aa", 1, "x"})
	b.first([]any{"aa", 1, "x"})
	assert.Equal(t, []string{"added aa in 1 []", "removed aa in 2 []"}, told(t, compare(t, a.store(), 0, b.store(), 0)))
	b.strict = false
	b.first([]any{"aa", 1, "x"})
	assert.Empty(t, told(t, compare(t, a.store(), 0, b.store(), 0)))
}

// typed is ddl with types of the future.
func typed(t *testing.T, text string) *sqltype.Type {
	t.Helper()
	if name, kind, _ := strings.Cut(text, " "); strings.HasPrefix(kind, "holo") {
		return &sqltype.Type{Kind: sqltype.Struct, Fields: []sqltype.Field{{Name: name, Type: &sqltype.Type{Kind: sqltype.Unknown, Text: kind}}}}
	}
	return ddl(t, text)
}

// Types under other names are compared, and it is said; other types are not.
func TestDiffOfSchemas(t *testing.T) {
	row := []any{"a", 1, "x"}
	a := newWords(t, 1)
	a.first(row)
	for _, c := range []struct {
		key, value string
		notes      int
		says       string // of an error
	}{
		{"w STRING", "n BIGINT, s STRING", 0, ""},
		{"w STRING", "renamed BIGINT NOT NULL, s VARCHAR(9)", 1, ""},
		{"word STRING", "n BIGINT, t STRING", 2, ""},
		{"w STRING", "n TIMESTAMP, s STRING", 0, "value column 0 (n) is BIGINT in the first, TIMESTAMP in the second"},
		{"w STRING", "n BIGINT, s STRING, t STRING", 0, "value has 2 columns in the first, 3 in the second"},
		{"w BINARY", "n BIGINT, s STRING", 0, "key column 0 (w) is STRING in the first, BINARY in the second"},
	} {
		b := newWords(t, 1)
		b.first(row)
		// The rows are the same; what is recorded of them is not.
		b.schema(ddl(t, c.key), ddl(t, c.value))
		d, err := checkpoint.Compare(context.Background(), checkpoint.State{Store: a.store()}, checkpoint.State{Store: b.store()})
		if c.says != "" {
			require.ErrorIs(t, err, checkpoint.ErrIncomparable)
			assert.Contains(t, err.Error(), c.says)
			continue
		}
		require.NoError(t, err)
		assert.Len(t, d.Notes(), c.notes)
		assert.Empty(t, differences(t, d))
		assert.Equal(t, ddl(t, c.value).DDL(), d.Value().DDL())
	}
	for _, c := range []struct{ a, b, says string }{
		{"a ARRAY<INT>", "a ARRAY<BIGINT>", "value column 0 (a) element is INT"},
		{"m MAP<INT, STRUCT<x: DECIMAL(9,2)>>", "m MAP<INT, STRUCT<x: DECIMAL(9,3)>>", "value column 0 (m) value column 0 (x) is DECIMAL(9,2)"},
		{"m MAP<INT, INT>", "m MAP<DATE, INT>", "value column 0 (m) key is INT"},
		{"t hologram", "t holodeck", "value column 0 (t) is hologram in the first, holodeck in the second"},
		{"i INTERVAL DAY", "i INTERVAL HOUR", ""},
	} {
		x, y := newWords(t, 1), newWords(t, 1)
		x.first()
		y.first()
		x.schema(ddl(t, "w STRING"), typed(t, c.a))
		y.schema(ddl(t, "w STRING"), typed(t, c.b))
		_, err := checkpoint.Compare(context.Background(), checkpoint.State{Store: x.store()}, checkpoint.State{Store: y.store()})
		if c.says == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, checkpoint.ErrIncomparable)
		assert.Contains(t, err.Error(), c.says)
	}
}

// Without a schema rows are compared all the same; one that only one of them
// has is taken for both.
func TestDiffWithoutSchema(t *testing.T) {
	a, b := newWords(t, 2), newWords(t, 2)
	a.recorded, b.recorded = false, false
	a.first([]any{"a", 1, "x"}, []any{"b", 1, "x"})
	b.first([]any{"a", 2, "x"}, []any{"b", 1, "x"})
	d := compare(t, a.store(), 0, b.store(), 0)
	assert.Nil(t, d.Key())
	assert.Equal(t, []string{"changed a in 1 []"}, told(t, d))

	b.recorded = true
	b.first([]any{"a", 2, "x"}, []any{"b", 1, "x"})
	d = compare(t, a.store(), 0, b.store(), 0)
	assert.Len(t, d.Notes(), 2)
	assert.Equal(t, []string{"changed a in 1 [0]"}, told(t, d))
	d = compare(t, b.store(), 0, a.store(), 0)
	assert.Len(t, d.Notes(), 2)
	assert.Equal(t, []string{"changed a in 1 [0]"}, told(t, d))
}

// A value that is no row of the schema is damage, not a difference.
func TestDiffOfDamagedRows(t *testing.T) {
	key := rowOf(t, ddl(t, "w STRING"), "a")
	for name, value := range map[string][]byte{
		"too short":         make([]byte, 8),
		"beyond its end":    slices.Concat(make([]byte, 16), []byte{1, 0, 0, 0, 0x7f, 0, 0, 0}),
		"before its region": slices.Concat(make([]byte, 16), []byte{1, 0, 0, 0, 0, 0, 0, 0}),
	} {
		w := newWords(t, 1)
		w.first([]any{"a", 1, "x"})
		w.batch([]any{"a", 2, "x"})
		w.PutAt(0, "", 0, key, value)
		w.commit()
		s := w.store()
		for _, d := range []*checkpoint.Diff{compare(t, s, 1, s, 2), compare(t, s, 2, s, 1)} {
			ds := differences(t, d)
			require.Len(t, ds, 1)
			_, err := d.Fields(ds[0])
			require.ErrorIs(t, err, statestore.ErrRow, name)
			assert.Contains(t, err.Error(), "batch 2, partition 0")
		}
	}
}

// A batch that cannot be read is an error of either side, and a file that is
// missing names the batches that can.
func TestDiffOfUnreadableBatches(t *testing.T) {
	w := newWords(t, 1)
	w.first([]any{"a", 1, "x"})
	w.batch([]any{"a", 2, "x"})
	s := w.store()
	for _, c := range [][2]int64{{0, 2}, {2, 0}, {-1, 0}} {
		_, err := checkpoint.Compare(context.Background(),
			checkpoint.State{Store: s, Options: []checkpoint.Option{checkpoint.AtBatch(c[0])}},
			checkpoint.State{Store: s, Options: []checkpoint.Option{checkpoint.AtBatch(c[1])}})
		var be *checkpoint.BatchError
		require.ErrorAs(t, err, &be)
	}
	w.damage(statetest.DropDelta(0, "", 0, 2))
	s = w.store()
	other := newWords(t, 1)
	other.first()
	for _, d := range []*checkpoint.Diff{compare(t, s, 0, s, 1), compare(t, s, 1, s, 0), compare(t, s, 1, other.store(), 0), compare(t, other.store(), 0, s, 1)} {
		var last error
		for _, err := range d.Differences(context.Background()) {
			last = err
		}
		var be *checkpoint.BatchError
		require.ErrorAs(t, last, &be)
		assert.Equal(t, []int64{0}, be.Readable)
	}
}

func BenchmarkDiff(b *testing.B) {
	cp, err := checkpoint.OpenFS(os.DirFS("../testdata/4.1.4/ad_billing"), "checkpoint")
	require.NoError(b, err)
	s, err := cp.Store(1, "default")
	require.NoError(b, err)
	for b.Loop() {
		d, err := checkpoint.Compare(context.Background(),
			checkpoint.State{Store: s, Options: []checkpoint.Option{checkpoint.AtBatch(0)}}, checkpoint.State{Store: s})
		require.NoError(b, err)
		for _, err := range d.Differences(context.Background()) {
			require.NoError(b, err)
		}
	}
}

func ExampleCompare() {
	cp, err := checkpoint.Open("../testdata/4.1.4/ad_billing/checkpoint")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer cp.Close()
	clicks, err := cp.Store(0, "default")
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	d, err := checkpoint.Compare(ctx,
		checkpoint.State{Store: clicks, Options: []checkpoint.Option{checkpoint.AtBatch(3)}},
		checkpoint.State{Store: clicks})
	if err != nil {
		fmt.Println(err)
		return
	}
	count := make(map[checkpoint.DiffKind]int)
	for x, err := range d.Differences(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		count[x.Kind]++
	}
	fmt.Printf("from batch %d to %d: %d added, %d removed, %d changed\n", d.Before().Batch, d.After().Batch,
		count[checkpoint.Added], count[checkpoint.Removed], count[checkpoint.Changed])
	// Output:
	// from batch 3 to 6: 39 added, 81 removed, 0 changed
}

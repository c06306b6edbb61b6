package exporter

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/skew"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
	"github.com/sparkstate/sparkstate/statestore/statetest"
)

// told keeps what an exporter says.
type told struct {
	mu     sync.Mutex
	begun  int
	notes  []string
	errors []error
}

func (j *told) Begin()           { j.mu.Lock(); j.begun++; j.mu.Unlock() }
func (j *told) Note(text string) { j.mu.Lock(); j.notes = append(j.notes, text); j.mu.Unlock() }
func (j *told) Warn(error)       {}
func (j *told) End(err error)    { j.mu.Lock(); j.errors = append(j.errors, err); j.mu.Unlock() }

func exporterOf(o Options, paths ...string) (*Exporter, *told) {
	j := new(told)
	o.Level, o.Rule = checkpoint.QuickCheck, skew.Robust{}
	o.Judges = [checkpoint.Judges]string{"old", "new", "library"}
	o.Journal = func(string) Journal { return j }
	return New(paths, o), j
}

func ddl(t *testing.T, s string) *sqltype.Type {
	t.Helper()
	typ, err := sqltype.ParseDDL(s)
	require.NoError(t, err)
	return typ
}

// query counts by key under each of the names.
func query(t *testing.T, partitions int, operators ...string) statetest.Query {
	q := statetest.Query{Spark: "4.1", Partitions: partitions}
	for _, name := range operators {
		q.Operators = append(q.Operators, statetest.Operator{Name: name, Stores: []statetest.Store{
			{Key: ddl(t, "k STRING"), Value: ddl(t, "count BIGINT")},
		}})
	}
	return q
}

// text is everything that the exporter shows.
func text(t *testing.T, e *Exporter) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, WriteText(&b, Registry(e)))
	return b.String()
}

// has looks for a text in a long one, which it does not repeat.
func has(t *testing.T, out, want string) {
	t.Helper()
	assert.True(t, strings.Contains(out, want), want)
}

func hasNot(t *testing.T, out, text string) {
	t.Helper()
	assert.False(t, strings.Contains(out, text), text)
}

func refresh(t *testing.T, e *Exporter) error {
	t.Helper()
	return e.Refresh(t.Context(), t.Context())
}

// The names are as Prometheus's own lint wants them.
func TestLint(t *testing.T) {
	e, _ := exporterOf(Options{PartitionSeries: 100}, "../../../../testdata/4.1.4/ad_billing", "nothing")
	require.Error(t, refresh(t, e))
	problems, err := promlint.New(strings.NewReader(text(t, e))).Lint()
	require.NoError(t, err)
	assert.Empty(t, problems)
}

func TestOnlyChangesAreRead(t *testing.T) {
	dir := t.TempDir()
	w := statetest.NewWriter(query(t, 4, "stateStoreSave"), statetest.Dir(dir))
	w.Put(0, "default", []any{"a"}, []any{1})
	require.NoError(t, w.Commit())
	e, said := exporterOf(Options{PartitionSeries: 10}, dir)
	for range 3 {
		require.NoError(t, refresh(t, e))
	}
	first := e.targets[0].last
	assert.Equal(t, 1, said.begun, "one reading, and two looks at the listing")
	out := text(t, e)
	has(t, out, fmt.Sprintf("sparkstate_reads_total{checkpoint=%q} 3\n", dir))
	has(t, out, fmt.Sprintf("sparkstate_reads_unchanged_total{checkpoint=%q} 2\n", dir))
	has(t, out, fmt.Sprintf("sparkstate_store_rows{checkpoint=%q,operator=\"stateStoreSave_0\",store=\"default\"} 1\n", dir))

	// A batch that is planned changes no store: the check is made anew, the
	// numbers are kept.
	offsets, err := os.ReadFile(filepath.Join(dir, "offsets", "0"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "offsets", "1"), offsets, 0o600))
	require.NoError(t, refresh(t, e))
	second := e.targets[0].last
	assert.Equal(t, 2, said.begun)
	assert.EqualValues(t, 1, second.planned)
	assert.Same(t, &first.stores[0].rows[0], &second.stores[0].rows[0])
	assert.Equal(t, 1, second.check.kinds["batch-in-flight"])
	require.NoError(t, os.Remove(filepath.Join(dir, "offsets", "1")))

	w.Put(0, "default", []any{"b"}, []any{1})
	require.NoError(t, w.Commit())
	require.NoError(t, refresh(t, e))
	out = text(t, e)
	has(t, out, fmt.Sprintf("sparkstate_store_rows{checkpoint=%q,operator=\"stateStoreSave_0\",store=\"default\"} 2\n", dir))
	has(t, out, fmt.Sprintf("sparkstate_store_batch{checkpoint=%q,operator=\"stateStoreSave_0\",store=\"default\"} 1\n", dir))
}

// A file of the same size that was written later is another file.
func TestRewrittenFileIsRead(t *testing.T) {
	dir := t.TempDir()
	w := statetest.NewWriter(query(t, 1, "stateStoreSave"), statetest.Dir(dir))
	w.Put(0, "default", []any{"a"}, []any{1})
	require.NoError(t, w.Commit())
	e, said := exporterOf(Options{}, dir)
	require.NoError(t, refresh(t, e))
	later := time.Now().Add(time.Second)
	require.NoError(t, os.Chtimes(filepath.Join(dir, "state", "0", "0", "1.delta"), later, later))
	require.NoError(t, refresh(t, e))
	assert.Equal(t, 2, said.begun)
	assert.NotSame(t, e.targets[0].last, (*reading)(nil))
}

// What cannot be read is said, tried again, and does not take the rest along.
func TestPartlyUnreadable(t *testing.T) {
	dir := t.TempDir()
	w := statetest.NewWriter(query(t, 2, "stateStoreSave", "dedupe"), statetest.Dir(dir))
	for _, k := range []string{"a", "b", "c"} {
		w.Put(0, "default", []any{k}, []any{1})
		w.Put(1, "default", []any{k}, []any{1})
	}
	require.NoError(t, w.Commit())
	delta := filepath.Join(dir, "state", "1", "0", "1.delta")
	whole, err := os.ReadFile(delta)
	require.NoError(t, err)
	require.NoError(t, os.Remove(delta))
	e, said := exporterOf(Options{PartitionSeries: 10}, dir, filepath.Join(dir, "nothing"))
	for range 2 {
		assert.ErrorContains(t, refresh(t, e), "1.delta")
	}
	out := text(t, e)
	has(t, out, `operator="dedupe_1",store="default"} 0`)
	hasNot(t, out, `sparkstate_store_rows{checkpoint="`+dir+`",operator="dedupe_1"`)
	has(t, out, `sparkstate_store_rows{checkpoint="`+dir+`",operator="stateStoreSave_0",store="default"} 3`)
	for _, want := range []string{
		`sparkstate_read_success{checkpoint="DIR"} 0`, `sparkstate_read_errors_total{checkpoint="DIR"} 2`,
		`sparkstate_read_success{checkpoint="DIR/nothing"} 0`, `sparkstate_read_errors_total{checkpoint="DIR/nothing"} 2`,
		`sparkstate_checkpoint_restartable{checkpoint="DIR",judge="old"} 0`, `sparkstate_checkpoint_newest_restorable_batch{checkpoint="DIR",judge="old"} -1`,
		`sparkstate_checkpoint_findings{checkpoint="DIR",severity="warning"} 0`, `sparkstate_checkpoint_findings_of_kind{checkpoint="DIR",kind="delta-missing"} 1`, `sparkstate_checkpoint_findings_of_kind{checkpoint="DIR",kind="foreign-file"} 0`,
	} {
		has(t, out, strings.ReplaceAll(want, "DIR", dir)+"\n")
	}
	hasNot(t, out, "sparkstate_last_success")
	hasNot(t, out, `sparkstate_checkpoint_info{checkpoint="`+dir+`/nothing"`)
	assert.Len(t, said.errors, 4)

	require.NoError(t, os.WriteFile(delta, whole, 0o600))
	assert.Error(t, refresh(t, e), "the other is still not there")
	has(t, text(t, e), "sparkstate_last_success_timestamp_seconds{checkpoint=\""+dir+"\"} ")
}

// A query that has not committed anything is no failure.
func TestNothingCommitted(t *testing.T) {
	dir := t.TempDir()
	w := statetest.NewWriter(query(t, 2, "stateStoreSave"), statetest.Dir(dir))
	require.NoError(t, w.Commit())
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "commits")))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "commits"), 0o700))
	e, _ := exporterOf(Options{}, dir)
	require.NoError(t, refresh(t, e))
	has(t, text(t, e), `sparkstate_checkpoint_last_committed_batch{checkpoint="`+dir+`"} -1`)
}

// Series are bounded: of a store with too many partitions the hot ones and the
// fullest are shown, and of hot ones not all.
func TestPartitionSeries(t *testing.T) {
	dir := t.TempDir()
	const partitions = 100
	w := statetest.NewWriter(query(t, partitions, "first", "second"), statetest.Dir(dir))
	for i := range 20 * partitions {
		w.Put(0, "default", []any{fmt.Sprint(i)}, []any{i})
		w.Put(1, "default", []any{fmt.Sprint(i)}, []any{i})
	}
	require.NoError(t, w.Commit())
	for _, c := range []struct{ series, first, second int }{
		{2 * partitions, partitions, partitions}, {2*partitions - 1, partitions, -1}, {partitions, partitions, -1}, {0, -1, -1},
	} {
		e, _ := exporterOf(Options{PartitionSeries: c.series}, dir)
		require.NoError(t, refresh(t, e))
		out := text(t, e)
		for operator, want := range map[string]int{"first_0": c.first, "second_1": c.second} {
			n := strings.Count(out, fmt.Sprintf("sparkstate_store_partition_rows{checkpoint=%q,operator=%q", dir, operator))
			if want < 0 {
				assert.Positive(t, n)
				assert.LessOrEqual(t, n, ExtraPartitions)
				continue
			}
			assert.Equal(t, want, n, "%s with %d series", operator, c.series)
		}
	}
}

// Names come from files. Whatever they are, they make valid labels, none of
// them long, and no two stores share theirs.
func TestLabels(t *testing.T) {
	long := strings.Repeat("n", 1000)
	names := newLabels()
	seen := make(map[[2]string]bool)
	for _, n := range []string{"", "a", "a", "a", long, long + "1", long + "2", "\xff", "\xfe", "é" + strings.Repeat("é", 99), "line\nbreak\"}", "\x00"} {
		a, b := names.pair(n, "default")
		assert.False(t, seen[[2]string{a, b}], "%q", n)
		seen[[2]string{a, b}] = true
		assert.LessOrEqual(t, len(a), maxLabel+len("…~99"))
		assert.Equal(t, strings.ToValidUTF8(a, "?"), a)
	}
}

func TestHostileNames(t *testing.T) {
	dir := t.TempDir()
	name := "ev\"il\\\n} 1\n" + strings.Repeat("x", 300)
	w := statetest.NewWriter(query(t, 1, name, name), statetest.Dir(dir))
	w.Put(0, "default", []any{"secret-4711"}, []any{1})
	w.Put(1, "default", []any{"secret-4711"}, []any{1})
	require.NoError(t, w.Commit())
	e, _ := exporterOf(Options{PartitionSeries: 10}, dir)
	require.NoError(t, refresh(t, e))
	out := text(t, e)
	hasNot(t, out, "secret-4711")
	has(t, out, `operator="ev\"il\\\n} 1\nxxx`)
	for _, line := range strings.Split(out, "\n") {
		assert.LessOrEqual(t, len(line), 500)
	}
}

func TestTooManyStores(t *testing.T) {
	dir := t.TempDir()
	q := query(t, 1, "many")
	q.Operators[0].Stores = nil
	many := q.Operators[0]
	q.Operators = nil
	// An operator has 100 stores at most.
	for i := range MaxStores + 3 {
		if i%100 == 0 {
			q.Operators = append(q.Operators, many)
		}
		op := &q.Operators[len(q.Operators)-1]
		op.Stores = append(op.Stores, statetest.Store{Name: fmt.Sprintf("s%03d", i), Key: ddl(t, "k STRING"), Value: ddl(t, "v INT")})
	}
	w := statetest.NewWriter(q, statetest.Dir(dir))
	require.NoError(t, w.Commit())
	e, _ := exporterOf(Options{}, dir)
	require.NoError(t, refresh(t, e))
	out := text(t, e)
	has(t, out, `sparkstate_checkpoint_stores_left_out{checkpoint="`+dir+`"} 3`)
	assert.Equal(t, MaxStores, strings.Count(out, "sparkstate_store_readable{"))
}

// Memory does not grow with the batches of a running query.
func TestConstantMemory(t *testing.T) {
	dir := t.TempDir()
	w := statetest.NewWriter(query(t, 4, "stateStoreSave"), statetest.Dir(dir))
	e, _ := exporterOf(Options{PartitionSeries: 10}, dir)
	used := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var early uint64
	for round := range 60 {
		w.Put(0, "default", []any{fmt.Sprint(round % 5)}, []any{round})
		require.NoError(t, w.Commit())
		require.NoError(t, refresh(t, e))
		if round == 20 {
			early = used()
		}
	}
	assert.Less(t, float64(used()), float64(early)+512<<10)
}

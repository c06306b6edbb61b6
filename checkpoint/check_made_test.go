package checkpoint_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore/codec"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
	"github.com/sparkstate/sparkstate/statestore/statetest"
)

// made writes a checkpoint of one operator, batch by batch.
func made(t testing.TB, op statetest.Operator, batches int, write func(w *statetest.Writer, batch int)) tree {
	t.Helper()
	m := fstest.MapFS{}
	w := statetest.NewWriter(statetest.Query{Partitions: 2, Operators: []statetest.Operator{op}}, statetest.Map(m, "."))
	for b := range batches {
		write(w, b)
		require.NoError(t, w.Commit())
	}
	return tree{t, m}
}

func counting(t testing.TB) statetest.Operator {
	return statetest.Operator{Name: "stateStoreSave", Stores: []statetest.Store{{Key: ddl(t, "k BIGINT"), Value: ddl(t, "count BIGINT")}}}
}

func oneFinding(t testing.TB, r *checkpoint.CheckReport) checkpoint.Finding {
	t.Helper()
	require.Len(t, r.Findings, 1, "%+v", r.Findings)
	return r.Findings[0]
}

func TestCheckLongChain(t *testing.T) {
	r := made(t, counting(t), 12, func(w *statetest.Writer, b int) { w.Put(0, "default", []any{int64(b)}, []any{int64(1)}) })
	cp := r.open()
	for _, c := range []struct {
		n    int64
		want int
	}{{12, 1}, {13, 0}, {0, 0}} {
		report, err := cp.Check(context.Background(), checkpoint.QuickCheck, checkpoint.LongChain(c.n))
		require.NoError(t, err)
		require.Len(t, report.Findings, c.want)
		if c.want > 0 {
			f := oneFinding(t, report)
			assert.Equal(t, "chain-long", f.ID)
			assert.Equal(t, checkpoint.Warning, f.Severity)
			assert.Contains(t, f.What, "replays 12")
		}
	}
}

func TestCheckRetention(t *testing.T) {
	m := fstest.MapFS{}
	w := statetest.NewWriter(statetest.Query{Partitions: 2, Operators: []statetest.Operator{counting(t)}}, statetest.Map(m, "."))
	for b := range 120 {
		w.Put(0, "default", []any{int64(b)}, []any{int64(1)})
		require.NoError(t, w.Commit())
		if b == 9 || b == 100 {
			require.NoError(t, w.Snapshot(0, "default"))
		}
	}
	r := tree{t, m}
	f := oneFinding(t, r.check(checkpoint.QuickCheck))
	assert.Equal(t, "kept-beyond-retention", f.ID)
	assert.Equal(t, checkpoint.Info, f.Severity)
	assert.Contains(t, f.What, "18 files")

	// What was cleaned up is no damage.
	for v := 1; v < 10; v++ {
		r.remove(fmt.Sprintf("state/0/0/%d.delta", v), fmt.Sprintf("state/0/1/%d.delta", v))
	}
	report := r.check(checkpoint.DeepCheck)
	assert.Empty(t, report.Findings)
	require.Len(t, report.Map.Stores, 1)
	spans := report.Map.Stores[0].Partitions[1].Spans
	require.Len(t, spans, 2)
	assert.Equal(t, [2]int64{0, 8}, [2]int64{spans[0].First, spans[0].Last})
	assert.Equal(t, checkpoint.CleanedUp, spans[0].Loading[checkpoint.Spark41])
	assert.Equal(t, [2]int64{9, 119}, [2]int64{spans[1].First, spans[1].Last})
	assert.Equal(t, checkpoint.Loads, spans[1].Loading[checkpoint.Spark41])
}

// Spark 4.2 does without a damaged snapshot as long as the older one lies not
// more than 500 versions behind what is asked for.
func TestCheckReachOfRepair(t *testing.T) {
	m := fstest.MapFS{}
	w := statetest.NewWriter(statetest.Query{Partitions: 1, Operators: []statetest.Operator{counting(t)}}, statetest.Map(m, "."))
	for b := range 514 {
		w.Put(0, "default", []any{int64(b)}, []any{int64(1)})
		require.NoError(t, w.Commit())
		if b == 9 || b == 19 {
			require.NoError(t, w.Snapshot(0, "default"))
		}
	}
	r := tree{t, m}
	r.edit("state/0/0/20.snapshot", func(b []byte) []byte { return b[:len(b)-30] })
	report, err := r.open().Check(context.Background(), checkpoint.DefaultCheck, checkpoint.LongChain(1000))
	require.NoError(t, err)
	assert.Equal(t, "snapshot-replaceable", report.Findings[0].ID)
	assert.Equal(t, int64(18), report.Answers[checkpoint.SparkBefore41].Newest)
	assert.Equal(t, int64(18), report.Answers[checkpoint.Spark41].Newest)
	assert.Equal(t, int64(509), report.Answers[checkpoint.Spark42].Newest, "version 510 is 500 after snapshot 10")
	assert.Equal(t, int64(513), report.Answers[checkpoint.Library].Newest)
	assert.False(t, report.Answers[checkpoint.Spark42].Restarts)
	assert.True(t, report.Answers[checkpoint.Library].Restarts)

	back := report.Answers[checkpoint.Spark42].Back
	require.NotNil(t, back)
	assert.Equal(t, int64(510), back.Above)
	assert.Equal(t, int64(510), back.Again)
	assert.Equal(t, checkpoint.BatchRange{First: 510, Last: 513}, back.Replayed)
	assert.Equal(t, []int64{511, 512, 513}, back.Offsets)
	assert.Equal(t, []int64{510, 511, 512, 513}, back.Commits)

	// And what is left after that does restart.
	assert.True(t, r.goneBack(back).check(checkpoint.DefaultCheck).Answers[checkpoint.Spark42].Restarts)
}

// Spark compares the first row that it loads with the schema, and believes
// those after it.
func TestCheckFirstRow(t *testing.T) {
	r := made(t, counting(t), 2, func(w *statetest.Writer, b int) {
		for k := range 20 {
			w.Put(0, "default", []any{int64(k)}, []any{int64(b)})
		}
	})
	misfits := func(name string, change func([]byte) []byte) *checkpoint.CheckReport {
		r := tree{t, maps.Clone(r.m)}
		r.pack(name, codec.LZ4, change(r.plain(name)))
		return r.check(checkpoint.DefaultCheck)
	}
	report := misfits("state/0/0/1.delta", ahead(misfit))
	f := oneFinding(t, report)
	assert.Equal(t, "row-misfit", f.ID)
	assert.Equal(t, checkpoint.Critical, f.Severity)
	assert.Equal(t, "CANNOT_LOAD_STATE_STORE.KEY_ROW_FORMAT_VALIDATION_FAILURE", f.Condition)
	for j, want := range []bool{false, false, false, true} {
		assert.Equal(t, want, report.Answers[j].Restarts, "%v", checkpoint.Judge(j))
	}
	for name, change := range map[string]func([]byte) []byte{"state/0/0/1.delta": more(misfit), "state/0/0/2.delta": ahead(misfit)} {
		assert.True(t, misfits(name, change).Answers[checkpoint.SparkBefore41].Restarts, name)
	}
}

// What this library refuses and Spark lets pass is lost for this library only.
func TestCheckOfWhatSparkLetsPass(t *testing.T) {
	r := made(t, counting(t), 1, func(w *statetest.Writer, b int) { w.Put(0, "default", []any{int64(1)}, []any{int64(1)}) })
	for p := range 2 {
		name := fmt.Sprintf("state/0/%d/1.delta", p)
		if b := r.plain(name); len(b) > 4 {
			r.pack(name, codec.LZ4, more(func(key, _ []byte) []byte { return append(framed(key), length(-5)...) })(b))
		}
	}
	report := r.check(checkpoint.DefaultCheck)
	assert.Equal(t, "file-corrupt", oneFinding(t, report).ID)
	for j, want := range []bool{true, true, true, false} {
		assert.Equal(t, want, report.Answers[j].Restarts, "%v", checkpoint.Judge(j))
	}
}

// The log of a file source goes back with the offsets: Spark takes the files in
// it for done.
func TestCheckRollbackOfFileSource(t *testing.T) {
	r := fixture(t, "3.5.9/ad_billing")
	r.remove("state/0/2/5.delta", "state/0/2/6.delta", "state/0/2/6.snapshot", "state/0/2/7.delta")
	back := r.check(checkpoint.QuickCheck).Answers[checkpoint.Spark41].Back
	require.NotNil(t, back)
	assert.Equal(t, []int64{5, 6}, back.Offsets)
	assert.Equal(t, []int64{4, 5, 6}, back.Commits)
	assert.Equal(t, int64(4), back.Again)
	assert.Equal(t, []string{"sources/0/5"}, back.Sources)
}

func TestCheckTimeouts(t *testing.T) {
	op := statetest.Operator{Name: "flatMapGroupsWithState", Stores: []statetest.Store{{
		Key: ddl(t, "k BIGINT"), Value: ddl(t, "groupState STRUCT<n: BIGINT>, timeoutTimestamp BIGINT"),
	}}}
	r := made(t, op, 1, func(w *statetest.Writer, _ int) {
		for k, ms := range []int64{-1, 600_000, 3_600_000, 1_767_600_000_000} {
			w.Put(0, "default", []any{int64(k)}, []any{[]any{int64(1)}, ms})
		}
	})
	f := oneFinding(t, r.check(checkpoint.DeepCheck))
	assert.Equal(t, "timeout-1970", f.ID)
	assert.Contains(t, f.What, "in 1970: 2")
	assert.Empty(t, r.check(checkpoint.DefaultCheck).Findings)
}

func TestCheckWatermarks(t *testing.T) {
	op := counting(t)
	op.Stores[0].Key.Fields[0].Metadata = map[string]json.RawMessage{"spark.watermarkDelayMs": json.RawMessage("1000")}
	r := made(t, op, 15, func(w *statetest.Writer, b int) { w.Put(0, "default", []any{int64(b)}, []any{int64(1)}) })
	f := oneFinding(t, r.check(checkpoint.QuickCheck))
	assert.Equal(t, "watermark-zero", f.ID)
	assert.Equal(t, checkpoint.Info, f.Severity)

	for b := 3; b < 15; b++ {
		r.put(fmt.Sprintf("commits/%d", b), []byte("v1\n{\"nextBatchWatermarkMs\":5000}"))
	}
	f = oneFinding(t, r.check(checkpoint.QuickCheck))
	assert.Equal(t, "watermark-still", f.ID)
	assert.Contains(t, f.What, "since batch 3, for 11 batches")
}

// The rules of Spark's own comparison: by position and type, and looser
// nullability only in what is recorded.
func TestCheckCompareSchema(t *testing.T) {
	op := statetest.Operator{Name: "stateStoreSave", Stores: []statetest.Store{{
		Key:   ddl(t, "k BIGINT NOT NULL, w STRUCT<a: INT, b: DECIMAL(10,2)>"),
		Value: ddl(t, "list ARRAY<STRING>, m MAP<STRING, INT>"),
	}}}
	cp := made(t, op, 1, func(*statetest.Writer, int) {}).open()
	for _, c := range []struct {
		key, value string
		want       []string
	}{
		{"k BIGINT NOT NULL, w STRUCT<a: INT, b: DECIMAL(10,2)>", "list ARRAY<STRING>, m MAP<STRING, INT>", nil},
		{"k BIGINT NOT NULL, w STRUCT<a: INT, b: DECIMAL(10,2)> NOT NULL", "", nil},
		{"k BIGINT, w STRUCT<a: INT, b: DECIMAL(10,2)>", "", []string{"schema-nullability"}},
		{"k BIGINT NOT NULL, w STRUCT<a: INT, b: DECIMAL(10,3)>", "", []string{"schema-incompatible"}},
		{"k BIGINT NOT NULL, w STRUCT<a: INT, c: DECIMAL(10,2)>", "", []string{"schema-renamed"}},
		{"k INT NOT NULL, w STRUCT<b: INT, a: DECIMAL(10,2)>", "", []string{"schema-incompatible", "schema-swapped"}},
		{"", "list ARRAY<BINARY>, m MAP<STRING, BIGINT>", []string{"schema-incompatible", "schema-incompatible"}},
		{"", "list ARRAY<STRING>", []string{"schema-incompatible"}},
	} {
		var key, value *sqltype.Type
		if c.key != "" {
			key = ddl(t, c.key)
		}
		if c.value != "" {
			value = ddl(t, c.value)
		}
		report, err := cp.Check(context.Background(), checkpoint.QuickCheck, checkpoint.CompareSchema(0, "default", key, value))
		require.NoError(t, err)
		var got []string
		for _, f := range report.Findings {
			got = append(got, f.ID)
		}
		assert.Equal(t, c.want, got, "%+v", report.Findings)
	}
	_, err := cp.Check(context.Background(), checkpoint.QuickCheck, checkpoint.CompareSchema(4, "default", nil, nil))
	assert.ErrorIs(t, err, checkpoint.ErrNotFound)
}

func TestCheckEmptyDeltas(t *testing.T) {
	r := made(t, counting(t), 12, func(w *statetest.Writer, b int) {
		if b == 0 {
			w.Put(0, "default", []any{int64(b)}, []any{int64(1)})
		}
	})
	f := oneFinding(t, r.check(checkpoint.DefaultCheck))
	assert.Equal(t, "empty-deltas", f.ID)
	assert.Contains(t, f.What, "23 of 24")
}

// Names alone can claim anything; a check takes no longer for that.
func TestCheckOfHostileNames(t *testing.T) {
	r := made(t, counting(t), 3, func(w *statetest.Writer, b int) { w.Put(0, "default", []any{int64(b)}, []any{int64(1)}) })
	const far = "9223372036854775807"
	for _, name := range []string{"commits/" + far, "offsets/" + far, "state/0/0/" + far + ".delta", "state/0/1/" + far + ".snapshot", "state/0/1/9223372036854775806.snapshot"} {
		r.put(name, []byte("v1"))
	}
	for _, level := range checkLevels {
		report := r.check(level)
		for j, a := range report.Answers {
			assert.False(t, a.Restarts, "%v %v", level, checkpoint.Judge(j))
		}
	}
}

// retiring is a file system whose maintenance removes files when one of them is
// about to be read.
type retiring struct {
	r    tree
	when string
	gone []string
	mu   sync.Mutex
	done bool
}

func (f *retiring) Open(name string) (fs.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if name == f.when && !f.done {
		f.done = true
		f.r.remove(f.gone...)
	}
	return f.r.m.Open(name)
}

func TestCheckWhileFilesAreCleanedUp(t *testing.T) {
	m := fstest.MapFS{}
	w := statetest.NewWriter(statetest.Query{Partitions: 1, Operators: []statetest.Operator{counting(t)}}, statetest.Map(m, "."))
	f := &retiring{r: tree{t, m}, when: "state/0/0/2.delta"}
	for b := range 12 {
		w.Put(0, "default", []any{int64(b)}, []any{int64(1)})
		require.NoError(t, w.Commit())
		if b < 8 {
			f.gone = append(f.gone, fmt.Sprintf("state/0/0/%d.delta", b+1))
		}
		if b == 8 {
			require.NoError(t, w.Snapshot(0, "default"))
		}
	}
	cp, err := checkpoint.OpenFS(f, ".")
	require.NoError(t, err)
	report, err := cp.Check(context.Background(), checkpoint.DefaultCheck)
	require.NoError(t, err)
	assert.Empty(t, report.Findings)
	assert.True(t, report.Answers[checkpoint.Spark41].Restarts)
	assert.Equal(t, checkpoint.CleanedUp, report.Map.Stores[0].Partitions[0].Spans[0].Loading[checkpoint.Library])
}

// Without logs a gap is a gap all the same.
func TestCheckOfDamagedPart(t *testing.T) {
	r := fixture(t, "3.5.9/ad_billing")
	for _, dir := range []string{"offsets", "commits", "sources"} {
		r.removeAll(dir)
	}
	r.remove("metadata", "state/1/2/5.delta", "state/1/2/6.delta", "state/1/2/6.snapshot")
	r.edit("state/0/1/7.delta", func(b []byte) []byte { return b[:len(b)-30] })
	cp, err := checkpoint.OpenFS(r.m, "state")
	require.NoError(t, err)
	report, err := cp.Check(context.Background(), checkpoint.DefaultCheck)
	require.NoError(t, err)
	got := found{}
	for _, f := range report.Findings {
		got[f.ID] = f.Severity
	}
	assert.Equal(t, found{"delta-missing": warning, "file-truncated": warning, "state-uncommitted": info}, got, "%+v", report.Findings)
	assert.Equal(t, int64(3), report.LastCommitted)
	assert.Equal(t, int64(6), report.Map.Last)
}

type unlistable struct {
	fs.FS
	dir string
}

var errDenied = errors.New("permission denied")

func (u unlistable) Open(name string) (fs.File, error) {
	if name == u.dir {
		return nil, errDenied
	}
	return u.FS.Open(name)
}

func TestCheckOfDirectoryThatCannotBeListed(t *testing.T) {
	r := fixture(t, "3.5.9/ad_billing")
	cp, err := checkpoint.OpenFS(unlistable{r.m, "state/1/2"}, ".")
	require.NoError(t, err)
	report, err := cp.Check(context.Background(), checkpoint.DefaultCheck)
	require.NoError(t, err)
	f := oneFinding(t, report)
	assert.Equal(t, "directory-unreadable", f.ID)
	assert.Equal(t, "state/1/2", f.File)
	assert.False(t, report.Answers[checkpoint.Spark41].Restarts)
}

func TestCheckStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := fixture(t, "3.5.9/ad_billing").open().Check(ctx, checkpoint.DefaultCheck)
	assert.ErrorIs(t, err, context.Canceled)
}

// Every kind has a name of its own and a title, and the list is in the API.
func TestFindingKinds(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range checkpoint.FindingKinds() {
		assert.False(t, seen[k.ID], k.ID)
		seen[k.ID] = true
		assert.Regexp(t, `^[a-z0-9]+(-[a-z0-9]+)*$`, k.ID)
		assert.NotEmpty(t, k.Title)
	}
	assert.Greater(t, len(seen), 40)
}

func TestCheckOfAnotherProvider(t *testing.T) {
	r := fixture(t, "4.1.4/rocksdb_agg.zip")
	report := r.check(checkpoint.DefaultCheck)
	assert.Equal(t, "provider-not-read", oneFinding(t, report).ID)
	assert.Empty(t, report.Map.Stores)
}

func ExampleCheckpoint_Check() {
	cp, err := checkpoint.Open("../testdata/4.1.4/ad_billing/checkpoint")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer cp.Close()
	r, err := cp.Check(context.Background(), checkpoint.DefaultCheck)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range r.Findings {
		fmt.Println(f.Severity, f.ID, f.What)
	}
	for j, a := range r.Answers {
		fmt.Printf("%s: restarts %t, newest batch that loads everywhere %d\n", checkpoint.Judge(j), a.Restarts, a.Newest)
	}
	// Output:
	// Spark before 4.1: restarts true, newest batch that loads everywhere 6
	// Spark 4.1: restarts true, newest batch that loads everywhere 6
	// Spark 4.2 and later: restarts true, newest batch that loads everywhere 6
	// this library: restarts true, newest batch that loads everywhere 6
}

package checkpoint_test

import (
	"context"
	"fmt"
	"io/fs"
	"math"
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
)

// logFiles makes a checkpoint of files given as path and content.
func logFiles(t *testing.T, files map[string]string, opts ...checkpoint.OpenOption) *checkpoint.Checkpoint {
	t.Helper()
	fsys := fstest.MapFS{"offsets": {Mode: fs.ModeDir}}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	cp, err := checkpoint.OpenFS(fsys, ".", opts...)
	require.NoError(t, err)
	return cp
}

// offsetLogs makes offset logs 0, 1, 2… of the given source lines.
func offsetLogs(batches ...string) map[string]string {
	out := map[string]string{}
	for i, lines := range batches {
		out[fmt.Sprintf("offsets/%d", i)] = "v1\n{}\n" + lines
	}
	return out
}

func history(t *testing.T, cp *checkpoint.Checkpoint) []*checkpoint.HistoryEntry {
	t.Helper()
	var out []*checkpoint.HistoryEntry
	for e, err := range cp.History(context.Background()) {
		require.NoError(t, err)
		out = append(out, e)
	}
	return out
}

func ptr(s string) *string { return &s }

func TestHistory(t *testing.T) {
	cp := logFiles(t, map[string]string{
		"offsets/3":  "v1\n" + `{"batchWatermarkMs":0,"batchTimestampMs":1000}` + "\n0",
		"offsets/4":  "v1\n" + `{"batchWatermarkMs":5000,"batchTimestampMs":2000,"conf":{"a":"1","b":"2"}}` + "\n1",
		"commits/4":  "v1\n" + `{"nextBatchWatermarkMs":7000}`,
		"offsets/5":  "v1\n" + `{"batchWatermarkMs":7000,"batchTimestampMs":3000}` + "\n2",
		"commits/5":  "v1\n" + `{"nextBatchWatermarkMs":6000}`,
		"offsets/8":  "v2\n" + `{"batchWatermarkMs":7000,"batchTimestampMs":4000,"conf":{"b":"3","c":""}}` + "\n0:7",
		"offsets/9":  "v1\n{",
		"commits/9":  "v1\n" + `{"nextBatchWatermarkMs":9000}`,
		"commits/10": "x",
		"offsets/11": "v1\n" + `{"batchWatermarkMs":9000,"conf":{"b":"3","c":""}}` + "\n9",
		"offsets/12": "v1\n" + `{"batchWatermarkMs":9000,"conf":{}}` + "\n9",
		// Not of the log.
		"offsets/.13.crc": "", "offsets/13.tmp": "", "offsets/007": "", "commits/.14.0b.tmp": "",
	})
	es := history(t, cp)
	require.Len(t, es, 8)
	type facts struct {
		id                          int64
		planned, committed          bool
		gap, since, confSince, next int64
		nextFrom                    checkpoint.Source
		changes                     []checkpoint.ConfChange
		offsets, commit             bool // could be read
	}
	for i, want := range []facts{
		{3, true, false, 0, -1, -1, 0, checkpoint.Unknown, nil, true, false},
		{4, true, true, 0, 3, -1, 7000, checkpoint.Recorded, nil, true, true},
		{5, true, true, 0, 4, -1, 7000, checkpoint.Inferred, nil, true, true},
		{8, true, false, 2, 5, 4, 0, checkpoint.Unknown, []checkpoint.ConfChange{
			{Key: "a", Before: ptr("1")}, {Key: "b", Before: ptr("2"), After: ptr("3")}, {Key: "c", After: ptr("")}}, true, false},
		{9, true, true, 0, -1, -1, 9000, checkpoint.Recorded, nil, false, true},
		{10, false, true, 0, -1, -1, 0, checkpoint.Unknown, nil, false, false},
		{11, true, false, 0, 8, 8, 0, checkpoint.Unknown, nil, true, false},
		{12, true, false, 0, 11, 11, 0, checkpoint.Unknown, []checkpoint.ConfChange{{Key: "b", Before: ptr("3")}, {Key: "c", Before: ptr("")}}, true, false},
	} {
		e := es[i]
		assert.Equal(t, want, facts{e.ID, e.Planned, e.Committed, e.Gap, e.Since, e.ConfSince, e.NextWatermarkMs, e.NextWatermarkFrom,
			e.ConfChanges, e.Offsets != nil, e.Commit != nil})
		assert.Equal(t, e.Planned && e.Offsets == nil || e.Committed && e.Commit == nil, e.Err() != nil)
	}
	assert.ErrorIs(t, es[4].OffsetErr, statestore.ErrCorrupt)
	assert.ErrorContains(t, es[4].OffsetErr, "offsets/9")
	assert.ErrorIs(t, es[5].CommitErr, statestore.ErrCorrupt)
	assert.ErrorContains(t, es[5].Err(), "commits/10")
	assert.Equal(t, checkpoint.Holes{Offsets: []checkpoint.BatchRange{{First: 6, Last: 7}, {First: 10, Last: 10}},
		Commits: []checkpoint.BatchRange{{First: 6, Last: 8}}, Unplanned: []int64{10}}, cp.Holes())

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	n := 0
	for e, err := range cp.History(ctx) {
		if n++; n == 2 {
			assert.ErrorIs(t, err, context.Canceled)
			assert.Nil(t, e)
			continue
		}
		cancel()
	}
	assert.Equal(t, 2, n)
	for range cp.History(context.Background()) {
		break
	}
}

// A commit of 0 is no watermark, or one that an old Spark did not record.
func TestNextWatermark(t *testing.T) {
	const policy = `{"batchWatermarkMs":%d,"conf":{"spark.sql.streaming.multipleWatermarkPolicy":"min"}}`
	for _, c := range []struct {
		name, meta, commit string
		next               int64
		from               checkpoint.Source
	}{
		{"2.3", `{"batchWatermarkMs":5000,"conf":{}}`, "v1\n{}", 0, checkpoint.Unknown},
		{"2.1, without a line", "", "v1", 0, checkpoint.Unknown},
		{"3.5, no watermark", fmt.Sprintf(policy, 0), "v1\n" + `{"nextBatchWatermarkMs":0}`, 0, checkpoint.Recorded},
		{"3.5", fmt.Sprintf(policy, 4000), "v1\n" + `{"nextBatchWatermarkMs":5000}`, 5000, checkpoint.Recorded},
		{"lower than before", fmt.Sprintf(policy, 4000), "v1\n" + `{"nextBatchWatermarkMs":0}`, 4000, checkpoint.Inferred},
		{"4.0, checkpoint format 2", `{}`, "v2\n" + `{"nextBatchWatermarkMs":0,"stateUniqueIds":{}}`, 0, checkpoint.Recorded},
	} {
		e := history(t, logFiles(t, map[string]string{"offsets/0": "v1\n" + c.meta + "\n5", "commits/0": c.commit}))[0]
		assert.Equal(t, c.next, e.NextWatermarkMs, c.name)
		assert.Equal(t, c.from, e.NextWatermarkFrom, c.name)
	}
}

// A log that has gone since the checkpoint was opened costs its batch.
func TestHistoryOfVanishedLog(t *testing.T) {
	fsys := fstest.MapFS{"offsets/0": {Data: []byte("v1\n{}\n0")}, "offsets/1": {Data: []byte("v1\n{}\n1")}}
	cp, err := checkpoint.OpenFS(fsys, ".")
	require.NoError(t, err)
	delete(fsys, "offsets/0")
	es := history(t, cp)
	require.Len(t, es, 2)
	assert.ErrorIs(t, es[0].OffsetErr, fs.ErrNotExist)
	assert.NoError(t, es[1].Err())
}

// Numbers as far apart as can be neither overflow nor take time.
func TestHolesOfTheWidestLog(t *testing.T) {
	cp := logFiles(t, map[string]string{"offsets/0": "v1\n{}\n-9223372036854775808", "offsets/9223372036854775807": "v1\n{}\n9223372036854775807"})
	es := history(t, cp)
	require.Len(t, es, 2)
	assert.EqualValues(t, math.MaxInt64-1, es[1].Gap)
	_, ok := es[1].Sources[0].Moved()
	assert.False(t, ok, "the distance is no int64")
	assert.Equal(t, []checkpoint.BatchRange{{First: 1, Last: math.MaxInt64 - 1}}, cp.Holes().Offsets)
}

// brief writes progress as "change start→end idle", partition by partition.
func brief(p checkpoint.SourceProgress) string {
	var out []string
	for _, q := range p.Partitions {
		out = append(out, fmt.Sprintf("%s %s %d→%d idle %d", q.TopicPartition, q.Change, q.Start, q.End, q.Idle))
	}
	return strings.Join(out, ", ")
}

func TestKafkaProgress(t *testing.T) {
	files := offsetLogs(
		`{"t":{"0":10,"1":20}}`,
		`{"t":{"0":15,"1":20,"2":0}}`,
		`{"t":{"0":15,"1":20,"2":0}}`, // nothing moves
		`{"t":{"0":16,"1":20,"2":7},"u":{"0":3}}`,
		`{"t":{"0":4,"2":9},"u":{"0":3}}`,
		`-`,
		`{"t":{"0":9223372036854775807,"2":-1}}`,
	)
	es := history(t, logFiles(t, files))
	for i, want := range []struct {
		change   checkpoint.OffsetChange
		records  int64
		exact    bool
		progress string
	}{
		{checkpoint.OffsetAdded, 0, false, "t-0 unknown -1→10 idle 0, t-1 unknown -1→20 idle 0"},
		{checkpoint.OffsetMoved, 5, true, "t-0 moved 10→15 idle 0, t-1 still 20→20 idle 1, t-2 added -1→0 idle 0"},
		{checkpoint.OffsetStill, 0, true, "t-0 still 15→15 idle 0, t-1 still 20→20 idle 1, t-2 still 0→0 idle 0"},
		{checkpoint.OffsetMoved, 8, false, "t-0 moved 15→16 idle 0, t-1 still 20→20 idle 2, t-2 moved 0→7 idle 0, u-0 added -1→3 idle 0"},
		{checkpoint.OffsetBackwards, 2, false, "t-0 backwards 16→4 idle 0, t-1 removed 20→-1 idle 0, t-2 moved 7→9 idle 0, u-0 still 3→3 idle 1"},
		{checkpoint.OffsetRemoved, 0, false, ""},
		{checkpoint.OffsetAdded, 0, false, "t-0 unknown -1→9223372036854775807 idle 0, t-2 unknown -1→-1 idle 0"},
	} {
		p := es[i].Sources[0]
		assert.Equal(t, want.change, p.Change, i)
		assert.Equal(t, want.records, p.Records, i)
		assert.Equal(t, want.exact, p.Exact, i)
		assert.Equal(t, want.progress, brief(p), i)
		moved, ok := p.Moved()
		assert.Equal(t, want.exact, ok, i)
		if ok {
			assert.Equal(t, want.records, moved)
		}
	}
	still := es[3].Sources[0].StandingStill(2)
	require.Len(t, still, 1)
	assert.Equal(t, "t-1", still[0].String())
	assert.Empty(t, es[3].Sources[0].StandingStill(3))
	assert.Empty(t, es[2].Sources[0].StandingStill(2), "batches without any records do not count")
	assert.Len(t, es[2].Sources[0].StandingStill(0), 1)

	// Where the source started is recorded beside its offsets.
	files["sources/0/0"] = "\x00v1\n" + `{"t":{"0":4,"1":20}}`
	p := history(t, logFiles(t, files))[0].Sources[0]
	assert.Equal(t, "t-0 moved 4→10 idle 0, t-1 still 20→20 idle 1", brief(p))
	assert.EqualValues(t, 6, p.Records)
	assert.True(t, p.Exact)

	// It tells nothing of a later batch.
	delete(files, "offsets/0")
	p = history(t, logFiles(t, files))[0].Sources[0]
	assert.Equal(t, checkpoint.OffsetUnknown, p.Change)
	assert.Equal(t, "t-0 unknown -1→15 idle 0, t-1 unknown -1→20 idle 0, t-2 unknown -1→0 idle 0", brief(p))

	// Damaged, it is a warning.
	var warned []error
	files = offsetLogs(`{"t":{"0":10}}`)
	files["sources/0/0"] = ""
	p = history(t, logFiles(t, files, checkpoint.OnWarning(func(err error) { warned = append(warned, err) })))[0].Sources[0]
	assert.False(t, p.Exact)
	require.Len(t, warned, 1)
	assert.ErrorIs(t, warned[0], statestore.ErrTruncated)
	assert.ErrorContains(t, warned[0], "sources/0/0")

	// Sums beyond an int64 are lower bounds.
	es = history(t, logFiles(t, offsetLogs(`{"t":{"0":0,"1":0}}`, `{"t":{"0":9223372036854775807,"1":1}}`)))
	assert.EqualValues(t, math.MaxInt64, es[1].Sources[0].Records)
	assert.False(t, es[1].Sources[0].Exact)

	// A pattern of topics that matches none at first.
	es = history(t, logFiles(t, offsetLogs(`{}`, `{"t":{"0":3}}`)))
	assert.Equal(t, "t-0 added -1→3 idle 0", brief(es[1].Sources[0]))
}

func TestOtherProgress(t *testing.T) {
	const (
		delta       = `{"sourceVersion":%d,"reservoirId":"%s","reservoirVersion":%d,"index":%d,"isStartingVersion":%v}`
		noneAtFirst = "-"
	)
	d := func(version int, table string, commit, index int, snapshot bool) string {
		return fmt.Sprintf(delta, version, table, commit, index, snapshot)
	}
	for _, c := range []struct {
		name          string
		before, after string
		change        checkpoint.OffsetChange
		moved         int64
		known         bool
		records       int64
		exact         bool
	}{
		{"files", `{"logOffset":3}`, `{"logOffset":5}`, checkpoint.OffsetMoved, 2, true, 0, false},
		{"no files", `{"logOffset":3}`, `{"logOffset":3}`, checkpoint.OffsetStill, 0, true, 0, false},
		{"files, backwards", `{"logOffset":3}`, `{"logOffset":1}`, checkpoint.OffsetBackwards, -2, true, 0, false},
		{"the first files", noneAtFirst, `{"logOffset":1}`, checkpoint.OffsetAdded, 2, true, 0, false},
		{"numbers", "7", "9", checkpoint.OffsetMoved, 2, true, 0, false},
		{"the first number", noneAtFirst, "9", checkpoint.OffsetAdded, 0, false, 0, false},
		{"rate", `{"offset":10,"timestamp":1}`, `{"offset":30,"timestamp":2}`, checkpoint.OffsetMoved, 20, true, 20, true},
		{"rate, backwards", `{"offset":30,"timestamp":1}`, `{"offset":10,"timestamp":2}`, checkpoint.OffsetBackwards, -20, true, 0, false},
		{"the first of rate", noneAtFirst, `{"offset":30,"timestamp":2}`, checkpoint.OffsetAdded, 30, true, 30, true},
		{"nothing yet", noneAtFirst, noneAtFirst, checkpoint.OffsetStill, 0, false, 0, false},
		{"no more", "7", noneAtFirst, checkpoint.OffsetRemoved, 0, false, 0, false},
		{"another notation", "7", `{"logOffset":8}`, checkpoint.OffsetReplaced, 0, false, 0, false},
		{"damaged", `{"t":{"0":1}}`, `{"t":{"0":1`, checkpoint.OffsetReplaced, 0, false, 0, false},
		{"other", `[1]`, `[2]`, checkpoint.OffsetMoved, 0, false, 0, false},
		{"other, still", `[1]`, `[1]`, checkpoint.OffsetStill, 0, false, 0, false},
		{"commits", d(1, "a", 5, 8, false), d(1, "a", 7, -1, false), checkpoint.OffsetMoved, 2, true, 0, false},
		{"within a commit", d(1, "a", 5, 8, false), d(1, "a", 5, 9, false), checkpoint.OffsetMoved, 0, true, 0, false},
		{"the same", d(1, "a", 5, 8, false), d(1, "a", 5, 8, false), checkpoint.OffsetStill, 0, true, 0, false},
		{"back within a commit", d(1, "a", 5, 8, false), d(1, "a", 5, 7, false), checkpoint.OffsetBackwards, 0, true, 0, false},
		{"back by commits", d(1, "a", 5, 8, false), d(3, "a", 4, 8, false), checkpoint.OffsetBackwards, -1, true, 0, false},
		{"places in another notation", d(1, "a", 5, -1, false), d(3, "a", 5, -100, false), checkpoint.OffsetMoved, 0, true, 0, false},
		{"snapshot done", d(1, "a", 5, 8, true), d(1, "a", 5, -1, false), checkpoint.OffsetMoved, 0, true, 0, false},
		{"another table", d(1, "a", 5, 8, false), d(1, "b", 6, 8, false), checkpoint.OffsetReplaced, 0, false, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			es := history(t, logFiles(t, offsetLogs(c.before, c.after)))
			p := es[1].Sources[0]
			assert.Equal(t, c.change, p.Change)
			moved, ok := p.Moved()
			assert.Equal(t, c.moved, moved)
			assert.Equal(t, c.known, ok)
			assert.Equal(t, c.records, p.Records)
			assert.Equal(t, c.exact, p.Exact)
		})
	}
}

// Sources are told apart by their place in the plan, in version 2 by their
// names.
func TestSourcesComeAndGo(t *testing.T) {
	es := history(t, logFiles(t, offsetLogs("1\n2", "3", "4\n-\n6")))
	ids := func(e *checkpoint.HistoryEntry) (out []string) {
		for _, p := range e.Sources {
			out = append(out, fmt.Sprint(p.ID, " ", p.Change))
		}
		return out
	}
	assert.Equal(t, []string{"0 added", "1 added"}, ids(es[0]))
	assert.Equal(t, []string{"0 moved", "1 removed"}, ids(es[1]))
	assert.Equal(t, []string{"0 moved", "1 added", "2 added"}, ids(es[2]))

	es = history(t, logFiles(t, map[string]string{
		"offsets/0":        "v2\n{}\nclicks:{\"t\":{\"0\":5}}\nviews:1\n../../etc:1",
		"sources/clicks/0": "\x00v1\n{\"t\":{\"0\":2}}",
		"offsets/1":        "v2\n{}\nviews:2\nclicks:{\"t\":{\"0\":9}}",
	}))
	assert.EqualValues(t, 3, es[0].Sources[0].Records)
	assert.Equal(t, []string{"views moved", "clicks moved", "../../etc removed"}, ids(es[1]))
	assert.EqualValues(t, 4, es[1].Sources[1].Records)
}

// module is the module's directory; besides may lie sets of checkpoints that
// are larger than the project's own.
const module = ".."

// realCheckpoints finds the checkpoints that Spark wrote.
func realCheckpoints(t *testing.T) []string {
	t.Helper()
	out, err := filepath.Glob(module + "/testdata/*/*/checkpoint")
	require.NoError(t, err)
	require.NotEmpty(t, out)
	for _, pattern := range []string{"shared/corpus/*/*/ckpt", "shared/golden/*"} {
		more, err := filepath.Glob(filepath.Join(module, "..", pattern))
		require.NoError(t, err)
		if len(more) == 0 {
			t.Logf("../%s is not there", pattern)
		}
		out = append(out, more...)
	}
	return out
}

// Of every batch that Spark wrote all is understood: the logs, the offsets,
// and that a batch starts with the watermark that the one before led to.
func TestHistoryOfRealCheckpoints(t *testing.T) {
	batches, kinds := 0, map[checkpoint.OffsetKind]int{}
	for _, dir := range realCheckpoints(t) {
		cp, err := checkpoint.Open(dir)
		require.NoError(t, err)
		defer cp.Close()
		var last *checkpoint.HistoryEntry
		for _, e := range history(t, cp) {
			require.NoError(t, e.Err(), dir)
			batches++
			for _, p := range e.Sources {
				kinds[p.End.Kind]++
				assert.NotEqual(t, checkpoint.OtherOffset, p.End.Kind, "%s %s", dir, p.End.Raw)
				assert.NotContains(t, []checkpoint.OffsetChange{checkpoint.OffsetBackwards, checkpoint.OffsetReplaced, checkpoint.OffsetRemoved}, p.Change, dir)
			}
			if last != nil && e.Offsets != nil && last.NextWatermarkFrom == checkpoint.Recorded && e.Gap == 0 {
				assert.Equal(t, last.NextWatermarkMs, e.Offsets.WatermarkMs, "%s batch %d", dir, e.ID)
			}
			last = e
		}
		if strings.HasSuffix(dir, "offsetId-commitId-inconsistent") {
			assert.Equal(t, checkpoint.Holes{Offsets: []checkpoint.BatchRange{{First: 3, Last: 3}}}, cp.Holes())
		} else {
			assert.Empty(t, cp.Holes().Offsets, dir)
			assert.Empty(t, cp.Holes().Commits, dir)
		}
	}
	t.Logf("%d batches, %v", batches, kinds)
}

// The ad-billing query reads a file a batch, and ends with a batch without.
func TestHistoryOfAdBilling(t *testing.T) {
	dirs, err := filepath.Glob(module + "/testdata/*/ad_billing/checkpoint")
	require.NoError(t, err)
	require.NotEmpty(t, dirs)
	for _, dir := range dirs {
		cp, err := checkpoint.OpenFS(os.DirFS(dir), ".")
		require.NoError(t, err)
		es := history(t, cp)
		require.Len(t, es, 7)
		for i, e := range es {
			assert.True(t, e.Planned && e.Committed)
			assert.Empty(t, e.ConfChanges)
			assert.Equal(t, checkpoint.FileOffset, e.Sources[0].End.Kind)
			assert.EqualValues(t, min(i, 5), e.Sources[0].End.Number)
			moved, ok := e.Sources[0].Moved()
			assert.True(t, ok)
			assert.EqualValues(t, min(1, 6-i), moved)
		}
		assert.EqualValues(t, 0, es[0].Offsets.WatermarkMs)
		assert.EqualValues(t, 1767603655867, es[0].NextWatermarkMs)
		assert.EqualValues(t, 1767604259529, es[6].NextWatermarkMs)
	}
}

func FuzzHistory(f *testing.F) {
	f.Add("v1\n{}\n{\"t\":{\"0\":5}}", "v2\n{\"conf\":{\"a\":\"1\"}}\n0:{\"t\":{\"0\":3,\"1\":9}}", "\x00v1\n{\"t\":{\"0\":1}}")
	f.Add("v1\n{\"conf\":{}}\n5\n-", "v1\n{\"conf\":{\"a\":\"1\"}}\n{\"logOffset\":5}\n7", "v1\n5")
	f.Fuzz(func(t *testing.T, first, second, start string) {
		es := history(t, logFiles(t, map[string]string{"offsets/0": first, "offsets/1": second, "commits/1": second, "sources/0/0": start}))
		require.Len(t, es, 2)
		for _, e := range es {
			for _, p := range e.Sources {
				require.GreaterOrEqual(t, p.Records, int64(0))
				require.True(t, slices.IsSortedFunc(p.Partitions, func(a, b checkpoint.PartitionProgress) int {
					if a.Topic != b.Topic {
						return strings.Compare(a.Topic, b.Topic)
					}
					return int(a.Partition) - int(b.Partition)
				}))
			}
		}
	})
}

package statetest_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore/codec"
	"github.com/sparkstate/sparkstate/statestore/statetest"
)

// The program testdata/generate/readback.py has Spark read what these tests write,
// and go on from it. It names the folder; without it they write for themselves.
var (
	writeTo = flag.String("write", "", "write the checkpoints for Spark to judge to this `folder`")
	asSpark = flag.String("spark", "4.1.4", "the `version` of Spark that is imitated")
)

// judged is a query as Spark has it after two batches, and what it reads in the
// two and in the one after them.
type judged struct {
	operators []statetest.Operator
	codec     codec.Codec
	conf      map[string]string
	since     string // the first Spark that has it; "" for all
	until     string // the first that has it no more
	checksums bool
	offsetsV2 bool
	// inputs are, for each source, the lines of JSON of each batch.
	inputs [][]string
	// watermarks are those that the batches lead to.
	watermarks [2]time.Time
	// state is what the batches do.
	state [2]func(w *statetest.Writer)
	// snapshot is a version that gets one; 0 for none.
	snapshot int
}

var words = []string{
	`{"w":"a","n":1} {"w":"b","n":2} {"w":"a","n":3}`,
	`{"w":"a","n":4} {"w":"c"}`,
	`{"w":"b","n":5} {"w":"c","n":6} {"w":"d","n":7}`,
}

var clicks = []string{
	`{"t":"2026-01-05T09:00:10Z","who":"x"} {"t":"2026-01-05T09:01:00Z","who":"y"} {"t":"2026-01-05T09:04:00Z","who":"x"}`,
	`{"t":"2026-01-05T09:07:00Z","who":"x"} {"t":"2026-01-05T09:02:30Z","who":"y"} {"t":"2026-01-05T09:03:00Z","who":"w"}`,
	`{"t":"2026-01-05T09:12:00Z","who":"z"} {"t":"2026-01-05T09:06:30Z","who":"x"}`,
}

var impressions = []string{
	`{"ad":"a1","shown":"2026-01-05T09:00:00Z"} {"ad":"a2","shown":"2026-01-05T09:01:00Z"}`,
	`{"ad":"a3","shown":"2026-01-05T09:05:00Z"} {"ad":"a1","shown":"2026-01-05T09:04:00Z"}`,
	`{"ad":"a9","shown":"2026-01-05T09:03:30Z"} {"ad":"a4","shown":"2026-01-05T09:10:00Z"}`,
}

var adClicks = []string{
	`{"clicked_ad":"a1","clicked":"2026-01-05T09:00:30Z","who":"u1"}`,
	`{"clicked_ad":"a2","clicked":"2026-01-05T09:02:00Z","who":"u2"} {"clicked_ad":"a9","clicked":"2026-01-05T09:04:30Z","who":"u3"}`,
	`{"clicked_ad":"a3","clicked":"2026-01-05T09:06:00Z","who":"u4"} {"clicked_ad":"a1","clicked":"2026-01-05T09:05:00Z","who":"u5"}`,
}

// nine is a time of that morning: minutes and seconds after nine.
func nine(minute, second int) time.Time { return time.Date(2026, 1, 5, 9, minute, second, 0, time.UTC) }

func put(key, value []any) func(w *statetest.Writer) {
	return func(w *statetest.Writer) { w.Put(0, "", key, value) }
}

func all(do ...func(w *statetest.Writer)) func(w *statetest.Writer) {
	return func(w *statetest.Writer) {
		for _, f := range do {
			f(w)
		}
	}
}

func joins(op statetest.Operator, c codec.Codec, snapshot int) judged {
	add := func(w *statetest.Writer, side checkpoint.Side, matched bool, ad string, row ...any) {
		w.PutJoin(0, side, []any{ad}, append([]any{ad}, row...), matched)
	}
	return judged{
		operators:  []statetest.Operator{op.WithWatermark("shown", 2*time.Minute).WithWatermark("clicked", 3*time.Minute)},
		codec:      c,
		snapshot:   snapshot,
		inputs:     [][]string{impressions, adClicks},
		watermarks: [2]time.Time{nine(-2, -30), nine(1, 30)},
		state: [2]func(w *statetest.Writer){
			func(w *statetest.Writer) {
				add(w, checkpoint.Left, true, "a1", nine(0, 0))
				add(w, checkpoint.Left, false, "a2", nine(1, 0))
				add(w, checkpoint.Right, true, "a1", nine(0, 30), "u1")
			},
			func(w *statetest.Writer) {
				w.RemoveJoin(0, checkpoint.Left, []any{"a2"}, 0) // it has matched now
				add(w, checkpoint.Left, true, "a2", nine(1, 0))
				add(w, checkpoint.Left, false, "a3", nine(5, 0))
				add(w, checkpoint.Left, false, "a1", nine(4, 0))
				add(w, checkpoint.Right, true, "a2", nine(2, 0), "u2")
				add(w, checkpoint.Right, false, "a9", nine(4, 30), "u3")
			},
		},
	}
}

// counted is what counting and adding up the words has.
var counted = [2]func(w *statetest.Writer){
	all(put([]any{"a"}, []any{2, 4}), put([]any{"b"}, []any{1, 2})),
	all(put([]any{"a"}, []any{3, 8}), put([]any{"c"}, []any{1, nil})),
}

const (
	countAndSum = "count BIGINT NOT NULL, sum BIGINT"
	oneWindow   = "window STRUCT<start: TIMESTAMP, end: TIMESTAMP> NOT NULL"
)

func window(minute int) []any { return []any{nine(minute, 0), nine(minute+5, 0)} }

// cases are all operators of this provider, by the names that readback.py gives
// their queries.
var cases = map[string]judged{
	"aggregation": {operators: []statetest.Operator{statetest.Aggregation("w STRING", countAndSum)}, inputs: [][]string{words}, state: counted, snapshot: 1},
	"aggregation_v1": {operators: []statetest.Operator{statetest.AggregationV1("w STRING", countAndSum)}, inputs: [][]string{words}, state: counted, codec: codec.Zstd,
		conf: map[string]string{checkpoint.ConfAggregationFormat: "1"}},
	"aggregation_checksums": {operators: []statetest.Operator{statetest.Aggregation("w STRING", countAndSum)}, inputs: [][]string{words}, state: counted, snapshot: 2,
		checksums: true, since: "4.2", conf: map[string]string{checkpoint.ConfRowChecksum: "true"}},
	"aggregation_offsets_v2": {operators: []statetest.Operator{statetest.Aggregation("w STRING", countAndSum)}, inputs: [][]string{words}, state: counted,
		offsetsV2: true, since: "4.2", conf: map[string]string{"spark.sql.streaming.offsetLog.formatVersion": "2"}},
	"aggregation_global": {operators: []statetest.Operator{statetest.Aggregation("", countAndSum)}, inputs: [][]string{words}, codec: codec.LZF,
		state: [2]func(w *statetest.Writer){put(nil, []any{3, 6}), put(nil, []any{5, 10})}},
	"aggregation_windows": {operators: []statetest.Operator{statetest.Aggregation(oneWindow+", who STRING", "count BIGINT NOT NULL").WithWatermark("window", time.Minute)},
		codec: codec.Snappy, inputs: [][]string{clicks}, watermarks: [2]time.Time{nine(3, 0), nine(6, 0)}, snapshot: 2,
		state: [2]func(w *statetest.Writer){
			all(put([]any{window(0), "x"}, []any{2}), put([]any{window(0), "y"}, []any{1})),
			all(put([]any{window(5), "x"}, []any{1}), put([]any{window(0), "y"}, []any{2}), put([]any{window(0), "w"}, []any{1})),
		}},
	"dedupe": {operators: []statetest.Operator{statetest.Dedupe("w STRING")}, inputs: [][]string{words}, codec: codec.Snappy, snapshot: 2,
		state: [2]func(w *statetest.Writer){all(put([]any{"a"}, nil), put([]any{"b"}, nil)), put([]any{"c"}, nil)}},
	"dedupe_within_watermark": {operators: []statetest.Operator{statetest.DedupeWithinWatermark("who STRING")}, inputs: [][]string{clicks}, codec: codec.Zstd,
		watermarks: [2]time.Time{nine(-1, 0), nine(2, 0)}, snapshot: 1,
		state: [2]func(w *statetest.Writer){
			all(put([]any{"x"}, []any{nine(5, 10)}), put([]any{"y"}, []any{nine(6, 0)})),
			put([]any{"w"}, []any{nine(8, 0)}),
		}},
	"session_window": {operators: []statetest.Operator{statetest.SessionWindow("who STRING", "count BIGINT NOT NULL").WithWatermark("session_window", 5*time.Minute)},
		inputs: [][]string{clicks}, watermarks: [2]time.Time{nine(-1, 0), nine(2, 0)},
		state: [2]func(w *statetest.Writer){
			all(put([]any{"x", nine(0, 10)}, []any{nine(2, 10), 1}), put([]any{"x", nine(4, 0)}, []any{nine(6, 0), 1}), put([]any{"y", nine(1, 0)}, []any{nine(3, 0), 1})),
			all(put([]any{"x", nine(7, 0)}, []any{nine(9, 0), 1}), put([]any{"y", nine(1, 0)}, []any{nine(4, 30), 2}), put([]any{"w", nine(3, 0)}, []any{nine(5, 0), 1})),
		}},
	"limit": {operators: []statetest.Operator{statetest.Limit()}, inputs: [][]string{words}, snapshot: 1,
		state: [2]func(w *statetest.Writer){put(nil, []any{3}), put(nil, []any{5})}},
	"pandas_with_state": {operators: []statetest.Operator{statetest.ApplyInPandasWithState("w STRING", "c BIGINT, last BIGINT", false)},
		inputs: [][]string{words}, codec: codec.LZF, snapshot: 2,
		state: [2]func(w *statetest.Writer){
			all(put([]any{"a"}, []any{[]any{2, 2}}), put([]any{"b"}, []any{[]any{1, 1}})),
			all(put([]any{"a"}, []any{[]any{3, 1}}), put([]any{"c"}, []any{[]any{1, 1}})),
		}},
	"join_leftOuter": joins(statetest.Join("ad STRING", "ad STRING, shown TIMESTAMP", "clicked_ad STRING, clicked TIMESTAMP, who STRING"), codec.LZ4, 2),
	"join_v1": func() judged {
		j := joins(statetest.JoinV1("ad STRING", "ad STRING, shown TIMESTAMP", "clicked_ad STRING, clicked TIMESTAMP, who STRING"), codec.Snappy, 0)
		j.conf = map[string]string{checkpoint.ConfJoinFormat: "1"}
		j.until = "4.1" // which runs no query with such a join
		return j
	}(),
}

// Every case is written: its input as the file sources find it, and the
// checkpoint after two batches.
func TestForSpark(t *testing.T) {
	root := *writeTo
	if root == "" {
		root = t.TempDir()
	}
	root, err := filepath.Abs(root)
	require.NoError(t, err)
	for name, c := range cases {
		if c.since > *asSpark || c.until != "" && c.until <= *asSpark {
			continue
		}
		t.Run(name, func(t *testing.T) {
			c.write(t, filepath.Join(root, *asSpark, name))
			cp, err := checkpoint.Open(filepath.Join(root, *asSpark, name, "checkpoint"), checkpoint.OnWarning(func(err error) { t.Error(err) }))
			require.NoError(t, err)
			defer cp.Close()
			statetest.RequireWhole(t, cp)
			require.Empty(t, cp.Notes())
		})
	}
}

const partitions = 2

func (c judged) write(t *testing.T, dir string) {
	t.Helper()
	q := statetest.Query{Spark: *asSpark, Partitions: partitions, Codec: c.codec, RowChecksums: c.checksums, OffsetLogV2: c.offsetsV2, Sidecars: true, Operators: c.operators}
	w := statetest.NewWriter(q, statetest.Dir(filepath.Join(dir, "checkpoint")))
	input := make([][]statetest.InputFile, len(c.inputs[0])) // by batch
	for source, batches := range c.inputs {
		for b, lines := range batches {
			name := filepath.Join(dir, "input", fmt.Sprint(source), fmt.Sprintf("b%d.json", b))
			require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o777))
			require.NoError(t, os.WriteFile(name, []byte(strings.ReplaceAll(lines, "} {", "}\n{")), 0o666))
			at := nine(10, b) // files are read by age
			require.NoError(t, os.Chtimes(name, at, at))
			url := url.URL{Scheme: "file", Path: filepath.ToSlash(name)}
			input[b] = append(input[b], statetest.InputFile{URL: url.String(), ModifiedMs: at.UnixMilli()})
		}
	}
	for b, do := range c.state {
		for source, f := range input[b] {
			w.ReadFiles(source, f)
		}
		if !c.watermarks[b].IsZero() {
			w.SetLog(statetest.Log{NextWatermarkMs: c.watermarks[b].UnixMilli()})
		}
		do(w)
		require.NoError(t, w.Commit())
		if b+1 == c.snapshot {
			for id, op := range c.operators {
				for _, s := range op.Stores {
					require.NoError(t, w.Snapshot(id, s.Name))
				}
			}
		}
	}
	conf := map[string]string{checkpoint.ConfShufflePartitions: fmt.Sprint(partitions)}
	if c.codec != codec.Unknown {
		conf[checkpoint.ConfCodec] = c.codec.String()
	}
	for k, v := range c.conf {
		conf[k] = v
	}
	b, err := json.Marshal(map[string]any{"conf": conf, "sources": len(c.inputs)})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "case.json"), b, 0o666))
}

// TestAfterSpark compares the state that Spark left where it went on from a
// checkpoint of these tests with that of the query that ran from the start.
func TestAfterSpark(t *testing.T) {
	if *writeTo == "" {
		t.Skip("only where Spark judges")
	}
	dirs, err := filepath.Glob(filepath.Join(*writeTo, *asSpark, "*", "from_start"))
	require.NoError(t, err)
	require.NotEmpty(t, dirs)
	for _, dir := range dirs {
		t.Run(filepath.Base(filepath.Dir(dir)), func(t *testing.T) {
			want, err := checkpoint.Open(dir)
			require.NoError(t, err)
			defer want.Close()
			got, err := checkpoint.Open(filepath.Join(filepath.Dir(dir), "checkpoint"))
			require.NoError(t, err)
			defer got.Close()
			last, _, err := got.LastCommitted()
			require.NoError(t, err)
			require.Greater(t, last, int64(1), "Spark has not gone on")
			statetest.RequireSame(t, want, got)
			statetest.RequireWhole(t, got)
		})
	}
}

// twins are the fixtures that readback.py asks Spark about once more, rewritten:
// every type, and the operators that no query above has.
var twins = map[string]bool{
	"3.5.9/session_window": true, "3.5.9/join_v1": true, "3.5.9/value_types": true,
	"4.1.4/char_types": true, "4.1.4/collated_types": true, "4.1.4/fmgws_v1": true, "4.1.4/fmgws_v2": true, "4.1.4/key_types": true,
	"4.1.4/mapgroups_primitive": true, "4.1.4/pandas_with_state": true, "4.1.4/udt_types": true, "4.1.4/variant_types": true,
	"4.3.0/chained_windows": true, "4.3.0/geo_types": true, "4.3.0/map_keys": true, "4.3.0/row_checksum": true, "4.3.0/time_types": true, "4.3.0/wide_values": true,
}

// TestTwinsForSpark writes fixtures anew, where it is told to.
func TestTwinsForSpark(t *testing.T) {
	if *writeTo == "" {
		t.Skip("only where Spark judges; TestWritesWhatSparkWrites has compared them")
	}
	everyFixture(t, func(t *testing.T, f fixture) {
		if name := f.spark + "/" + f.name; twins[name] {
			f.rewrite(t, statetest.Dir(filepath.Join(*writeTo, "twins", f.spark, f.name, "checkpoint")))
		}
	})
}

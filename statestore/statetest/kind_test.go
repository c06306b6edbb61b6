package statetest_test

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore/statetest"
)

// The kinds of operators, described as in the queries of the fixtures.
var kinds = map[string][]statetest.Operator{
	"ad_billing": {
		statetest.Aggregation("window STRUCT<start: TIMESTAMP, end: TIMESTAMP> NOT NULL, adviser_id STRING", "count BIGINT NOT NULL").WithWatermark("window", time.Minute),
		statetest.Dedupe("profile_id STRING, adviser_id STRING")},
	"agg_v1":                  {statetest.AggregationV1("w STRING", "count BIGINT NOT NULL, sum DOUBLE, count BIGINT")},
	"agg_v2":                  {statetest.Aggregation("w STRING", "count BIGINT NOT NULL, sum DOUBLE, count BIGINT")},
	"agg_global":              {statetest.Aggregation("", "count BIGINT NOT NULL, sum BIGINT")},
	"dedupe_plain":            {statetest.Dedupe("w STRING")},
	"dedupe_within_watermark": {statetest.DedupeWithinWatermark("profile_id STRING")},
	"session_window":          {statetest.SessionWindow("adviser_id STRING", "count BIGINT NOT NULL, max STRING").WithWatermark("session_window", 3*time.Minute)},
	"global_limit":            {statetest.Limit()},
	"mapgroups_primitive":     {statetest.FlatMapGroupsWithState("value BIGINT NOT NULL", "value BIGINT NOT NULL", false)},
	"fmgws_v1":                {statetest.FlatMapGroupsWithStateV1("value STRING", groupState, true)},
	"fmgws_v2":                {statetest.FlatMapGroupsWithState("value STRING", groupState, true)},
	"pandas_with_state":       {statetest.ApplyInPandasWithState("w STRING", "c BIGINT, last STRING, history ARRAY<BIGINT>", true)},
	"dedupe_of_rows":          {statetest.Dedupe("k STRING")},
	"join_inner":              {watermarked(statetest.Join("ad STRING", shown, clicked))},
	"join_v1":                 {watermarked(statetest.JoinV1("ad STRING", shown, clicked))},
}

const (
	groupState = "count BIGINT NOT NULL, last STRING, numbers ARRAY<BIGINT>, byRest MAP<STRING, BIGINT>, even INT"
	shown      = "ad STRING NOT NULL, shown TIMESTAMP NOT NULL, cost DECIMAL(20,4)"
	clicked    = "clicked_ad STRING NOT NULL, clicked TIMESTAMP NOT NULL, who STRING"
)

func watermarked(join statetest.Operator) statetest.Operator {
	return join.WithWatermark("shown", 2*time.Minute).WithWatermark("clicked", 3*time.Minute)
}

// The functions for kinds of operators describe what Spark records.
func TestKindsAreSparks(t *testing.T) {
	// DDL cannot say that a list or map holds no nulls.
	nulls := strings.NewReplacer(`ontainsNull":false`, `ontainsNull":true`)
	everyFixture(t, func(t *testing.T, f fixture) {
		ops, ok := kinds[f.name]
		if !ok || f.spark == "3.3.0" {
			t.Skip("the fixture is about something else")
		}
		q := f.query(t)
		q.Operators, q.Conf = ops, nil
		m := fstest.MapFS{}
		w := statetest.NewWriter(q, statetest.Map(m, "."))
		require.NoError(t, w.Commit())
		cp, err := checkpoint.OpenFS(m, ".")
		require.NoError(t, err)
		defer cp.Close()
		require.Len(t, cp.Operators(), len(f.cp.Operators()))
		conf, _ := f.cp.Conf()
		own, _ := cp.Conf()
		assert.Equal(t, conf, own)
		for _, op := range f.cp.Operators() {
			twin, err := cp.Operator(op.ID())
			require.NoError(t, err)
			assert.Equal(t, op.Metadata(), twin.Metadata())
			assert.Equal(t, op.Label(), twin.Label())
			assert.Len(t, twin.Stores(), len(op.Stores()))
			for _, s := range op.Stores() {
				name := statetest.SchemaFile(op.ID(), s.Name()).String()
				require.Contains(t, m, name)
				got, err := checkpoint.ParseSchemaFile(m[name].Data)
				require.NoError(t, err)
				want := f.schema(t, s)
				assert.Equal(t, want.Version, got.Version)
				assert.Equal(t, nulls.Replace(want.Key.JSON()), got.Key.JSON())
				assert.Equal(t, nulls.Replace(want.Value.JSON()), got.Value.JSON())
			}
		}
	})
}

// Until 3.3.0 a deduplication records columns of its input as those of a value
// that it does not store.
func TestDedupeOfOldSparks(t *testing.T) {
	for spark, misnamed := range map[string]bool{"3.2": true, "3.3.0": true, "3.3.1": false, "3.3": false, "4.1": false} {
		q := statetest.Query{Spark: spark, Partitions: 2, Operators: []statetest.Operator{statetest.Dedupe("word STRING, n INT")}}
		cp := statetest.Open(t, q, func(w *statetest.Writer) {
			w.Put(0, "", []any{"a", 1}, nil)
			w.Put(0, "", []any{"b", nil}, nil)
			w.Commit()
		})
		statetest.RequireRows(t, cp, 0, "", []statetest.Row{{Key: []any{"b", nil}}, {Key: []any{"a", 1}}})
		s, err := cp.Store(0, "default")
		require.NoError(t, err)
		assert.Equal(t, misnamed, len(s.Notes()) > 0, "Spark %s: %v", spark, s.Notes())
		name, _ := cp.Operators()[0].Name()
		assert.Equal(t, "dedupe", name)
	}
}

// What Put is given is brought into the form of each kind.
func TestPutByKind(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 1, 5, 9, minute, 0, 0, time.UTC) }
	micros := func(minute int) int64 { return at(minute).UnixMicro() }
	for _, c := range []struct {
		name string
		op   statetest.Operator
		put  statetest.Row
		want statetest.Row
	}{
		{"aggregation", statetest.Aggregation("w STRING", "count BIGINT"), statetest.Row{Key: []any{"a"}, Value: []any{1}}, statetest.Row{Key: []any{"a"}, Value: []any{1}}},
		{"aggregation v1", statetest.AggregationV1("w STRING, n INT", "count BIGINT"),
			statetest.Row{Key: []any{"a", 1}, Value: []any{5}}, statetest.Row{Key: []any{"a", 1}, Value: []any{"a", 1, 5}}},
		{"all of it", statetest.Aggregation("", "count BIGINT"), statetest.Row{Value: []any{5}}, statetest.Row{Key: []any{}, Value: []any{5}}},
		{"dedupe", statetest.Dedupe("w STRING"), statetest.Row{Key: []any{"a"}}, statetest.Row{Key: []any{"a"}, Value: []any{nil}}},
		{"within watermark", statetest.DedupeWithinWatermark("w STRING"), statetest.Row{Key: []any{"a"}, Value: []any{at(5)}}, statetest.Row{Key: []any{"a"}, Value: []any{micros(5)}}},
		{"within watermark, a number", statetest.DedupeWithinWatermark("w STRING"), statetest.Row{Key: []any{"a"}, Value: []any{7}}, statetest.Row{Key: []any{"a"}, Value: []any{7}}},
		{"session", statetest.SessionWindow("w STRING, n INT", "count BIGINT"), statetest.Row{Key: []any{"a", 1, at(3)}, Value: []any{at(4), 9}},
			statetest.Row{Key: []any{"a", 1, micros(3)}, Value: []any{[]any{micros(3), micros(4)}, "a", 1, 9}}},
		{"groups", statetest.FlatMapGroupsWithState("w STRING", "n INT, s STRING", false), statetest.Row{Key: []any{"a"}, Value: []any{[]any{1, "x"}}},
			statetest.Row{Key: []any{"a"}, Value: []any{[]any{1, "x"}}}},
		{"groups with a timeout", statetest.ApplyInPandasWithState("w STRING", "n INT", true), statetest.Row{Key: []any{"a"}, Value: []any{nil, at(1)}},
			statetest.Row{Key: []any{"a"}, Value: []any{nil, at(1).UnixMilli()}}},
		{"groups v1", statetest.FlatMapGroupsWithStateV1("w STRING", "n INT, s STRING", true), statetest.Row{Key: []any{"a"}, Value: []any{[]any{1, "x"}, at(1)}},
			statetest.Row{Key: []any{"a"}, Value: []any{1, "x", at(1).UnixMilli()}}},
		{"groups v1, no state", statetest.FlatMapGroupsWithStateV1("w STRING", "n INT, s STRING", false), statetest.Row{Key: []any{"a"}, Value: []any{nil}},
			statetest.Row{Key: []any{"a"}, Value: []any{nil, nil}}},
		{"limit", statetest.Limit(), statetest.Row{Value: []any{50}}, statetest.Row{Key: []any{nil}, Value: []any{50}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, spark := range []string{"3.5", "4.0", "4.3"} {
				cp := statetest.Open(t, statetest.Query{Spark: spark, Partitions: 3, Operators: []statetest.Operator{c.op}}, func(w *statetest.Writer) {
					w.Put(0, "", c.put.Key, c.put.Value)
					w.Commit()
					w.Remove(0, "", c.put.Key)
					w.Commit()
				})
				statetest.RequireRows(t, cp, 0, "", []statetest.Row{c.want}, checkpoint.AtBatch(0))
				if c.put.Value == nil || len(c.put.Value) == len(c.want.Value) { // Spark keeps no other columns
					statetest.RequireRows(t, cp, 0, "", []statetest.Row{c.put}, checkpoint.AtBatch(0))
				}
				statetest.RequireRows(t, cp, 0, "", nil)
				statetest.RequireWhole(t, cp)
			}
		})
	}
}

// A join's four stores stay in step, and the last row of a key takes the place
// of one that goes.
func TestJoin(t *testing.T) {
	for _, op := range []statetest.Operator{statetest.Join("ad STRING", shown, clicked), statetest.JoinV1("ad STRING", shown, clicked)} {
		row := func(ad any, n int) []any { return []any{"an ad", int64(n), nil} }
		cp := statetest.Open(t, statetest.Query{Partitions: 4, Spark: "4.0", Operators: []statetest.Operator{op}}, func(w *statetest.Writer) {
			for i := range 4 {
				w.PutJoin(0, checkpoint.Left, []any{"a"}, row("a", i), i%2 == 0)
			}
			w.PutJoin(0, checkpoint.Left, []any{nil}, row(nil, 9), false)
			w.PutJoin(0, checkpoint.Right, []any{"a"}, row("a", 7), true)
			w.Commit()
			w.RemoveJoin(0, checkpoint.Left, []any{"a"}, 1) // 0 3 2
			w.RemoveJoin(0, checkpoint.Left, []any{"a"}, 2) // 0 3
			w.RemoveJoin(0, checkpoint.Left, []any{nil}, 0)
			w.Commit()
		})
		a := []any{"a"}
		rows := func(ns ...int) (out []statetest.Row) {
			for _, n := range ns {
				out = append(out, statetest.Row{Key: a, Value: row("a", n)})
			}
			return out
		}
		statetest.RequireJoin(t, cp, 0, checkpoint.Left, append(rows(0, 1, 2, 3), statetest.Row{Key: []any{nil}, Value: row(nil, 9)}), checkpoint.AtBatch(0))
		statetest.RequireJoin(t, cp, 0, checkpoint.Left, rows(0, 3))
		statetest.RequireJoin(t, cp, 0, checkpoint.Right, rows(7))
		statetest.RequireRows(t, cp, 0, "left-keyToNumValues", []statetest.Row{{Key: a, Value: []any{2}}})
		statetest.RequireWhole(t, cp)
		got, err := statetest.JoinRows(t.Context(), cp, 0, checkpoint.Left)
		require.NoError(t, err)
		assert.Len(t, got, 2)
	}
}

// Descriptions that cannot be are told by the first Commit.
func TestKindErrors(t *testing.T) {
	for want, c := range map[string]struct {
		q   statetest.Query
		put func(w *statetest.Writer)
	}{
		"stateStoreSave: ":            {q: statetest.Query{Operators: []statetest.Operator{statetest.Aggregation("w STRINGS", "n INT")}}},
		"symmetricHashJoin: ":         {q: statetest.Query{Operators: []statetest.Operator{statetest.Join("w STRING", "n", "n INT")}}},
		"has no column when":          {q: statetest.Query{Operators: []statetest.Operator{statetest.Dedupe("w STRING").WithWatermark("when", time.Minute)}}},
		"no version of Spark":         {q: statetest.Query{Spark: "four"}},
		"no version of Spark such":    {q: statetest.Query{Spark: "4.x"}},
		"is not known; that of 2.2":   {q: statetest.Query{Spark: "2.1"}},
		"no version 2 of the offset":  {q: statetest.Query{Spark: "4.1", OffsetLogV2: true}},
		"no row checksums":            {q: statetest.Query{Spark: "4.1", RowChecksums: true}},
		"a session has the 1 columns": {put: func(w *statetest.Writer) { w.Put(0, "", []any{"a"}, []any{1}) }},
		"only where there is one":     {put: func(w *statetest.Writer) { w.Put(1, "", []any{"a"}, []any{nil, 1}) }},
		"not string":                  {put: func(w *statetest.Writer) { w.Put(1, "", []any{"a"}, []any{"a"}) }},
		"with 0 rows has no row 0":    {put: func(w *statetest.Writer) { w.RemoveJoin(2, checkpoint.Left, []any{"a"}, 0) }},
		"no store middle":             {put: func(w *statetest.Writer) { w.PutJoin(2, "middle", []any{"a"}, []any{"a"}, true) }},
		"operator 2 (symmetricHashJoin), store left-keyWithIndexToValue, batch 0: value: unsaferow: column w: cannot write a int as STRING": {put: func(w *statetest.Writer) {
			w.PutJoin(2, checkpoint.Left, []any{"a"}, []any{1}, true)
		}},
		"operator 1 (flatMapGroupsWithState), store default, batch 0: key: unsaferow: 2 values for 1 fields; the columns are w STRING": {put: func(w *statetest.Writer) {
			w.Put(1, "", []any{"a", "b"}, []any{nil})
		}},
		"cannot write a int":    {put: func(w *statetest.Writer) { w.PutJoin(2, checkpoint.Left, []any{1}, []any{"a"}, true) }},
		"no partition 2":        {put: func(w *statetest.Writer) { w.RemoveAt(0, "", 2, nil) }},
		"there is no committed": {put: func(w *statetest.Writer) { _ = w.Snapshot(0, "") }},
		"row 1 of the key is not there": {put: func(w *statetest.Writer) {
			w.Put(2, "left-keyToNumValues", []any{"a"}, []any{2})
			w.RemoveJoin(2, checkpoint.Left, []any{"a"}, 0)
		}},
	} {
		if c.q.Partitions = 2; c.put != nil {
			c.q.Operators = []statetest.Operator{statetest.SessionWindow("w STRING", "n INT"),
				statetest.FlatMapGroupsWithStateV1("w STRING", "n INT", false), statetest.Join("w STRING", "w STRING", "w STRING")}
		}
		w := statetest.NewWriter(c.q, statetest.Map(fstest.MapFS{}, "."))
		if c.put != nil {
			c.put(w)
		}
		assert.ErrorContains(t, w.Commit(), want)
	}
}

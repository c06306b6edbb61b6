package skew_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/skew"
	"github.com/sparkstate/sparkstate/statestore/statetest"
)

const adBilling = "../testdata/4.1.4/ad_billing/checkpoint"

func openStore(t *testing.T, path string, op int) (*checkpoint.Checkpoint, *checkpoint.Store) {
	t.Helper()
	cp, err := checkpoint.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cp.Close()) })
	s, err := cp.Store(op, "default")
	require.NoError(t, err)
	return cp, s
}

// At each batch the trend has the rows and bytes that counting that batch has,
// and what changed adds up.
func TestTrendAgreesWithCounts(t *testing.T) {
	for op := range 2 {
		_, s := openStore(t, adBilling, op)
		points, err := skew.Trend(t.Context(), s, 3)
		require.NoError(t, err)
		require.Len(t, points, 7)
		for i, p := range points {
			c, err := s.Counts(t.Context(), checkpoint.AtBatch(p.Batch))
			require.NoError(t, err)
			rows, bytes := int64(0), int64(0)
			for _, x := range c.Partitions {
				rows += x.Rows
				bytes += x.KeyBytes + x.ValueBytes
			}
			assert.Equal(t, rows, p.Rows, "batch %d", p.Batch)
			assert.Equal(t, bytes, p.Bytes)
			assert.Equal(t, skew.Measure(c.Rows()).MaxOverMedian, p.MaxOverMedian)
			if i > 0 {
				assert.Equal(t, p.Rows-points[i-1].Rows, p.Inserted-p.Deleted)
			}
		}
	}
}

// A batch that is gone in between does not spoil those after it.
func TestTrendOverAGap(t *testing.T) {
	m := fstest.MapFS{}
	key, value := ddl(t, "k STRING"), ddl(t, "n BIGINT")
	w := statetest.NewWriter(statetest.Query{Partitions: 2, Operators: []statetest.Operator{{Stores: []statetest.Store{{Key: key, Value: value}}}}}, statetest.Map(m, "ck"))
	for b := range 6 {
		for i := range 10 {
			w.Put(0, "default", []any{fmt.Sprint(b, i)}, []any{i})
		}
		w.Put(0, "default", []any{"same"}, []any{b})
		w.Remove(0, "default", []any{fmt.Sprint(b, 0)}) // came and went within the batch
		require.NoError(t, w.Commit())
		if b == 3 {
			require.NoError(t, w.Snapshot(0, "default"))
		}
	}
	delete(m, "ck/state/0/1/3.delta")
	cp, err := checkpoint.OpenFS(m, "ck")
	require.NoError(t, err)
	s, err := cp.Store(0, "default")
	require.NoError(t, err)
	points, err := skew.Trend(t.Context(), s, 1)
	require.NoError(t, err)
	var got []string
	for _, p := range points {
		got = append(got, fmt.Sprintf("%d: %d rows +%d ~%d -%d", p.Batch, p.Rows, p.Inserted, p.Updated, p.Deleted))
	}
	assert.Equal(t, []string{"0: 10 rows +10 ~0 -0", "1: 19 rows +9 ~1 -0", "3: 37 rows +0 ~0 -0", "4: 46 rows +9 ~1 -0", "5: 55 rows +9 ~1 -0"}, got)
}

// One partition alone: a batch that is left out is loaded, not followed, and an
// error comes with what is before it.
func TestFollow(t *testing.T) {
	_, s := openStore(t, adBilling, 1)
	points, err := skew.Trend(t.Context(), s, 2)
	require.NoError(t, err)
	n, _ := s.Operator().Partitions()
	var last []skew.Step
	for p := range n {
		steps, err := skew.Follow(t.Context(), s, p, []int64{0, 1, 4, 5})
		require.NoError(t, err)
		var followed []bool
		for _, st := range steps {
			followed = append(followed, st.Followed)
		}
		assert.Equal(t, []bool{true, true, false, true}, followed)
		last = append(last, steps[3])
	}
	assert.Equal(t, points[5], skew.NewTrendPoint(last))
	steps, err := skew.Follow(t.Context(), s, 0, []int64{5, 6, 99})
	require.Error(t, err)
	assert.Len(t, steps, 2)
}

// The windows of the ad-billing query end at known times; those not after the
// watermark are due.
func TestTimes(t *testing.T) {
	cp, s := openStore(t, adBilling, 0)
	watermark, err := cp.WatermarkMs()
	require.NoError(t, err)
	times, err := skew.Times(t.Context(), s, skew.Clock{WatermarkMs: watermark})
	require.NoError(t, err)
	require.Len(t, times, 1)
	got := times[0]
	assert.Equal(t, checkpoint.EventTime, got.Role)
	assert.Equal(t, "key.window.end", got.Column)
	require.NotNil(t, got.Oldest)
	assert.Zero(t, *got.Oldest%300_000, "windows of five minutes")
	require.NotNil(t, got.Due)
	assert.Zero(t, *got.Due, "the last batch has removed what was due")
	assert.Zero(t, got.Unset)
	later, err := skew.Times(t.Context(), s, skew.Clock{WatermarkMs: *got.Newest})
	require.NoError(t, err)
	c, err := s.Counts(t.Context())
	require.NoError(t, err)
	assert.Equal(t, int64(skew.Measure(c.Rows()).Total), *later[0].Due)

	_, pairs := openStore(t, adBilling, 1)
	times, err = skew.Times(t.Context(), pairs, skew.Clock{WatermarkMs: watermark})
	require.NoError(t, err)
	assert.Empty(t, times)
}

// Event times are compared to the microsecond, and a delta that is gone while
// its snapshot is there spoils no trend.
func TestDueToTheMicrosecond(t *testing.T) {
	key := ddl(t, "t TIMESTAMP")
	key.Fields[0].Metadata = map[string]json.RawMessage{"spark.watermarkDelayMs": json.RawMessage("0")}
	op := statetest.Operator{Name: "stateStoreSave", Stores: []statetest.Store{{Key: key, Value: ddl(t, "n BIGINT")}}}
	s := query(t, 2, op, "default", func(w *statetest.Writer) {
		for _, us := range []int{10_000_000, 10_000_500, 9_999_999} {
			w.Put(0, "default", []any{us}, []any{1})
		}
	})
	times, err := skew.Times(t.Context(), s, skew.Clock{WatermarkMs: 10_000})
	require.NoError(t, err)
	assert.EqualValues(t, 2, *times[0].Due)
	times, err = skew.Times(t.Context(), s, skew.Clock{})
	require.NoError(t, err)
	assert.Nil(t, times[0].Due, "without a watermark nothing is known to be due")
}

// A timeout of -1 is none; a time column may be null; times before 1970 round
// down.
func TestTimeouts(t *testing.T) {
	op := statetest.Operator{Name: "flatMapGroupsWithState", Stores: []statetest.Store{{Key: ddl(t, "k INT"), Value: ddl(t, "groupState STRUCT<n: INT>, timeoutTimestamp BIGINT")}}}
	s := query(t, 2, op, "default", func(w *statetest.Writer) {
		for i, timeout := range []any{-1, 500, 1500, nil} {
			w.Put(0, "default", []any{i}, []any{nil, timeout})
		}
	})
	times, err := skew.Times(context.Background(), s, skew.Clock{WallMs: 1000})
	require.NoError(t, err)
	require.Len(t, times, 1)
	oldest, newest, due := int64(500), int64(1500), int64(1)
	assert.Equal(t, skew.TimeReport{Role: checkpoint.Timeout, Column: "value.timeoutTimestamp", Oldest: &oldest, Newest: &newest, Due: &due, Unset: 2}, times[0])
}

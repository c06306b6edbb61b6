package statetest_test

import (
	"fmt"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore/statetest"
)

func atBatch(b int64) checkpoint.Option { return checkpoint.AtBatch(b) }

// Watermarks, times and offsets are what was set; what was not set follows from
// the batch before.
func TestLogs(t *testing.T) {
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	cp := statetest.Open(t, statetest.Query{Partitions: 1, Conf: map[string]string{"spark.x": "y", checkpoint.ConfCodec: ""},
		Operators: []statetest.Operator{statetest.Dedupe("w STRING")}}, func(w *statetest.Writer) {
		w.SetLog(statetest.Log{TimestampMs: at, NextWatermarkMs: 1000, Offsets: []string{`{"topic":{"0":5}}`, ""}})
		require.NoError(t, w.Commit())
		require.NoError(t, w.Commit())
		w.SetLog(statetest.Log{WatermarkMs: 3000})
		require.NoError(t, w.Commit())
		w.SetLog(statetest.Log{WatermarkMs: 2000}) // it never goes back
		require.NoError(t, w.Commit())
	})
	type told struct{ timestamp, watermark, next int64 }
	for b, want := range []told{{at, 0, 1000}, {1767600060000, 1000, 1000}, {1767600120000, 3000, 3000}, {1767600180000, 3000, 3000}} {
		l, err := cp.Batch(int64(b))
		require.NoError(t, err)
		assert.Equal(t, want, told{l.Offsets.TimestampMs, l.Offsets.WatermarkMs, l.Commit.NextWatermarkMs})
		if b == 0 {
			assert.Equal(t, []checkpoint.SourceOffset{{ID: "0", JSON: `{"topic":{"0":5}}`}, {ID: "1"}}, l.Offsets.Sources)
		} else {
			assert.Equal(t, []checkpoint.SourceOffset{{ID: "0", JSON: fmt.Sprint(b)}}, l.Offsets.Sources)
		}
		assert.Equal(t, "y", l.Offsets.Conf["spark.x"])
		assert.NotContains(t, l.Offsets.Conf, checkpoint.ConfCodec)
	}
}

// Version 2 of the offset log names its sources.
func TestOffsetLogV2(t *testing.T) {
	cp := statetest.Open(t, statetest.Query{Spark: "4.3", OffsetLogV2: true, Partitions: 3, Operators: []statetest.Operator{statetest.Dedupe("w STRING")}}, func(w *statetest.Writer) {
		w.SetLog(statetest.Log{Offsets: []string{`{"a":{"0":1}}`, ""}})
		w.Put(0, "", []any{"a"}, nil)
		require.NoError(t, w.Commit())
	})
	l, err := cp.OffsetLog(0)
	require.NoError(t, err)
	assert.Equal(t, 2, l.Version)
	assert.Equal(t, []checkpoint.SourceOffset{{ID: "0", JSON: `{"a":{"0":1}}`}, {ID: "1"}}, l.Sources)
	n, _ := cp.Operators()[0].Partitions()
	assert.Equal(t, 3, n)
	statetest.RequireRows(t, cp, 0, "", []statetest.Row{{Key: []any{"a"}}})
}

// The log of a file source has every file once, from the tenth batch on all of
// them in one.
func TestReadFiles(t *testing.T) {
	const batches = 23
	cp := statetest.Open(t, statetest.Query{Partitions: 1, Operators: []statetest.Operator{statetest.Dedupe("w STRING")}}, func(w *statetest.Writer) {
		for b := range batches {
			if b%5 != 4 { // a batch without new data
				w.ReadFiles(1, statetest.InputFile{URL: fmt.Sprintf("file:///in/b%%20%d.json", b), ModifiedMs: int64(b)})
			}
			require.NoError(t, w.Commit())
		}
	})
	l, err := cp.OffsetLog(batches - 1)
	require.NoError(t, err)
	assert.Equal(t, []checkpoint.SourceOffset{{ID: "0"}, {ID: "1", JSON: `{"logOffset":18}`}}, l.Sources)
	logs, err := cp.SourceLogs()
	require.NoError(t, err)
	require.Len(t, logs, 1)
	var got []checkpoint.SourceFile
	for f, err := range logs[0].Files(t.Context()) {
		require.NoError(t, err)
		got = append(got, f)
	}
	require.Len(t, got, 19)
	assert.Equal(t, checkpoint.SourceFile{Path: "file:///in/b 22.json", Raw: "file:///in/b%2022.json", TimestampMs: 22, LogBatch: 18}, got[18])
}

// Each release pins and records what it knew of; older ones less.
func TestReleases(t *testing.T) {
	for _, c := range []struct {
		spark            string
		keys             int
		schema, metadata bool
		next             bool
	}{
		{"2.2", 1, false, false, false},
		{"2.3.1", 2, false, false, false},
		{"2.4", 5, false, false, true},
		{"3.0", 6, false, false, true},
		{"3.1.1", 7, true, false, true},
		{"3.1", 7, true, false, true},
		{"3.2", 8, true, false, true},
		{"3.3", 9, true, false, true},
		{"3.5", 10, true, false, true},
		{"4.0", 11, true, true, true},
		{"4.1.4", 11, true, true, true},
		{"4.3.0", 17, true, true, true},
	} {
		m := fstest.MapFS{}
		w := statetest.NewWriter(statetest.Query{Spark: c.spark, Partitions: 2, Operators: []statetest.Operator{statetest.AggregationV1("w STRING", "n BIGINT NOT NULL")}}, statetest.Map(m, "."))
		w.Put(0, "", []any{"a"}, []any{1})
		require.NoError(t, w.Commit())
		cp := open(t, m)
		conf, _ := cp.Conf()
		assert.Len(t, conf, c.keys, c.spark)
		if format, ok := conf[checkpoint.ConfAggregationFormat]; ok {
			assert.Equal(t, "1", format)
		}
		assert.Equal(t, c.schema, m[statetest.SchemaFile(0, "").String()] != nil, c.spark)
		assert.Equal(t, c.metadata, m[statetest.OperatorMetadata(0).String()] != nil, c.spark)
		assert.Equal(t, c.spark[:3] == "4.1", m[statetest.Delta(0, "", 0, 1).SparkCRC().String()] != nil, c.spark)
		l, err := cp.CommitLog(0)
		require.NoError(t, err)
		assert.Equal(t, c.next, l.HasNextWatermark, c.spark)
		if c.schema {
			sf, err := checkpoint.ParseSchemaFile(m[statetest.SchemaFile(0, "").String()].Data)
			require.NoError(t, err)
			assert.Equal(t, c.spark == "3.1.1", sf.Version == 1, c.spark)
			assert.Equal(t, c.spark == "4.3.0", sf.Value.Fields[1].Nullable, c.spark)
			statetest.RequireRows(t, cp, 0, "", []statetest.Row{{Key: []any{"a"}, Value: []any{"a", 1}}})
		}
	}
}

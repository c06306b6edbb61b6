package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// rocksDB finds a fixture that RocksDB wrote.
func rocksDB(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob(root + "/testdata/*/rocksdb*.zip")
	require.NoError(t, err)
	require.NotEmpty(t, found, "no RocksDB fixture in testdata")
	return found[0]
}

// What is written by another provider is named, and not read.
func TestRocksDBIsNamed(t *testing.T) {
	ckpt := rocksDB(t)
	code, out, errs := sparkstate("info", ckpt)
	require.Zero(t, code, errs)
	assert.Contains(t, out, "RocksDBStateStoreProvider (recorded)")
	for _, verb := range []string{"metadata", "read", "skew"} {
		code, out, errs := sparkstate(verb, ckpt)
		assert.Equal(t, exitInput, code)
		assert.Empty(t, out)
		assert.Contains(t, errs, "RocksDBStateStoreProvider; only HDFSBackedStateStoreProvider's is read yet")
	}
}

// Every JSON document has schemaVersion, checkpoint, batch and rows.
func TestDocuments(t *testing.T) {
	for _, args := range [][]string{
		{"info", adBilling}, {"metadata", adBilling}, {"skew", adBilling},
		{"read", adBilling, "--operator", "0"}, {"changes", adBilling, "--operator", "0"},
	} {
		code, out, errs := sparkstate(append(args, "--format", "json")...)
		require.Zero(t, code, errs)
		var doc struct {
			SchemaVersion int               `json:"schemaVersion"`
			Checkpoint    string            `json:"checkpoint"`
			Batch         *int              `json:"batch"`
			Rows          []json.RawMessage `json:"rows"`
		}
		require.NoError(t, json.Unmarshal([]byte(out), &doc), args[0])
		assert.Equal(t, 1, doc.SchemaVersion)
		assert.Equal(t, adBilling, doc.Checkpoint)
		require.NotNil(t, doc.Batch)
		assert.Equal(t, 6, *doc.Batch)
		assert.NotEmpty(t, doc.Rows)

		// The same rows, one a line.
		code, lines, errs := sparkstate(append(args, "--format", "jsonl")...)
		require.Zero(t, code, errs)
		var want strings.Builder
		for _, r := range doc.Rows {
			want.Write(r)
			want.WriteByte('\n')
		}
		assert.Equal(t, want.String(), lines)

		// And as many in CSV.
		code, text, errs := sparkstate(append(args, "--format", "csv")...)
		require.Zero(t, code, errs)
		records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
		require.NoError(t, err)
		assert.Len(t, records, len(doc.Rows)+1)
	}
}

func TestCSVColumns(t *testing.T) {
	code, out, errs := sparkstate("read", adBilling, "--operator", "0", "--format", "csv", "--limit", "1")
	require.Zero(t, code, errs)
	records, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	require.NoError(t, err)
	assert.Equal(t, []string{"key.window", "key.adviser_id", "value.count", "partition_id"}, records[0])
	assert.Regexp(t, `^\{"start":"2026-01-05T\d\d:\d\d:00.000000Z","end":"2026-01-05T\d\d:\d\d:00.000000Z"\}$`, records[1][0])
}

func TestTableShowsTheFirstTen(t *testing.T) {
	code, out, errs := sparkstate("read", adBilling, "--operator", "dedupe")
	require.Zero(t, code, errs)
	assert.Equal(t, 11, strings.Count(out, "\n"))
	assert.Contains(t, errs, "the first 10 rows")
	_, out, errs = sparkstate("read", adBilling, "--operator", "dedupe_1", "--limit", "12")
	assert.Equal(t, 13, strings.Count(out, "\n"), errs)
}

// The names that people script against.
func TestMetadataNames(t *testing.T) {
	code, out, errs := sparkstate("metadata", adBilling, "--format", "jsonl", "--limit", "1")
	require.Zero(t, code, errs)
	assert.True(t, strings.HasPrefix(out, `{"operatorId":0,"operatorName":"stateStoreSave","stateStoreName":"default","partitionId":0,"numKeys":`), out)
}

// skew gives what pandas gives for the same counts: the measures are written
// out here from their definitions.
func TestSkewNumbers(t *testing.T) {
	code, out, errs := sparkstate("skew", adBilling, "--format", "json")
	require.Zero(t, code, errs)
	var doc struct {
		Stores []struct {
			OperatorID    int     `json:"operatorId"`
			Measure       string  `json:"measure"`
			Count         int     `json:"count"`
			Total         float64 `json:"total"`
			Mean          float64 `json:"mean"`
			Std           float64 `json:"std"`
			StdPop        float64 `json:"stdPop"`
			Median        float64 `json:"median"`
			MaxOverMedian float64 `json:"maxOverMedian"`
			Fullest       int     `json:"fullest"`
			Rule          string  `json:"rule"`
			Hot           []int   `json:"hot"`
			Partitions    []struct {
				PartitionID int     `json:"partitionId"`
				Value       float64 `json:"value"`
			} `json:"partitions"`
		} `json:"stores"`
	}
	require.NoError(t, json.Unmarshal([]byte(out), &doc))
	require.Len(t, doc.Stores, 2)
	for _, s := range doc.Stores {
		code, rows, errs := sparkstate("read", adBilling, "--operator", strconv.Itoa(s.OperatorID), "--format", "jsonl")
		require.Zero(t, code, errs)
		total, sum, fullest := 0.0, 0.0, 0
		for i, p := range s.Partitions {
			assert.Equal(t, i, p.PartitionID)
			assert.EqualValues(t, strings.Count(rows, `"partition_id":`+strconv.Itoa(i)+"}"), p.Value)
			total += p.Value
			if p.Value > s.Partitions[fullest].Value {
				fullest = i
			}
		}
		n := float64(len(s.Partitions))
		for _, p := range s.Partitions {
			sum += (p.Value - total/n) * (p.Value - total/n)
		}
		assert.Equal(t, "rows", s.Measure)
		assert.Equal(t, "sigma", s.Rule)
		assert.Equal(t, 4, s.Count)
		assert.Equal(t, total, s.Total)
		assert.InDelta(t, total/n, s.Mean, 1e-12)
		assert.InDelta(t, math.Sqrt(sum/(n-1)), s.Std, 1e-9)
		assert.InDelta(t, math.Sqrt(sum/n), s.StdPop, 1e-9)
		assert.InDelta(t, s.Partitions[fullest].Value/s.Median, s.MaxOverMedian, 1e-12)
		assert.Equal(t, fullest, s.Fullest)
		assert.Empty(t, s.Hot) // of four partitions none can be
	}
}

// A failure to write the answer has an exit code of its own.
func TestOutputFails(t *testing.T) {
	for _, args := range [][]string{{"info"}, {"metadata"}, {"skew"}, {"read", "--operator", "1"}, {"changes", "--operator", "1", "--from", "0"}} {
		for _, f := range []string{"table", "json", "jsonl", "csv"} {
			var errs strings.Builder
			code := run(t.Context(), append([]string{args[0], adBilling, "--format", f}, args[1:]...), failing{}, &errs)
			assert.Equal(t, exitOutput, code, "%v %s: %s", args, f, errs.String())
		}
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

var _ io.Writer = failing{}

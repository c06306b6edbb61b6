package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/statestore/sqltype"
	"github.com/sparkstate/sparkstate/statestore/statetest"
)

// hotJoin writes a join whose left side has one key with half of the rows.
func hotJoin(t *testing.T, partitions, keys, hot int) string {
	t.Helper()
	typ := func(s string) *sqltype.Type {
		st, err := sqltype.ParseDDL(s)
		require.NoError(t, err)
		return st
	}
	dir := t.TempDir()
	w := statetest.NewWriter(statetest.Query{Spark: "4.1", Partitions: partitions, Operators: []statetest.Operator{{Name: "symmetricHashJoin", Stores: []statetest.Store{
		{Name: "left-keyToNumValues", Key: typ("field0 STRING"), Value: typ("value BIGINT")},
		{Name: "left-keyWithIndexToValue", Key: typ("field0 STRING, index BIGINT"), Value: typ("v INT, matched BOOLEAN"), Hashed: []int{0}},
	}}}}, statetest.Dir(dir))
	put := func(k string, n int) {
		w.Put(0, "left-keyToNumValues", []any{k}, []any{n})
		for i := range n {
			w.Put(0, "left-keyWithIndexToValue", []any{k, i}, []any{i, false})
		}
	}
	for i := range keys {
		put(fmt.Sprint("key ", i), 1)
	}
	put("<script>alert(1)</script>", hot)
	require.NoError(t, w.Commit())
	return dir
}

// The picture reads well in 80 columns, however many partitions there are.
func TestPictureFits(t *testing.T) {
	for _, partitions := range []int{1, 4, 41, 200, 2000} {
		dir := hotJoin(t, partitions, 3*partitions, 500)
		code, out, errs := sparkstate("skew", dir, "--store", "left-keyWithIndexToValue")
		require.Zero(t, code, errs)
		picture, _, _ := strings.Cut(out, "\n\n"+fmt.Sprint(partitions)+" partitions")
		lines := strings.Split(picture, "\n")
		assert.LessOrEqual(t, len(lines), maxLines+4)
		for _, l := range lines[2:] {
			assert.LessOrEqual(t, utf8.RuneCountInString(l), 80, l)
		}
		if partitions > 1 {
			assert.Contains(t, picture, "█")
		}
	}
}

func TestSkewFails(t *testing.T) {
	dir := hotJoin(t, 20, 2000, 20_000)
	args := []string{"skew", dir, "--store", "left-keyWithIndexToValue"}
	for _, c := range []struct {
		flags []string
		code  int
	}{
		{nil, exitOK},
		{[]string{"--fail"}, exitFound},
		{[]string{"--fail", "--floor", "100000"}, exitOK},
		{[]string{"--fail", "--rate", "0.1"}, exitFound},
		{[]string{"--fail", "--floor", "100000", "--rate", "0.1"}, exitOK},
		{[]string{"--rate-of", "rows"}, exitUsage},
		{[]string{"--rule", "guess"}, exitUsage},
		{[]string{"--weigh", "value.nothing"}, exitUsage},
		{[]string{"--measure", "furlongs"}, exitUsage},
	} {
		code, _, errs := sparkstate(append(args, c.flags...)...)
		assert.Equal(t, c.code, code, "%v: %s", c.flags, errs)
	}
}

// The JSON names the verdict, the key and the advice.
func TestSkewVerdict(t *testing.T) {
	dir := hotJoin(t, 20, 2000, 20_000)
	code, out, errs := sparkstate("skew", dir, "--store", "left-keyWithIndexToValue", "--format", "json", "--what-if", "64,128")
	require.Zero(t, code, errs)
	var doc struct {
		Stores []struct {
			Verdict  string  `json:"verdict"`
			Severity string  `json:"severity"`
			SkewRate float64 `json:"skewRate"`
			Fullest  int     `json:"fullest"`
			TopKeys  []struct {
				Key         map[string]string `json:"key"`
				Value       int               `json:"value"`
				PartitionID int               `json:"partitionId"`
			} `json:"topKeys"`
			WhatIf []struct {
				Partitions int     `json:"partitions"`
				Max        float64 `json:"max"`
			} `json:"whatIf"`
			Advice []string `json:"advice"`
		} `json:"stores"`
	}
	require.NoError(t, json.Unmarshal([]byte(out), &doc))
	require.Len(t, doc.Stores, 1)
	s := doc.Stores[0]
	assert.Equal(t, "hot-key", s.Verdict)
	assert.Equal(t, "critical", s.Severity)
	assert.Greater(t, s.SkewRate, 0.8)
	assert.Equal(t, "<script>alert(1)</script>", s.TopKeys[0].Key["field0"])
	assert.Equal(t, 20_000, s.TopKeys[0].Value)
	assert.Equal(t, s.Fullest, s.TopKeys[0].PartitionID)
	var counts []int
	for _, w := range s.WhatIf {
		counts = append(counts, w.Partitions)
		assert.GreaterOrEqual(t, w.Max, 20_000.0)
	}
	assert.Equal(t, []int{20, 64, 128}, counts)
	assert.Contains(t, strings.Join(s.Advice, " "), "repartitioning will not help")
}

func TestSkewTrend(t *testing.T) {
	code, out, errs := sparkstate("skew", adBilling, "--trend", "--format", "csv", "--operator", "dedupe")
	require.Zero(t, code, errs)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.Len(t, lines, 8)
	assert.Equal(t, "operatorId,operatorName,stateStoreName,batch,rows,bytes,inserted,updated,deleted,maxOverMedian,hoover,fullest", lines[0])
	code, _, _ = sparkstate("skew", adBilling, "--trend", "--batch", "3")
	assert.Equal(t, exitUsage, code)
}

// The deduplication of this query keeps every pair for ever; its windows go.
func TestNeverExpiresIsSaid(t *testing.T) {
	for _, verb := range []string{"info", "skew"} {
		code, out, errs := sparkstate(verb, adBilling)
		require.Zero(t, code, errs)
		assert.Equal(t, 1, strings.Count(out+errs, "keeps every key for ever"), verb)
		assert.Contains(t, out+errs, "dropDuplicatesWithinWatermark")
	}
}

// Most rows of this join have one key. Every rule lists its partition, and the
// verdict names the key.
func TestEveryRuleFires(t *testing.T) {
	const ckpt = root + "/testdata/4.3.0/join_skewed.zip"
	for _, rule := range []string{"sigma", "aqe", "robust", "flink"} {
		code, out, errs := sparkstate("skew", ckpt, "--store", "left-keyWithIndexToValue", "--rule", rule, "--format", "json")
		require.Zero(t, code, errs)
		var doc struct {
			Stores []struct {
				Fullest int    `json:"fullest"`
				Hot     []int  `json:"hot"`
				Verdict string `json:"verdict"`
				TopKeys []struct {
					Key map[string]string `json:"key"`
				} `json:"topKeys"`
			} `json:"stores"`
		}
		require.NoError(t, json.Unmarshal([]byte(out), &doc))
		s := doc.Stores[0]
		assert.Contains(t, s.Hot, s.Fullest, rule)
		assert.Equal(t, "hot-key", s.Verdict)
		assert.Equal(t, "ad_hot", s.TopKeys[0].Key["field0"])
	}
}

// A partition that is not there is said to count as empty, whatever the verb.
func TestAbsentPartitionsAreSaid(t *testing.T) {
	dir := copyOf(t, adBilling)
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "state", "1", "2")))
	for _, args := range [][]string{{"metadata"}, {"read"}, {"changes"}, {"skew"}, {"skew", "--trend"}, {"get", "--key", `["a","b"]`}, {"diff", "--from", "1", "--to", "2"}} {
		_, _, errs := sparkstate(append([]string{args[0], dir, "--operator", "1"}, args[1:]...)...)
		assert.Equal(t, 1, strings.Count(errs, "operator dedupe_1 has no directory for partition 2; it counts as 0"), "%v: %s", args, errs)
	}
}

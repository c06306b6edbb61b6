package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// checkDocument is the JSON document of check.
type checkDocument struct {
	SchemaVersion int
	Checkpoint    string
	Batch         *int64
	Level         string
	AskedBatch    *int64
	Rows          []struct {
		ID, Severity, File, What, Do string
		OperatorID, PartitionID      *int
		Batch, Offset                *int64
	}
	Answers []checkAnswer
	Map     []struct {
		OperatorID, PartitionID int
		Spans                   []struct {
			FirstBatch, LastBatch int64
			Loading               map[string]string
			Why                   *string
		}
	}
}

func checked(t *testing.T, args ...string) (int, checkDocument) {
	t.Helper()
	code, out, errs := sparkstate(append([]string{"check", "--format", "json"}, args...)...)
	var d checkDocument
	require.NoError(t, json.Unmarshal([]byte(out), &d), errs)
	assert.Equal(t, 1, d.SchemaVersion)
	return code, d
}

func TestCheckOfWholeCheckpoint(t *testing.T) {
	for _, level := range []string{"quick", "default", "deep"} {
		code, d := checked(t, adBilling, "--level", level)
		assert.Zero(t, code)
		assert.Equal(t, level, d.Level)
		assert.Equal(t, int64(6), *d.Batch)
		assert.Empty(t, d.Rows)
		require.Len(t, d.Answers, 4)
		for _, a := range d.Answers {
			assert.True(t, a.Restarts)
			assert.Equal(t, int64(6), *a.Newest)
			assert.Nil(t, a.Back)
		}
		require.Len(t, d.Map, 8)
		for _, m := range d.Map {
			require.Len(t, m.Spans, 1)
			assert.Equal(t, map[string]string{"sparkBefore41": "loads", "spark41": "loads", "spark42": "loads", "library": "loads"}, m.Spans[0].Loading)
		}
	}
	code, out, _ := sparkstate("check", adBilling)
	assert.Zero(t, code)
	assert.Contains(t, out, "nothing found")
	assert.Contains(t, out, "0-3  ███████")
}

// damagedCopy has a damaged snapshot and a missing delta.
func damagedCopy(t *testing.T) string {
	dir := copyOf(t, adBilling)
	edit(t, filepath.Join(dir, "state/1/2/6.snapshot"), func(b []byte) []byte { return b[:len(b)-40] })
	require.NoError(t, os.Remove(filepath.Join(dir, "state/0/1/7.delta")))
	removeSidecars(t, dir, "state/0/1/7.delta")
	return dir
}

func TestCheckOfDamagedCheckpoint(t *testing.T) {
	dir := damagedCopy(t)
	code, d := checked(t, dir)
	assert.Equal(t, exitFound, code)
	ids := map[string]string{}
	for _, r := range d.Rows {
		ids[r.ID] = r.Severity
		assert.NotEmpty(t, r.What)
		assert.NotEmpty(t, r.Do)
	}
	assert.Equal(t, "critical", ids["delta-in-some-partitions"])
	assert.Equal(t, "critical", ids["snapshot-replaceable"])
	assert.Equal(t, int64(4), *d.Answers[0].Newest)
	assert.Equal(t, int64(4), *d.Answers[1].Newest)
	assert.Equal(t, int64(5), *d.Answers[2].Newest)
	assert.Equal(t, []int64{5, 6}, d.Answers[0].Back.Commits)
	assert.Equal(t, []int64{6}, d.Answers[0].Back.Offsets)
	assert.Equal(t, &[2]int64{5, 6}, d.Answers[0].Back.Replayed)
	assert.Nil(t, d.Answers[3].Back)

	code, out, errs := sparkstate("check", dir)
	assert.Equal(t, exitFound, code)
	assert.Contains(t, errs, "2 findings of severity warning or above")
	for _, s := range []string{
		"Spark before 4.1     no                  4\n", "Spark 4.1            no                  4\n", "Spark 4.2 and later  no                  5\n",
		"            1  ██████x\n", "            2  █████▓▓\n", "commits/ 5-6", "snapshot-replaceable",
	} {
		assert.Contains(t, out, s)
	}
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		// A path or a condition longer than a line has one of its own.
		assert.True(t, utf8.RuneCountInString(line) <= textWidth || !strings.Contains(strings.TrimSpace(line), " "), line)
	}
}

func TestCheckFailOn(t *testing.T) {
	dir := copyOf(t, adBilling)
	require.NoError(t, os.Remove(filepath.Join(dir, "metadata")))
	removeSidecars(t, dir, "metadata")
	for line, want := range map[string]int{"info": exitFound, "warning": exitFound, "critical": exitOK} {
		code, _ := checked(t, dir, "--fail-on", line)
		assert.Equal(t, want, code, line)
	}
	code, _, errs := sparkstate("check", dir, "--fail-on", "never")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, errs, "info, warning, critical")
	code, _, errs = sparkstate("check", dir, "--level", "deeper")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, errs, "quick, default, deep")
	code, _, _ = sparkstate("check", t.TempDir())
	assert.Equal(t, exitInput, code)
}

func TestCheckCompareSchema(t *testing.T) {
	for proposed, want := range map[string]string{
		"key=profile_id STRING, adviser_id STRING":        "",
		"key=adviser_id STRING, profile_id STRING":        "schema-swapped",
		"key=profile STRING, adviser STRING":              "schema-renamed",
		"key=profile_id STRING, adviser_id BIGINT":        "schema-incompatible",
		"key=profile_id STRING":                           "schema-incompatible",
		"value=__dummy__ VOID, n INT":                     "", // Spark does not compare these
		"key=profile_id STRING COLLATE UNICODE, a STRING": "schema-incompatible",
	} {
		code, d := checked(t, adBilling, "--level", "quick", "--operator", "1", "--compare-schema", proposed)
		ids := map[string]bool{}
		for _, r := range d.Rows {
			ids[r.ID] = true
		}
		if want == "" {
			assert.Empty(t, ids, proposed)
			assert.Zero(t, code)
			continue
		}
		assert.True(t, ids[want], "%s: %v", proposed, ids)
	}
	for _, args := range [][]string{
		{"--compare-schema", "key=profile_id STRING"}, // of which operator?
		{"--operator", "1"},
		{"--operator", "1", "--compare-schema", "profile_id STRING"},
		{"--operator", "1", "--compare-schema", "key=profile_id STRONG"},
		{"--operator", "7", "--compare-schema", "key=profile_id STRING"},
	} {
		code, _, errs := sparkstate(append([]string{"check", adBilling}, args...)...)
		assert.Equal(t, exitUsage, code, errs)
	}
}

// Damage anywhere is an answer, whatever it hits.
func TestCheckNeverFailsOnDamage(t *testing.T) {
	for _, name := range []string{"metadata", "offsets/6", "offsets/0", "commits/6", "state/1/0/_metadata/schema", "state/1/_metadata/metadata", "state/1/2/6.snapshot", "state/0/0/7.delta"} {
		for _, level := range []string{"quick", "deep"} {
			dir := copyOf(t, adBilling)
			edit(t, filepath.Join(dir, name), func([]byte) []byte { return []byte("\x00") })
			code, _ := checked(t, dir, "--level", level)
			want := exitFound
			if level == "quick" && strings.HasPrefix(name, "state/") && !strings.Contains(name, "_metadata") {
				want = exitOK // it is not opened
			}
			assert.Equal(t, want, code, "%s, %s", name, level)
		}
	}
}

func TestCheckPictureOfManyBatches(t *testing.T) {
	marksOf := func(n, per int64) int { return utf8.RuneCountInString(drawn(nil, 0, n, per)) }
	assert.Equal(t, 64, marksOf(64, 1))
	assert.Equal(t, 50, marksOf(100, 2))
	assert.Equal(t, 51, marksOf(101, 2))
	assert.Equal(t, 64, marksOf(math.MaxInt64, ceil(math.MaxInt64, 64)))
}

package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/statestore/sqltype"
	"github.com/sparkstate/sparkstate/statestore/statetest"
)

// repartitioned writes a deduplication whose rows were partitioned by the first
// of two columns, one value of which has nearly all keys.
func repartitioned(t *testing.T, keys int) string {
	t.Helper()
	key, err := sqltype.ParseDDL("a STRING, b BIGINT")
	require.NoError(t, err)
	value, err := sqltype.ParseDDL("__dummy__ VOID")
	require.NoError(t, err)
	dir := t.TempDir()
	w := statetest.NewWriter(statetest.Query{Spark: "4.1", Partitions: 20, Operators: []statetest.Operator{{Name: "dedupe", Stores: []statetest.Store{
		{Name: "default", Key: key, Value: value, Hashed: []int{0}},
	}}}}, statetest.Dir(dir))
	for i := range keys {
		w.Put(0, "default", []any{"hot", i}, []any{nil})
	}
	for i := range 200 {
		w.Put(0, "default", []any{fmt.Sprint("a", i), i}, []any{nil})
	}
	require.NoError(t, w.Commit())
	return dir
}

// What is counted rather than walked has a verdict too, so --fail can fail.
func TestSkewOfCountsFails(t *testing.T) {
	dir := repartitioned(t, 12_000)
	for _, c := range []struct {
		flags string
		code  int
		says  string
	}{
		{"--measure keys", exitOK, ""},
		{"--measure keys --fail", exitFound, "structural (critical)"},
		{"--measure keys --fail --floor 100000", exitOK, ""},
		{"--measure keys --fail --floor 100000 --rate 0.1", exitOK, ""},
		{"--measure keys --fail --rate 0.1", exitFound, ""},
		{"--measure fileBytes --fail", exitOK, ""}, // far from 256 MB
		{"--measure fileBytes --fail --floor 2000", exitFound, "uneven (critical)"},
		{"--measure fileBytes --fail --floor 2000 --rate 0.1", exitUsage, "no level of chance"},
		{"--measure fileBytes --fail --rate 0.04 --rate-of hot", exitOK, ""},
	} {
		code, _, errs := sparkstate(append([]string{"skew", dir}, strings.Fields(c.flags)...)...)
		assert.Equal(t, c.code, code, "%s: %s", c.flags, errs)
		assert.Contains(t, errs, c.says, c.flags)
	}
	// Where keys are where hashing puts them, their numbers are chance.
	code, out, errs := sparkstate("skew", adBilling, "--measure", "keys", "--fail", "--floor", "0")
	assert.Equal(t, exitOK, code, errs)
	assert.Contains(t, out, "verdict: even (info)")
	assert.Contains(t, out, "even hashing of 714 keys")
}

// Every measure has a verdict, a severity and a skew rate, or null.
func TestSkewFieldsOfAllMeasures(t *testing.T) {
	for _, measure := range []string{"rows", "bytes", "keys", "changes", "fileBytes"} {
		code, out, errs := sparkstate("skew", adBilling, "--operator", "1", "--measure", measure, "--format", "json")
		require.Zero(t, code, errs)
		var doc struct{ Stores, Rows []map[string]any }
		require.NoError(t, json.Unmarshal([]byte(out), &doc))
		for _, s := range []map[string]any{doc.Stores[0], doc.Rows[0]} {
			assert.Equal(t, "info", s["severity"], measure)
			assert.NotEmpty(t, s["verdict"], measure)
			rate, ok := s["skewRate"]
			assert.True(t, ok, measure)
			if measure == "fileBytes" {
				assert.Nil(t, rate)
			} else {
				assert.IsType(t, 0.0, rate, measure)
			}
		}
	}
	code, out, errs := sparkstate("skew", adBilling, "--operator", "1", "--format", "csv")
	require.Zero(t, code, errs)
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	require.NoError(t, err)
	assert.Equal(t, []string{"operatorId", "operatorName", "stateStoreName", "measure", "partitionId", "value", "hot", "verdict", "severity", "skewRate"}, rows[0])
	assert.Equal(t, []string{"even", "info"}, rows[1][7:9])
}

// No flag is dropped in silence.
func TestFlagsThatDoNotGoTogether(t *testing.T) {
	for _, flags := range []string{
		"skew --trend --fail", "skew --trend --fail --rate 0.1", "skew --trend --weigh value.count", "skew --trend --measure rows",
		"skew --trend --rule sigma", "skew --trend --what-if 4", "skew --trend --batch 3", "skew --trend --floor 1", "skew --trend --top 3",
		"skew --rate 0.1", "skew --fail --rate NaN", "skew --fail --rate -0.1", "skew --fail --rate-of hot",
		"skew --what-if 0", "skew --what-if 64,-1", "skew --what-if 1000001",
		"skew --measure rows --weigh value.count", "skew --measure keys --what-if 8", "skew --measure fileBytes --top 3",
		"skew --top 0", "skew --floor -1", "skew --floor NaN",
		"read --operator 1 --limit -1", "read --operator 1 --from-snapshot -1", "read --operator 1 --salvage --limit -2",
		"get --operator 1 --key {} --limit -1", "changes --operator 1 --limit -1", "diff --operator 1 --from 1 --limit -1", "metadata --limit -1",
		"read --operator 1 --join-side left --key-schema a",
	} {
		args := strings.Fields(flags)
		code, out, errs := sparkstate(append([]string{args[0], adBilling}, args[1:]...)...)
		assert.Equal(t, exitUsage, code, "%s: %s", flags, errs)
		assert.Empty(t, out, flags)
		assert.Equal(t, 1, strings.Count(errs, "\n"), errs)
	}
}

// A column is measured where there is one.
func TestWeighSkipsOtherStores(t *testing.T) {
	code, out, errs := sparkstate("skew", adBilling, "--weigh", "value.count")
	require.Zero(t, code, errs)
	assert.Contains(t, out, "operator 0 (stateStoreSave)")
	assert.NotContains(t, out, "operator 1")
	assert.Contains(t, errs, "note: operator dedupe_1, store default is left out: value.count: there is no column count among __dummy__")
	code, _, errs = sparkstate("skew", adBilling, "--weigh", "value.nothing")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, errs, "no store has value.nothing")
	assert.Contains(t, errs, "stateStoreSave_0")
	assert.Equal(t, 1, strings.Count(errs, "\n"), errs)
	code, _, errs = sparkstate("skew", adBilling, "--measure", "furlongs")
	assert.Equal(t, exitUsage, code)
	for _, m := range []string{"rows", "keys", "bytes", "changes", "fileBytes", "value.COLUMN"} {
		assert.Contains(t, errs, m)
	}
}

// The text for people has what the documents have.
func TestSkewText(t *testing.T) {
	dir := hotJoin(t, 20, 2000, 20_000)
	code, out, errs := sparkstate("skew", dir, "--store", "left-keyWithIndexToValue")
	require.Zero(t, code, errs)
	assert.Regexp(t, `: partition [0-9]+, 5.0 % of the partitions\n`, out)
	assert.Contains(t, out, "11 rows per key")
	assert.Regexp(t, `max/mean ≥ 18\.2`, out)
}

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// shape lists the paths of a document with the types that are met there.
func shape(at string, v any, into map[string]map[string]bool) {
	kind := ""
	switch v := v.(type) {
	case nil:
		kind = "null"
	case bool:
		kind = "bool"
	case json.Number:
		kind = "number"
	case string:
		kind = "string"
	case []any:
		kind = "array"
		for _, e := range v {
			shape(at+"[]", e, into)
		}
	case map[string]any:
		kind = "object"
		for k, e := range v {
			shape(at+"."+k, e, into)
		}
	}
	if into[at] == nil {
		into[at] = make(map[string]bool)
	}
	into[at][kind] = true
}

// The document of check, version 1: whoever parses it relies on every line of
// this. Lines may be added; none may go or change without a new version.
func TestCheckDocument(t *testing.T) {
	const want = `
 object
.answers array
.answers[] object
.answers[].judge string
.answers[].newestBatch number
.answers[].restarts bool
.answers[].rollback null|object
.answers[].rollback.removeCommits array
.answers[].rollback.removeCommits[] number
.answers[].rollback.removeOffsets array
.answers[].rollback.removeOffsets[] number
.answers[].rollback.removeSourceLogs array
.answers[].rollback.removeSourceLogs[] string
.answers[].rollback.removeStateAbove number
.answers[].rollback.replayedBatches array
.answers[].rollback.replayedBatches[] number
.answers[].rollback.replayedInput array
.answers[].rollback.replayedInput[] object
.answers[].rollback.replayedInput[].end object
.answers[].rollback.replayedInput[].end.logOffset number
.answers[].rollback.replayedInput[].kind string
.answers[].rollback.replayedInput[].records null
.answers[].rollback.replayedInput[].source string
.answers[].rollback.replayedInput[].start object
.answers[].rollback.replayedInput[].start.logOffset number
.answers[].rollback.runsAgain number
.answers[].why string
.askedBatch number
.batch number
.bytesDecoded number
.checkpoint string
.filesDecoded number
.findingsLeftOut number
.level string
.map array
.map[] object
.map[].operatorId number
.map[].partitionId number
.map[].spans array
.map[].spans[] object
.map[].spans[].firstBatch number
.map[].spans[].lastBatch number
.map[].spans[].loading object
.map[].spans[].loading.library string
.map[].spans[].loading.spark41 string
.map[].spans[].loading.spark42 string
.map[].spans[].loading.sparkBefore41 string
.map[].spans[].why null|string
.map[].stateStoreName string
.rows array
.rows[] object
.rows[].batch null|number
.rows[].condition null|string
.rows[].do string
.rows[].file null|string
.rows[].id string
.rows[].offset null|number
.rows[].operatorId null|number
.rows[].operatorName null|string
.rows[].partitionId null|number
.rows[].severity string
.rows[].stateStoreName null|string
.rows[].what string
.schemaVersion number
`
	dir := copyOf(t, adBilling)
	for _, name := range []string{"state/0/2/5.delta", "state/0/2/6.delta", "state/0/2/6.snapshot", "state/0/2/7.delta", "metadata"} {
		require.NoError(t, os.Remove(filepath.Join(dir, name)))
		removeSidecars(t, dir, name)
	}
	edit(t, filepath.Join(dir, "state/1/1/7.delta"), func(b []byte) []byte { return b[:len(b)-30] })
	_, out, _ := sparkstate("check", dir, "--format", "json")
	d := json.NewDecoder(bytes.NewReader([]byte(out)))
	d.UseNumber()
	var v any
	require.NoError(t, d.Decode(&v))
	paths := make(map[string]map[string]bool)
	shape("", v, paths)
	var got []string
	for at, kinds := range paths {
		var ks []string
		for k := range kinds {
			ks = append(ks, k)
		}
		slices.Sort(ks)
		got = append(got, fmt.Sprintf("%s %s", at, strings.Join(ks, "|")))
	}
	slices.Sort(got)
	assert.Equal(t, strings.TrimPrefix(want, "\n"), strings.Join(got, "\n")+"\n")
}

func TestCheckChain(t *testing.T) {
	ids := func(args ...string) (out []string) {
		_, d := checked(t, append([]string{adBilling, "--level", "quick"}, args...)...)
		for _, r := range d.Rows {
			out = append(out, r.ID)
		}
		return out
	}
	assert.Empty(t, ids())
	assert.Contains(t, ids("--chain", "1"), "chain-long")
	code, _, _ := sparkstate("check", adBilling, "--chain", "-1")
	assert.Equal(t, exitUsage, code)
}

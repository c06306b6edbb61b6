package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type salvagedRow struct {
	printed
	Known    int64 `json:"known_batch"`
	Doubtful bool
}

func salvagedRows(t *testing.T, text string) []salvagedRow {
	t.Helper()
	return parsedLines[salvagedRow](t, text)
}

func sortedRows(rows []printed) []string {
	var out []string
	for _, r := range rows {
		out = append(out, string(r.Key)+string(r.Value))
	}
	slices.Sort(out)
	return out
}

func TestReadSalvage(t *testing.T) {
	_, whole, _ := sparkstate("read", adBilling, "--operator", "1", "--format", "jsonl")
	salvage := func(dir string, more ...string) ([]salvagedRow, string) {
		code, out, errs := sparkstate(append([]string{"read", dir, "--operator", "1", "--format", "jsonl", "--salvage"}, more...)...)
		require.Zero(t, code, errs)
		return salvagedRows(t, out), errs
	}
	same := func(rows []salvagedRow) {
		t.Helper()
		var got []printed
		for _, r := range rows {
			got = append(got, r.printed)
			assert.Equal(t, int64(6), r.Known)
			assert.False(t, r.Doubtful)
		}
		assert.Equal(t, sortedRows(printedRows(t, whole)), sortedRows(got))
	}
	rows, errs := salvage(adBilling)
	same(rows)
	assert.Contains(t, errs, "nothing is lost: these are all 714 rows")

	dir := copyOf(t, adBilling)
	edit(t, filepath.Join(dir, "state/1/2/6.snapshot"), func(b []byte) []byte { return b[:len(b)/2] })
	rows, errs = salvage(dir)
	same(rows)
	assert.Contains(t, errs, "lost: state/1/2/6.snapshot")
	assert.Contains(t, errs, "714 rows salvaged: 0 are known from before batch 6")

	edit(t, filepath.Join(dir, "state/1/2/5.delta"), func([]byte) []byte { return nil })
	rows, errs = salvage(dir)
	old := 0
	for _, r := range rows {
		if r.Known < 6 {
			old++
			assert.Equal(t, 2, r.Partition)
			assert.Equal(t, int64(3), r.Known)
		}
	}
	assert.NotZero(t, old)
	assert.Less(t, len(rows), 714)
	assert.Contains(t, errs, "5.delta")

	code, out, _ := sparkstate("read", dir, "--operator", "1", "--format", "json", "--salvage", "--limit", "3")
	assert.Zero(t, code)
	var d struct {
		Batch int64
		Rows  []salvagedRow
		Loss  salvageLoss
	}
	require.NoError(t, json.Unmarshal([]byte(out), &d))
	assert.Len(t, d.Rows, 3)
	assert.Equal(t, int64(len(rows)), d.Loss.Rows, "the loss is that of all rows, whatever the limit")
	assert.Equal(t, int64(old), d.Loss.Outdated)
	assert.Len(t, d.Loss.Files, 2)

	// Without a schema rows are bytes.
	edit(t, filepath.Join(dir, "state/1/0/_metadata/schema"), func([]byte) []byte { return nil })
	_, out, errs = sparkstate("read", dir, "--operator", "1", "--format", "jsonl", "--salvage")
	assert.Contains(t, errs, "shown as hex")
	assert.Len(t, salvagedRows(t, out), len(rows))

	code, _, errs = sparkstate("read", dir, "--operator", "1", "--salvage", "--from-snapshot", "5")
	assert.Equal(t, exitUsage, code, errs)
	code, _, _ = sparkstate("read", dir, "--operator", "1", "--format", "jsonl")
	assert.Equal(t, exitInput, code, "never the default")
}

// What describes a store may be what is damaged or lost.
func TestReadSalvageWithoutDescription(t *testing.T) {
	_, whole, _ := sparkstate("read", adBilling, "--operator", "1", "--format", "jsonl", "--salvage")
	for name, withSchema := range map[string]bool{"state/1/_metadata/metadata": true, "state/1/0/_metadata/schema": false, "offsets/6": true, "metadata": true, "commits/6": true} {
		for what, damage := range map[string]func(string){
			"damaged": func(full string) { edit(t, full, func([]byte) []byte { return []byte("?") }) },
			"lost":    func(full string) { require.NoError(t, os.Remove(full)) },
		} {
			dir := copyOf(t, adBilling)
			removeSidecars(t, dir, name)
			damage(filepath.Join(dir, name))
			args := []string{"read", dir, "--operator", "1", "--format", "jsonl", "--salvage"}
			if name == "commits/6" && what == "lost" {
				continue // then batch 5 is the last one
			}
			code, out, errs := sparkstate(args...)
			require.Zero(t, code, "%s %s: %s", name, what, errs)
			if !withSchema {
				assert.Contains(t, errs, "shown as hex", what)
				assert.Len(t, salvagedRows(t, out), 714, what)
				out, _ = func() (string, string) {
					_, o, e := sparkstate(append(args, "--key-schema", "profile_id STRING, adviser_id STRING", "--value-schema", "__dummy__ VOID")...)
					return o, e
				}()
			}
			assert.Equal(t, whole, out, "%s %s", name, what)
		}
	}
}

func TestReadSalvageOfJoinSide(t *testing.T) {
	join := filepath.Join("..", "..", "testdata", "4.1.4", "join_leftOuter.zip")
	for _, side := range []string{"left", "right"} {
		_, shown, _ := sparkstate("read", join, "--join-side", side, "--format", "jsonl")
		code, out, errs := sparkstate("read", join, "--join-side", side, "--salvage", "--format", "jsonl")
		require.Zero(t, code, errs)
		assert.Len(t, salvagedRows(t, out), strings.Count(shown, "\n"))
		assert.Contains(t, errs, "nothing is lost")
		_, out, _ = sparkstate("read", join, "--join-side", side, "--salvage", "--format", "json")
		var d struct{ Loss map[string]any }
		require.NoError(t, json.Unmarshal([]byte(out), &d))
		assert.Contains(t, d.Loss, "missingRows")
		assert.Contains(t, d.Loss, "leftoverRows")
	}
	code, _, _ := sparkstate("read", join, "--join-side", "left", "--salvage", "--store", "left-keyToNumValues")
	assert.Equal(t, exitUsage, code)
}

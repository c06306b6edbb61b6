package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Copies are partial. What is left answers for what it holds, with and without
// a schema that the caller gives.
func TestPartialCopies(t *testing.T) {
	ad := []string{adBilling, root + "/testdata/3.5.9/ad_billing/checkpoint"}
	const keys, values = "profile_id STRING, adviser_id STRING", "__dummy__ VOID"
	gone := func(names ...string) func(*testing.T, string) string {
		return func(t *testing.T, dir string) string {
			for _, n := range names {
				require.NoError(t, os.RemoveAll(filepath.Join(dir, n)))
			}
			return dir
		}
	}
	only := func(name string) func(*testing.T, string) string {
		return func(t *testing.T, dir string) string {
			// Moved away, so that nothing of the whole is above it.
			to := filepath.Join(t.TempDir(), filepath.FromSlash(name))
			require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o700))
			require.NoError(t, os.Rename(filepath.Join(dir, name), to))
			return to
		}
	}
	for _, c := range []struct {
		name string
		part func(*testing.T, string) string
		// rows that are left of operator 1: all of them, or those of some
		// partitions
		partitions []int
		operator   string
		schema     bool // whether a schema is still recorded
		says       string
	}{
		{name: "no metadata", part: gone("metadata"), operator: "1", schema: true},
		{name: "no commits", part: gone("commits"), operator: "1", schema: true},
		{name: "no offsets", part: gone("offsets"), operator: "1", schema: true},
		{name: "no logs at all", part: gone("offsets", "commits", "metadata", "sources"), operator: "1", schema: true},
		{name: "no operator metadata", part: gone("state/0/_metadata", "state/1/_metadata"), operator: "dedupe", schema: true},
		{name: "no partition 0", part: gone("state/1/0"), operator: "1", partitions: []int{1, 2, 3}, says: "no directory for partition 0; it counts as 0"},
		{name: "no schema", part: gone("state/1/0/_metadata"), operator: "1"},
		{name: "only state", part: only("state"), operator: "1", schema: true, says: "without its logs"},
		{name: "only an operator", part: only("state/1"), operator: "1", schema: true, says: "one operator's directory"},
		{name: "only a partition", part: only("state/1/2"), operator: "1", partitions: []int{2}, says: "one partition's directory"},
		{name: "an operator under another name", operator: "0", schema: true, part: func(t *testing.T, dir string) string {
			to := filepath.Join(t.TempDir(), "the second one")
			require.NoError(t, os.Rename(filepath.Join(dir, "state/1"), to))
			return to
		}},
	} {
		for _, fixture := range ad {
			t.Run(c.name+" "+filepath.Base(filepath.Dir(filepath.Dir(fixture))), func(t *testing.T) {
				code, all, errs := sparkstate("read", fixture, "--operator", "1", "--format", "jsonl")
				require.Zero(t, code, errs)
				want := all
				if c.partitions != nil {
					args := []string{"read", fixture, "--operator", "1", "--format", "jsonl"}
					for _, p := range c.partitions {
						args = append(args, "--partition", fmt.Sprint(p))
					}
					code, want, errs = sparkstate(args...)
					require.Zero(t, code, errs)
				}
				dir := c.part(t, copyOf(t, fixture))
				args := []string{dir, "--operator", c.operator, "--format", "jsonl"}

				code, counts, errs := sparkstate(append([]string{"metadata"}, args...)...)
				require.Zero(t, code, errs)
				assert.Contains(t, errs, c.says)
				rows := 0
				for line := range strings.Lines(counts) {
					var m struct {
						NumRows int  `json:"numRows"`
						NumKeys *int `json:"numKeys"`
					}
					require.NoError(t, json.Unmarshal([]byte(line), &m))
					rows += m.NumRows
					if m.NumKeys != nil {
						assert.Equal(t, m.NumRows, *m.NumKeys)
					}
				}
				assert.Equal(t, strings.Count(want, "\n"), rows)

				code, out, errs := sparkstate(append([]string{"read"}, args...)...)
				require.Zero(t, code, errs)
				if c.schema {
					assert.Equal(t, want, out)
					return
				}
				assert.Contains(t, errs, "hex")
				assert.Equal(t, strings.Count(want, "\n"), strings.Count(out, "\n"))
				assert.Contains(t, out, `"keyHex":"0000000000000000`)
				code, out, errs = sparkstate(append([]string{"read"}, append(args, "--key-schema", keys, "--value-schema", values)...)...)
				require.Zero(t, code, errs)
				assert.Equal(t, want, out)
			})
		}
	}
}

// The batches that can be read without a commit log are those that every
// partition of every store can load.
func TestNoCommitLog(t *testing.T) {
	dir := copyOf(t, adBilling)
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "commits")))
	require.NoError(t, os.Remove(filepath.Join(dir, "state/0/3/7.delta")))
	code, out, errs := sparkstate("info", dir, "--format", "json")
	require.Zero(t, code, errs)
	var doc struct {
		Batch     int    `json:"batch"`
		BatchFrom string `json:"batchFrom"`
	}
	require.NoError(t, json.Unmarshal([]byte(out), &doc))
	assert.Equal(t, 5, doc.Batch)
	assert.Equal(t, "inferred", doc.BatchFrom)
}

// An empty commit log says that no batch is committed; files of state that
// are there all the same belong to a batch that runs or never finished.
func TestNothingCommitted(t *testing.T) {
	dir := copyOf(t, adBilling)
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "commits")))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "commits"), 0o700))
	code, _, errs := sparkstate("read", dir, "--operator", "1")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, errs, "not committed")
	code, _, errs = sparkstate("info", dir)
	assert.Zero(t, code, errs)
}

// State beyond the last commit is not shown.
func TestUncommittedVersions(t *testing.T) {
	dir := copyOf(t, adBilling)
	code, want, errs := sparkstate("read", dir, "--operator", "1", "--batch", "4", "--format", "jsonl")
	require.Zero(t, code, errs)
	for _, b := range []string{"5", "6"} {
		require.NoError(t, os.Remove(filepath.Join(dir, "commits", b)))
	}
	code, got, errs := sparkstate("read", dir, "--operator", "1", "--format", "jsonl")
	require.Zero(t, code, errs)
	assert.Equal(t, want, got)
	code, _, errs = sparkstate("read", dir, "--operator", "1", "--batch", "5")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, errs, "not committed: the last committed one is 4; batches that can be read: 0-4")
}

package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCamel: with --camel no column has an underscore but those that the query
// named so, and nothing else changes.
func TestCamel(t *testing.T) {
	key := `{"profile_id":"profile_001201","adviser_id":"adviser_00010"}`
	for _, args := range [][]string{
		{"read", adBilling, "--operator", "1", "--limit", "3"},
		{"read", adBilling, "--operator", "1", "--limit", "3", "--salvage"},
		{"changes", adBilling, "--operator", "0", "--from", "5", "--to", "5", "--limit", "3"},
		{"get", adBilling, "--operator", "1", "--key", key},
		{"get", adBilling, "--operator", "1", "--key", key, "--history"},
		{"diff", adBilling, "--operator", "0", "--from", "4", "--to", "5", "--limit", "3"},
		{"batches", adBilling},
		{"batches", adBilling, "--sources"},
		{"batches", adBilling, "--conf"},
		{"batches", adBilling, "--files"},
	} {
		for _, format := range []string{"table", "csv", "json", "jsonl"} {
			args := append([]string{args[0], "--format", format}, args[1:]...)
			code, snake, errs := sparkstate(args...)
			codeCamel, out, errsCamel := sparkstate(append(args, "--camel")...)
			require.Equal(t, code, codeCamel, args)
			require.Equal(t, errs, errsCamel, args)
			var pairs []string
			for _, name := range []string{"partition_id", "batch_id", "change_type", "known_batch"} {
				words := strings.Split(name, "_")
				pairs = append(pairs, name, words[0]+strings.ToUpper(words[1][:1])+words[1][1:])
			}
			want := strings.NewReplacer(pairs...).Replace(snake)
			require.NotEqual(t, want, snake, "%v: nothing to rename", args)
			// Widths of a table follow the names.
			require.Equal(t, strings.Fields(want), strings.Fields(out), args)
		}
	}
}

// TestCamelShape: the shape that scripts are written against.
func TestCamelShape(t *testing.T) {
	code, out, errs := sparkstate("read", adBilling, "--operator", "dedupe", "--camel", "--format", "jsonl", "--limit", "1")
	require.Zero(t, code, errs)
	var row map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(out), &row))
	require.Len(t, row, 3)
	require.JSONEq(t, "0", string(row["partitionId"]))
	require.Contains(t, string(row["key"]), `"profile_id":`)
	require.Contains(t, row, "value")
}

func TestCamelNames(t *testing.T) {
	for name, want := range map[string]string{
		"": "", "key": "key", "partition_id": "partitionId", "numKeys": "numKeys", "key.profile_id": "key.profile_id", "_a__b_": "AB",
	} {
		require.Equal(t, want, camel(name))
	}
	code, _, errs := sparkstate("metadata", adBilling, "--camel")
	require.Equal(t, 2, code, "it would have no effect")
	require.Contains(t, errs, "--camel")
}

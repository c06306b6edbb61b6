package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore"
)

// What is the error is not said as a warning before.
func TestErrorIsSaidOnce(t *testing.T) {
	for _, name := range []string{"state/1/0/_metadata/schema", "state/1/_metadata/metadata"} {
		for _, verb := range []string{"read", "metadata", "skew", "changes", "get", "info"} {
			dir := copyOf(t, adBilling)
			require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte("garbage"), 0o600))
			args := []string{verb, dir}
			switch verb {
			case "read", "changes":
				args = append(args, "--operator", "1")
			case "get":
				args = append(args, "--operator", "1", "--key", "{}")
			}
			code, _, errs := sparkstate(args...)
			if code == exitOK {
				continue // the verb can do without
			}
			assert.Equal(t, 1, strings.Count(errs, name), "%s: %s", verb, errs)
		}
	}
}

// Warnings of one kind are counted once there are many; those about a codec
// after the first.
func TestManyWarnings(t *testing.T) {
	dir := copyOf(t, adBilling)
	for _, b := range []string{"0", "1", "2", "3", "4", "5", "6"} {
		edit(t, filepath.Join(dir, "offsets", b), func(text []byte) []byte {
			return []byte(strings.ReplaceAll(string(text), `.compression.codec":"lz4"`, `.compression.codec":"zstd"`))
		})
		removeSidecars(t, dir, "offsets/"+b)
	}
	code, _, errs := sparkstate("metadata", dir, "--operator", "1")
	require.Zero(t, code, errs)
	assert.Equal(t, 2, strings.Count(errs, "\n"), errs)
	assert.Contains(t, errs, "delta: at byte 0: the file is lz4, the checkpoint's conf says zstd")
	assert.Contains(t, errs, "warning: and 7 more files: the file is lz4, the checkpoint's conf says zstd")
}

func TestSnapshotThatIsMissing(t *testing.T) {
	for _, extra := range [][]string{nil, {"--batch", "4"}} {
		code, _, errs := sparkstate(append([]string{"read", adBilling, "--operator", "1", "--from-snapshot", "3", "--format", "jsonl"}, extra...)...)
		assert.Equal(t, exitUsage, code, errs)
		want := "batches with a snapshot: 2, 5"
		if extra != nil {
			want = "batches with a snapshot: 2"
		}
		assert.Contains(t, errs, want+"\n")
		assert.NotContains(t, errs, "--batch")
	}
	code, _, errs := sparkstate("read", adBilling, "--operator", "1", "--from-snapshot", "2", "--format", "jsonl")
	assert.Zero(t, code, errs)
	code, _, errs = sparkstate("read", adBilling, "--operator", "1", "--from-snapshot", "9")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, errs, "--from-snapshot 9 is after batch 6")
	side := []string{"read", root + "/testdata/4.3.0/join_inner.zip", "--join-side", "left", "--format", "jsonl", "--from-snapshot"}
	code, _, errs = sparkstate(append(side, "2")...)
	assert.Zero(t, code, errs)
	code, _, errs = sparkstate(append(side, "1")...)
	assert.Equal(t, exitUsage, code, errs)
}

func TestZipNames(t *testing.T) {
	b, err := os.ReadFile(root + "/testdata/4.1.4/agg_v2.zip")
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "agg.zip"), b, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "agg.bin"), b, 0o600))
	for _, name := range []string{"agg.bin", "agg.zip/checkpoint"} {
		code, _, errs := sparkstate("info", filepath.Join(dir, name))
		assert.Equal(t, exitInput, code)
		assert.Contains(t, errs, "name ends in .zip")
	}
	code, _, errs := sparkstate("info", filepath.Join(dir, "agg.zip"))
	assert.Zero(t, code, errs)
}

// fullDisk is a stdout that cannot be written.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestOutputThatCannotBeWritten(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {}, {"skew", "--help"}, {"help", "read"}, {"info", adBilling}, {"skew", adBilling}, {"batches", adBilling}} {
		var errs bytes.Buffer
		assert.Equal(t, exitOutput, run(context.Background(), args, fullDisk{}, &errs), "%v", args)
		assert.Contains(t, errs.String(), "no space left on device")
	}
}

// A given schema that replaces a recorded one is spoken of.
func TestSchemaOverridden(t *testing.T) {
	read := func(flags ...string) (int, string) {
		code, _, errs := sparkstate(append([]string{"read", adBilling, "--operator", "1", "--format", "jsonl"}, flags...)...)
		return code, errs
	}
	code, errs := read("--key-schema", "p STRING, a STRING")
	assert.Zero(t, code, errs)
	assert.Contains(t, errs, "note: --key-schema replaces the recorded schema of the keys, profile_id STRING, adviser_id STRING")
	code, errs = read("--key-schema", "profile_id STRING, adviser_id STRING")
	assert.Zero(t, code, errs)
	assert.NotContains(t, errs, "replaces", "it is the same")
	// Rows of two columns are too short for three; the first of two can be read.
	code, errs = read("--key-schema", "p STRING, a STRING, b STRING")
	assert.Equal(t, exitInput, code, errs)
	assert.Contains(t, errs, "which has 2 columns and not 3")
	code, errs = read("--key-schema", "p STRING")
	assert.Zero(t, code, errs)
	assert.Contains(t, errs, "which has 2 columns and not 1")
}

// Those of one kind are counted after some, others never; what the error says
// is no warning, and the rest comes before the answer.
func TestMessages(t *testing.T) {
	var w bytes.Buffer
	m := newMessages(&w)
	damage := func(n int) error {
		return &statestore.FileError{Path: fmt.Sprint(n, ".delta"), Offset: -1, Kind: statestore.ErrChecksum, Detail: "a sum"}
	}
	for n := range 8 {
		m.warn(damage(n))
		m.warn(damage(n))
		m.warn(fmt.Errorf("other %d", n))
	}
	assert.Empty(t, w.String())
	m.note("a\nnote")
	assert.Equal(t, "sparkstate: note: a; note\n", w.String())
	m.end(fmt.Errorf("batch 3: %w", damage(2)))
	lines := strings.Split(strings.TrimSpace(w.String()), "\n")
	assert.Len(t, lines, 1+4+8+1+1)
	assert.Equal(t, 1, strings.Count(w.String(), "2.delta"))
	assert.Equal(t, "sparkstate: warning: and 3 more warnings: checksum does not match", lines[13])
	assert.True(t, strings.HasPrefix(lines[14], "sparkstate: batch 3: 2.delta"), lines[14])

	w.Reset()
	m = newMessages(&w)
	out := &outStream{w: io.Discard, begin: m.begin}
	m.warn(errors.New("early"))
	_, err := out.Write([]byte("answer"))
	require.NoError(t, err)
	assert.Equal(t, "sparkstate: warning: early\n", w.String())
	m.warn(errors.New("late"))
	assert.Equal(t, "sparkstate: warning: early\nsparkstate: warning: late\n", w.String())
}

func TestHelpOfChanges(t *testing.T) {
	_, out, _ := sparkstate("changes", "--help")
	assert.Contains(t, out, "changes CKPT [--from BATCH] [--to BATCH]")
	assert.Contains(t, out, "the first batch (default: that of --to)")
}

// The advice names flags that the verb has.
func TestHintOfBatches(t *testing.T) {
	for _, c := range []struct{ args, says string }{
		{"metadata --batch 99", "pick one with --batch"},
		{"read --operator 1 --batch 99", "pick one with --batch"},
		{"changes --operator 1 --to 99", "pick one with --from and --to"},
		{"changes --operator 1 --from 5 --to 3", "pick one with --from and --to"},
		{"diff --operator 1 --from 99", "pick one with --from and --to"},
		{"export --operator 1 -o - --changes --to 99", "pick one with --from and --to"},
		{"export --operator 1 -o - --batch 99", "pick one with --batch"},
	} {
		verb, flags, _ := strings.Cut(c.args, " ")
		code, _, errs := sparkstate(append([]string{verb, adBilling}, strings.Fields(flags)...)...)
		assert.Equal(t, exitUsage, code, c.args)
		assert.Contains(t, errs, "batches that can be read: 0-6; "+c.says+"\n", c.args)
	}
}

// Who alerts on a kind of finding finds its ID where it is looked for.
func TestHelpOfCheck(t *testing.T) {
	_, out, _ := sparkstate("check", "--help")
	for _, k := range checkpoint.FindingKinds() {
		assert.Regexp(t, "(?m)^  "+k.ID+" +"+regexp.QuoteMeta(k.Title)+"$", out)
	}
}

func TestPartitionsInWords(t *testing.T) {
	dir := copyOf(t, adBilling)
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "state/1/3")))
	_, _, errs := sparkstate("metadata", dir)
	assert.Contains(t, errs, "no directory for partition 3; it counts as 0")
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "state/1/2")))
	_, _, errs = sparkstate("metadata", dir)
	assert.Contains(t, errs, "no directory for partitions 2-3; they count as 0")
	assert.Equal(t, "partition 2", ints([]int{2}))
	assert.Equal(t, "partitions 0-1, 3", ints([]int{0, 1, 3}))
}

package main

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// adBilling is the fixture that most tests use: two chained operators, deltas
// and snapshots, hidden sidecars and Spark 4.1's own.
const adBilling = root + "/testdata/4.1.4/ad_billing/checkpoint"

// copyOf returns a copy of a checkpoint that a test may damage.
func copyOf(t *testing.T, ckpt string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "checkpoint")
	require.NoError(t, os.CopyFS(dir, os.DirFS(ckpt)))
	return dir
}

func edit(t *testing.T, name string, fn func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(name, fn(b), 0o600))
}

// Each kind of bad input: the exit code, and a message of one line that names
// what is wrong and what to do next.
func TestBadInput(t *testing.T) {
	const delta = "state/1/2/7.delta"
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, dir string)
		args   []string // after the checkpoint, of read; the first may begin with /, for a path below it
		code   int
		says   []string
	}{
		{name: "no such path", args: []string{"/nothing/here", "--operator", "1"}, code: exitInput, says: []string{"nothing/here", "no such file or directory"}},
		{name: "not a checkpoint", args: []string{"/sources"}, code: exitInput, says: []string{"not a Structured Streaming checkpoint", "offsets/, commits/ and state/"}},
		{name: "the state directory", args: []string{"/state", "--operator", "1"}, code: exitOK, says: []string{"is a part (state) of the checkpoint"}},
		{name: "an operator's directory", args: []string{"/state/1", "--operator", "1"}, code: exitOK, says: []string{"is a part (state/1) of the checkpoint"}},
		{name: "a partition's directory", args: []string{"/state/1/2", "--operator", "1"}, code: exitOK, says: []string{"is a part (state/1/2) of the checkpoint"}},
		{name: "delta missing in the chain", args: []string{"--operator", "1"}, code: exitInput,
			damage: func(t *testing.T, dir string) { require.NoError(t, os.Remove(filepath.Join(dir, delta))) },
			says:   []string{delta, "missing", "CANNOT_READ_DELTA_FILE_NOT_EXISTS", "batches that can be read: 0-5"}},
		{name: "truncated file", args: []string{"--operator", "1"}, code: exitInput,
			damage: func(t *testing.T, dir string) {
				edit(t, filepath.Join(dir, delta), func(b []byte) []byte { return b[:len(b)/2] })
			},
			says: []string{delta, "at byte", "copy the file again"}},
		{name: "empty file", args: []string{"--operator", "1"}, code: exitInput,
			damage: func(t *testing.T, dir string) {
				edit(t, filepath.Join(dir, delta), func(b []byte) []byte { return nil })
			},
			says: []string{delta, "0 bytes"}},
		{name: "flipped bit", args: []string{"--operator", "1"}, code: exitInput,
			damage: func(t *testing.T, dir string) {
				edit(t, filepath.Join(dir, delta), func(b []byte) []byte { b[len(b)/3] ^= 4; return b })
			},
			says: []string{delta, "at byte"}},
		{name: "wrong codec", args: []string{"--operator", "1"}, code: exitInput,
			damage: func(t *testing.T, dir string) {
				edit(t, filepath.Join(dir, delta), func([]byte) []byte { return []byte("\x1f\x8b\x08\x00 a gzip file, by its magic") })
			},
			says: []string{delta, "1f 8b 08"}},
		{name: "length of 2 GiB", args: []string{"--operator", "1"}, code: exitInput,
			damage: func(t *testing.T, dir string) { // an unpacked file, so that the length is reached
				edit(t, filepath.Join(dir, delta), func([]byte) []byte {
					return append([]byte{0, 0, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8, 0x7f, 0xff, 0xff, 0xff}, make([]byte, 1000)...)
				})
				removeSidecars(t, dir, delta)
			},
			says: []string{delta, "2147483647 bytes"}},
		{name: "schema does not match its sidecar", args: []string{"--operator", "1"}, code: exitInput,
			damage: func(t *testing.T, dir string) {
				edit(t, filepath.Join(dir, "state/1/0/_metadata/schema"), func(b []byte) []byte {
					return []byte(strings.Replace(string(b), "profile_id", "profile_ID", 1))
				})
			},
			says: []string{"state/1/0/_metadata/schema", ".crc file", "--ignore-crc"}},
		{name: "and is read as it is", args: []string{"--operator", "1", "--ignore-crc"}, code: exitOK,
			damage: func(t *testing.T, dir string) {
				edit(t, filepath.Join(dir, "state/1/0/_metadata/schema"), func(b []byte) []byte {
					return []byte(strings.Replace(string(b), "profile_id", "profile_ID", 1))
				})
			}},
		{name: "schema cut short", args: []string{"--operator", "1"}, code: exitInput,
			damage: func(t *testing.T, dir string) {
				edit(t, filepath.Join(dir, "state/1/0/_metadata/schema"), func(b []byte) []byte { return b[:100] })
				removeSidecars(t, dir, "state/1/0/_metadata/schema")
			},
			says: []string{"state/1/0/_metadata/schema", "are announced"}},
		{name: "batch not committed", args: []string{"--operator", "1", "--batch", "7"}, code: exitUsage,
			says: []string{"batch 7", "not committed", "batches that can be read: 0-6"}},
		{name: "batch cleaned up", args: []string{"--operator", "1", "--batch", "1"}, code: exitUsage,
			damage: func(t *testing.T, dir string) {
				for p := range 4 {
					for v := 1; v <= 3; v++ {
						require.NoError(t, os.Remove(filepath.Join(dir, fmt.Sprintf("state/1/%d/%d.delta", p, v))))
					}
				}
			},
			says: []string{"batch 1", "cleaned up", "batches that can be read: "}},
		{name: "no such operator", args: []string{"--operator", "dedupes"}, code: exitUsage, says: []string{"dedupes", "stateStoreSave_0, dedupe_1"}},
		{name: "no such store", args: []string{"--operator", "1", "--store", "left"}, code: exitUsage, says: []string{"left", "dedupe_1/default"}},
		{name: "no such partition", args: []string{"--operator", "1", "--partition", "9"}, code: exitUsage, says: []string{"9 of 4"}},
		{name: "which store", code: exitUsage, says: []string{"--operator stateStoreSave_0 --store default | --operator dedupe_1 --store default"}},
		{name: "no such flag", args: []string{"--opeartor", "1"}, code: exitUsage, says: []string{"unknown flag: --opeartor"}},
		{name: "no such format", args: []string{"--format", "xml"}, code: exitUsage, says: []string{"table, json, jsonl, csv"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := copyOf(t, adBilling)
			if c.damage != nil {
				c.damage(t, dir)
			}
			ckpt, args := dir, c.args
			if len(args) > 0 && args[0][0] == '/' {
				ckpt, args = dir+args[0], args[1:]
			}
			code, _, errs := sparkstate(append([]string{"read", ckpt, "--format", "jsonl"}, args...)...)
			assert.Equal(t, c.code, code, errs)
			for _, s := range c.says {
				assert.Contains(t, errs, s)
			}
			if code != exitOK {
				assert.Equal(t, 1, strings.Count(errs, "\n")-strings.Count(errs, "warning:")-strings.Count(errs, "note:"), errs)
			}
		})
	}
}

func removeSidecars(t *testing.T, dir, name string) {
	t.Helper()
	d, b := filepath.Split(filepath.Join(dir, name))
	for _, n := range []string{d + "." + b + ".crc", d + b + ".crc"} {
		if err := os.Remove(n); !os.IsNotExist(err) {
			require.NoError(t, err)
		}
	}
}

// After any change of one byte in any file there is an error, or the answer is
// the right one; a change in a log may also be a warning.
func TestOneByteChanged(t *testing.T) {
	type outcome struct{ right, refused, warned int }
	got := map[string]*outcome{"state": {}, "logs": {}}
	for _, fixture := range []string{adBilling, root + "/testdata/3.5.9/ad_billing/checkpoint"} {
		dir := copyOf(t, fixture)
		var files []string
		require.NoError(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				files = append(files, p)
			}
			return err
		}))
		ask := func(op string) (int, string, string) {
			return sparkstate("read", dir, "--operator", op, "--format", "jsonl")
		}
		want := map[string]string{}
		for _, op := range []string{"0", "1"} {
			code, out, errs := ask(op)
			require.Zero(t, code, errs)
			want[op] = out
		}
		r := rand.New(rand.NewPCG(3, 5))
		for range 600 {
			name := files[r.IntN(len(files))]
			b, err := os.ReadFile(name)
			require.NoError(t, err)
			if len(b) == 0 {
				continue
			}
			at, to := r.IntN(len(b)), byte(1+r.IntN(255))
			changed := append([]byte(nil), b...)
			changed[at] ^= to
			require.NoError(t, os.WriteFile(name, changed, 0o600))
			kind := "state"
			if rel, _ := filepath.Rel(dir, name); strings.HasPrefix(rel, "offsets") || strings.HasPrefix(rel, "commits") {
				kind = "logs"
			}
			for op, rows := range want {
				switch code, out, errs := ask(op); {
				case code == exitInput || code == exitUsage:
					got[kind].refused++
					// What was printed before the error is right as well.
					assert.True(t, strings.HasPrefix(rows, out) || kind == "logs" && strings.Contains(errs, "warning"), "%s byte %d ^ %02x", name, at, to)
				case code == exitOK && out == rows:
					got[kind].right++
				case code == exitOK && kind == "logs" && strings.Contains(errs, "warning"):
					got[kind].warned++
				default:
					t.Errorf("%s, byte %d ^ %02x, operator %s: exit %d, other rows\n%s", name, at, to, op, code, errs)
				}
			}
			require.NoError(t, os.WriteFile(name, b, 0o600))
		}
	}
	t.Logf("state, schema and metadata: %+v; logs: %+v", *got["state"], *got["logs"])
}

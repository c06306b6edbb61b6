package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/examples/sparkstate/internal/sparkjson"
	"github.com/sparkstate/sparkstate/statestore/placement"
	"github.com/sparkstate/sparkstate/statestore/unsaferow"
)

// printed is a row as read and get print it.
type printed struct {
	Key       json.RawMessage `json:"key"`
	Value     json.RawMessage `json:"value"`
	Partition int             `json:"partition_id"`
}

func printedRows(t *testing.T, text string) []printed {
	t.Helper()
	return parsedLines[printed](t, text)
}

// parsedLines reads JSON Lines.
func parsedLines[T any](t *testing.T, text string) []T {
	t.Helper()
	var out []T
	for line := range strings.Lines(text) {
		var row T
		require.NoError(t, json.Unmarshal([]byte(line), &row), line)
		out = append(out, row)
	}
	return out
}

// answer is the JSON document of get.
type answer struct {
	Batch          int64
	OwnPartition   *int
	PartitionsRead []int
	KnownFrom      *int64
	Rows           []struct {
		printed
		Batch  int64  `json:"batch_id"`
		Change string `json:"change_type"`
	}
}

func getJSON(t *testing.T, wantCode int, args ...string) answer {
	t.Helper()
	code, out, errs := sparkstate(append([]string{"get", "--format", "json"}, args...)...)
	require.Equal(t, wantCode, code, "%v\n%s", args, errs)
	var a answer
	require.NoError(t, json.Unmarshal([]byte(out), &a), out)
	return a
}

// Every key that read prints is the key again when it is given to get: all of
// them make the bytes that are stored, and lead to the partition where the row
// is; some are looked up, and there is exactly their row, in one partition
// where placement is strict.
func TestGetWhatReadPrints(t *testing.T) {
	const lookups = 2 // a store
	r := rand.New(rand.NewPCG(5, 6))
	keys, found := 0, 0
	for _, c := range sparkCases(t) {
		t.Run(c.name, func(t *testing.T) {
			cp := c.open(t)
			for _, o := range cp.Operators() {
				for _, s := range o.Stores() {
					store := []string{c.ckpt, "--operator", fmt.Sprint(o.ID()), "--store", s.Name()}
					code, out, errs := sparkstate(append([]string{"read", "--format", "jsonl"}, store...)...)
					require.Zero(t, code, errs)
					rows := printedRows(t, out)
					strict := sameKeys(t, s, rows)
					keys += len(rows)
					// Rows by key, and by position without a last column that only
					// numbers the rows of a key.
					columns := len(s.GroupingKey().Fields)
					same := make(map[string][]printed)
					for _, row := range rows {
						same[string(row.Key)] = append(same[string(row.Key)], row)
						g := group(t, row, columns)
						same[g] = append(same[g], row)
					}
					for range min(lookups, len(rows)) {
						row := rows[r.IntN(len(rows))]
						for _, key := range []string{string(row.Key), group(t, row, columns)} {
							a := getJSON(t, exitOK, append(store, "--key", key)...)
							var got []printed
							for _, r := range a.Rows {
								got = append(got, r.printed)
							}
							assert.Equal(t, same[key], got, key)
							if strict {
								assert.Equal(t, []int{row.Partition}, a.PartitionsRead)
							}
							found++
						}
					}
				}
			}
		})
	}
	t.Logf("%d keys read back, %d looked up", keys, found)
}

// sameKeys checks that the printed keys are those of the store, in the same
// order. It reports whether each is in the only partition where it can be.
func sameKeys(t *testing.T, s *checkpoint.Store, rows []printed) (strict bool) {
	t.Helper()
	typ, _ := s.Key()
	n, from := s.Operator().Partitions()
	rule := s.Placement()
	grouping := s.GroupingKey()
	require.NotNil(t, grouping)
	hasher, err := placement.NewHasher(grouping, nil)
	strict = rule.Strict && from == checkpoint.Recorded && err == nil || rule.Single
	i := 0
	for p := range n {
		for e, err := range s.Entries(context.Background(), p) {
			require.NoError(t, err)
			require.Less(t, i, len(rows))
			values, err := sparkjson.ParseRow(typ, rows[i].Key)
			require.NoError(t, err, "%s", rows[i].Key)
			key, err := unsaferow.Append(nil, typ, values)
			require.NoError(t, err)
			if string(e.Key) != string(key) {
				// Nulls of some types have bytes of their own.
				f, err := s.Get(context.Background(), checkpoint.KeyOf(values...))
				require.NoError(t, err)
				require.True(t, slices.ContainsFunc(f.Rows, func(r checkpoint.Row) bool { return string(r.Key) == string(e.Key) }), "%s", rows[i].Key)
			}
			if strict && !rule.Single {
				key, err = unsaferow.Append(nil, grouping, values[:len(grouping.Fields)])
				require.NoError(t, err)
				hash, err := hasher.Hash(key)
				require.NoError(t, err)
				require.Equal(t, p, placement.Partition(hash, n), "%s", rows[i].Key)
			}
			i++
		}
	}
	require.Equal(t, len(rows), i)
	return strict
}

// group is a key by position, of its first n columns.
func group(t *testing.T, row printed, n int) string {
	t.Helper()
	return "[" + strings.Join(members(t, row.Key)[:n], ",") + "]"
}

// members returns the values of an object in their order.
func members(t *testing.T, object json.RawMessage) []string {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(object)))
	_, err := d.Token()
	require.NoError(t, err)
	var out []string
	for d.More() {
		_, err := d.Token()
		require.NoError(t, err)
		var v json.RawMessage
		require.NoError(t, d.Decode(&v))
		out = append(out, string(v))
	}
	return out
}

// The history of a key is what the change feed has of it.
func TestGetHistoryIsTheChangeFeeds(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, c := range sparkCases(t) {
		t.Run(c.name, func(t *testing.T) {
			cp := c.open(t)
			for _, o := range cp.Operators() {
				for _, s := range o.Stores() {
					store := []string{c.ckpt, "--operator", fmt.Sprint(o.ID()), "--store", s.Name()}
					batches, err := s.Readable(context.Background())
					require.NoError(t, err)
					if batches[0] != 0 {
						continue // of which there is no whole feed
					}
					code, feed, errs := sparkstate(append([]string{"changes", "--format", "jsonl", "--from", "0"}, store...)...)
					require.Zero(t, code, errs)
					lines := strings.SplitAfter(strings.TrimSuffix(feed, "\n"), "\n")
					if feed == "" {
						continue
					}
					var one printed
					require.NoError(t, json.Unmarshal([]byte(lines[r.IntN(len(lines))]), &one))
					var want strings.Builder
					for _, l := range lines {
						var p printed
						require.NoError(t, json.Unmarshal([]byte(l), &p))
						if string(p.Key) == string(one.Key) && p.Partition == one.Partition {
							want.WriteString(strings.TrimSuffix(l, "\n") + "\n")
						}
					}
					code, got, errs := sparkstate(append([]string{"get", "--history", "--format", "jsonl", "--key", string(one.Key)}, store...)...)
					require.Zero(t, code, errs)
					assert.Equal(t, want.String(), got)
				}
			}
		})
	}
}

// What get says where, and with which exit code.
func TestGetAnswers(t *testing.T) {
	const key = `{"profile_id":"profile_001201","adviser_id":"adviser_00010"}`
	noConf := func(t *testing.T, dir string) { // where placement is not promised
		t.Helper()
		names, err := filepath.Glob(dir + "/offsets/*")
		require.NoError(t, err)
		for _, n := range names {
			edit(t, n, func(b []byte) []byte {
				return []byte(strings.Replace(string(b), `useStrictDistribution":"true"`, `useStrictDistribution":"false"`, 1))
			})
		}
	}
	noSchema := func(t *testing.T, dir string) {
		t.Helper()
		require.NoError(t, os.RemoveAll(dir+"/state/1/0/_metadata"))
	}
	_, hexed, _ := func() (int, string, string) {
		dir := copyOf(t, adBilling)
		noSchema(t, dir)
		return sparkstate("read", dir, "--operator", "1", "--format", "csv", "--partition", "3", "--limit", "1")
	}()
	keyHex := strings.Split(strings.Split(hexed, "\n")[1], ",")[0]
	keyOf := func(partition, batch string) string {
		code, out, errs := sparkstate("read", adBilling, "--operator", "1", "--format", "jsonl", "--limit", "1", "--partition", partition, "--batch", batch)
		require.Zero(t, code, errs)
		return string(printedRows(t, out)[0].Key)
	}
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, dir string)
		args   []string
		code   int
		out    []string
		says   []string
	}{
		{"by name", nil, []string{"--key", key}, exitOK, []string{"profile_001201  adviser_00010   –                           0\n"}, []string{"note: read partition 0, where it belongs"}},
		{"by position", nil, []string{"--key", `["profile_001201","adviser_00010"]`, "--format", "csv"}, exitOK,
			[]string{"key.profile_id,key.adviser_id,value.__dummy__,partition_id\nprofile_001201,adviser_00010,,0\n"}, []string{"read partition 0"}},
		{"as JSON", nil, []string{"--key", key, "--format", "json"}, exitOK,
			[]string{`"batch":6,"ownPartition":0,"partitionsRead":[0],"rows":[` + "\n" + `{"key":` + key + `,"value":{"__dummy__":null},"partition_id":0}]}`}, nil},
		{"as lines", nil, []string{"--key", key, "--format", "jsonl"}, exitOK, []string{`{"key":` + key + `,"value":{"__dummy__":null},"partition_id":0}` + "\n"}, []string{"read partition 0"}},
		{"not there", nil, []string{"--key", `["profile_001201","nobody"]`, "--format", "jsonl"}, exitFound, nil,
			[]string{"the key is not in the state after batch 6; read partition 1, where it belongs"}},
		{"not there yet", nil, []string{"--key", key, "--batch", "0"}, exitFound, []string{"key.profile_id"}, []string{"not in the state after batch 0"}},
		{"history", nil, []string{"--key", key, "--history", "--format", "csv"}, exitOK,
			[]string{"batch_id,change_type,key.profile_id,key.adviser_id,value.__dummy__,partition_id\n5,update,profile_001201,adviser_00010,,0\n"}, []string{"read partition 0"}},
		{"history that is empty", nil, []string{"--key", key, "--history", "--batch", "3", "--format", "json"}, exitFound,
			[]string{`"knownFrom":0,"ownPartition":0,"partitionsRead":[0],"rows":[]`}, []string{"not in the state after batch 3"}},
		{"placement not promised", noConf, []string{"--key", key, "--format", "json"}, exitOK, []string{`"ownPartition":0,"partitionsRead":[0]`}, nil},
		{"nor there", noConf, []string{"--key", `["x","y"]`}, exitFound, []string{"key.profile_id"}, []string{"read partitions 0-3, because this checkpoint does not promise"}},
		{"hex", noSchema, []string{"--key-hex", keyHex, "--format", "jsonl"}, exitOK, []string{`{"keyHex":"` + keyHex + `","valueHex":"0100000000000000`, `"partition_id":3}`},
			[]string{"read partitions 0-3, because which columns of the key are hashed is not known"}},
		{"hex, with history", noSchema, []string{"--key-hex", keyHex, "--format", "jsonl", "--history"}, exitOK, []string{`"change_type":"update","keyHex":"` + keyHex}, nil},
		{"hex in a store with a schema", nil, []string{"--key-hex", keyHex, "--format", "json"}, exitOK, []string{`"partitionsRead":[3],"rows":[` + "\n" + `{"key":{"profile_id":`}, nil},
		{"given schema", noSchema, []string{"--key", key, "--key-schema", "profile_id STRING, adviser_id STRING", "--format", "json"}, exitOK, []string{`"partitionsRead":[0]`}, nil},
		{"no schema", noSchema, []string{"--key", key}, exitUsage, nil, []string{"--key-schema", "--key-hex"}},
		{"no key", nil, nil, exitUsage, nil, []string{"which key?"}},
		{"two keys", nil, []string{"--key", key, "--key-hex", "00"}, exitUsage, nil, []string{"either --key or --key-hex"}},
		{"not hex", nil, []string{"--key-hex", "0x00"}, exitUsage, nil, []string{"--key-hex"}},
		{"half a key", nil, []string{"--key", `{"profile_id":"profile_001201"}`}, exitUsage, nil, []string{"--key: column adviser_id: it is missing; expected a string or null"}},
		{"not JSON", nil, []string{"--key", "profile_001201"}, exitUsage, nil, []string{"--key: this is not JSON"}},
		{"a partition", nil, []string{"--key", key, "--partition", "1"}, exitUsage, nil, []string{"leave --partition out"}},
		{"batch that is not there", nil, []string{"--key", key, "--batch", "9"}, exitUsage, nil, []string{"batches that can be read: 0-6"}},
		{"no directory", func(t *testing.T, dir string) { require.NoError(t, os.RemoveAll(dir+"/state/1/2")) }, []string{"--key", keyOf("2", "6"), "--format", "json"}, exitFound,
			[]string{`"ownPartition":2,"partitionsRead":[],"rows":[]`}, []string{"nothing was read: partition 2, where it belongs, has no directory"}},
		{"history without its beginning", func(t *testing.T, dir string) {
			for p := range 4 {
				for v := 1; v <= 3; v++ {
					require.NoError(t, os.Remove(fmt.Sprintf("%s/state/1/%d/%d.delta", dir, p, v)))
				}
			}
		}, []string{"--key", keyOf("3", "0"), "--history", "--format", "json"}, exitOK, []string{`"knownFrom":3`, `"rows":[]`},
			[]string{"known from batch 3 on", "the key is in the state after batch 6, and has been since before its known history"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := adBilling
			if c.damage != nil {
				dir = copyOf(t, adBilling)
				c.damage(t, dir)
			}
			code, out, errs := sparkstate(append([]string{"get", dir, "--operator", "1"}, c.args...)...)
			assert.Equal(t, c.code, code, errs)
			for _, s := range c.out {
				assert.Contains(t, out, s)
			}
			for _, s := range c.says {
				assert.Contains(t, errs, s)
			}
		})
	}
}

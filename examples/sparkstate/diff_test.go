package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

// difference is a row as diff prints it.
type difference struct {
	Change    string          `json:"change"`
	Key       json.RawMessage `json:"key"`
	Before    json.RawMessage `json:"before"`
	After     json.RawMessage `json:"after"`
	Fields    []string        `json:"fields"`
	Partition int             `json:"partition_id"`
}

// What is printed of the differences between the first and the last batch leads
// from the rows that read prints of the one to those of the other, and names
// the columns that are printed otherwise.
func TestDiffLeadsFromReadToRead(t *testing.T) {
	changed := 0
	for _, c := range sparkCases(t) {
		t.Run(c.name, func(t *testing.T) {
			cp := c.open(t)
			for _, o := range cp.Operators() {
				for _, s := range o.Stores() {
					batches, err := s.Readable(context.Background())
					require.NoError(t, err)
					from, to := fmt.Sprint(batches[0]), fmt.Sprint(batches[len(batches)-1])
					store := []string{c.ckpt, "--format", "jsonl", "--operator", fmt.Sprint(o.ID()), "--store", s.Name()}
					rows, want := map[string]string{}, map[string]string{}
					for _, side := range []struct {
						batch string
						rows  map[string]string
					}{{from, rows}, {to, want}} {
						code, out, errs := sparkstate(append([]string{"read", "--batch", side.batch}, store...)...)
						require.Zero(t, code, errs)
						for _, r := range printedRows(t, out) {
							side.rows[fmt.Sprint(r.Partition, string(r.Key))] = string(r.Value)
						}
					}
					code, out, errs := sparkstate(append([]string{"diff", "--from", from, "--to", to}, store...)...)
					require.LessOrEqual(t, code, exitFound, errs)
					assert.Equal(t, out != "", code == exitFound)
					for line := range strings.Lines(out) {
						var d difference
						require.NoError(t, json.Unmarshal([]byte(line), &d), line)
						k := fmt.Sprint(d.Partition, string(d.Key))
						old, ok := rows[k]
						require.Equal(t, ok, d.Change != "added", line)
						if !ok {
							old = "null"
						}
						require.Equal(t, old, string(d.Before))
						if d.Change == "removed" {
							require.Equal(t, "null", string(d.After))
							require.Equal(t, []string{}, d.Fields)
							delete(rows, k)
							continue
						}
						rows[k] = string(d.After)
						if d.Change == "changed" {
							changed++
							fields := slices.DeleteFunc(d.Fields, func(name string) bool { return unprintable(s)[name] })
							require.Equal(t, differing(t, s, d), fields, line)
						} else {
							require.Equal(t, []string{}, d.Fields)
						}
					}
					assert.Equal(t, want, rows)
				}
			}
		})
	}
	t.Logf("%d changed rows", changed)
	assert.Positive(t, changed)
}

// differing returns the names of the columns that are printed otherwise.
func differing(t *testing.T, s *checkpoint.Store, d difference) []string {
	t.Helper()
	value, _ := s.Value()
	before, after := members(t, d.Before), members(t, d.After)
	out := []string{}
	for i, f := range value.Fields {
		if before[i] != after[i] {
			out = append(out, f.Name)
		}
	}
	return out
}

// unprintable are columns that differ and are printed as null.
func unprintable(s *checkpoint.Store) map[string]bool {
	out := make(map[string]bool)
	value, _ := s.Value()
	for _, f := range value.Fields {
		if f.Type.Resolved().Kind == sqltype.Unknown {
			out[f.Name] = true
		}
	}
	return out
}

func TestDiffAnswers(t *testing.T) {
	const older = root + "/testdata/3.5.9/ad_billing/checkpoint"
	noSchema := func(t *testing.T, dir string) {
		t.Helper()
		require.NoError(t, os.RemoveAll(dir+"/state/0/0/_metadata"))
	}
	renamed := func(t *testing.T, dir string) {
		t.Helper()
		edit(t, dir+"/state/0/0/_metadata/schema", func(b []byte) []byte {
			return []byte(strings.Replace(string(b), `"name":"count"`, `"name":"COUNT"`, 1))
		})
	}
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, dir string)
		args   []string // CKPT stands for the checkpoint
		code   int
		out    []string
		says   []string
	}{
		{"table", nil, []string{"CKPT", "--from", "3", "--operator", "0"}, exitFound,
			[]string{"change  key.window", "before.count  after.count  fields  partition_id", "\nadded   {"},
			[]string{"the first 10 rows", "the states differ: 39 rows added, 81 removed, 0 changed"}},
		{"JSON", nil, []string{"CKPT", "--from", "3", "--to", "4", "--operator", "0", "--format", "json"}, exitFound,
			[]string{`"batch":4,"other":null,"from":3,"to":4,"rows":[`, `"added":0,"removed":41,"changed":32}`}, nil},
		{"counted beyond the limit", nil, []string{"CKPT", "--from", "3", "--operator", "0", "--format", "json", "--limit", "0"}, exitFound,
			[]string{`"rows":[],"added":39,"removed":81,"changed":0}`}, nil},
		{"CSV", nil, []string{"CKPT", "--from", "3", "--operator", "0", "--format", "csv", "--partition", "1"}, exitFound,
			[]string{"change,key.window,key.adviser_id,before.count,after.count,fields,partition_id\n", ",[],1\n"}, nil},
		{"no difference", nil, []string{"CKPT", "--from", "6", "--operator", "0", "--format", "json"}, exitOK,
			[]string{`"from":6,"to":6,"rows":[],"added":0,"removed":0,"changed":0}`}, nil},
		{"backwards", nil, []string{"CKPT", "--from", "6", "--to", "3", "--operator", "0", "--format", "jsonl"}, exitFound, nil, []string{"81 rows added, 39 removed"}},
		{"two checkpoints", nil, []string{older, "CKPT", "--operator", "0", "--format", "json"}, exitOK,
			[]string{`"checkpoint":"` + older + `","batch":6,"other":"CKPT","from":6,"to":6,"rows":[],`}, nil},
		{"batches of two checkpoints", nil, []string{older, "CKPT", "--from", "3", "--to", "4", "--operator", "0", "--format", "json"}, exitFound, []string{`"from":3,"to":4`}, nil},
		{"without a schema", noSchema, []string{"CKPT", "--from", "3", "--operator", "0", "--format", "jsonl", "--limit", "1"}, exitFound,
			[]string{`{"change":"added","keyHex":"0000`, `"beforeHex":null,"afterHex":"0000`, `,"fields":null,"partition_id":0}`}, nil},
		{"with a schema in one", noSchema, []string{older, "CKPT", "--operator", "0"}, exitOK, nil, []string{"no key schema is known of the second state"}},
		{"with other names", renamed, []string{older, "CKPT", "--operator", "0", "--ignore-crc"}, exitOK, []string{"after.COUNT"}, []string{"the value schemas name or describe the same types differently"}},
		{"other types", nil, []string{root + "/testdata/4.1.4/fmgws_v2.zip", "CKPT", "--operator", "0"}, exitUsage, nil, []string{"the rows cannot be compared: key "}},
		{"with which batch", nil, []string{"CKPT", "--operator", "0"}, exitUsage, nil, []string{"compare with which batch?"}},
		{"nothing", nil, nil, exitUsage, nil, []string{"which checkpoint?"}},
		{"three checkpoints", nil, []string{"a", "b", "c"}, exitUsage, nil, []string{"one checkpoint at a time"}},
		{"one batch", nil, []string{"CKPT", "--batch", "1"}, exitUsage, nil, []string{"--from and --to"}},
		{"below zero", nil, []string{"CKPT", "--from", "-1"}, exitUsage, nil, []string{"batches count from 0"}},
		{"a partition of two", nil, []string{older, "CKPT", "--partition", "1"}, exitUsage, nil, []string{"leave --partition out"}},
		{"which store", nil, []string{older, "CKPT"}, exitUsage, nil, []string{"there are 2 stores"}},
		{"a batch that is not there", nil, []string{"CKPT", "--from", "3", "--to", "9", "--operator", "0"}, exitUsage, nil, []string{"batches that can be read: 0-6"}},
		{"another that is none", nil, []string{"CKPT", "/nowhere", "--operator", "0"}, exitInput, nil, []string{"/nowhere: no such file or directory"}},
		{"damage", func(t *testing.T, dir string) {
			edit(t, dir+"/state/0/1/7.delta", func(b []byte) []byte { b[30] ^= 1; return b })
		}, []string{"CKPT", "--from", "3", "--operator", "0"}, exitInput, nil, []string{"state/0/1/7.delta"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := adBilling
			if c.damage != nil {
				dir = copyOf(t, adBilling)
				c.damage(t, dir)
			}
			args := []string{"diff"}
			for _, a := range c.args {
				args = append(args, strings.ReplaceAll(a, "CKPT", dir))
			}
			code, out, errs := sparkstate(args...)
			assert.Equal(t, c.code, code, errs)
			for _, s := range c.out {
				assert.Contains(t, out, strings.ReplaceAll(s, "CKPT", dir))
			}
			for _, s := range c.says {
				assert.Contains(t, errs, s)
			}
		})
	}
}

// A row that does not fit the schema ends the answer with an error, also one
// that is only on one side.
func TestGetAndDiffOfRowsThatDoNotFit(t *testing.T) {
	dir := copyOf(t, adBilling)
	for _, args := range [][]string{
		{"diff", dir, "--from", "3", "--operator", "1"},
		{"get", dir, "--key", "[null]", "--operator", "1"},
		{"get", dir, "--key", "[null]", "--operator", "1", "--history"},
	} {
		code, _, errs := sparkstate(append(args, "--key-schema", "a INT", "--format", "jsonl")...)
		if args[0] == "get" { // it matches none of the rows
			assert.Equal(t, exitFound, code, errs)
			continue
		}
		assert.Equal(t, exitInput, code, errs)
		assert.Contains(t, errs, "a key in partition 0: row 0")
	}
	code, _, errs := sparkstate("diff", rocksDB(t), "--from", "0")
	assert.Equal(t, exitInput, code, errs)
	code, _, errs = sparkstate("get", rocksDB(t), "--key", `["a"]`)
	assert.Equal(t, exitInput, code, errs)
}

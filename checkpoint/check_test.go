package checkpoint_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore/codec"
)

// tree is a checkpoint in memory, to be damaged.
type tree struct {
	t testing.TB
	m fstest.MapFS
}

// fixture loads a checkpoint of testdata: a directory, or a zip file.
func fixture(t testing.TB, name string) tree {
	t.Helper()
	full := filepath.Join("..", "testdata", filepath.FromSlash(name))
	fsys, root := os.DirFS(full), "checkpoint"
	if filepath.Ext(full) == ".zip" {
		z, err := zip.OpenReader(full)
		require.NoError(t, err)
		defer z.Close()
		fsys = z
	}
	m := fstest.MapFS{}
	require.NoError(t, fs.WalkDir(fsys, root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(fsys, p)
		m[strings.TrimPrefix(p, root+"/")] = &fstest.MapFile{Data: b}
		return err
	}))
	return tree{t, m}
}

func (r tree) open(opts ...checkpoint.OpenOption) *checkpoint.Checkpoint {
	r.t.Helper()
	cp, err := checkpoint.OpenFS(r.m, ".", opts...)
	require.NoError(r.t, err)
	return cp
}

func (r tree) check(level checkpoint.CheckLevel) *checkpoint.CheckReport {
	r.t.Helper()
	report, err := r.open().Check(context.Background(), level)
	require.NoError(r.t, err)
	return report
}

func (r tree) get(name string) []byte {
	r.t.Helper()
	require.Contains(r.t, r.m, name)
	return r.m[name].Data
}

// put writes a file, and keeps its sidecars.
func (r tree) put(name string, b []byte) { r.m[name] = &fstest.MapFile{Data: b} }

// edit changes a file, and keeps its sidecars.
func (r tree) edit(name string, fn func([]byte) []byte) { r.put(name, fn(bytes.Clone(r.get(name)))) }

// unsum removes the sidecars of a file.
func (r tree) unsum(name string) {
	d, b := path.Split(name)
	for _, n := range []string{d + "." + b + ".crc", name + ".crc", d + "." + b + ".crc.crc"} {
		delete(r.m, n)
	}
}

// remove removes files, and their sidecars.
func (r tree) remove(names ...string) {
	r.t.Helper()
	for _, n := range names {
		r.get(n)
		delete(r.m, n)
		r.unsum(n)
	}
}

// removeAll removes whatever lies below a directory.
func (r tree) removeAll(dir string) {
	for n := range r.m {
		if strings.HasPrefix(n, dir+"/") {
			delete(r.m, n)
		}
	}
}

// rename moves a file without its sidecars, which go.
func (r tree) rename(from, to string) {
	b := r.get(from)
	r.remove(from)
	r.put(to, b)
}

// plain returns the decompressed bytes of a state file.
func (r tree) plain(name string) []byte {
	r.t.Helper()
	d, err := codec.NewReader(bytes.NewReader(r.get(name)), int64(len(r.get(name))))
	require.NoError(r.t, err)
	var out []byte
	for {
		b, err := d.Next()
		if err != nil {
			return out
		}
		out = append(out, b...)
	}
}

// pack writes a state file anew, and takes its sidecars away.
func (r tree) pack(name string, c codec.Codec, body []byte) {
	r.t.Helper()
	var out bytes.Buffer
	w, err := codec.NewWriter(&out, c, 0)
	require.NoError(r.t, err)
	_, err = w.Write(body)
	require.NoError(r.t, err)
	require.NoError(r.t, w.Close())
	r.put(name, out.Bytes())
	r.unsum(name)
}

func (r tree) confChange(batch int, key, from, to string) {
	name := fmt.Sprintf("offsets/%d", batch)
	r.edit(name, func(b []byte) []byte {
		old := fmt.Sprintf("%q:%q", key, from)
		require.Contains(r.t, string(b), old)
		return []byte(strings.Replace(string(b), old, fmt.Sprintf("%q:%q", key, to), 1))
	})
	r.unsum(name)
}

const (
	info     = checkpoint.Info
	warning  = checkpoint.Warning
	critical = checkpoint.Critical
)

type found map[string]checkpoint.Severity

// damageCase is a checkpoint that is damaged, and what a check has to say of it.
type damageCase struct {
	name     string
	fixtures []string // both, if none is given
	level    checkpoint.CheckLevel
	damage   func(r tree)
	want     found // above info
	infos    []string
	says     []string // in what or do of the first finding
	file     string
	// restarts says who starts from what is there, newest which batch is
	// the newest that loads; both are the same for each judge where one
	// letter or number is given: y or n.
	restarts string
	newest   []int64
	// infos are findings that there are beside those, none those that there are
	// not.
	none []string
}

var both = []string{"3.5.9/ad_billing", "4.1.4/ad_billing"}

func checkDamage(t *testing.T, cases []damageCase) {
	for _, c := range cases {
		if len(c.fixtures) == 0 {
			c.fixtures = both
		}
		for _, name := range c.fixtures {
			t.Run(c.name+"/"+name, func(t *testing.T) {
				r := fixture(t, name)
				c.damage(r)
				report := r.check(c.level)
				got, infos := found{}, found{}
				for _, f := range report.Findings {
					if f.Severity == info {
						infos[f.ID] = info
					} else {
						got[f.ID] = max(got[f.ID], f.Severity)
					}
				}
				require.Equal(t, c.want, got, "%+v", report.Findings)
				for _, id := range c.infos {
					assert.Contains(t, infos, id)
				}
				for _, id := range c.none {
					assert.NotContains(t, infos, id)
				}
				if len(report.Findings) > 0 {
					first := report.Findings[0]
					text := first.What + " | " + first.Do
					for _, f := range report.Findings[1:] {
						if f.Severity > info {
							text += " | " + f.What + " | " + f.Do
						}
					}
					for _, s := range c.says {
						assert.Contains(t, text, s)
					}
					if c.file != "" {
						assert.Equal(t, c.file, first.File)
					}
				}
				for j := range checkpoint.Judges {
					a := report.Answers[j]
					if c.restarts != "" {
						want := c.restarts[min(int(j), len(c.restarts)-1)] == 'y'
						assert.Equal(t, want, a.Restarts, "%v: %v", j, a.Why)
						assert.Equal(t, want, a.Why == nil, "%v: %v", j, a.Why)
					}
					if len(c.newest) > 0 {
						assert.Equal(t, c.newest[min(int(j), len(c.newest)-1)], a.Newest, "%v", j)
					}
				}
			})
		}
	}
}

const seven = "state/0/2/7.delta"

func TestCheckFindsDamage(t *testing.T) {
	half := func(b []byte) []byte { return b[:len(b)/2] }
	flip := func(b []byte) []byte { b[len(b)/2] ^= 4; return b }
	checkDamage(t, []damageCase{
		{name: "delta missing in a chain, for an older batch", level: checkpoint.QuickCheck,
			damage: func(r tree) { r.remove("state/1/2/5.delta") },
			want:   found{"delta-missing": warning}, says: []string{"5.delta is missing", "from 4 on"}, file: "state/1/2/5.delta", restarts: "y", newest: []int64{6}},
		{name: "delta missing in a chain", level: checkpoint.QuickCheck,
			damage: func(r tree) {
				r.remove("state/1/2/3.snapshot", "state/1/2/6.snapshot", "state/1/2/4.delta", "state/1/2/5.delta")
			},
			want: found{"delta-missing": critical}, says: []string{"4.delta to 5.delta are missing", "copy"}, file: "state/1/2/4.delta", restarts: "n", newest: []int64{2}},
		{name: "the first delta missing", level: checkpoint.QuickCheck,
			damage: func(r tree) { r.remove("state/1/2/1.delta") },
			want:   found{"delta-missing": warning}, says: []string{"1.delta is missing"}, file: "state/1/2/1.delta", restarts: "y", newest: []int64{6}},
		{name: "delta missing at the end, with its sidecar", level: checkpoint.QuickCheck,
			damage: func(r tree) { delete(r.m, seven) },
			want:   found{"delta-missing": critical}, none: []string{"sidecar-orphaned"}, says: []string{"so it was written"}, file: seven, restarts: "n", newest: []int64{5}},
		{name: "delta in only some partitions", level: checkpoint.QuickCheck,
			damage: func(r tree) { r.remove(seven, "state/0/3/7.delta") },
			want:   found{"delta-in-some-partitions": critical}, says: []string{"7.delta is missing in 2 of 4 partitions: 2-3", "foreachBatch"}, restarts: "n", newest: []int64{5}},
		{name: "copied while running", level: checkpoint.QuickCheck,
			damage: func(r tree) {
				for o := range 2 {
					for p := range 4 {
						r.remove(fmt.Sprintf("state/%d/%d/7.delta", o, p))
					}
				}
				r.remove("state/0/3/6.delta", "state/0/3/6.snapshot")
			},
			want: found{"state-behind-commits": critical}, says: []string{"from 5 to 6", "commits, offsets, state"}, restarts: "n", newest: []int64{4}},
		{name: "operator left behind", level: checkpoint.QuickCheck,
			damage: func(r tree) {
				for p := range 4 {
					r.remove(fmt.Sprintf("state/1/%d/7.delta", p))
				}
			},
			want: found{"operator-left-behind": critical}, says: []string{"ends at version 6"}, restarts: "n", newest: []int64{5}},
		{name: "uncommitted state", level: checkpoint.QuickCheck,
			damage: func(r tree) { r.remove("commits/6") },
			want:   found{}, infos: []string{"state-uncommitted", "batch-in-flight"}, restarts: "y", newest: []int64{5}},
		{name: "state that no batch can have written", level: checkpoint.QuickCheck,
			damage: func(r tree) { r.remove("commits/6", "offsets/6", "commits/5", "offsets/5") },
			want:   found{"state-uncommitted": warning}, says: []string{"offsets/ can have written", "two queries"}, restarts: "y", newest: []int64{4}},
		{name: "temporary file instead of the delta",
			damage: func(r tree) { r.rename(seven, "state/0/2/.7.delta.0c4a-11.TID9.tmp") },
			want:   found{"delta-in-some-partitions": critical, "temp-file": warning}, says: []string{"ends whole"}, restarts: "n", newest: []int64{5}},
		{name: "temporary file that is not whole",
			damage: func(r tree) {
				r.rename(seven, "state/0/2/.7.delta.0c4a-11.TID9.tmp")
				r.edit("state/0/2/.7.delta.0c4a-11.TID9.tmp", half)
			},
			want: found{"delta-in-some-partitions": critical}, infos: []string{"temp-file"}, restarts: "n", newest: []int64{5}},
		{name: "two files for a version", level: checkpoint.QuickCheck,
			damage: func(r tree) { r.put("state/1/2/07.delta", r.get(seven)) },
			want:   found{"two-files-for-version": warning}, says: []string{"07.delta claims version 7"}, file: "state/1/2/07.delta", restarts: "y", newest: []int64{6}},
		{name: "a file that breaks Spark's listing", level: checkpoint.QuickCheck,
			damage: func(r tree) { r.put("state/1/2/notes.txt", nil) },
			want:   found{"foreign-file": warning}, says: []string{"notes.txt"}, restarts: "y", newest: []int64{6}},
		{name: "files of another provider", level: checkpoint.QuickCheck,
			damage: func(r tree) { r.put("state/1/2/7.zip", []byte("PK")) },
			want:   found{"other-provider-files": warning}, says: []string{"RocksDBStateStoreProvider"}, restarts: "y", newest: []int64{6}},
		{name: "partition missing", level: checkpoint.QuickCheck,
			damage: func(r tree) { r.removeAll("state/1/2") },
			want:   found{"partition-missing": critical}, says: []string{"1 of 4 partitions have no directory: 2"}, restarts: "n", newest: []int64{-1}},
		{name: "a partition too many", level: checkpoint.QuickCheck,
			damage: func(r tree) {
				for v := 1; v <= 7; v++ {
					r.put(fmt.Sprintf("state/1/4/%d.delta", v), r.get(fmt.Sprintf("state/1/2/%d.delta", v)))
				}
			},
			want: found{"partition-beyond-count": warning}, says: []string{"partitions 4; the query has 4"}, restarts: "y", newest: []int64{6}},
		{name: "a store of another query", level: checkpoint.QuickCheck, fixtures: both[1:],
			damage: func(r tree) { r.put("state/1/2/left-keyToNumValues/1.delta", r.get("state/1/2/1.delta")) },
			want:   found{"store-unrecorded": warning}, says: []string{"left-keyToNumValues"}, file: "state/1/2/left-keyToNumValues", restarts: "y", newest: []int64{6}},
		{name: "operator missing", level: checkpoint.QuickCheck,
			damage: func(r tree) { r.removeAll("state/0") },
			want:   found{"operator-missing": critical}, says: []string{"none of operator 0"}},
		{name: "orphaned sidecar", level: checkpoint.QuickCheck,
			damage: func(r tree) { r.put("state/1/2/.44.delta.crc", []byte("crc")) },
			want:   found{}, infos: []string{"sidecar-orphaned"}, restarts: "y", newest: []int64{6}},

		{name: "a hole in offsets", level: checkpoint.QuickCheck, damage: func(r tree) { r.remove("offsets/3") },
			want: found{"offsets-hole": warning}, says: []string{"offsets/3 is missing"}, restarts: "y", newest: []int64{6}},
		{name: "a hole in offsets that a start needs", level: checkpoint.QuickCheck, damage: func(r tree) { r.remove("offsets/5") },
			want: found{"offsets-hole": critical}, says: []string{"needs the one before"}, restarts: "nny", newest: []int64{4, 4, 6}},
		{name: "a hole in commits", level: checkpoint.QuickCheck, damage: func(r tree) { r.remove("commits/3") },
			want: found{"commits-hole": warning}, restarts: "y", newest: []int64{6}},
		{name: "commits ahead", level: checkpoint.QuickCheck, damage: func(r tree) { r.remove("offsets/6") },
			want: found{"commits-ahead": critical}, restarts: "nny", newest: []int64{5, 5, 6}},
		{name: "commits behind", level: checkpoint.QuickCheck, damage: func(r tree) { r.remove("commits/6", "commits/5") },
			want: found{"commits-behind": warning}, infos: []string{"state-uncommitted"}, says: []string{"not committed"}, restarts: "y", newest: []int64{4}},
		{name: "a log cut short", level: checkpoint.QuickCheck,
			damage: func(r tree) { r.put("offsets/2", []byte("v1")); r.unsum("offsets/2") },
			want:   found{"log-damaged": warning}, restarts: "y", newest: []int64{6}},
		{name: "the newest log edited by hand", level: checkpoint.QuickCheck,
			damage: func(r tree) { r.edit("commits/6", func(b []byte) []byte { return append(b, '\n') }) },
			want:   found{"log-damaged": critical}, says: []string{".crc"}, restarts: "nny", newest: []int64{5, 5, 6}},
		{name: "query id missing", level: checkpoint.QuickCheck, damage: func(r tree) { r.remove("metadata") },
			want: found{"query-id-missing": warning}, restarts: "y", newest: []int64{6}},
		{name: "query id damaged", level: checkpoint.QuickCheck,
			damage: func(r tree) { r.put("metadata", []byte("{")); r.unsum("metadata") },
			want:   found{"query-id-damaged": critical}},
		{name: "operator metadata damaged", level: checkpoint.QuickCheck, fixtures: both[1:],
			damage: func(r tree) { r.edit("state/1/_metadata/metadata", half); r.unsum("state/1/_metadata/metadata") },
			want:   found{"operator-metadata-damaged": critical}, file: "state/1/_metadata/metadata"},
		{name: "schema damaged", level: checkpoint.QuickCheck,
			damage: func(r tree) { r.edit("state/1/0/_metadata/schema", half); r.unsum("state/1/0/_metadata/schema") },
			want:   found{"schema-damaged": critical}, file: "state/1/0/_metadata/schema"},
		{name: "the number of partitions changed", level: checkpoint.QuickCheck,
			damage: func(r tree) { r.confChange(2, checkpoint.ConfShufflePartitions, "4", "8") },
			want:   found{"conf-changed": warning}, says: []string{"from 4 in batch 1 to 8 in batch 2", "second query"}, restarts: "y", newest: []int64{6}},
		{name: "two writers", level: checkpoint.QuickCheck,
			damage: func(r tree) {
				a, b := r.get("offsets/3"), r.get("offsets/4")
				r.put("offsets/3", b)
				r.put("offsets/4", a)
				r.unsum("offsets/3")
				r.unsum("offsets/4")
			},
			want: found{"clock-backwards": warning, "offsets-backwards": warning, "two-writers": warning}, restarts: "y", newest: []int64{6}},

		{name: "empty file", level: checkpoint.QuickCheck, damage: func(r tree) { r.put(seven, nil) },
			want: found{"file-empty": critical}, file: seven, restarts: "n", newest: []int64{5}},
		{name: "empty file, decoded", damage: func(r tree) { r.put(seven, nil) },
			want: found{"file-empty": critical}, file: seven, restarts: "n", newest: []int64{5}},
		{name: "truncated", damage: func(r tree) { r.edit(seven, half) },
			want: found{"file-truncated": critical}, says: []string{"does not match either"}, file: seven, restarts: "n", newest: []int64{5}},
		{name: "truncated at a block boundary",
			damage: func(r tree) { b := r.plain(seven); r.pack(seven, codec.LZ4, b[:len(b)-4]) },
			want:   found{"file-truncated": critical}, says: []string{"without its end mark", "records before"}, file: seven, restarts: "n", newest: []int64{5}},
		{name: "flipped bit", damage: func(r tree) { r.edit(seven, flip) },
			want: found{"file-corrupt": critical}, file: seven, restarts: "n", newest: []int64{5}},
		{name: "flipped bit in a file that only older batches need", damage: func(r tree) { r.edit("state/1/2/4.delta", flip) },
			want: found{"file-corrupt": warning}, file: "state/1/2/4.delta", restarts: "y", newest: []int64{6}},
		{name: "flipped bit in a file that nothing needs", damage: func(r tree) { r.edit("state/1/2/6.delta", flip) },
			want: found{}, restarts: "y", newest: []int64{6}},
		{name: "and a deep check looks at it", level: checkpoint.DeepCheck, damage: func(r tree) { r.edit("state/1/2/6.delta", flip) },
			want: found{"file-corrupt": warning}, restarts: "y", newest: []int64{6}},
		{name: "another compression", damage: func(r tree) { r.pack(seven, codec.Zstd, r.plain(seven)) },
			want: found{"wrong-codec": critical}, says: []string{"the file is zstd"}, file: seven, restarts: "nny", newest: []int64{5, 5, 6}},
		{name: "no compression that Spark knows",
			damage: func(r tree) { r.put(seven, []byte("\x1f\x8b\x08\x00 a gzip file, by its magic")); r.unsum(seven) },
			want:   found{"wrong-codec": critical}, file: seven, restarts: "n", newest: []int64{5}},
		{name: "bytes after the end",
			damage: func(r tree) { r.pack(seven, codec.LZ4, append(r.plain(seven), "tail"...)) },
			want:   found{"bytes-after-end": warning}, file: seven, restarts: "y", newest: []int64{6}},
		{name: "damaged snapshot with the deltas beside it", damage: func(r tree) { r.edit("state/1/2/6.snapshot", flip) },
			want: found{"snapshot-replaceable": critical}, says: []string{"the deltas from 3.snapshot on lead to the same version"}, file: "state/1/2/6.snapshot",
			restarts: "nyy", newest: []int64{4, 6, 6}},
		{name: "snapshot cut short, with the deltas beside it",
			damage: func(r tree) {
				b := r.plain("state/1/2/6.snapshot")
				r.pack("state/1/2/6.snapshot", codec.LZ4, b[:len(b)-4])
			},
			want: found{"snapshot-replaceable": critical}, says: []string{"rows that can still be read of it are the same there"}, restarts: "nyy", newest: []int64{4, 6, 6}},
		{name: "damaged snapshot that deltas from the start replace",
			damage: func(r tree) { r.edit("state/1/2/6.snapshot", flip); r.remove("state/1/2/3.snapshot") },
			want:   found{"snapshot-replaceable": critical}, says: []string{"from the empty state on"}, restarts: "nyy", newest: []int64{4, 6, 6}},
		{name: "damaged snapshot that nothing replaces",
			damage: func(r tree) { r.edit("state/1/2/6.snapshot", flip); r.remove("state/1/2/6.delta") },
			want:   found{"file-corrupt": critical}, file: "state/1/2/6.snapshot", restarts: "n", newest: []int64{4}},
		{name: "hidden sidecar of another file",
			damage: func(r tree) {
				r.put("state/0/2/.7.delta.crc", r.get("state/0/1/.7.delta.crc"))
			},
			want: found{"hadoop-crc": critical}, says: []string{"decodes to its end mark"}, file: seven, restarts: "nny", newest: []int64{5, 5, 6}},
		{name: "hidden sidecar of another file, and no checksum in the codec", fixtures: []string{"4.1.4/codec_snappy.zip"},
			damage: func(r tree) {
				for n := range r.m {
					if strings.HasSuffix(n, ".delta") {
						d, b := path.Split(n)
						r.put(d+"."+b+".crc", append([]byte("crc\x00\x00\x00\x02\x00"), make([]byte, 4096)...))
					}
				}
			},
			want: found{"hadoop-crc": critical}, says: []string{"snappy has no checksum of its own"}, restarts: "nny"},
		{name: "hidden sidecar of another snapshot, and no checksum in the codec", fixtures: []string{"3.5.9/codec_zstd.zip"}, level: checkpoint.DeepCheck,
			damage: func(r tree) {
				for n := range r.m {
					if strings.HasSuffix(n, ".snapshot") {
						d, b := path.Split(n)
						r.put(d+"."+b+".crc", append([]byte("crc\x00\x00\x00\x02\x00"), make([]byte, 4096)...))
					}
				}
			},
			want: found{"hadoop-crc": critical}, says: []string{"zstd has no checksum of its own"}, restarts: "nyy"},
		{name: "JSON sidecar of another file", fixtures: both[1:],
			damage: func(r tree) { r.put("state/0/2/7.delta.crc", r.get("state/0/1/7.delta.crc")) },
			want:   found{"spark-crc": warning}, says: []string{"Suspicious, not proof"}, file: seven, restarts: "yny", newest: []int64{6, 5, 6}},
		{name: "a sidecar that is none",
			damage: func(r tree) { r.put("state/0/2/.7.delta.crc", []byte("nothing of the kind")) },
			want:   found{}, infos: []string{"sidecar-unusable"}, restarts: "y", newest: []int64{6}},

		{name: "stale snapshot", level: checkpoint.DeepCheck,
			damage: func(r tree) {
				// Another value of the first row: its last byte.
				b := r.plain("state/0/2/6.snapshot")
				key := int(binary.BigEndian.Uint32(b))
				value := int(binary.BigEndian.Uint32(b[4+key:]))
				b[8+key+value-8]++
				r.pack("state/0/2/6.snapshot", codec.LZ4, b)
			},
			want: found{"snapshot-stale": warning}, says: []string{"1 have another value"}, restarts: "y", newest: []int64{6}},
		{name: "rows that do not fit", level: checkpoint.DeepCheck,
			damage: func(r tree) {
				// The delta of the other operator.
				r.pack(seven, codec.LZ4, r.plain("state/1/2/6.delta"))
			},
			want: found{"row-misfit": critical}, says: []string{"do not fit the schema"}, file: seven},
		{name: "partitions swapped", level: checkpoint.DeepCheck,
			damage: func(r tree) {
				b := r.plain("state/0/1/7.delta")
				r.pack(seven, codec.LZ4, b)
			},
			want: found{"key-misplaced": critical}, says: []string{"the first in partition 1"}, file: seven},
		{name: "row checksum", fixtures: []string{"4.3.0/row_checksum.zip"},
			damage: func(r tree) {
				name := ""
				for n := range r.m {
					if strings.HasSuffix(n, ".delta") && len(r.plain(n)) > 4 && (name == "" || n < name) {
						name = n
					}
				}
				b := r.plain(name)
				b[4+binary.BigEndian.Uint32(b)+4+8] ^= 1 // a bit of the first value
				r.pack(name, codec.LZ4, b)
			},
			want: found{"row-checksum": warning}, says: []string{"does not match"}},
		{name: "join counts", fixtures: []string{"3.5.9/join_leftOuter.zip", "4.1.4/join_leftOuter.zip"}, level: checkpoint.DeepCheck,
			damage: func(r tree) {
				// One partition's counts of the left side say nothing any more.
				for n := range r.m {
					d, b := path.Split(n)
					if strings.HasSuffix(d, "/0/left-keyToNumValues/") && (strings.HasSuffix(b, ".delta") || strings.HasSuffix(b, ".snapshot")) {
						r.pack(n, codec.LZ4, []byte{0xff, 0xff, 0xff, 0xff})
					}
				}
			},
			want: found{"join-counts": warning}, says: []string{"left over"}},
	})
}

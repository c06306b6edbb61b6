package checkpoint_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
)

// sparks are the releases that were asked; judgeOf says for whom each stands.
var (
	sparks  = []string{"3.5.9", "4.1.4", "4.2.1", "4.3.0"}
	judgeOf = map[string]checkpoint.Judge{
		"3.5.9": checkpoint.SparkBefore41, "4.1.4": checkpoint.Spark41, "4.2.1": checkpoint.Spark42, "4.3.0": checkpoint.Spark42,
	}
)

// rowChecksums is the fixture whose rows have checksums.
const rowChecksums = "4.3.0/row_checksum.zip"

// refusesItsOwn are checkpoints that are whole and that no Spark restores: its
// writer leaves something behind a null interval that its check of the first
// row wants to be zero.
var refusesItsOwn = []string{"4.1.4/interval_types.zip", "4.3.0/rare_key_types.zip"}

// blinder is damage that Spark cannot see although this library can: the zstd
// of Spark does not mind that a stream of bits ends elsewhere than it should.
var blinder = []string{"3.snapshot: byte in the first quarter flipped/3.5.9/codec_zstd.zip"}

// unseen is damage that neither Spark nor a check of the default level sees:
// both read the same rows, which are not those that were written. Where there
// are sidecars this library sees some of it all the same.
var unseen = map[string][]string{
	// A flipped byte, under codecs that have no checksum.
	"3.snapshot: byte in the middle flipped":     {"4.1.4/codec_lzf.zip", "4.1.4/codec_snappy.zip"},
	"4.delta: byte in the first quarter flipped": {"3.5.9/codec_zstd.zip"},
	"4.delta: byte in the middle flipped":        {"4.1.4/codec_lzf.zip"},
	"4.delta: byte in the last quarter flipped":  {"4.1.4/codec_lzf.zip"},
	// Rows that were added or taken out, in a file that is whole.
	"3.snapshot: a key of no bytes":            noChecksums,
	"3.snapshot: a key that fits no schema":    noChecksums,
	"3.snapshot: a value of no bytes":          noChecksums,
	"3.snapshot: a value of 4 bytes more":      noChecksums,
	"3.snapshot: a value that fits no schema":  noChecksums,
	"3.snapshot: no row":                       append(slices.Clone(noChecksums), rowChecksums),
	"4.delta: a key of no bytes":               noChecksums,
	"4.delta: a key that fits no schema":       noChecksums,
	"4.delta: a key that fits no schema ahead": noChecksums,
	"4.delta: a value of no bytes":             noChecksums,
	"4.delta: a value of 4 bytes more":         noChecksums,
	"4.delta: a value that fits no schema":     noChecksums,
	"4.delta: no row":                          noChecksums,
	"5.delta: no row":                          {rowChecksums},
	// Files that are whole and of something else. A deep check sees these.
	"delta in place of a snapshot":        billings,
	"deltas of another operator":          billings,
	"deltas of two partitions swapped":    billings,
	"deltas swapped, with their sidecars": billings,
	"partitions swapped":                  billings,
	"rows that do not fit":                billings,
	"stale snapshot":                      billings,
	"join counts":                         {"3.5.9/join_leftOuter.zip", "4.1.4/join_leftOuter.zip"},
}

// noChecksums are the fixtures whose rows have none.
var noChecksums = []string{"3.5.9/codec_zstd.zip", "4.1.4/codec_lz4.zip", "4.1.4/codec_lzf.zip", "4.1.4/codec_snappy.zip"}

// rowsOf is what a version holds: how many rows, and a digest that knows no
// order. Judge.scala makes the same one.
type rowsOf struct {
	rows   int64
	digest uint64
}

func (r rowsOf) String() string { return fmt.Sprintf("%d %016x", r.rows, r.digest) }

func (r *rowsOf) add(key, value []byte) {
	b := append(binary.BigEndian.AppendUint32(nil, uint32(len(key))), key...)
	sum := sha256.Sum256(append(b, value...))
	r.rows++
	r.digest += binary.BigEndian.Uint64(sum[:])
}

// read returns what this library reads of a version.
func (c cell) read(t testing.TB, cp *checkpoint.Checkpoint, version int64) (r rowsOf, failed error) {
	t.Helper()
	s, err := cp.Store(c.Operator, c.Store)
	require.NoError(t, err)
	for e, err := range s.Entries(context.Background(), c.Partition, checkpoint.AtBatch(version-1)) {
		if err != nil {
			return r, err
		}
		r.add(e.Key, e.Value)
	}
	return r, nil
}

// recorded are Spark's answers: case, Spark, place and version; "query" and 0
// for a query that was started. What is not there is as it was before the
// damage.
type recorded map[[3]string]map[string]map[string]map[int64]string

func readRecorded(t testing.TB) recorded {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "testdata", "damaged", "answers.tsv"))
	require.NoError(t, err)
	out := recorded{}
	name := ""
	for line := range strings.Lines(string(b)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		require.Len(t, f, 7, line)
		if f[0] != "" {
			name = f[0]
		}
		first, last := int64(0), int64(0)
		if a, b, more := strings.Cut(f[5], "-"); a != "" && a != "*" {
			first, err = strconv.ParseInt(a, 10, 64)
			require.NoError(t, err, line)
			last = first
			if more {
				last, err = strconv.ParseInt(b, 10, 64)
				require.NoError(t, err, line)
			}
		}
		for fixture := range strings.SplitSeq(f[1], ",") {
			for sidecars := range strings.SplitSeq(f[2], ",") {
				for spark := range strings.SplitSeq(f[3], ",") {
					for v := first; v <= last; v++ {
						out.put([3]string{name, fixture, sidecars}, spark, f[4], v, f[6])
					}
				}
			}
		}
	}
	return out
}

func (r recorded) put(id [3]string, spark, place string, version int64, answer string) {
	if r[id] == nil {
		r[id] = map[string]map[string]map[int64]string{}
	}
	if r[id][spark] == nil {
		r[id][spark] = map[string]map[int64]string{}
	}
	if r[id][spark][place] == nil {
		r[id][spark][place] = map[int64]string{}
	}
	r[id][spark][place][version] = answer
}

// stale reports answers about cases that are no more: of queries, or of states.
func (r recorded) stale(t testing.TB, queries bool, met map[[3]string]bool) {
	t.Helper()
	for id, bySpark := range r {
		for spark, places := range bySpark {
			if _, query := places["query"]; !met[id] && query == queries {
				t.Errorf("%v: there is no such case any more, which Spark %s has answered", id, spark)
			}
		}
	}
}

func refused(answer string) bool { return strings.HasPrefix(answer, "- ") }

// loading returns what a check says of a version of a cell; false where its map
// does not reach.
func loading(r *checkpoint.CheckReport, at cell, version int64) ([checkpoint.Judges]checkpoint.Loading, bool) {
	for _, s := range r.Map.Stores {
		if s.Operator != at.Operator || s.Store != at.Store {
			continue
		}
		for _, p := range s.Partitions {
			for _, span := range p.Spans {
				if p.Partition == at.Partition && span.First < version && version <= span.Last+1 {
					return span.Loading, true
				}
			}
		}
	}
	return [checkpoint.Judges]checkpoint.Loading{}, false
}

func can(l checkpoint.Loading) bool { return l == checkpoint.Loads || l == checkpoint.ByFallback }

// What a check calls restorable each Spark restores, and what it calls lost
// each Spark refuses, for every damaged checkpoint; and where both Spark and
// this library load, they have the same rows. The answers of Spark are recorded
// in testdata/damaged.
func TestSparkAgrees(t *testing.T) {
	if *damagedDir != "" {
		layDown(t, *damagedDir)
		return
	}
	if raceEnabled {
		t.Skip("forty thousand states; nothing in it is concurrent that other tests do not run with the race detector")
	}
	answers := readRecorded(t)
	before := map[string]map[string]rowsOf{} // by fixture, then place and version
	wrong := map[string][]string{}           // see unseen
	asked, refusals, compared := 0, 0, 0
	met := map[[3]string]bool{}
	judged(t, func(c judgedCase) {
		met[c.id()] = true
		cells := c.touched()
		if len(cells) == 0 {
			return
		}
		report := c.damaged.check(checkpoint.DefaultCheck)
		var cp *checkpoint.Checkpoint
		if c.name == wholeName && before[c.fixture] == nil {
			before[c.fixture] = map[string]rowsOf{}
		}
		sums := map[string]*rowsOf{}
		for _, spark := range sparks {
			sums[spark] = &rowsOf{}
		}
		for _, at := range cells {
			for _, v := range at.Versions {
				says, ok := loading(report, at, v)
				if !ok {
					continue
				}
				key := fmt.Sprint(at.place(), " ", v)
				var ours rowsOf
				var failed error
				if says[checkpoint.Library] == checkpoint.Loads {
					if cp == nil {
						cp = c.damaged.open()
					}
					ours, failed = at.read(t, cp, v)
					assert.NoError(t, failed, "%v: %s", c, key)
				}
				if c.name == wholeName {
					before[c.fixture][key] = ours
				}
				for _, spark := range c.asked() {
					if c.name == wholeName && answers[c.id()][spark] == nil {
						continue // it does not know the types
					}
					asked++
					answer, changed := answers[c.id()][spark][at.place()][v]
					if !changed {
						answer = before[c.fixture][key].String()
					}
					if refused(answer) {
						refusals++
					} else if c.name == wholeName {
						sums[spark].rows += ours.rows
						sums[spark].digest += ours.digest
					}
					if refused(answer) && slices.Contains(refusesItsOwn, c.fixture) {
						assert.Contains(t, strings.ToUpper(answer), "VALID", "%v: %s", c, key)
						continue
					}
					if !refused(answer) && slices.Contains(blinder, c.name+"/"+c.fixture) {
						continue
					}
					assert.Equal(t, !refused(answer), can(says[judgeOf[spark]]), "%v: %s: Spark %s: %s", c, key, spark, answer)
					if !refused(answer) && says[judgeOf[spark]] == checkpoint.Loads && says[checkpoint.Library] == checkpoint.Loads {
						compared++
						assert.Equal(t, answer, ours.String(), "%v: %s: Spark %s", c, key, spark)
						if changed && !slices.Contains(wrong[c.name], c.fixture) {
							wrong[c.name] = append(wrong[c.name], c.fixture)
						}
					}
				}
			}
		}
		if c.name == wholeName {
			for spark := range answers[c.id()] {
				assert.Equal(t, sums[spark].String(), answers[c.id()][spark]["*"][0], "%v: Spark %s", c, spark)
			}
		}
	})
	answers.stale(t, false, met)
	t.Logf("%d states: %d refused, %d compared row by row", asked, refusals, compared)
	for _, fixtures := range wrong {
		slices.Sort(fixtures)
	}
	assert.Equal(t, unseen, wrong)
}

// A query restarts exactly where a check says so, and after what it advises
// where it says that it does not.
func TestSparkRestarts(t *testing.T) {
	answers := readRecorded(t)
	started, failed := 0, 0
	met := map[[3]string]bool{}
	restarted(t, func(c judgedCase, by []string) {
		met[c.id()] = true
		report := c.damaged.check(checkpoint.DefaultCheck)
		for _, spark := range by {
			answer, ok := answers[c.id()][spark]["query"][0]
			if !assert.True(t, ok, "%v: Spark %s was not asked", c, spark) {
				continue
			}
			if refused(answer) {
				failed++
			} else {
				started++
			}
			a := report.Answers[judgeOf[spark]]
			assert.Equal(t, !refused(answer), a.Restarts, "%v: Spark %s: %s; check: %v", c, spark, answer, a.Why)
		}
	})
	answers.stale(t, true, met)
	t.Logf("%d queries started, %d failed", started, failed)
}

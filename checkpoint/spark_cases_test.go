package checkpoint_test

import (
	"encoding/binary"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/statestore/codec"
	"github.com/sparkstate/sparkstate/statestore/statetest"
)

// judgedCase is a checkpoint that the real Spark was asked about: one that is
// whole, or one that is damaged in some way.
type judgedCase struct {
	name, fixture string
	// sidecars says which .crc files there are: all that the fixture has, those
	// of Spark only, as on file systems but the local one, or none.
	sidecars string
	// whole is the fixture as it was, damaged what was made of it; both without
	// the sidecars that are to be missing.
	whole, damaged tree
	// cells is what can be asked about the fixture.
	cells []cell
}

func (c judgedCase) String() string { return c.name + "/" + c.fixture + "/" + c.sidecars }

// id names the case in the recorded answers.
func (c judgedCase) id() [3]string { return [3]string{c.name, c.fixture, c.sidecars} }

const wholeName = "whole"

// judgedDamage is damage of which only the verdicts on the state are tested.
type judgedDamage struct {
	name     string
	fixtures []string
	damage   func(r tree)
}

// fileDamage is a way in which one file gets damaged.
type fileDamage struct {
	name   string
	damage func(r tree, file string, c codec.Codec)
}

// raw is damage to the stored bytes of a file; its sidecars stay.
func raw(name string, fn func(b []byte) []byte) fileDamage {
	return fileDamage{name, func(r tree, file string, _ codec.Codec) { r.edit(file, fn) }}
}

// body is damage below the compression; the sidecars go.
func body(name string, fn func(b []byte) []byte) fileDamage {
	return fileDamage{name, func(r tree, file string, c codec.Codec) { r.pack(file, c, fn(r.plain(file))) }}
}

// repacked is a file in another compression.
func repacked(c codec.Codec) fileDamage {
	return fileDamage{"compressed with " + c.String(), func(r tree, file string, was codec.Codec) {
		if c != was {
			r.pack(file, c, r.plain(file))
		}
	}}
}

func flipAt(at func(n int) int) func([]byte) []byte {
	return func(b []byte) []byte { b[at(len(b))] ^= 4; return b }
}

func stray(n int) func([]byte) []byte {
	return func(b []byte) []byte { return append(b, strings.Repeat("stray byte", 1+n/10)[:n]...) }
}

// firstRow returns the first key and value of a body.
func firstRow(b []byte) (key, value []byte) {
	k := int(binary.BigEndian.Uint32(b))
	v := int(binary.BigEndian.Uint32(b[4+k:]))
	return b[4 : 4+k], b[8+k : 8+k+v]
}

func framed(row []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(row))), row...)
}

// more puts a record before the end mark, of a key that is not there: Spark
// never writes one twice into a snapshot.
func more(record func(key, value []byte) []byte) func([]byte) []byte {
	return func(b []byte) []byte {
		key, value := firstRow(b)
		key = slices.Clone(key)
		key[len(key)-8] ^= 0x11
		r := record(key, value)
		return slices.Concat(b[:len(b)-4], r, b[len(b)-4:])
	}
}

// ahead puts a record before all others.
func ahead(record func(key, value []byte) []byte) func([]byte) []byte {
	return func(b []byte) []byte { return slices.Concat(record(firstRow(b)), b) }
}

func length(n int32) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }

// nobodysRow has bits set that stand for no column.
var nobodysRow = slices.Repeat([]byte{0xff}, 24)

func misfit(_, value []byte) []byte { return slices.Concat(framed(nobodysRow), framed(value)) }

func misfitValue(key, _ []byte) []byte { return slices.Concat(framed(key), framed(nobodysRow)) }

var fileDamages = []fileDamage{
	raw("0 bytes", func([]byte) []byte { return nil }),
	raw("cut in half", half),
	raw("cut by a byte", func(b []byte) []byte { return b[:len(b)-1] }),
	raw("cut by 21 bytes", func(b []byte) []byte { return b[:len(b)-21] }), // lz4: just its end mark
	raw("first byte flipped", flipAt(func(int) int { return 0 })),
	raw("byte in the first quarter flipped", flipAt(func(n int) int { return n / 4 })),
	raw("byte in the middle flipped", flipAt(func(n int) int { return n / 2 })),
	raw("byte in the last quarter flipped", flipAt(func(n int) int { return 3 * n / 4 })),
	raw("last byte flipped", flipAt(func(n int) int { return n - 1 })),
	raw("1 stray byte", stray(1)),
	raw("4 stray bytes", stray(4)),
	raw("20 stray bytes", stray(20)),
	raw("21 stray bytes", stray(21)),
	raw("100 stray bytes", stray(100)),
	raw("the file twice", func(b []byte) []byte { return append(b, b...) }),

	body("no end mark", func(b []byte) []byte { return b[:len(b)-4] }),
	body("ends within a record", func(b []byte) []byte { return b[:len(b)-7] }),
	body("compressed nothing", func([]byte) []byte { return nil }),
	body("no row", func(b []byte) []byte { return b[len(b)-4:] }),
	body("bytes after the end mark", func(b []byte) []byte { return append(b, "tail"...) }),
	body("a key of length -2", more(func(_, _ []byte) []byte { return length(-2) })),
	body("a value of length -1", more(func(key, _ []byte) []byte { return append(framed(key), length(-1)...) })),
	body("a value of length -5", more(func(key, _ []byte) []byte { return append(framed(key), length(-5)...) })),
	body("a key of 2 GB", more(func(_, _ []byte) []byte { return length(1<<31 - 1) })),
	body("a value of 2 GB", more(func(key, _ []byte) []byte { return append(framed(key), length(1<<31-1)...) })),
	body("a key of 100 MB", more(func(_, _ []byte) []byte { return length(100 << 20) })),
	body("a key that is too long by 100 bytes", more(func(key, _ []byte) []byte { return length(int32(len(key)) + 100) })),
	body("a key of 12 bytes", more(func(_, value []byte) []byte { return slices.Concat(framed(make([]byte, 12)), framed(value)) })),
	body("a key of 12 bytes ahead", ahead(func(_, value []byte) []byte { return slices.Concat(framed(make([]byte, 12)), framed(value)) })),
	body("a key of no bytes", more(func(_, value []byte) []byte { return slices.Concat(framed(nil), framed(value)) })),
	body("a value of 4 bytes more", more(func(key, value []byte) []byte {
		return slices.Concat(framed(key), framed(slices.Concat(value, make([]byte, 4))))
	})),
	body("a value of 5 bytes more", more(func(key, value []byte) []byte {
		return slices.Concat(framed(key), framed(slices.Concat(value, make([]byte, 5))))
	})),
	body("a value of no bytes", more(func(key, _ []byte) []byte { return slices.Concat(framed(key), framed(nil)) })),
	body("a key that fits no schema", more(misfit)),
	body("a key that fits no schema ahead", ahead(misfit)),
	body("a value that fits no schema", more(misfitValue)),
	body("a value that fits no schema ahead", ahead(misfitValue)),
	body("the first row removed before", ahead(func(key, _ []byte) []byte { return append(framed(key), length(-1)...) })),

	repacked(codec.LZ4), repacked(codec.LZF), repacked(codec.Snappy), repacked(codec.Zstd), repacked(codec.None),
	{"another compression without its end mark", func(r tree, file string, c codec.Codec) {
		b := r.plain(file)
		other := codec.Zstd
		if c == other {
			other = codec.LZ4
		}
		r.pack(file, other, b[:len(b)-4])
	}},
}

// damagedFiles are the files that fileDamages are done to.
var damagedFiles = []struct {
	fixture string
	codec   codec.Codec
	files   []string
}{
	{"4.1.4/codec_lz4.zip", codec.LZ4, []string{"state/0/1/4.delta", "state/0/1/3.snapshot"}},
	{"4.1.4/codec_lzf.zip", codec.LZF, []string{"state/0/1/4.delta", "state/0/1/3.snapshot"}},
	{"4.1.4/codec_snappy.zip", codec.Snappy, []string{"state/0/1/4.delta", "state/0/1/3.snapshot"}},
	{"3.5.9/codec_zstd.zip", codec.Zstd, []string{"state/0/1/4.delta", "state/0/1/3.snapshot"}},
	{"4.3.0/row_checksum.zip", codec.LZ4, []string{"state/0/1/5.delta", "state/0/1/3.snapshot"}},
}

// In ad_billing, a partition with all deltas and the snapshots 3 and 6.
const (
	dir2  = "state/1/2/"
	snap3 = dir2 + "3.snapshot"
	snap6 = dir2 + "6.snapshot"
)

var judgedDamages = []judgedDamage{
	{"both snapshots damaged", billings, func(r tree) { r.edit(snap6, half); r.edit(snap3, half) }},
	{"both snapshots damaged and the first delta missing", billings, func(r tree) { r.edit(snap6, half); r.edit(snap3, half); r.remove(dir2 + "1.delta") }},
	{"snapshot damaged and a delta before it missing", billings, func(r tree) { r.edit(snap6, half); r.remove(dir2 + "5.delta") }},
	{"snapshot damaged and a delta before it too", billings, func(r tree) { r.edit(snap6, half); r.edit(dir2+"5.delta", half) }},
	{"snapshot damaged and a delta after it too", billings, func(r tree) { r.edit(snap6, half); r.edit(dir2+"7.delta", half) }},
	{"snapshot missing", billings, func(r tree) { r.remove(snap6) }},
	{"snapshot and its delta missing", billings, func(r tree) { r.remove(snap6, dir2+"6.delta") }},
	{"snapshot missing and the one before damaged", billings, func(r tree) { r.remove(snap6); r.edit(snap3, half) }},
	{"snapshot of 0 bytes", billings, func(r tree) { r.put(snap6, nil) }},
	{"snapshot with another's hidden sidecar", billings, func(r tree) { r.put(dir2+".6.snapshot.crc", r.get(dir2+".7.delta.crc")) }},
	{"snapshot with another's JSON sidecar", billings[1:], func(r tree) {
		r.put(snap6+".crc", r.get(dir2+"7.delta.crc"))
		r.unsumOnly(snap6 + ".crc")
	}},
	{"JSON sidecar with another's hidden sidecar", billings[1:], func(r tree) { r.put(dir2+"7.delta.crc", r.get(dir2+"5.delta.crc")) }},
	{"JSON sidecar of another version", billings[1:], func(r tree) {
		r.put(dir2+"7.delta.crc", r.get(dir2+"5.delta.crc"))
		r.unsumOnly(dir2 + "7.delta.crc")
	}},
	{"JSON sidecar that is none", billings[1:], func(r tree) {
		r.put(dir2+"7.delta.crc", []byte("{}"))
		r.unsumOnly(dir2 + "7.delta.crc")
	}},
	{"JSON sidecar of 0 bytes", billings[1:], func(r tree) {
		r.put(dir2+"7.delta.crc", nil)
		r.unsumOnly(dir2 + "7.delta.crc")
	}},
	{"hidden sidecar of 0 bytes", billings, func(r tree) { r.put(dir2+".7.delta.crc", nil) }},
	{"hidden sidecar cut short", billings, func(r tree) { r.edit(dir2+".7.delta.crc", func(b []byte) []byte { return b[:len(b)-4] }) }},
	{"hidden sidecar too long", billings, func(r tree) { r.edit(dir2+".7.delta.crc", stray(4)) }},
	{"hidden sidecar with pieces of 0 bytes", billings, func(r tree) {
		r.edit(dir2+".7.delta.crc", func(b []byte) []byte { copy(b[4:], make([]byte, 4)); return b })
	}},
	{"deltas swapped, with their sidecars", billings, func(r tree) { r.swap(dir2+"4.delta", dir2+"5.delta") }},
	{"deltas of two partitions swapped", billings, func(r tree) { r.swap("state/0/2/7.delta", "state/0/3/7.delta") }},
	{"delta in place of a snapshot", billings, func(r tree) { r.put(snap6, r.get(dir2+"7.delta")); r.unsum(snap6) }},
	{"snapshot in place of a delta", billings, func(r tree) { r.put(dir2+"7.delta", r.get(snap6)); r.unsum(dir2 + "7.delta") }},
	{"deltas of another operator", billings, func(r tree) { r.pack(seven, codec.LZ4, r.plain("state/1/2/5.delta")) }},
	{"uncommitted snapshot that is damaged", billings, func(r tree) { r.put(dir2+"8.snapshot", []byte("not one")) }},

	{"snapshot named 06", billings, func(r tree) { r.rename(snap6, dir2+"06.snapshot") }},
	{"snapshot in capitals", billings, func(r tree) { r.put(dir2+"7.SNAPSHOT", r.get(snap6)) }},
	{"snapshot of version 0", billings, func(r tree) { r.put(dir2+"0.snapshot", r.get(snap6)) }},
	{"snapshot of version -1", billings, func(r tree) { r.put(dir2+"-1.snapshot", r.get(snap6)) }},
	{"snapshot of a version far ahead", billings, func(r tree) { r.put(dir2+"9223372036854775807.snapshot", r.get(snap6)) }},
	{"snapshot of a version that is no long", billings, func(r tree) { r.put(dir2+"9223372036854775808.snapshot", r.get(snap6)) }},
	{"snapshot with a sign", billings, func(r tree) { r.put(dir2+"+7.snapshot", r.get(snap6)) }},
	{"snapshot with two dots", billings, func(r tree) { r.put(dir2+"7.5.snapshot", r.get(snap6)) }},
	{"snapshot without a number", billings, func(r tree) { r.put(dir2+".snapshot", nil) }},
	{"snapshot with a second extension", billings, func(r tree) { r.put(dir2+"7.snapshot.bak", r.get(snap6)) }},
	{"directory in place of a delta", billings, func(r tree) { r.remove(dir2 + "7.delta"); r.put(dir2+"7.delta/file", nil) }},
	{"a name without an extension", billings, func(r tree) { r.put(dir2+"notes", nil) }},
	{"a name that is no number", billings, func(r tree) { r.put(dir2+"notes.txt", nil); r.put(dir2+"copy.delta", nil) }},
	{"files that systems leave", billings, func(r tree) {
		r.put(dir2+".DS_Store", nil)
		r.put(dir2+"_SUCCESS", nil)
		r.put(dir2+"7.delta.bak", nil)
	}},

	{"join: a delta missing in one of four stores", []string{"3.5.9/join_leftOuter.zip"}, func(r tree) { r.remove("state/0/1/left-keyWithIndexToValue/3.delta") }},
	{"join: a delta cut in one of four stores", []string{"4.1.4/join_leftOuter.zip"}, func(r tree) { r.edit("state/0/1/right-keyToNumValues/3.delta", half) }},

	{"no snapshot and a delta missing", []string{"made/chain"}, func(r tree) { r.remove("state/0/0/5.delta") }},
	{"no snapshot and the first delta missing", []string{"made/chain"}, func(r tree) { r.remove("state/0/0/1.delta") }},
	{"no snapshot and a delta cut", []string{"made/chain"}, func(r tree) { r.edit("state/0/0/5.delta", half) }},
	{"cleaned up", []string{"made/kept"}, func(r tree) { r.cleanUp(10) }},
	{"cleaned up, and the snapshot damaged", []string{"made/kept"}, func(r tree) { r.cleanUp(10); r.edit("state/0/0/10.snapshot", half) }},
	{"cleaned up, and a delta missing", []string{"made/kept"}, func(r tree) { r.cleanUp(10); r.remove("state/0/0/15.delta") }},
	{"snapshot damaged, the next older one far away", []string{"made/far"}, func(r tree) { r.edit("state/0/0/20.snapshot", half) }},
	{"all snapshots damaged, version 0 far away", []string{"made/far"}, func(r tree) { r.edit("state/0/0/20.snapshot", half); r.edit("state/0/0/10.snapshot", half) }},
}

// unsumOnly removes the hidden sidecar of a file.
func (r tree) unsumOnly(name string) {
	d, b := path.Split(name)
	delete(r.m, d+"."+b+".crc")
}

// swap exchanges two files and their sidecars.
func (r tree) swap(a, b string) {
	sidecars := func(name string) []string {
		d, base := path.Split(name)
		return []string{name, name + ".crc", d + "." + base + ".crc", d + "." + base + ".crc.crc"}
	}
	for i, x := range sidecars(a) {
		if y := sidecars(b)[i]; r.m[x] != nil && r.m[y] != nil {
			r.m[x], r.m[y] = r.m[y], r.m[x]
		}
	}
}

// cleanUp removes the deltas below a snapshot, as Spark's maintenance does.
func (r tree) cleanUp(snapshot int) {
	for v := 1; v < snapshot; v++ {
		r.remove(fmt.Sprintf("state/0/0/%d.delta", v))
	}
}

// madeFixtures are written here, since no small checkpoint of Spark's is like
// them: batches, and after which of them there is a snapshot.
var madeFixtures = map[string]struct {
	batches   int
	snapshots []int
	versions  []int64 // those to ask about; nil stands for all
}{
	"made/chain": {batches: 12},
	"made/kept":  {batches: 20, snapshots: []int{9}},
	"made/far": {batches: 570, snapshots: []int{9, 19},
		versions: []int64{1, 9, 10, 11, 19, 20, 21, 49, 50, 51, 52, 59, 60, 61, 62, 69, 70, 71, 72, 499, 500, 501, 502, 509, 510, 511, 512, 519, 520, 521, 522, 570}},
}

// judgedFixture loads a checkpoint of testdata, or makes one.
func judgedFixture(t testing.TB, name string) tree {
	t.Helper()
	f, ok := madeFixtures[name]
	if !ok {
		return fixture(t, name)
	}
	m := fstest.MapFS{}
	w := statetest.NewWriter(statetest.Query{Partitions: 1, Spark: "4.3", Operators: []statetest.Operator{counting(t)}}, statetest.Map(m, "."))
	for b := range f.batches {
		w.Put(0, "default", []any{int64(b)}, []any{int64(b)})
		require.NoError(t, w.Commit())
		if slices.Contains(f.snapshots, b) {
			require.NoError(t, w.Snapshot(0, "default"))
		}
	}
	return tree{t, m}
}

// without returns the tree without some of its sidecars.
func (r tree) without(sidecars string) tree {
	m := maps.Clone(r.m)
	maps.DeleteFunc(m, func(name string, _ *fstest.MapFile) bool {
		hidden := strings.HasPrefix(path.Base(name), ".")
		return strings.HasSuffix(name, ".crc") && (sidecars == noSidecars || sidecars == jsonSidecars && hidden)
	})
	return tree{r.t, m}
}

const (
	allSidecars  = "all"
	jsonSidecars = "json"
	noSidecars   = "none"
)

// wholeFixtures returns the checkpoints that are judged, in order.
func wholeFixtures(t testing.TB) []string {
	t.Helper()
	names := slices.Sorted(maps.Keys(madeFixtures))
	for _, pattern := range []string{"*/ad_billing", "*/*.zip"} {
		found, err := filepath.Glob(filepath.Join("..", "testdata", pattern))
		require.NoError(t, err)
		for _, f := range found {
			if name := filepath.ToSlash(strings.TrimPrefix(f, filepath.Join("..", "testdata")+string(filepath.Separator))); !strings.Contains(name, "rocksdb") {
				names = append(names, name)
			}
		}
	}
	return names
}

// judged calls fn with every case.
func judged(t testing.TB, fn func(judgedCase)) {
	t.Helper()
	fixtures := map[string]tree{}
	cells := map[string][]cell{}
	met := map[[2]string]bool{}
	run := func(name, fixture string, damage func(r tree)) {
		require.False(t, met[[2]string{name, fixture}], "two cases: %s of %s", name, fixture)
		met[[2]string{name, fixture}] = true
		whole, ok := fixtures[fixture]
		if !ok {
			whole = judgedFixture(t, fixture)
			fixtures[fixture], cells[fixture] = whole, cellsOf(fixture, whole)
		}
		damaged := tree{t, maps.Clone(whole.m)} // files are replaced, never changed
		damage(damaged)
		for _, sidecars := range []string{allSidecars, jsonSidecars, noSidecars} {
			if sidecars == jsonSidecars && !strings.HasPrefix(fixture, "4.1") {
				continue // only Spark 4.1 writes those
			}
			c := judgedCase{name, fixture, sidecars, whole.without(sidecars), damaged.without(sidecars), cells[fixture]}
			if sidecars == allSidecars || name == wholeName || !maps.Equal(c.whole.m, c.damaged.m) {
				fn(c)
			}
		}
	}
	for _, name := range wholeFixtures(t) {
		run(wholeName, name, func(tree) {})
	}
	for _, c := range damageCases {
		if len(c.fixtures) == 0 {
			c.fixtures = billings
		}
		for _, f := range c.fixtures {
			run(c.name, f, c.damage)
		}
	}
	for _, c := range judgedDamages {
		for _, f := range c.fixtures {
			run(c.name, f, c.damage)
		}
	}
	for _, f := range damagedFiles {
		for _, file := range f.files {
			for _, d := range fileDamages {
				run(path.Base(file)+": "+d.name, f.fixture, func(r tree) { d.damage(r, file, f.codec) })
			}
		}
	}
}

package checkpoint_test

import (
	"encoding/binary"
	"fmt"
	"path"
	"strings"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore/codec"
)

// damageCase is one way in which a checkpoint gets damaged, and what a check
// has to say of it.
type damageCase struct {
	name     string
	fixtures []string // billings, if none is given
	level    checkpoint.CheckLevel
	damage   func(r tree)
	want     found    // above info
	says     []string // in what or do of the first finding
	file     string
	// restarts says who starts from what is there, newest which batch is
	// the newest that loads; both are the same for each judge where one
	// letter or number is given: y or n.
	restarts string
	newest   []int64
	// infos are findings that there are beside those, none those that there are
	// not.
	infos, none []string
}

var billings = []string{"3.5.9/ad_billing", "4.1.4/ad_billing"}

// seven is the newest delta of a partition of ad_billing's deduplication.
const seven = "state/0/2/7.delta"

func half(b []byte) []byte { return b[:len(b)/2] }

func flip(b []byte) []byte { b[len(b)/2] ^= 4; return b }

// othersSums gives all files of a kind hidden sidecars that are of other files.
func othersSums(ext string) func(r tree) {
	return func(r tree) {
		for n := range r.m {
			if d, b := path.Split(n); path.Ext(b) == ext {
				r.put(d+"."+b+".crc", append([]byte("crc\x00\x00\x00\x02\x00"), make([]byte, 4096)...))
			}
		}
	}
}

// damageCases are put before the real Spark as well: see TestSparkAgrees.
var damageCases = []damageCase{
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
	{name: "snapshot with a name that is no number", level: checkpoint.QuickCheck,
		damage: func(r tree) { r.put(dir2+"copy.snapshot", r.get(snap6)) },
		want:   found{"foreign-file": critical}, says: []string{"copy.snapshot", "4.2"}, file: dir2 + "copy.snapshot", restarts: "yyny", newest: []int64{6, 6, -1, 6}},
	{name: "snapshot's twin that macOS makes", level: checkpoint.QuickCheck,
		damage: func(r tree) { r.put(dir2+"._6.snapshot", nil) },
		want:   found{"foreign-file": critical}, restarts: "yyny", newest: []int64{6, 6, -1, 6}},
	{name: "snapshot named 07", level: checkpoint.QuickCheck,
		damage: func(r tree) { r.put(dir2+"07.snapshot", r.get(snap6)) },
		want:   found{"two-files-for-version": critical}, says: []string{"Spark opens 7.snapshot only"}, restarts: "yyny", newest: []int64{6, 6, 5, 6}},
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
	{name: "a store of another query", level: checkpoint.QuickCheck, fixtures: billings[1:],
		damage: func(r tree) { r.put("state/1/2/left-keyToNumValues/1.delta", r.get("state/1/2/1.delta")) },
		want:   found{"store-unrecorded": warning}, says: []string{"left-keyToNumValues"}, file: "state/1/2/left-keyToNumValues", restarts: "y", newest: []int64{6}},
	{name: "operator missing", level: checkpoint.QuickCheck,
		damage: func(r tree) { r.removeAll("state/0") },
		want:   found{"operator-missing": critical}, restarts: "nnny", says: []string{"none of operator 0"}},
	{name: "orphaned sidecar", level: checkpoint.QuickCheck,
		damage: func(r tree) { r.put("state/1/2/.44.delta.crc", []byte("crc")) },
		want:   found{}, infos: []string{"sidecar-orphaned"}, restarts: "y", newest: []int64{6}},

	{name: "a hole in offsets", level: checkpoint.QuickCheck, damage: func(r tree) { r.remove("offsets/3") },
		want: found{"offsets-hole": warning}, says: []string{"offsets/3 is missing"}, restarts: "y", newest: []int64{6}},
	{name: "a hole in offsets that a start needs", level: checkpoint.QuickCheck, damage: func(r tree) { r.remove("offsets/5") },
		want: found{"offsets-hole": critical}, says: []string{"needs the one before"}, restarts: "nnny", newest: []int64{4, 4, 4, 6}},
	{name: "a hole in commits", level: checkpoint.QuickCheck, damage: func(r tree) { r.remove("commits/3") },
		want: found{"commits-hole": warning}, restarts: "y", newest: []int64{6}},
	{name: "commits ahead", level: checkpoint.QuickCheck, damage: func(r tree) { r.remove("offsets/6") },
		want: found{"commits-ahead": critical}, restarts: "nnny", newest: []int64{5, 5, 5, 6}},
	{name: "commits behind", level: checkpoint.QuickCheck, damage: func(r tree) { r.remove("commits/6", "commits/5") },
		want: found{"commits-behind": warning}, infos: []string{"state-uncommitted"}, says: []string{"not committed"}, restarts: "y", newest: []int64{4}},
	{name: "a log cut short", level: checkpoint.QuickCheck,
		damage: func(r tree) { r.put("offsets/2", []byte("v1")); r.unsum("offsets/2") },
		want:   found{"log-damaged": warning}, restarts: "y", newest: []int64{6}},
	{name: "the newest log edited by hand", level: checkpoint.QuickCheck,
		damage: func(r tree) { r.edit("commits/6", func(b []byte) []byte { return append(b, '\n') }) },
		want:   found{"log-damaged": warning}, says: []string{".crc"}, restarts: "y", newest: []int64{6}},
	{name: "query id missing", level: checkpoint.QuickCheck, damage: func(r tree) { r.remove("metadata") },
		want: found{"query-id-missing": warning}, restarts: "yyny", newest: []int64{6}},
	{name: "query id damaged", level: checkpoint.QuickCheck,
		damage: func(r tree) { r.put("metadata", []byte("{")); r.unsum("metadata") },
		want:   found{"query-id-damaged": critical}, restarts: "nnny"},
	{name: "operator metadata damaged", level: checkpoint.QuickCheck, fixtures: billings[1:],
		damage: func(r tree) { r.edit("state/1/_metadata/metadata", half); r.unsum("state/1/_metadata/metadata") },
		want:   found{"operator-metadata-damaged": warning}, restarts: "y", file: "state/1/_metadata/metadata"},
	{name: "schema damaged", level: checkpoint.QuickCheck,
		damage: func(r tree) { r.edit("state/1/0/_metadata/schema", half); r.unsum("state/1/0/_metadata/schema") },
		want:   found{"schema-damaged": critical}, restarts: "nnny", file: "state/1/0/_metadata/schema"},
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
		want: found{"wrong-codec": critical}, says: []string{"the file is zstd"}, file: seven, restarts: "nnny", newest: []int64{5, 5, 5, 6}},
	{name: "no compression that Spark knows",
		damage: func(r tree) { r.put(seven, []byte("\x1f\x8b\x08\x00 a gzip file, by its magic")); r.unsum(seven) },
		want:   found{"wrong-codec": critical}, file: seven, restarts: "n", newest: []int64{5}},
	{name: "bytes after the end",
		damage: func(r tree) { r.pack(seven, codec.LZ4, append(r.plain(seven), "tail"...)) },
		want:   found{"bytes-after-end": warning}, file: seven, restarts: "y", newest: []int64{6}},
	{name: "damaged snapshot with the deltas beside it", damage: func(r tree) { r.edit("state/1/2/6.snapshot", flip) },
		want: found{"snapshot-replaceable": critical}, says: []string{"the deltas from 3.snapshot on lead to the same version"}, file: "state/1/2/6.snapshot",
		restarts: "nnyy", newest: []int64{4, 4, 6, 6}},
	{name: "snapshot cut short, with the deltas beside it",
		damage: func(r tree) {
			b := r.plain("state/1/2/6.snapshot")
			r.pack("state/1/2/6.snapshot", codec.LZ4, b[:len(b)-4])
		},
		want: found{"snapshot-replaceable": critical}, says: []string{"rows that can still be read of it are the same there"}, restarts: "nnyy", newest: []int64{4, 4, 6, 6}},
	{name: "damaged snapshot that deltas from the start replace",
		damage: func(r tree) { r.edit("state/1/2/6.snapshot", flip); r.remove("state/1/2/3.snapshot") },
		want:   found{"snapshot-replaceable": critical}, says: []string{"from the empty state on"}, restarts: "nnyy", newest: []int64{4, 4, 6, 6}},
	{name: "damaged snapshot that nothing replaces",
		damage: func(r tree) { r.edit("state/1/2/6.snapshot", flip); r.remove("state/1/2/6.delta") },
		want:   found{"file-corrupt": critical}, file: "state/1/2/6.snapshot", restarts: "n", newest: []int64{4}},
	{name: "hidden sidecar of another file",
		damage: func(r tree) {
			r.put("state/0/2/.7.delta.crc", r.get("state/0/1/.7.delta.crc"))
		},
		want: found{"hadoop-crc": warning}, says: []string{"decodes to its end mark"}, file: seven, restarts: "y", newest: []int64{6}},
	{name: "hidden sidecar of another file, and no checksum in the codec", fixtures: []string{"4.1.4/codec_snappy.zip"},
		damage: othersSums(".delta"),
		want:   found{"hadoop-crc": critical}, says: []string{"snappy has no checksum of its own"}, restarts: "y"},
	{name: "hidden sidecar of another snapshot, and no checksum in the codec", fixtures: []string{"3.5.9/codec_zstd.zip"}, level: checkpoint.DeepCheck,
		damage: othersSums(".snapshot"),
		want:   found{"hadoop-crc": critical}, says: []string{"zstd has no checksum of its own"}, restarts: "y"},
	{name: "JSON sidecar of another file", fixtures: billings[1:],
		damage: func(r tree) { r.put("state/0/2/7.delta.crc", r.get("state/0/1/7.delta.crc")) },
		want:   found{"spark-crc": warning}, says: []string{"Suspicious, not proof"}, file: seven, restarts: "ynyy", newest: []int64{6, 5, 6, 6}},
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
}

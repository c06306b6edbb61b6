package checkpoint_test

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore/codec"
)

const tmp = "state/0/2/.7.delta.0c4a-11.TID9.tmp"

func TestCheckFindsTemporaryFiles(t *testing.T) {
	checkDamage(t, []damageCase{
		{name: "two attempts, both whole",
			damage: func(r tree) {
				r.put("state/0/2/.7.delta.9f31-2.TID4.tmp", r.get(seven))
				r.rename(seven, tmp)
			},
			want: found{"delta-in-some-partitions": critical, "temp-file": warning}, says: []string{"there are 2 such files", "take the one"}, restarts: "n"},
		{name: "two attempts, one of them whole",
			damage: func(r tree) {
				r.put("state/0/2/.7.delta.9f31-2.TID4.tmp", r.get(seven)[:40])
				r.rename(seven, tmp)
			},
			want: found{"delta-in-some-partitions": critical, "temp-file": warning}, infos: []string{"temp-file"}, says: []string{"is safe"}, restarts: "n"},
		{name: "of another partition",
			damage: func(r tree) { r.put(tmp, r.get("state/0/1/7.delta")); r.remove(seven) },
			want:   found{"delta-in-some-partitions": critical, "temp-file": warning}, says: []string{"belong in other partitions", "Do not rename it"}, restarts: "n"},
		{name: "beside the file itself", level: checkpoint.QuickCheck, damage: func(r tree) { r.put(tmp, r.get(seven)) },
			want: found{}, infos: []string{"temp-file"}, restarts: "y", newest: []int64{6}},
		{name: "of a snapshot", damage: func(r tree) { r.put("state/0/2/.7.snapshot.0c4a.TID9.tmp", r.get("state/0/2/6.snapshot")) },
			want: found{}, infos: []string{"temp-file"}, restarts: "y"},
		{name: "of a delta that a snapshot stands for", damage: func(r tree) { r.rename("state/0/2/6.delta", "state/0/2/.6.delta.0c4a.TID9.tmp") },
			want: found{}, infos: []string{"temp-file"}, restarts: "y"},
		{name: "of a batch that is not committed", damage: func(r tree) { r.put("state/0/2/.8.delta.0c4a.TID9.tmp", r.get(seven)) },
			want: found{}, infos: []string{"temp-file"}, restarts: "y"},
		{name: "of a log that is missing", level: checkpoint.QuickCheck, damage: func(r tree) { r.rename("offsets/3", "offsets/.3.0c4a.tmp") },
			want: found{"offsets-hole": warning, "temp-file": warning}, says: []string{"never renamed to 3", "closes the hole"}, restarts: "y"},
		{name: "of a log that is missing, cut short", level: checkpoint.QuickCheck,
			damage: func(r tree) { r.rename("commits/3", "commits/.3.0c4a.tmp"); r.put("commits/.3.0c4a.tmp", nil) },
			want:   found{"commits-hole": warning}, infos: []string{"temp-file"}, restarts: "y"},
		{name: "of the batch that was planned", level: checkpoint.QuickCheck, damage: func(r tree) { r.put("offsets/.7.0c4a.tmp", r.get("offsets/6")) },
			want: found{}, infos: []string{"temp-file"}, restarts: "y"},
		{name: "of a log that is there", level: checkpoint.QuickCheck, damage: func(r tree) { r.put("commits/.6.0c4a.tmp", r.get("commits/6")) },
			want: found{}, infos: []string{"temp-file"}, restarts: "y"},
	})
}

func TestCheckFindsSecondQueries(t *testing.T) {
	checkDamage(t, []damageCase{
		{name: "one trace is not enough", level: checkpoint.QuickCheck,
			damage: func(r tree) { r.put("state/0/2/07.delta", r.get(seven)) },
			want:   found{"two-files-for-version": warning}, none: []string{"two-writers"}, restarts: "y"},
		{name: "unfinished attempts and a version twice", level: checkpoint.QuickCheck,
			damage: func(r tree) {
				r.put("state/0/2/07.delta", r.get(seven))
				r.put(tmp, r.get(seven))
				r.put("state/0/2/.7.delta.9f31.TID9.tmp", r.get(seven))
			},
			want: found{"two-files-for-version": warning, "two-writers": warning}, infos: []string{"temp-file"},
			says: []string{"several unfinished attempts of 1 state files", "two files for one version", "one query at a time"}, restarts: "y"},
		{name: "a log twice", level: checkpoint.QuickCheck, damage: func(r tree) { r.put("offsets/06", r.get("offsets/6")) },
			want: found{"log-twice": warning}, says: []string{"offsets/06 claims batch 6"}, file: "offsets/06", restarts: "y", newest: []int64{6}},
	})
}

func TestCheckFindsChangedQueries(t *testing.T) {
	inBatch := func(batch int, key, from, to string) func(r tree) {
		return func(r tree) { r.confChange(batch, key, from, to) }
	}
	without := func(r tree, key string, batches ...int) {
		for _, b := range batches {
			name := fmt.Sprintf("offsets/%d", b)
			r.edit(name, func(b []byte) []byte {
				lines := strings.SplitN(string(b), "\n", 3)
				var m map[string]any
				require.NoError(r.t, json.Unmarshal([]byte(lines[1]), &m))
				delete(m["conf"].(map[string]any), key)
				meta, err := json.Marshal(m)
				require.NoError(r.t, err)
				return []byte(lines[0] + "\n" + string(meta) + "\n" + lines[2])
			})
			r.unsum(name)
		}
	}
	stores := func(r tree, gone string) {
		for n := range r.m {
			if path.Base(path.Dir(n)) == gone || path.Base(path.Dir(path.Dir(n))) == gone {
				delete(r.m, n)
			}
		}
	}
	joins := []string{"3.5.9/join_leftOuter.zip", "4.1.4/join_leftOuter.zip"}
	checkDamage(t, []damageCase{
		{name: "compression that nobody knows", level: checkpoint.QuickCheck, damage: inBatch(6, checkpoint.ConfCodec, "lz4", "com.example.Codec"),
			want: found{"conf-changed": warning}, infos: []string{"conf-unusable"}, says: []string{"com.example.Codec", "cannot be unpacked"}},
		{name: "a number of partitions that is none", level: checkpoint.QuickCheck, fixtures: billings[1:], damage: inBatch(6, checkpoint.ConfShufflePartitions, "4", "four"),
			want: found{"conf-changed": warning, "conf-unusable": critical}, says: []string{`"four"`}},
		{name: "compression that was the default", level: checkpoint.QuickCheck,
			damage: func(r tree) { without(r, checkpoint.ConfCodec, 0, 1, 2, 3) }, want: found{}, restarts: "y"},
		{name: "compression that was not the default", level: checkpoint.QuickCheck,
			damage: func(r tree) {
				without(r, checkpoint.ConfCodec, 0, 1, 2, 3, 4, 5)
				inBatch(6, checkpoint.ConfCodec, "lz4", "zstd")(r)
			},
			want: found{"conf-changed": warning}, says: []string{"changed from lz4, which its absence means,"}},
		{name: "a change that Spark accepts", level: checkpoint.QuickCheck, damage: inBatch(4, checkpoint.ConfMultipleWatermarks, "min", "max"),
			want: found{"conf-changed": warning}, says: []string{"Spark accepts it", "watermark"}, restarts: "y"},
		{name: "state of another provider than is recorded", level: checkpoint.QuickCheck,
			damage: inBatch(6, checkpoint.ConfProviderClass, "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider", "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"),
			want:   found{"conf-changed": warning, "other-provider-files": critical, "two-writers": warning}, says: []string{"RocksDBStateStoreProvider, but the state files are of HDFSBackedStateStoreProvider"}},
		{name: "a store has vanished", level: checkpoint.QuickCheck, fixtures: joins, damage: func(r tree) { stores(r, "right-keyToNumValues") },
			want: found{"store-missing": critical}, says: []string{"right-keyToNumValues"}},
		{name: "a store of another query beside the default one", level: checkpoint.QuickCheck, fixtures: billings[:1],
			damage: func(r tree) { r.put("state/1/2/left-keyToNumValues/1.delta", r.get("state/1/2/1.delta")) },
			want:   found{"store-unrecorded": warning}, says: []string{"left-keyToNumValues"}, restarts: "y"},
		{name: "an operator renamed", fixtures: billings[1:],
			damage: func(r tree) {
				r.edit("state/1/_metadata/metadata", func(b []byte) []byte { return []byte(strings.Replace(string(b), "dedupe", "stateStoreSave", 1)) })
				r.unsum("state/1/_metadata/metadata")
			},
			want: found{"operator-renamed": warning}, says: []string{"calls operator 1 stateStoreSave, but its state is that of dedupe"}},
		{name: "a directory too many, without a conf", level: checkpoint.QuickCheck, fixtures: billings[1:],
			damage: func(r tree) {
				without(r, checkpoint.ConfShufflePartitions, 0, 1, 2, 3, 4, 5, 6)
				r.put("state/1/4/1.delta", r.get("state/1/2/1.delta"))
				for v := 2; v <= 7; v++ {
					r.put(fmt.Sprintf("state/1/4/%d.delta", v), r.get(fmt.Sprintf("state/1/2/%d.delta", v)))
				}
			},
			want: found{"partition-beyond-count": warning}, says: []string{"partitions 4; the query has 4"}, restarts: "y"},
	})
}

func TestCheckFindsCopiesOfRunningQueries(t *testing.T) {
	ends := func(r tree, op, partition, version int) {
		for v := version + 1; v <= 7; v++ {
			for _, ext := range []string{"delta", "snapshot"} {
				if name := fmt.Sprintf("state/%d/%d/%d.%s", op, partition, v, ext); r.m[name] != nil {
					r.remove(name)
				}
			}
		}
	}
	checkDamage(t, []damageCase{
		{name: "later partitions are newer", level: checkpoint.QuickCheck,
			damage: func(r tree) { ends(r, 0, 0, 5); ends(r, 0, 1, 6) },
			want:   found{"copied-while-running": critical}, says: []string{"2 of 8 end before version 7", "commits, offsets, state"}, restarts: "n", newest: []int64{4}},
		{name: "one version behind may be a sink that stops reading", level: checkpoint.QuickCheck,
			damage: func(r tree) { ends(r, 0, 0, 6); ends(r, 1, 1, 6) },
			want:   found{"delta-in-some-partitions": critical}, says: []string{"foreachBatch"}, restarts: "n", newest: []int64{5}},
	})
}

func TestCheckFindsHolesInJoins(t *testing.T) {
	checkDamage(t, []damageCase{
		{name: "rows that are not there", fixtures: []string{"3.5.9/join_leftOuter.zip", "4.1.4/join_leftOuter.zip"}, level: checkpoint.DeepCheck,
			damage: func(r tree) {
				for n := range r.m {
					d, b := path.Split(n)
					if strings.HasSuffix(d, "/left-keyWithIndexToValue/") && (path.Ext(b) == ".delta" || path.Ext(b) == ".snapshot") {
						r.pack(n, codec.LZ4, []byte{0xff, 0xff, 0xff, 0xff})
					}
				}
			},
			want: found{"join-counts": warning}, says: []string{"that the counts promise are not there"}},
		{name: "a row whose bytes do not fit", level: checkpoint.DeepCheck, fixtures: billings[1:],
			damage: func(r tree) {
				b := r.plain("state/1/2/5.delta")
				b[4+15] = 0xff // where the first string is
				r.pack("state/1/2/5.delta", codec.LZ4, b)
			},
			want: found{"row-misfit": warning, "snapshot-stale": warning}, says: []string{"1 of ", "the first in its key", "column profile_id", "at byte 8"}, file: "state/1/2/5.delta"},
	})
}

// Going back to an older batch reads the input of those after it again: which,
// is said for each source.
func TestCheckReplayedInput(t *testing.T) {
	r := fixture(t, "3.5.9/ad_billing")
	r.remove("state/0/2/5.delta", "state/0/2/6.delta", "state/0/2/6.snapshot", "state/0/2/7.delta")
	report := r.check(checkpoint.QuickCheck)
	back := report.Answers[checkpoint.Spark41].Back
	require.NotNil(t, back)
	require.Len(t, back.Input, 1)
	assert.Equal(t, "0", back.Input[0].ID)
	assert.Equal(t, int64(3), back.Input[0].Start.Number)
	assert.Equal(t, int64(5), back.Input[0].End.Number)
}

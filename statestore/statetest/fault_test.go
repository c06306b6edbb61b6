package statetest_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore/codec"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
	"github.com/sparkstate/sparkstate/statestore/statetest"
)

// writeQuery writes a checkpoint of three batches and two operators, one of
// them a join's store, with snapshots of version 2 and every .crc file.
func writeQuery(t testing.TB, to statetest.Sink, spark string) {
	t.Helper()
	counts := statetest.Store{Key: ddl(t, "word STRING"), Value: ddl(t, "count BIGINT")}
	left := counts
	left.Name = "left-keyToNumValues"
	w := statetest.NewWriter(statetest.Query{Spark: spark, Partitions: 2, BlockSize: 128, Sidecars: true, Operators: []statetest.Operator{
		{Name: "stateStoreSave", Stores: []statetest.Store{counts}},
		{Name: "stateStoreSave", Stores: []statetest.Store{left}},
	}}, to)
	for b := range 3 {
		for i := range 40 {
			w.Put(0, "default", []any{fmt.Sprint("word ", i)}, []any{b + i})
			w.Put(1, left.Name, []any{fmt.Sprint("word ", i)}, []any{b + i})
		}
		require.NoError(t, w.Commit())
		if b == 1 {
			require.NoError(t, w.Snapshot(0, "default"))
		}
	}
}

// Every fault is found for what it is, in a directory as in a map.
func TestFaultsAreFound(t *testing.T) {
	const left = "left-keyToNumValues"
	delta, snapshot := statetest.Delta(0, "", 1, 3), statetest.Snapshot(0, "default", 1, 2)
	for _, c := range []struct {
		faults []statetest.Fault
		want   string // findings above info, sorted; those of level info after a bar
	}{
		{[]statetest.Fault{statetest.Truncate(delta, 90)}, "file-truncated"},
		{[]statetest.Fault{statetest.Truncate(delta, -1)}, "bytes-after-end"},
		{[]statetest.Fault{statetest.TruncateAtBlock(delta, 1)}, "file-truncated"},
		{[]statetest.Fault{statetest.Empty(delta)}, "file-empty"},
		{[]statetest.Fault{statetest.FlipByte(delta, 80, 0x10)}, "file-corrupt"},
		{[]statetest.Fault{statetest.FlipByte(snapshot, -40, 0x10)}, "snapshot-replaceable"},
		{[]statetest.Fault{statetest.ZeroRange(delta, 60, 500)}, "file-corrupt"},
		{[]statetest.Fault{statetest.InsertBytes(delta, 60, 1, 2, 3)}, "file-corrupt"},
		{[]statetest.Fault{statetest.DropEndMark(delta)}, "file-truncated"},
		{[]statetest.Fault{statetest.AfterEndMark(delta, 1, 2, 3, 4)}, "bytes-after-end"},
		{[]statetest.Fault{statetest.WrongCodec(delta, codec.Zstd)}, "hadoop-crc wrong-codec"},
		{[]statetest.Fault{statetest.ChangeRow(delta, 2)}, "hadoop-crc"},
		{[]statetest.Fault{statetest.ChangeRow(delta, 2), statetest.RenewSidecars(delta)}, ""},
		{[]statetest.Fault{statetest.MisfitRow(delta, 0), statetest.DropSidecars(delta)}, "row-misfit"},
		{[]statetest.Fault{statetest.DropRow(snapshot, 3), statetest.RenewSidecars(snapshot)}, "snapshot-stale"},
		{[]statetest.Fault{statetest.StaleSnapshot(0, "default", 1, 2), statetest.RenewSidecars(snapshot)}, "snapshot-stale"},
		{[]statetest.Fault{statetest.DropDelta(0, "default", 1, 3)}, "delta-in-some-partitions"},
		{[]statetest.Fault{statetest.PartialBatch(1, left, 3, 0)}, "delta-in-some-partitions"},
		{[]statetest.Fault{statetest.TempLeft(delta)}, "delta-in-some-partitions temp-file"},
		{[]statetest.Fault{statetest.TempLeft(delta), statetest.Truncate(delta.Temp(), 50)}, "delta-in-some-partitions | temp-file"},
		{[]statetest.Fault{statetest.TwinVersion(delta)}, "two-files-for-version"},
		{[]statetest.Fault{statetest.Swap(delta, statetest.Delta(0, "", 0, 3)), statetest.RenewSidecars(delta), statetest.RenewSidecars(statetest.Delta(0, "", 0, 3))}, "key-misplaced"},
		{[]statetest.Fault{statetest.Copy(delta, statetest.Delta(0, "", 1, 9))}, "state-uncommitted"},
		{[]statetest.Fault{statetest.OrphanSidecar(delta)}, "delta-missing"},
		{[]statetest.Fault{statetest.WrongHadoopCRC(delta)}, "hadoop-crc"},
		{[]statetest.Fault{statetest.WrongSparkCRC(delta)}, "spark-crc"},
		{[]statetest.Fault{statetest.DropPartition(0, 1)}, "partition-missing"},
		{[]statetest.Fault{statetest.ExtraPartition(0, 1, 4)}, "partition-beyond-count"},
		{[]statetest.Fault{statetest.DropOperator(0)}, "operator-missing"},
		{[]statetest.Fault{statetest.RenameStore(1, left, "right-keyToNumValues", 0, 1)}, "store-missing store-unrecorded"},
		{[]statetest.Fault{statetest.ForeignFile(0, "", 1, "notes.txt")}, "foreign-file"},
		{[]statetest.Fault{statetest.ForeignFile(0, "", 1, "3.zip")}, "other-provider-files"},
		{[]statetest.Fault{statetest.DropOffsets(2)}, "commits-ahead"},
		{[]statetest.Fault{statetest.DropCommits(2)}, " | batch-in-flight state-uncommitted"},
		{[]statetest.Fault{statetest.TwoWriters(0, 1)}, "clock-backwards log-damaged offsets-backwards two-writers"},
		{[]statetest.Fault{statetest.ChangeConf(1, checkpoint.ConfShufflePartitions, "7"), statetest.RenewSidecars(statetest.OffsetLog(1))}, "conf-changed"},
		{[]statetest.Fault{statetest.Drop(statetest.QueryID())}, "query-id-missing"},
		{[]statetest.Fault{statetest.Truncate(statetest.SchemaFile(0, ""), 30), statetest.DropSidecars(statetest.SchemaFile(0, ""))}, "schema-damaged"},
		{[]statetest.Fault{statetest.Truncate(statetest.OperatorMetadata(0), 30)}, "operator-metadata-damaged"},
		{[]statetest.Fault{statetest.Empty(statetest.CommitLog(2))}, "log-damaged"},
		{[]statetest.Fault{statetest.Empty(statetest.Path("offsets/2"))}, "log-damaged"},
	} {
		m, root := fstest.MapFS{}, t.TempDir()
		for _, on := range []struct {
			files statetest.Files
			open  func() (*checkpoint.Checkpoint, error)
		}{
			{statetest.Map(m, "ck"), func() (*checkpoint.Checkpoint, error) { return checkpoint.OpenFS(m, "ck") }},
			{statetest.Dir(root), func() (*checkpoint.Checkpoint, error) { return checkpoint.Open(root) }},
		} {
			writeQuery(t, on.files, "4.1")
			require.NoError(t, statetest.Damage(on.files, c.faults...))
			cp, err := on.open()
			require.NoError(t, err)
			report, err := cp.Check(t.Context(), checkpoint.DeepCheck)
			require.NoError(t, err)
			var found, infos []string
			for _, f := range report.Findings {
				if f.Severity > checkpoint.Info {
					found = append(found, f.ID)
				} else {
					infos = append(infos, f.ID)
				}
			}
			got := names(found)
			if len(infos) > 0 {
				got += " | " + names(infos)
			}
			assert.Equal(t, c.want, got, "%v in %T", c.faults, on.files)
			require.NoError(t, cp.Close())
		}
	}
}

func names(ids []string) string {
	slices.Sort(ids)
	return strings.Join(slices.Compact(ids), " ")
}

// A fault that cannot be done says why, and one that would change nothing is
// an error as well.
func TestFaultsThatCannotBeDone(t *testing.T) {
	m := fstest.MapFS{}
	files := statetest.Map(m, "ck")
	writeQuery(t, files, "3.5")
	delta := statetest.Delta(0, "", 1, 3)
	gone := statetest.Delta(0, "", 1, 9)
	for _, f := range []statetest.Fault{
		statetest.Truncate(gone, 3), statetest.Truncate(delta, 1<<40), statetest.Truncate(delta, -1<<40),
		statetest.FlipByte(delta, 1<<40, 1), statetest.FlipByte(delta, 3, 0), statetest.ZeroRange(delta, 3, 0), statetest.InsertBytes(delta, 3),
		statetest.TruncateAtBlock(delta, 1000), statetest.ChangeRow(delta, 1000), statetest.StaleSnapshot(0, "", 1, 9),
		statetest.WrongCodec(statetest.CommitLog(0), codec.LZF), statetest.AfterEndMark(delta),
		statetest.Drop(gone), statetest.TempLeft(gone), statetest.Swap(delta, gone), statetest.Swap(gone, delta), statetest.Swap(delta, delta),
		statetest.OrphanSidecar(delta.HadoopCRC()), statetest.WrongHadoopCRC(gone), statetest.WrongSparkCRC(gone), statetest.RenewSidecars(gone),
		statetest.DropPartition(0, 7), statetest.ExtraPartition(0, 7, 8), statetest.RenameStore(0, "left", "right", 0),
		statetest.ChangeConf(0, checkpoint.ConfCodec, "lz4"), statetest.ChangeConf(9, checkpoint.ConfCodec, "lz4"),
	} {
		before := len(m)
		err := statetest.Damage(files, f)
		require.Error(t, err, f.String())
		assert.Contains(t, err.Error(), f.String())
		assert.Len(t, m, before)
	}
	assert.ErrorIs(t, statetest.Damage(files, statetest.Drop(gone)), fs.ErrNotExist)
	assert.ErrorIs(t, statetest.Damage(statetest.Dir(t.TempDir()), statetest.Drop(gone)), fs.ErrNotExist)
	assert.Error(t, statetest.Damage(files, statetest.Empty(delta), statetest.TruncateAtBlock(delta, 0)))
}

// A damaged delta is told from a lost one.
func ExampleDamage() {
	m := fstest.MapFS{}
	w := statetest.NewWriter(statetest.Query{
		Partitions: 1,
		Operators:  []statetest.Operator{{Name: "stateStoreSave", Stores: []statetest.Store{{Key: must("word STRING"), Value: must("count BIGINT")}}}},
	}, statetest.Map(m, "checkpoint"))
	for batch := range 3 {
		w.Put(0, "default", []any{"spark"}, []any{batch})
		if err := w.Commit(); err != nil {
			fmt.Println(err)
		}
	}
	faults := []statetest.Fault{
		statetest.DropDelta(0, "default", 0, 2),
		statetest.FlipByte(statetest.Delta(0, "default", 0, 3), 25, 0x01),
	}
	if err := statetest.Damage(statetest.Map(m, "checkpoint"), faults...); err != nil {
		fmt.Println(err)
	}
	cp, err := checkpoint.OpenFS(m, "checkpoint")
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := cp.Check(context.Background(), checkpoint.DeepCheck)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range report.Findings {
		fmt.Println(f.Severity, f.ID, f.File)
	}
	// Output:
	// critical delta-missing checkpoint/state/0/0/2.delta
	// critical file-corrupt checkpoint/state/0/0/3.delta
}

// A file on disk that is not to be found any more is removed with what is
// beside it.
func TestDropTakesSidecarsAlong(t *testing.T) {
	root := t.TempDir()
	writeQuery(t, statetest.Dir(root), "4.1")
	require.NoError(t, statetest.Damage(statetest.Dir(root), statetest.Drop(statetest.Delta(0, "", 1, 3))))
	entries, err := os.ReadDir(root + "/state/0/1")
	require.NoError(t, err)
	for _, e := range entries {
		assert.NotContains(t, e.Name(), "3.delta")
	}
	assert.NotEmpty(t, entries)
}

func must(ddl string) *sqltype.Type {
	typ, err := sqltype.ParseDDL(ddl)
	if err != nil {
		panic(err)
	}
	return typ
}

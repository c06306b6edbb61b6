package checkpoint_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore"
)

func TestParseOffsetLog(t *testing.T) {
	for _, c := range []struct {
		name string
		text string
		want *checkpoint.OffsetLog
		err  error
	}{
		{name: "Spark 3.5", text: "v1\n" + `{"batchWatermarkMs":1767600000000,"batchTimestampMs":9007199254740993,"conf":{"spark.sql.shuffle.partitions":"4"}}` + "\n" + `{"logOffset":3}`,
			want: &checkpoint.OffsetLog{Version: 1, WatermarkMs: 1767600000000, TimestampMs: 9007199254740993,
				Conf: map[string]string{"spark.sql.shuffle.partitions": "4"}, Sources: []checkpoint.SourceOffset{{ID: "0", JSON: `{"logOffset":3}`}}}},
		{name: "no metadata (2.1), a source without offset, a newline at the end", text: "v1\n\n-\n5\n",
			want: &checkpoint.OffsetLog{Version: 1, Sources: []checkpoint.SourceOffset{{ID: "0"}, {ID: "1", JSON: "5"}}}},
		{name: "Java's other line ends", text: "v1\r\n{}\r5",
			want: &checkpoint.OffsetLog{Version: 1, Sources: []checkpoint.SourceOffset{{ID: "0", JSON: "5"}}}},
		{name: "version 2 names its sources", text: "v2\n" + `{"batchWatermarkMs":1,"sourceMetadataInfo":{}}` + "\n" + `clicks:{"topic":{"0":131}}` + "\n0:-",
			want: &checkpoint.OffsetLog{Version: 2, WatermarkMs: 1, Sources: []checkpoint.SourceOffset{{ID: "clicks", JSON: `{"topic":{"0":131}}`}, {ID: "0"}}}},
		{name: "version 2 needs its metadata", text: "v2\n\n0:1", err: statestore.ErrCorrupt},
		{name: "version 2 needs names", text: "v2\n{}\n5", err: statestore.ErrCorrupt},
		{name: "a later version", text: "v3\n{}", err: statestore.ErrUnsupported},
		{name: "empty", text: "", err: statestore.ErrCorrupt},
		{name: "only a version", text: "v1", err: statestore.ErrCorrupt},
		{name: "no version", text: "{}\n", err: statestore.ErrCorrupt},
		{name: "a number too large", text: "v1\n" + `{"batchWatermarkMs":92233720368547758070}`, err: statestore.ErrCorrupt},
		{name: "broken JSON", text: "v1\n{", err: statestore.ErrCorrupt},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := checkpoint.ParseOffsetLog([]byte(c.text))
			if c.err != nil {
				require.ErrorIs(t, err, c.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
		})
	}
}

func TestParseCommitLog(t *testing.T) {
	for _, c := range []struct {
		name string
		text string
		want *checkpoint.CommitLog
		err  error
	}{
		{name: "2.3", text: "v1\n{}", want: &checkpoint.CommitLog{Version: 1}},
		{name: "2.4", text: "v1\n" + `{"nextBatchWatermarkMs":11000}`, want: &checkpoint.CommitLog{Version: 1, NextWatermarkMs: 11000, HasNextWatermark: true}},
		{name: "no second line", text: "v1", want: &checkpoint.CommitLog{Version: 1}},
		{name: "checkpoint format 2", text: "v2\n" + `{"nextBatchWatermarkMs":0,"stateUniqueIds":{"0":[["a","b"],["c","d"]]}}`,
			want: &checkpoint.CommitLog{Version: 2, HasNextWatermark: true, StateUniqueIDs: map[string][][]string{"0": {{"a", "b"}, {"c", "d"}}}}},
		{name: "version 3", text: "v3\n" + `{"nextBatchWatermarkMs":5,"sinkMetadataMap":{"s":{"isActive":true}}}`, want: &checkpoint.CommitLog{Version: 3, NextWatermarkMs: 5, HasNextWatermark: true}},
		{name: "a later version", text: "v4\n{}", err: statestore.ErrUnsupported},
		{name: "empty", text: "", err: statestore.ErrCorrupt},
		{name: "broken JSON", text: "v1\n[", err: statestore.ErrCorrupt},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := checkpoint.ParseCommitLog([]byte(c.text))
			if c.err != nil {
				require.ErrorIs(t, err, c.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
		})
	}
}

func TestParseOperatorMetadata(t *testing.T) {
	const v1 = "v1\n" + `{"operatorInfo":{"operatorId":0,"operatorName":"dedupe"},"stateStoreInfo":[{"storeName":"default","numColsPrefixKey":0,"numPartitions":5}]}`
	got, err := checkpoint.ParseOperatorMetadata([]byte(v1))
	require.NoError(t, err)
	assert.Equal(t, &checkpoint.OperatorMetadata{Version: 1, Name: "dedupe", Stores: []checkpoint.StoreMetadata{{Name: "default", Partitions: 5}}}, got)

	const v2 = "v2\n" + `{"operatorInfo":{"operatorId":3,"operatorName":"transformWithStateExec"},"stateStoreInfo":[{"storeName":"default","numColsPrefixKey":1,"numPartitions":5,"stateSchemaFilePaths":["file:/a/0_x"]}],"operatorPropertiesJson":"{}"}`
	got, err = checkpoint.ParseOperatorMetadata([]byte(v2))
	require.NoError(t, err)
	assert.Equal(t, &checkpoint.OperatorMetadata{Version: 2, ID: 3, Name: "transformWithStateExec", Properties: "{}",
		Stores: []checkpoint.StoreMetadata{{Name: "default", PrefixColumns: 1, Partitions: 5, SchemaPaths: []string{"file:/a/0_x"}}}}, got)

	for _, bad := range []string{"", "v1", "v1\n", "v1\n{}", "v3\n{}", "v1\n" + `{"operatorInfo":{"operatorName":"x"},"stateStoreInfo":[{"storeName":"default","numPartitions":-1}]}`} {
		_, err := checkpoint.ParseOperatorMetadata([]byte(bad))
		var fe *statestore.FileError
		assert.ErrorAs(t, err, &fe, "%q", bad)
	}
}

func TestRanges(t *testing.T) {
	for want, ns := range map[string][]int64{"": nil, "3": {3}, "0-2": {0, 1, 2}, "0-1, 3, 5-6": {0, 1, 3, 5, 6}} {
		assert.Equal(t, want, checkpoint.Ranges(ns))
	}
}

func FuzzLogs(f *testing.F) {
	f.Add([]byte("v1\n{\"batchWatermarkMs\":0}\n-"))
	f.Add([]byte("v2\n{}\n0:1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var fe *statestore.FileError
		if _, err := checkpoint.ParseOffsetLog(b); err != nil {
			require.ErrorAs(t, err, &fe)
		}
		if _, err := checkpoint.ParseCommitLog(b); err != nil {
			require.ErrorAs(t, err, &fe)
		}
		if _, err := checkpoint.ParseOperatorMetadata(b); err != nil {
			require.ErrorAs(t, err, &fe)
		}
	})
}

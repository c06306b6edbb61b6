package statestore_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"testing"
	"testing/fstest"

	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/statestore"
	"github.com/sparkstate/sparkstate/statestore/codec"
	"github.com/sparkstate/sparkstate/statestore/hdfs"
	"github.com/sparkstate/sparkstate/statestore/provider"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
	"github.com/sparkstate/sparkstate/statestore/unsaferow"
)

func ddl(t testing.TB, s string) *sqltype.Type {
	t.Helper()
	typ, err := sqltype.ParseDDL(s)
	require.NoError(t, err)
	return typ
}

func rowOf(t testing.TB, typ *sqltype.Type, values ...any) []byte {
	t.Helper()
	b, err := unsaferow.Append(nil, typ, values)
	require.NoError(t, err)
	return b
}

// deltaOf writes a delta; a nil value is a remove.
func deltaOf(t testing.TB, records ...[2][]byte) *fstest.MapFile {
	t.Helper()
	var body []byte
	for _, r := range records {
		body = append(binary.BigEndian.AppendUint32(body, uint32(len(r[0]))), r[0]...)
		if r[1] == nil {
			body = append(body, 0xff, 0xff, 0xff, 0xff)
			continue
		}
		body = append(binary.BigEndian.AppendUint32(body, uint32(len(r[1]))), r[1]...)
	}
	body = append(body, 0xff, 0xff, 0xff, 0xff)
	var out bytes.Buffer
	w, err := codec.NewWriter(&out, codec.LZ4, 0)
	require.NoError(t, err)
	_, err = w.Write(body)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return &fstest.MapFile{Data: out.Bytes()}
}

// wordCounts is a store of three partitions, the second without a directory;
// version 1 puts words, version 2 changes one and removes another.
func wordCounts(t testing.TB, cfg statestore.Config) *statestore.Store {
	t.Helper()
	key, value := ddl(t, "w STRING"), ddl(t, "n BIGINT")
	put := func(w string, n int) [2][]byte { return [2][]byte{rowOf(t, key, w), rowOf(t, value, n)} }
	gone := func(w string) [2][]byte { return [2][]byte{rowOf(t, key, w), nil} }
	fsys := fstest.MapFS{
		"s/0/1.delta": deltaOf(t, put("a", 1), put("b", 2), put("c", 3)),
		"s/0/2.delta": deltaOf(t, put("a", 10), gone("b")),
		"s/2/1.delta": deltaOf(t, put("d", 4)),
		"s/2/2.delta": deltaOf(t),
	}
	cfg.Name = "default"
	cfg.Partitions = 3
	cfg.Dirs = map[int]string{0: "s/0", 2: "s/2"}
	cfg.Open = func(dir string) (provider.Partition, error) { return hdfs.Open(fsys, dir, hdfs.Config{}) }
	cfg.Latest = 2
	if cfg.Key == nil {
		cfg.Key, cfg.Value = key, value
	}
	s, err := statestore.New(cfg)
	require.NoError(t, err)
	return s
}

// shown reads records as "word=n/partition".
func shown(t testing.TB, s *statestore.Store, opts ...statestore.Option) []string {
	t.Helper()
	out := []string{}
	for rec, err := range s.Records(context.Background(), opts...) {
		require.NoError(t, err)
		word := rec.Column(0).(*array.Struct).Field(0).(*array.String)
		n := rec.Column(1).(*array.Struct).Field(0).(*array.Int64)
		id := rec.Column(2).(*array.Int32)
		for i := range int(rec.NumRows()) {
			out = append(out, fmt.Sprintf("%s=%d/%d", word.Value(i), n.Value(i), id.Value(i)))
		}
		rec.Release()
	}
	return out
}

func TestRecords(t *testing.T) {
	s := wordCounts(t, statestore.Config{})
	assert.Equal(t, []string{"a=10/0", "c=3/0", "d=4/2"}, shown(t, s))
	assert.Equal(t, []string{"a=1/0", "b=2/0", "c=3/0", "d=4/2"}, shown(t, s, statestore.AtVersion(1)))
	assert.Equal(t, []string{}, shown(t, s, statestore.AtVersion(0)))
	assert.Equal(t, []string{"d=4/2"}, shown(t, s, statestore.Partitions(2, 1, 2)))
	for workers := range 4 {
		assert.Equal(t, shown(t, s), shown(t, s, statestore.Workers(workers), statestore.BatchSize(1, 0)))
	}
	schema, err := s.Schema()
	require.NoError(t, err)
	assert.Equal(t, []string{"key", "value", "partition_id"}, []string{schema.Field(0).Name, schema.Field(1).Name, schema.Field(2).Name})
}

func TestRecordsAreBounded(t *testing.T) {
	s := wordCounts(t, statestore.Config{})
	for _, c := range []struct {
		rows, bytes int
		want        []int64
	}{{2, 0, []int64{2, 1, 1}}, {0, 1, []int64{1, 1, 1, 1}}, {100, 1 << 20, []int64{3, 1}}} {
		var got []int64
		for rec, err := range s.Records(context.Background(), statestore.AtVersion(1), statestore.BatchSize(c.rows, c.bytes)) {
			require.NoError(t, err)
			got = append(got, rec.NumRows())
			rec.Release()
		}
		assert.Equal(t, c.want, got)
	}
}

func TestCounts(t *testing.T) {
	s := wordCounts(t, statestore.Config{})
	counts, err := s.Counts(context.Background(), statestore.FileSizes())
	require.NoError(t, err)
	require.Len(t, counts, 3)
	for i, want := range []statestore.Count{
		{Partition: 0, Present: true, Rows: 2, Keys: 2, KeyBytes: 48, ValueBytes: 32, Files: 2, Newest: 2},
		{Partition: 1},
		{Partition: 2, Present: true, Rows: 1, Keys: 1, KeyBytes: 24, ValueBytes: 16, Files: 2, Newest: 2},
	} {
		if want.Present {
			assert.Positive(t, counts[i].FileBytes)
			assert.Equal(t, counts[i].FileBytes, counts[i].LoadBytes) // no snapshot: all is read
		}
		counts[i].FileBytes, counts[i].LoadBytes = 0, 0
		assert.Equal(t, want, counts[i])
	}
	counts, err = s.Counts(context.Background(), statestore.AtVersion(1), statestore.Partitions(0), statestore.FileSizes())
	require.NoError(t, err)
	require.Len(t, counts, 1)
	assert.Less(t, counts[0].LoadBytes, counts[0].FileBytes)
}

// A session's start and a join's index only number the rows of one key.
func TestDistinctKeys(t *testing.T) {
	key, value := ddl(t, "w STRING, start TIMESTAMP NOT NULL"), ddl(t, "n BIGINT")
	put := func(w any, at int) [2][]byte { return [2][]byte{rowOf(t, key, w, at), rowOf(t, value, 1)} }
	fsys := fstest.MapFS{"s/0/1.delta": deltaOf(t, put("a", 1), put("a", 2), put("b", 1), put(nil, 1), put(nil, 7), put("", 1))}
	for shape, want := range map[statestore.KeyShape]int64{statestore.WholeKey: 6, statestore.LastColumnApart: 4, statestore.UnknownKey: -1} {
		s, err := statestore.New(statestore.Config{Name: "default", Partitions: 1, Dirs: map[int]string{0: "s/0"}, Latest: 1, Key: key, Value: value, KeyShape: shape,
			Open: func(dir string) (provider.Partition, error) { return hdfs.Open(fsys, dir, hdfs.Config{}) }})
		require.NoError(t, err)
		counts, err := s.Counts(context.Background())
		require.NoError(t, err)
		assert.Equal(t, want, counts[0].Keys)
		assert.EqualValues(t, 6, counts[0].Rows)
	}
}

func TestChanges(t *testing.T) {
	s := wordCounts(t, statestore.Config{})
	var got []string
	for rec, err := range s.Changes(context.Background(), 1, 2, statestore.BatchSize(2, 0)) {
		require.NoError(t, err)
		batch, kind := rec.Column(0).(*array.Int64), rec.Column(1).(*array.String)
		word := rec.Column(2).(*array.Struct).Field(0).(*array.String)
		value := rec.Column(3).(*array.Struct)
		id := rec.Column(4).(*array.Int32)
		for i := range int(rec.NumRows()) {
			n := "null"
			if value.IsValid(i) {
				n = fmt.Sprint(value.Field(0).(*array.Int64).Value(i))
			}
			got = append(got, fmt.Sprintf("%d %s %s=%s/%d", batch.Value(i), kind.Value(i), word.Value(i), n, id.Value(i)))
		}
		rec.Release()
	}
	assert.Equal(t, []string{
		"0 update a=1/0", "0 update b=2/0", "0 update c=3/0", "0 update d=4/2",
		"1 update a=10/0", "1 delete b=null/0",
	}, got)
}

func TestVersions(t *testing.T) {
	vs, err := wordCounts(t, statestore.Config{}).Versions(context.Background())
	require.NoError(t, err)
	assert.Equal(t, []int64{1, 2}, vs)
}

func TestRowsThatDoNotFit(t *testing.T) {
	s := wordCounts(t, statestore.Config{Key: ddl(t, "w STRING, more INT"), Value: ddl(t, "n BIGINT")})
	for rec, err := range s.Records(context.Background()) {
		require.Nil(t, rec)
		require.ErrorIs(t, err, statestore.ErrRow)
		assert.ErrorContains(t, err, "s/0")
	}
	counts, err := s.Counts(context.Background())
	require.NoError(t, err, "counting needs no schema")
	assert.EqualValues(t, 2, counts[0].Rows)
}

func TestNoSchema(t *testing.T) {
	s, err := statestore.New(statestore.Config{Name: "default", Partitions: 1, Open: func(string) (provider.Partition, error) { return nil, nil }})
	require.NoError(t, err)
	for _, err := range s.Records(context.Background()) {
		require.ErrorIs(t, err, statestore.ErrNoSchema)
	}
	for _, err := range s.Changes(context.Background(), 1, 1) {
		require.ErrorIs(t, err, statestore.ErrNoSchema)
	}
}

func TestNoSuchPartition(t *testing.T) {
	s := wordCounts(t, statestore.Config{})
	_, err := s.Counts(context.Background(), statestore.Partitions(3))
	require.ErrorIs(t, err, statestore.ErrNoPartition)
	for _, err := range s.Entries(context.Background(), -1) {
		require.ErrorIs(t, err, statestore.ErrNoPartition)
	}
	for _, err := range s.Records(context.Background(), statestore.Partitions(-1)) {
		require.ErrorIs(t, err, statestore.ErrNoPartition)
	}
}

func TestInvalidUTF8IsCounted(t *testing.T) {
	key, value := ddl(t, "w STRING"), ddl(t, "n BIGINT")
	fsys := fstest.MapFS{"s/0/1.delta": deltaOf(t, [2][]byte{rowOf(t, key, []byte("a\xff")), rowOf(t, value, 1)}, [2][]byte{rowOf(t, key, "ok"), rowOf(t, value, 1)})}
	s, err := statestore.New(statestore.Config{Name: "default", Partitions: 1, Dirs: map[int]string{0: "s/0"}, Latest: 1, Key: key, Value: value,
		Open: func(dir string) (provider.Partition, error) { return hdfs.Open(fsys, dir, hdfs.Config{}) }})
	require.NoError(t, err)
	var stats statestore.Stats
	assert.Equal(t, []string{"a\ufffd=1/0", "ok=1/0"}, shown(t, s, statestore.WithStats(&stats)))
	assert.EqualValues(t, 1, stats.InvalidUTF8.Load())
}

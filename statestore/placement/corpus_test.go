package placement_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/statestore/hdfs"
	"github.com/sparkstate/sparkstate/statestore/placement"
	"github.com/sparkstate/sparkstate/statestore/provider"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
	"github.com/sparkstate/sparkstate/statestore/unsaferow"
)

func encode(t testing.TB, ddl string, values ...any) (*sqltype.Type, []byte) {
	typ, err := sqltype.ParseDDL(ddl)
	require.NoError(t, err)
	row, err := unsaferow.Append(nil, typ, values)
	require.NoError(t, err)
	return typ, row
}

// TestSameHash has types whose values hash as those of another type, the hash
// and the partition out of 200 of which are known.
func TestSameHash(t *testing.T) {
	for _, c := range []struct {
		ddl       string
		values    []any
		hash      int32
		partition int
	}{
		{"a INTERVAL MONTH", []any{-1}, -1604776387, 13},
		{"a BOOLEAN", []any{false}, 933211791, 191},
		{"a TIMESTAMP", []any{-1}, -939490007, 193},
		{"a TIMESTAMP_NTZ", []any{-1}, -939490007, 193},
		{"a TIME", []any{1}, -1712319331, 69},
		{"a INTERVAL SECOND", []any{-1}, -939490007, 193},
		{"a CHAR(5)", []any{"abcde"}, 814637928, 128},
		{"", []any{}, 42, 42},
		{"a STRUCT<b: STRUCT<>, c: VOID>, d ARRAY<STRING>", []any{[]any{[]any{}, nil}, []any{nil, nil}}, 42, 42},
		{"s TIMESTAMP, e TIMESTAMP", []any{1577836800000000, 1577836860000000}, 1142547344, 144},
		{"a ARRAY<TIMESTAMP>", []any{[]any{1577836800000000, nil, 1577836860000000}}, 1142547344, 144},
		{"a ARRAY<STRUCT<s: TIMESTAMP>>", []any{[]any{[]any{1577836800000000}, []any{1577836860000000}}}, 1142547344, 144},
	} {
		typ, row := encode(t, c.ddl, c.values...)
		h, err := placement.NewHasher(typ, nil)
		require.NoError(t, err)
		got, err := h.Hash(row)
		require.NoError(t, err)
		assert.Equal(t, c.hash, got, c.ddl)
		assert.Equal(t, c.partition, placement.Partition(got, 200), c.ddl)
	}
}

func TestNoAllocation(t *testing.T) {
	typ, row := encode(t, "a STRING, b STRUCT<c: DECIMAL(20,0), d: ARRAY<STRING>>, e DOUBLE", "abc", []any{5, []any{"x", nil, "y"}}, 1.5)
	h, err := placement.NewHasher(typ, nil)
	require.NoError(t, err)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		if _, err := h.Hash(row); err != nil {
			t.Fatal(err)
		}
	}))
}

// TestCorpus checks that in the checkpoints of real Spark versions every key is
// in the partition that its hash names, wherever Spark promises that.
func TestCorpus(t *testing.T) {
	root := filepath.Join("..", "..", "..", "shared", "corpus")
	if _, err := os.Stat(root); err != nil {
		t.Skip("../shared/corpus is not beside the module: no keys of real checkpoints to hash")
	}
	fsys := os.DirFS(root)
	stores, keys := 0, 0
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "schema" || strings.Contains(p, "rocksdb") {
			return err
		}
		parts := strings.Split(p, "/") // VERSION/CASE/ckpt/state/OP/0[/STORE]/_metadata/schema
		ckpt := path.Join(parts[:3]...)
		sub := path.Join(parts[6 : len(parts)-2]...)
		conf, batch := lastConf(t, fsys, ckpt)
		if conf["spark.sql.streaming.statefulOperator.useStrictDistribution"] != "true" && !strings.Contains(sub, "-key") {
			return nil
		}
		n, err := strconv.Atoi(conf["spark.sql.shuffle.partitions"])
		require.NoError(t, err)
		typ := keySchema(t, fsys, p)
		columns := hashed(typ, sub)
		if len(columns) == 0 || typ.Fields[0].Type.Kind == sqltype.Void {
			return nil // one partition by design
		}
		h, err := placement.NewHasher(typ, columns)
		require.NoError(t, err)
		for partition := range n {
			dir := path.Join(path.Join(parts[:5]...), strconv.Itoa(partition), sub)
			if _, err := fs.Stat(fsys, dir); err != nil {
				continue
			}
			part, err := hdfs.Open(fsys, dir, hdfs.Config{})
			require.NoError(t, err)
			for e, err := range provider.Rows(part.Batches(t.Context(), provider.Version{Number: batch + 1}, provider.LoadOptions{})) {
				require.NoError(t, err, dir)
				hash, err := h.Hash(e.Key)
				require.NoError(t, err, dir)
				require.Equal(t, partition, placement.Partition(hash, n), "%s: key %x", dir, e.Key)
				keys++
			}
		}
		stores++
		return nil
	})
	require.NoError(t, err)
	t.Logf("%d keys of %d stores", keys, stores)
	require.NotZero(t, keys)
}

// hashed returns the partitioning columns of a store's key.
func hashed(typ *sqltype.Type, store string) []int {
	n := len(typ.Fields)
	if strings.HasSuffix(store, "-keyWithIndexToValue") || n > 0 && typ.Fields[n-1].Name == "sessionStartTime" {
		n--
	}
	var out []int
	for i := range n {
		out = append(out, i)
	}
	return out
}

// lastConf returns the conf of the last committed batch, and its number.
func lastConf(t *testing.T, fsys fs.FS, ckpt string) (conf map[string]string, batch int64) {
	commits, err := fs.ReadDir(fsys, path.Join(ckpt, "commits"))
	require.NoError(t, err)
	for _, c := range commits {
		if n, err := strconv.ParseInt(c.Name(), 10, 64); err == nil {
			batch = max(batch, n)
		}
	}
	b, err := fs.ReadFile(fsys, path.Join(ckpt, "offsets", strconv.FormatInt(batch, 10)))
	require.NoError(t, err)
	var meta struct{ Conf map[string]string }
	require.NoError(t, json.Unmarshal([]byte(strings.Split(string(b), "\n")[1]), &meta))
	return meta.Conf, batch
}

// keySchema takes the key's schema out of a schema file of version 2.
func keySchema(t *testing.T, fsys fs.FS, name string) *sqltype.Type {
	b, err := fs.ReadFile(fsys, name)
	require.NoError(t, err)
	require.Equal(t, "\x00\x02v2\x00\x00\x00\x01", string(b[:8]))
	typ, err := sqltype.ParseJSON(b[10 : 10+int(b[8])<<8+int(b[9])])
	require.NoError(t, err)
	return typ
}

package bucketfs_test

import (
	"archive/zip"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"
	"gocloud.dev/blob"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/examples/cloud/bucketfs"
	"github.com/sparkstate/sparkstate/skew"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
	"github.com/sparkstate/sparkstate/statestore/statetest"
)

// calls counts the requests to a bucket, and how many are made at once.
type calls struct {
	*blob.Bucket
	lists, reads, attributes atomic.Int64
	now, most                atomic.Int64
	delay                    time.Duration
}

func (c *calls) reset()        { c.lists.Store(0); c.reads.Store(0); c.attributes.Store(0) }
func (c *calls) all() [3]int64 { return [3]int64{c.lists.Load(), c.reads.Load(), c.attributes.Load()} }

func (c *calls) begin(n *atomic.Int64) (end func()) {
	n.Add(1)
	now := c.now.Add(1)
	for most := c.most.Load(); now > most && !c.most.CompareAndSwap(most, now); most = c.most.Load() {
	}
	time.Sleep(c.delay)
	return func() { c.now.Add(-1) }
}

func (c *calls) Attributes(ctx context.Context, key string) (*blob.Attributes, error) {
	defer c.begin(&c.attributes)()
	return c.Bucket.Attributes(ctx, key)
}

func (c *calls) ListPage(ctx context.Context, token []byte, size int, opts *blob.ListOptions) ([]*blob.ListObject, []byte, error) {
	defer c.begin(&c.lists)()
	return c.Bucket.ListPage(ctx, token, size, opts)
}

func (c *calls) NewRangeReader(ctx context.Context, key string, offset, length int64, opts *blob.ReaderOptions) (*blob.Reader, error) {
	defer c.begin(&c.reads)()
	return c.Bucket.NewRangeReader(ctx, key, offset, length, opts)
}

// answers is what is read of a checkpoint: counts and skew of all stores.
func answers(t *testing.T, cp *checkpoint.Checkpoint) (out []any) {
	for _, op := range cp.Operators() {
		for _, s := range op.Stores() {
			c, err := s.Counts(t.Context(), checkpoint.FileSizes())
			require.NoError(t, err)
			r, err := skew.Analyze(t.Context(), s, skew.Options{})
			require.NoError(t, err)
			chance := fmt.Sprintf("%+v", r.Chance)
			r.Chance = nil // an address would be printed; NaNs do not equal themselves
			out = append(out, c.At, c.Partitions, chance, fmt.Sprintf("%+v", *r))
		}
	}
	require.NotEmpty(t, out)
	return out
}

// TestSameAnswers: from a bucket as from the directory.
func TestSameAnswers(t *testing.T) {
	cp, err := checkpoint.Open(fixture)
	require.NoError(t, err)
	defer cp.Close()
	want := answers(t, cp)
	for name, from := range map[string]struct {
		bucket *blob.Bucket
		root   string
	}{
		"memory":          {upload(t, os.DirFS(fixture), ""), "."},
		"memory, a part":  {upload(t, os.DirFS(fixture), "jobs/billing"), "jobs/billing"},
		"memory, above":   {upload(t, os.DirFS(fixture), "jobs/billing"), "jobs"},
		"files":           {files(t, fixture), "."},
		"files, a prefix": {files(t, filepath.Dir(fixture)), "checkpoint"},
	} {
		t.Run(name, func(t *testing.T) {
			cp, err := checkpoint.OpenFS(bucketfs.New(t.Context(), from.bucket), from.root)
			require.NoError(t, err)
			defer cp.Close()
			require.Equal(t, want, answers(t, cp))
		})
	}
}

// TestFixtures: every kind of operator, uploaded from its zip file.
func TestFixtures(t *testing.T) {
	names, err := filepath.Glob("../../../testdata/4.1.4/*.zip")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			z, err := zip.OpenReader(name)
			require.NoError(t, err)
			defer z.Close()
			zipped, err := checkpoint.OpenFS(z, ".")
			require.NoError(t, err)
			cp, err := checkpoint.OpenFS(bucketfs.New(t.Context(), upload(t, z, "")), ".")
			require.NoError(t, err)
			if cp.Provider().Format != checkpoint.HDFS {
				require.Equal(t, zipped.Provider(), cp.Provider())
				return
			}
			require.Equal(t, answers(t, zipped), answers(t, cp))
		})
	}
}

// made is a checkpoint of so many partitions and batches.
func made(t *testing.T, partitions, batches int) fs.FS {
	key, err := sqltype.ParseDDL("k STRING")
	require.NoError(t, err)
	value, err := sqltype.ParseDDL("n BIGINT")
	require.NoError(t, err)
	m := fstest.MapFS{}
	w := statetest.NewWriter(statetest.Query{Spark: "4.0", Partitions: partitions,
		Operators: []statetest.Operator{{Name: "stateStoreSave", Stores: []statetest.Store{{Key: key, Value: value}}}}}, statetest.Map(m, "."))
	for b := range batches {
		for i := range 500 {
			w.Put(0, "default", []any{fmt.Sprint("key ", i)}, []any{int64(b)})
		}
		require.NoError(t, w.Commit())
	}
	return m
}

// TestFewCalls: what is counted of a checkpoint takes a request for each of its
// state files and one for each of their directories, and a few for the rest;
// and they are made many at a time.
func TestFewCalls(t *testing.T) {
	const partitions, batches = 100, 12
	m := made(t, partitions, batches)
	state, all := 0, 0
	require.NoError(t, fs.WalkDir(m, ".", func(name string, e fs.DirEntry, err error) error {
		if !e.IsDir() {
			all++
			if filepath.Ext(name) == ".delta" || filepath.Ext(name) == ".crc" {
				state++
			}
		}
		return err
	}))
	c := &calls{Bucket: upload(t, m, "checkpoint"), delay: time.Millisecond}
	cp, err := checkpoint.OpenFS(bucketfs.New(t.Context(), c), "checkpoint")
	require.NoError(t, err)
	defer cp.Close()
	opening := c.all()
	c.reset()
	s, err := cp.Store(0, "default")
	require.NoError(t, err)
	counts, err := s.Counts(t.Context())
	require.NoError(t, err)
	total := int64(0)
	for _, n := range counts.Rows() {
		total += n
	}
	require.EqualValues(t, 500, total)
	counting := c.all()
	t.Logf("%d files, %d of state; opening takes lists, reads, looks %v; counting %v, up to %d at once", all, state, opening, counting, c.most.Load())
	require.LessOrEqual(t, counting[1], int64(state), "a read for each file of state, at the most")
	require.LessOrEqual(t, counting[0], int64(partitions+5), "a listing for each directory")
	require.Zero(t, counting[2], "no looks")
	require.Less(t, opening[0]+opening[1]+opening[2], int64(40))
	require.Greater(t, c.most.Load(), int64(16), "at once")
	require.LessOrEqual(t, c.most.Load(), int64(64+64), "reads and listings")
}

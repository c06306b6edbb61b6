package hdfs_test

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/statestore/codec"
	"github.com/sparkstate/sparkstate/statestore/hdfs"
	"github.com/sparkstate/sparkstate/statestore/provider"
)

type known struct {
	value    string
	version  int64
	doubtful bool
}

func salvage(t testing.TB, p *hdfs.Partition, v int64) (map[string]known, *hdfs.Loss) {
	t.Helper()
	out, loss := map[string]known{}, &hdfs.Loss{}
	for s, err := range p.Salvage(context.Background(), v, loss) {
		require.NoError(t, err)
		require.NotContains(t, out, text(s.Key))
		out[text(s.Key)] = known{text(s.Value), s.Version, s.Doubtful}
	}
	assert.Equal(t, int64(len(out)), loss.Rows)
	return out, loss
}

func TestSalvage(t *testing.T) {
	pack := func(parts ...[]byte) *fstest.MapFile {
		return file(compress(t, codec.Snappy, append(parts, end)...))
	}
	cut := func(parts ...[]byte) *fstest.MapFile { return file(compress(t, codec.Snappy, parts...)) }
	whole := func() fstest.MapFS {
		return fstest.MapFS{
			"p/1.delta":    pack(put("a", "1"), put("b", "1"), put("c", "1")),
			"p/2.delta":    pack(put("a", "2"), remove("c")),
			"p/3.delta":    pack(put("d", "3")),
			"p/3.snapshot": pack(put("a", "2"), put("b", "1"), put("d", "3")),
			"p/4.delta":    pack(put("b", "4"), put("e", "4")),
			"p/5.delta":    pack(remove("e"), put("f", "5")),
		}
	}
	all := map[string]known{"a": {"2", 5, false}, "b": {"4", 5, false}, "d": {"3", 5, false}, "f": {"5", 5, false}}
	doubting := func(key string) map[string]known {
		m := maps.Clone(all)
		m[key] = known{m[key].value, m[key].version, true}
		return m
	}
	for _, c := range []struct {
		name   string
		damage func(m fstest.MapFS)
		want   map[string]known
		files  []error // the kind of each
	}{
		{"nothing", func(fstest.MapFS) {}, all, nil},
		{"snapshot damaged, deltas whole", func(m fstest.MapFS) { m["p/3.snapshot"] = cut(put("a", "2")) }, all, []error{provider.ErrTruncated}},
		{"delta missing", func(m fstest.MapFS) { delete(m, "p/4.delta") },
			map[string]known{"a": {"2", 3, false}, "b": {"1", 3, false}, "d": {"3", 3, false}, "f": {"5", 5, false}}, []error{provider.ErrMissing}},
		// Its lost part may hold another record of the key.
		{"delta cut", func(m fstest.MapFS) { m["p/4.delta"] = cut(put("b", "4")) },
			map[string]known{"a": {"2", 3, false}, "b": {"4", 4, true}, "d": {"3", 3, false}, "f": {"5", 5, false}}, []error{provider.ErrTruncated}},
		{"delta broken further on", func(m fstest.MapFS) {
			m["p/4.delta"] = cut(put("b", "4"), []byte{0xff, 0xff, 0xff, 0xfe})
		}, map[string]known{"a": {"2", 3, false}, "b": {"4", 4, true}, "d": {"3", 3, false}, "f": {"5", 5, false}}, []error{provider.ErrCorrupt}},
		{"snapshot with a remove: another's content, whole by its checksums", func(m fstest.MapFS) {
			m["p/3.snapshot"] = file(compress(t, codec.LZ4, put("a", "9"), remove("b"), end))
			delete(m, "p/2.delta")
		}, map[string]known{"a": {"9", 5, true}, "b": {"4", 5, false}, "c": {"1", 1, false}, "d": {"3", 5, false}, "f": {"5", 5, false}},
			[]error{provider.ErrCorrupt, provider.ErrMissing}},
		{"newest delta cut, in a compression with checksums", func(m fstest.MapFS) {
			m["p/5.delta"] = file(compress(t, codec.LZ4, put("b", "5"), remove("e"), put("g", "5")))
		}, map[string]known{"a": {"2", 4, false}, "b": {"5", 5, true}, "d": {"3", 4, false}, "g": {"5", 5, true}}, []error{provider.ErrTruncated}},
		{"newest delta missing", func(m fstest.MapFS) { delete(m, "p/5.delta") },
			map[string]known{"a": {"2", 4, false}, "b": {"4", 4, false}, "d": {"3", 4, false}, "e": {"4", 4, false}}, []error{provider.ErrMissing}},
		{"snapshot damaged, its delta gone", func(m fstest.MapFS) {
			m["p/3.snapshot"] = cut(put("a", "2"))
			delete(m, "p/3.delta")
		}, map[string]known{"a": {"2", 5, false}, "b": {"4", 5, false}, "f": {"5", 5, false}}, []error{provider.ErrTruncated, provider.ErrMissing}},
		{"everything old gone", func(m fstest.MapFS) {
			for _, n := range []string{"p/1.delta", "p/2.delta", "p/3.delta", "p/3.snapshot"} {
				delete(m, n)
			}
		}, map[string]known{"b": {"4", 5, false}, "f": {"5", 5, false}}, []error{provider.ErrMissing}},
		{"all gone", func(m fstest.MapFS) {
			clear(m)
			m["p"] = &fstest.MapFile{Mode: fs.ModeDir}
		}, map[string]known{}, []error{provider.ErrMissing}},
		{"a sidecar that differs", func(m fstest.MapFS) { m["p/.4.delta.crc"] = file(hadoopSums([]byte("another"))) },
			map[string]known{"a": {"2", 3, false}, "b": {"4", 5, true}, "d": {"3", 3, false}, "f": {"5", 5, false}}, []error{provider.ErrChecksum}},
		// The end mark of the snapshot is gone either way. A sum of a file that was
		// longer says why; one of a file of that length says that bytes are others.
		{"snapshot cut, as its sidecar says", func(m fstest.MapFS) {
			m["p/3.snapshot"] = cut(put("a", "2"))
			m["p/.3.snapshot.crc"] = file(hadoopSums(append(m["p/3.snapshot"].Data, make([]byte, 600)...)))
		}, all, []error{provider.ErrTruncated}},
		{"snapshot cut, as its JSON sidecar says", func(m fstest.MapFS) {
			m["p/3.snapshot"] = cut(put("a", "2"))
			m["p/3.snapshot.crc"] = file(sparkSum(append(m["p/3.snapshot"].Data, 0)))
		}, all, []error{provider.ErrTruncated}},
		{"snapshot changed so that it seems cut", func(m fstest.MapFS) {
			m["p/3.snapshot"] = cut(put("a", "2"))
			m["p/.3.snapshot.crc"] = file(hadoopSums(cut(put("a", "3")).Data))
		}, doubting("a"), []error{provider.ErrTruncated}},
		{"snapshot changed so that it seems cut, by its JSON sidecar", func(m fstest.MapFS) {
			m["p/3.snapshot"] = cut(put("a", "2"))
			m["p/3.snapshot.crc"] = file(sparkSum(cut(put("a", "3")).Data))
		}, doubting("a"), []error{provider.ErrTruncated}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := whole()
			c.damage(m)
			p, _ := open(t, m, hdfs.Config{})
			got, loss := salvage(t, p, 5)
			assert.Equal(t, c.want, got)
			require.Len(t, loss.Files, len(c.files), "%v", loss.Files)
			for i, err := range loss.Files {
				assert.ErrorIs(t, err, c.files[i])
			}
			outdated, doubtful := int64(0), int64(0)
			for _, k := range got {
				if k.version < 5 {
					outdated++
				}
				if k.doubtful {
					doubtful++
				}
			}
			assert.Equal(t, outdated, loss.Outdated)
			assert.Equal(t, doubtful, loss.Doubtful)
		})
	}
}

// What a read warns of, a salvage warns of as well: an LZ4 file that is whole
// and not the one that its sidecar was made of, and what is behind an end mark.
func TestSalvageWarns(t *testing.T) {
	another := []byte("another")
	for name, damage := range map[string]func(m fstest.MapFS){
		"hidden sidecar": func(m fstest.MapFS) { m["p/.1.delta.crc"] = file(hadoopSums(another)) },
		"JSON sidecar":   func(m fstest.MapFS) { m["p/1.delta.crc"] = file(sparkSum(another)) },
		"no sidecar":     func(m fstest.MapFS) { m["p/1.delta.crc"] = file(another) },
		"after the end": func(m fstest.MapFS) {
			m["p/1.delta"] = file(compress(t, codec.LZ4, put("a", "1"), end, another))
		},
		"another codec": func(m fstest.MapFS) { m["p/1.delta"] = file(compress(t, codec.Zstd, put("a", "1"), end)) },
	} {
		m := fstest.MapFS{"p/1.delta": file(compress(t, codec.LZ4, put("a", "1"), end))}
		damage(m)
		p, warned := open(t, m, hdfs.Config{Codec: codec.LZ4})
		want, err := entries(p, 1, provider.LoadOptions{})
		require.NoError(t, err, name)
		assert.Equal(t, map[string]string{"a": "1"}, want, name)
		read := warned.list
		require.Len(t, read, 1, name)
		warned.list = nil
		got, loss := salvage(t, p, 1)
		assert.Equal(t, map[string]known{"a": {"1", 1, false}}, got, name)
		assert.Empty(t, loss.Files, name)
		assert.Equal(t, read, warned.list, name)
	}
}

// Nothing is salvaged of a record that Spark lets pass, nor of those after it.
func TestSalvageStopsAtDamage(t *testing.T) {
	long := append(frame(append(row("b"), 0, 0, 0, 0)), frame(row("1"))...)
	for want, first := range map[string][]byte{"c": put("c", "1"), "": nil} {
		p, _ := open(t, fstest.MapFS{"p/1.delta": file(compress(t, codec.LZ4, first, long, put("d", "2"), end))}, hdfs.Config{})
		got, loss := salvage(t, p, 1)
		require.Len(t, loss.Files, 1)
		assert.ErrorIs(t, loss.Files[0], provider.ErrCorrupt)
		assert.Len(t, got, len(want))
		for key, row := range got {
			assert.Equal(t, want, key)
			assert.True(t, row.doubtful)
		}
	}
}

// Of a partition that nothing is wrong with, what is salvaged is its state.
func TestSalvageOfWholePartitions(t *testing.T) {
	partitions(t, func(t *testing.T, fsys fs.FS, dir string) {
		p, err := hdfs.Open(fsys, dir, hdfs.Config{})
		require.NoError(t, err)
		vs := p.Versions()
		if len(vs) == 0 {
			t.Skip("nothing can be loaded")
		}
		v := vs[len(vs)-1]
		want := load(t, p, v, provider.LoadOptions{})
		loss := &hdfs.Loss{}
		got := state{}
		for s, err := range p.Salvage(context.Background(), v, loss) {
			require.NoError(t, err)
			require.Equal(t, v, s.Version)
			require.False(t, s.Doubtful)
			got[string(s.Key)] = string(s.Value)
		}
		require.Equal(t, want, got)
		require.Empty(t, loss.Files)
	})
}

func TestSalvageStopsWithItsContext(t *testing.T) {
	p, _ := open(t, fstest.MapFS{"p/1.delta": file(compress(t, codec.LZ4, put("a", "1"), end))}, hdfs.Config{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, err := range p.Salvage(ctx, 1, &hdfs.Loss{}) {
		require.True(t, errors.Is(err, context.Canceled))
	}
}

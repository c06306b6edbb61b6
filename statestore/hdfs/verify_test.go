package hdfs_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/statestore/codec"
	"github.com/sparkstate/sparkstate/statestore/hdfs"
	"github.com/sparkstate/sparkstate/statestore/provider"
)

func TestTemporary(t *testing.T) {
	for name, want := range map[string]string{
		".5.delta.1b6c-44.TID212.tmp": "5.delta",
		".5.snapshot.1b6c-44.tmp":     "5.snapshot",
		"7.snapshot.temp-12":          "7.snapshot",
		"temp--8723":                  "",
		".metadata.1b6c.tmp":          "",
		".5.delta.crc":                "",
		".5.delta.crc.1b6c-44.tmp":    "",
		"5.delta":                     "",
		".tmp":                        "",
	} {
		got, ok := hdfs.Temporary(name)
		assert.Equal(t, want != "", ok, name)
		if ok {
			assert.Equal(t, want, got, name)
		}
	}
}

func hadoopSums(b []byte) []byte {
	out := []byte("crc\x00\x00\x00\x02\x00")
	for ; len(b) > 0; b = b[min(512, len(b)):] {
		out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(b[:min(512, len(b))]))
	}
	return out
}

func sparkSum(b []byte) []byte {
	return fmt.Appendf(nil, `{"algorithm":"CRC32C","value":%d,"mainFileSize":%d}`,
		int32(crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))), len(b))
}

// The verdict on the bytes and those of the two sidecars are each given, with
// every codec, whichever of them is at fault.
func TestVerify(t *testing.T) {
	for _, c := range codec.Compressions() {
		var body []byte
		for i := range 300 {
			body = append(body, put(fmt.Sprint("key", i), fmt.Sprint("value", i*i))...)
		}
		whole := compress(t, c, body, remove("key7"), end)
		cut := compress(t, c, body, remove("key7")) // at a block boundary, so to speak
		for _, x := range []struct {
			name   string
			data   []byte
			hadoop []byte
			spark  []byte
			check  func(t *testing.T, got *hdfs.FileCheck)
		}{
			{"whole", whole, hadoopSums(whole), sparkSum(whole), func(t *testing.T, got *hdfs.FileCheck) {
				assert.NoError(t, got.Err)
				assert.NoError(t, got.Hadoop)
				assert.NoError(t, got.Spark)
				assert.NoError(t, got.Sidecar)
			}},
			{"other sums", whole, hadoopSums(cut), sparkSum(cut), func(t *testing.T, got *hdfs.FileCheck) {
				assert.NoError(t, got.Err)
				assert.ErrorIs(t, got.Hadoop, provider.ErrChecksum)
				assert.ErrorIs(t, got.Spark, provider.ErrChecksum)
				assert.Contains(t, got.Hadoop.Error(), "p/3.delta")
			}},
			{"no end mark", cut, hadoopSums(cut), sparkSum(cut), func(t *testing.T, got *hdfs.FileCheck) {
				assert.ErrorIs(t, got.Err, provider.ErrTruncated)
				assert.NoError(t, got.Hadoop)
				assert.NoError(t, got.Spark)
			}},
			{"cut", whole[:len(whole)/2], hadoopSums(whole), sparkSum(whole), func(t *testing.T, got *hdfs.FileCheck) {
				assert.ErrorIs(t, got.Err, provider.ErrDamaged)
				assert.ErrorIs(t, got.Spark, provider.ErrChecksum)
			}},
			{"no sums at all", whole, []byte("none"), []byte("none"), func(t *testing.T, got *hdfs.FileCheck) {
				assert.NoError(t, got.Err)
				assert.NoError(t, got.Hadoop)
				assert.NoError(t, got.Spark)
				assert.ErrorIs(t, got.Sidecar, provider.ErrCorrupt)
			}},
		} {
			t.Run(c.String()+"/"+x.name, func(t *testing.T) {
				p, w := open(t, fstest.MapFS{"p/3.delta": file(x.data), "p/.3.delta.crc": file(x.hadoop), "p/3.delta.crc": file(x.spark)}, hdfs.Config{})
				records := int64(0)
				got, err := p.Verify(context.Background(), provider.File{Name: "3.delta", Kind: provider.DeltaFile}, func(provider.Change, int64) { records++ })
				require.NoError(t, err)
				assert.Equal(t, c, got.Codec)
				assert.Equal(t, int64(len(x.data)), got.File.Size)
				assert.Equal(t, records, got.Puts+got.Removes)
				if got.Err == nil {
					assert.Equal(t, int64(300), got.Puts)
					assert.Equal(t, int64(1), got.Removes)
				}
				assert.NoError(t, got.AfterEnd)
				assert.NoError(t, got.OtherCodec)
				x.check(t, got)
				assert.Empty(t, w.list, "what Verify finds is in its answer alone")
			})
		}
	}
}

func TestVerifyWhatIsNoDamage(t *testing.T) {
	ctx := context.Background()
	data := compress(t, codec.Snappy, put("a", "1"), end, []byte("tail"))
	p, _ := open(t, fstest.MapFS{
		"p/1.delta":                     file(data),
		"p/.2.snapshot.0b.TID7.tmp":     file(compress(t, codec.LZ4, put("a", "1"), end)),
		"p/.3.snapshot.0b.TID7.tmp":     file(compress(t, codec.LZ4, remove("a"), end)),
		"p/4.delta":                     {Mode: fs.ModeNamedPipe},
		"p/5.delta":                     file(nil),
		"p/6.delta":                     file(data),
		"p/.6.delta.crc":                file(hadoopSums(nil)),
		"p/7.delta":                     file(bytes.Repeat([]byte{0xff}, 4)),
		"p/.6.delta.0b.TID7.tmp.crc":    file(hadoopSums(nil)),
		"p/unrelated":                   file([]byte("x")),
		"p/_metadata/schema":            file([]byte("x")),
		"p/.8.delta.something.else.tmp": file(compress(t, codec.LZ4, put("a", "1"))),
	}, hdfs.Config{Codec: codec.LZ4})
	verify := func(name string) *hdfs.FileCheck {
		kind, v := hdfs.ParseName(name)
		got, err := p.Verify(ctx, provider.File{Name: name, Kind: kind, Version: v}, nil)
		require.NoError(t, err)
		return got
	}
	one := verify("1.delta")
	assert.NoError(t, one.Err)
	assert.ErrorContains(t, one.AfterEnd, "after the end mark")
	assert.ErrorContains(t, one.OtherCodec, "the file is snappy")

	assert.NoError(t, verify(".2.snapshot.0b.TID7.tmp").Err)
	assert.ErrorContains(t, verify(".3.snapshot.0b.TID7.tmp").Err, "in a snapshot", "a temporary snapshot is read as one")
	assert.ErrorContains(t, verify("4.delta").Err, "not a regular file")
	assert.ErrorIs(t, verify("5.delta").Err, provider.ErrDamaged)
	assert.ErrorIs(t, verify("6.delta").Hadoop, provider.ErrChecksum)
	seven := verify("7.delta")
	assert.NoError(t, seven.Err)
	assert.Equal(t, codec.None, seven.Codec)
	assert.ErrorIs(t, verify(".8.delta.something.else.tmp").Err, provider.ErrTruncated)
	assert.ErrorIs(t, verify("9.delta").Err, provider.ErrMissing)

	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	_, err := p.Verify(cancelled, provider.File{Name: "1.delta"}, nil)
	assert.ErrorIs(t, err, context.Canceled)
}

// What Spark lets pass is damage, and what follows it decides whether Spark
// reads the file to its end.
func TestVerifyTolerated(t *testing.T) {
	negative := append(frame(row("a")), 0xff, 0xff, 0xff, 0xfb)
	long := frame(append(row("b"), 0, 0, 0, 0))
	for _, c := range []struct {
		name      string
		body      [][]byte
		puts      int64
		told      int
		tolerated bool
	}{
		{"a value length below -1", [][]byte{put("c", "1"), negative, put("d", "2"), end}, 1, 1, true},
		{"a key of another length", [][]byte{put("c", "1"), long, frame(row("1")), put("d", "2"), end}, 1, 1, true},
		{"the same, first", [][]byte{long, frame(row("1")), put("d", "2"), end}, 0, 1, true},
		{"a value of another length", [][]byte{put("c", "1"), frame(row("b")), frame([]byte("13 bytes long")), end}, 1, 1, true},
		{"and an end that is missing", [][]byte{put("c", "1"), negative, put("d", "2")}, 1, 1, false},
	} {
		p, _ := open(t, fstest.MapFS{"p/1.delta": file(compress(t, codec.LZ4, c.body...))}, hdfs.Config{})
		told := 0
		check, err := p.Verify(context.Background(), provider.File{Name: "1.delta", Kind: provider.DeltaFile, Version: 1}, func(provider.Change, int64) { told++ })
		require.NoError(t, err, c.name)
		assert.ErrorIs(t, check.Err, provider.ErrCorrupt, c.name)
		assert.Equal(t, c.tolerated, check.Tolerated, c.name)
		assert.Equal(t, c.puts, check.Puts, c.name)
		assert.Equal(t, c.told, told, c.name)
	}
}

func TestCompareSnapshot(t *testing.T) {
	ctx := context.Background()
	snapshot := func(parts ...[]byte) *fstest.MapFile {
		return file(compress(t, codec.LZ4, append(parts, end)...))
	}
	fsys := fstest.MapFS{
		"p/1.delta":    snapshot(put("a", "1"), put("b", "2")),
		"p/2.delta":    snapshot(remove("a"), put("c", "3")),
		"p/1.snapshot": snapshot(put("a", "1"), put("b", "2")),
	}
	for _, c := range []struct {
		name string
		file *fstest.MapFile
		want hdfs.SnapshotCheck
		same bool
	}{
		{"equal", snapshot(put("b", "2"), put("c", "3")), hdfs.SnapshotCheck{Rows: 2}, true},
		{"another value", snapshot(put("b", "2"), put("c", "4")), hdfs.SnapshotCheck{Rows: 2, Differing: 1}, false},
		{"a row too many", snapshot(put("b", "2"), put("c", "3"), put("a", "1")), hdfs.SnapshotCheck{Rows: 3, Extra: 1}, false},
		{"a row too few", snapshot(put("b", "2")), hdfs.SnapshotCheck{Rows: 1, Lacking: 1}, false},
	} {
		fsys["p/2.snapshot"] = c.file
		p, _ := open(t, fsys, hdfs.Config{})
		for _, base := range []int64{0, 1} {
			got, err := p.CompareSnapshot(ctx, 2, base)
			require.NoError(t, err, c.name)
			c.want.Base = base
			assert.Equal(t, &c.want, got, c.name)
			assert.Equal(t, c.same, got.Equal(), c.name)
		}
	}

	fsys["p/2.snapshot"] = file(compress(t, codec.LZ4, put("b", "2")))
	p, _ := open(t, fsys, hdfs.Config{})
	got, err := p.CompareSnapshot(ctx, 2, 1)
	require.NoError(t, err)
	assert.ErrorIs(t, got.Damage, provider.ErrTruncated)
	assert.Equal(t, int64(1), got.Lacking)
	assert.True(t, got.Equal(), "what can be read of it is right")

	// What a sidecar has against a snapshot is for Verify to say.
	for _, c := range []codec.Codec{codec.LZ4, codec.Snappy} {
		fsys["p/2.snapshot"] = file(compress(t, c, put("b", "2"), put("c", "3"), end))
		fsys["p/.2.snapshot.crc"] = file(hadoopSums([]byte("another")))
		p, _ := open(t, fsys, hdfs.Config{})
		got, err := p.CompareSnapshot(ctx, 2, 1)
		require.NoError(t, err)
		assert.Equal(t, &hdfs.SnapshotCheck{Base: 1, Rows: 2}, got)
	}

	delete(fsys, "p/2.delta")
	p, _ = open(t, fsys, hdfs.Config{})
	_, err = p.CompareSnapshot(ctx, 2, 1)
	assert.ErrorIs(t, err, provider.ErrMissing)
}

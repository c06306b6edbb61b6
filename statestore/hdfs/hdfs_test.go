package hdfs_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/statestore/codec"
	"github.com/sparkstate/sparkstate/statestore/hdfs"
	"github.com/sparkstate/sparkstate/statestore/provider"
	"github.com/sparkstate/sparkstate/statestore/sidecar"
)

// row makes row bytes of a readable text: zero-padded to a multiple of 8.
func row(s string) []byte {
	b := []byte(s)
	for len(b)%8 != 0 || len(b) == 0 {
		b = append(b, 0)
	}
	return b
}

func text(b []byte) string { return strings.TrimRight(string(b), "\x00") }

func frame(b []byte) []byte { return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...) }

func put(k, v string) []byte { return append(frame(row(k)), frame(row(v))...) }

func remove(k string) []byte { return append(frame(row(k)), 0xff, 0xff, 0xff, 0xff) }

var end = []byte{0xff, 0xff, 0xff, 0xff}

func compress(t testing.TB, c codec.Codec, parts ...[]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	least, _, _ := c.BlockSizes()
	w, err := codec.NewWriter(&out, c, max(least, 64)) // small, so that records span blocks
	require.NoError(t, err)
	_, err = w.Write(bytes.Join(parts, nil))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}

func file(b []byte) *fstest.MapFile { return &fstest.MapFile{Data: b} }

type warnings struct {
	mu   sync.Mutex
	list []error
}

func (w *warnings) add(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, err)
}

func open(t testing.TB, fsys fstest.MapFS, cfg hdfs.Config) (*hdfs.Partition, *warnings) {
	t.Helper()
	w := &warnings{}
	cfg.Warn = w.add
	p, err := hdfs.Open(fsys, "p", cfg)
	require.NoError(t, err)
	return p, w
}

func entries(p *hdfs.Partition, v int64, o provider.LoadOptions) (map[string]string, error) {
	out := map[string]string{}
	for e, err := range provider.Rows(p.Batches(context.Background(), provider.Version{Number: v}, o)) {
		if err != nil {
			return nil, err
		}
		out[text(e.Key)] = text(e.Value)
	}
	return out, nil
}

func TestParseName(t *testing.T) {
	for _, c := range []struct {
		name    string
		kind    provider.FileKind
		version int64
	}{
		{"1.delta", provider.DeltaFile, 1},
		{"1234.snapshot", provider.SnapshotFile, 1234},
		{"01.delta", provider.OtherFile, 0},
		{"+1.delta", provider.OtherFile, 0},
		{"-1.delta", provider.OtherFile, 0},
		{"0.delta", provider.OtherFile, 0},
		{"1.DELTA", provider.OtherFile, 0},
		{"1.delta.bak", provider.OtherFile, 0},
		{"99999999999999999999.delta", provider.OtherFile, 0},
		{"1.delta.crc", provider.SidecarFile, 0},
		{".1.delta.crc", provider.SidecarFile, 0},
		{".5.delta.1b6c.TID212.tmp", provider.TempFile, 0},
		{"temp--8723", provider.TempFile, 0},
		{"7.snapshot.temp-12", provider.TempFile, 0},
		{".DS_Store", provider.OtherFile, 0},
		{"foo.txt", provider.OtherFile, 0},
		{"", provider.OtherFile, 0},
	} {
		kind, v := hdfs.ParseName(c.name)
		assert.Equal(t, c.kind, kind, c.name)
		assert.Equal(t, c.version, v, c.name)
	}
}

func TestPlan(t *testing.T) {
	all := func(names ...string) fstest.MapFS {
		m := fstest.MapFS{"p/_metadata/schema": file(nil), "p/.DS_Store": file(nil)}
		for _, n := range names {
			m["p/"+n] = file(nil)
		}
		return m
	}
	for _, c := range []struct {
		name     string
		files    fstest.MapFS
		version  int64
		base     int64
		deltas   []int64
		err      error
		path     string
		versions []int64
	}{
		{name: "from the empty state", files: all("1.delta", "2.delta"), version: 2, deltas: []int64{1, 2}, versions: []int64{1, 2}},
		{name: "version 0 is empty", files: all("1.delta"), version: 0, versions: []int64{1}},
		{name: "the newest snapshot that is not newer", files: all("1.delta", "2.delta", "2.snapshot", "3.delta", "3.snapshot", "4.delta"),
			version: 4, base: 3, deltas: []int64{4}, versions: []int64{1, 2, 3, 4}},
		{name: "a snapshot needs no delta", files: all("7.snapshot"), version: 7, base: 7, versions: []int64{7}},
		{name: "a gap", files: all("1.delta", "3.delta", "4.snapshot", "5.delta"), version: 3, err: provider.ErrMissing, path: "p/2.delta", versions: []int64{1, 4, 5}},
		{name: "a gap after a snapshot", files: all("4.snapshot", "6.delta"), version: 6, err: provider.ErrMissing, path: "p/5.delta", versions: []int64{4}},
		{name: "cleaned up", files: all("4.snapshot", "4.delta", "5.delta"), version: 3, err: provider.ErrCleanedUp, path: "p/1.delta", versions: []int64{4, 5}},
		{name: "no snapshot and no beginning is not cleaned up", files: all("4.delta", "5.delta"), version: 5, err: provider.ErrMissing, path: "p/1.delta", versions: nil},
		{name: "beyond the newest", files: all("1.delta"), version: 2, err: provider.ErrMissing, path: "p/2.delta", versions: []int64{1}},
		{name: "nothing there", files: all(), version: 1, err: provider.ErrMissing, path: "p/1.delta"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, _ := open(t, c.files, hdfs.Config{})
			assert.Equal(t, c.versions, append([]int64(nil), p.Versions()...))
			plan, err := p.Plan(provider.Version{Number: c.version}, provider.LoadOptions{})
			if c.err != nil {
				require.ErrorIs(t, err, c.err)
				var fe *provider.FileError
				require.ErrorAs(t, err, &fe)
				assert.Equal(t, c.path, fe.Path)
				assert.Equal(t, "CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS", fe.Condition)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.base, plan.Base.Version)
			var deltas []int64
			for _, d := range plan.Deltas {
				deltas = append(deltas, d.Version)
			}
			assert.Equal(t, c.deltas, deltas)
		})
	}
}

func TestForcedSnapshot(t *testing.T) {
	fsys := fstest.MapFS{
		"p/1.delta":    file(compress(t, codec.LZ4, put("a", "old"), put("b", "1"), end)),
		"p/1.snapshot": file(compress(t, codec.LZ4, put("a", "snapshot"), end)),
		"p/2.delta":    file(compress(t, codec.LZ4, put("c", "2"), end)),
		"p/2.snapshot": file(compress(t, codec.LZ4, put("z", "other"), end)),
	}
	p, _ := open(t, fsys, hdfs.Config{})
	got, err := entries(p, 2, provider.LoadOptions{BaseVersion: 1})
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"a": "snapshot", "c": "2"}, got)
	_, err = entries(p, 2, provider.LoadOptions{BaseVersion: 3})
	require.ErrorIs(t, err, provider.ErrMissing)
	assert.ErrorContains(t, err, "CANNOT_READ_MISSING_SNAPSHOT_FILE")
}

// In every codec: puts, overwrites and removes of the same key in one file and
// over files, in the order that decides.
func TestReplay(t *testing.T) {
	for _, c := range codec.All() {
		t.Run(c.String(), func(t *testing.T) {
			long := strings.Repeat("long ", 100) // spans blocks
			fsys := fstest.MapFS{
				"p/1.delta": file(compress(t, c, put("a", "1"), put("b", "1"), put("c", "1"), put("", "empty key"), end)),
				"p/2.delta": file(compress(t, c, put("a", "2"), remove("b"), remove("not there"), put("a", "2 again"), end)),
				"p/3.delta": file(compress(t, c, put("b", "3"), remove("b"), put("b", "3 back"), put("c", long), put("c", "3"), remove("c"), put("d", long), end)),
				"p/4.delta": file(compress(t, c, end)),
			}
			want := []map[string]string{
				{"a": "1", "b": "1", "c": "1", "": "empty key"},
				{"a": "2 again", "c": "1", "": "empty key"},
				{"a": "2 again", "b": "3 back", "d": long, "": "empty key"},
			}
			want = append(want, want[2])
			for snapshot := range 4 {
				if snapshot > 0 {
					var rows [][]byte
					for k, v := range want[snapshot-1] {
						rows = append(rows, put(k, v))
					}
					fsys[fmt.Sprintf("p/%d.snapshot", snapshot)] = file(compress(t, c, append(rows, end)...))
				}
				p, w := open(t, fsys, hdfs.Config{Codec: c})
				for i, want := range want {
					got, err := entries(p, int64(i+1), provider.LoadOptions{})
					require.NoError(t, err)
					assert.Equal(t, want, got, "version %d, snapshots to %d", i+1, snapshot)
				}
				assert.Empty(t, w.list)
			}
		})
	}
}

func TestChangesKeepTheirOrder(t *testing.T) {
	fsys := fstest.MapFS{"p/2.delta": file(compress(t, codec.LZ4, put("a", "1"), remove("a"), put("a", "2"), end))}
	p, _ := open(t, fsys, hdfs.Config{})
	var got []string
	for c, err := range provider.Rows(p.Changes(context.Background(), provider.Version{Number: 2})) {
		require.NoError(t, err)
		got = append(got, c.Type.String()+" "+text(c.Key)+"="+text(c.Value))
	}
	assert.Equal(t, []string{"update a=1", "delete a=", "update a=2"}, got)
	for _, err := range provider.Rows(p.Changes(context.Background(), provider.Version{Number: 1})) {
		require.ErrorIs(t, err, provider.ErrMissing)
	}
}

func TestDamage(t *testing.T) {
	good := compress(t, codec.LZ4, put("a", "1"), put("b", "2"), end)
	flipped := bytes.Clone(good)
	flipped[25] ^= 1
	for _, c := range []struct {
		name      string
		data      []byte
		kind      error
		condition string
	}{
		{"no bytes", nil, provider.ErrTruncated, "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED"},
		{"cut in a block", good[:30], provider.ErrTruncated, "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED"},
		{"no end mark of the records", compress(t, codec.LZ4, put("a", "1")), provider.ErrTruncated, "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED"},
		{"cut at a block boundary, by a codec that does not notice", compress(t, codec.Snappy, put("a", "1")), provider.ErrTruncated, "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED"},
		{"a flipped bit", flipped, provider.ErrDamaged, "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED"},
		{"not a codec", []byte("PK\x03\x04 this is a zip file, not a delta"), provider.ErrCodec, "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED"},
		{"a key length below -1", compress(t, codec.LZ4, []byte{0xff, 0xff, 0xff, 0xfe}, end), provider.ErrCorrupt, "CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_KEY_SIZE"},
		{"a key of 2 GiB", compress(t, codec.LZ4, []byte{0x7f, 0xff, 0xff, 0xff}, make([]byte, 1000), end), provider.ErrTooLarge, "CANNOT_LOAD_STATE_STORE.HDFS_STORE_PROVIDER_OUT_OF_MEMORY"},
		{"a value of 2 GiB", compress(t, codec.LZ4, frame(row("a")), []byte{0x7f, 0xff, 0xff, 0xff}, make([]byte, 1000), end), provider.ErrTooLarge, "CANNOT_LOAD_STATE_STORE.HDFS_STORE_PROVIDER_OUT_OF_MEMORY"},
		{"a value length below -1", compress(t, codec.LZ4, frame(row("a")), []byte{0xff, 0xff, 0xff, 0xfe}, end), provider.ErrCorrupt, ""},
		{"a key that is no row", compress(t, codec.LZ4, frame([]byte("12345")), frame(row("v")), end), provider.ErrCorrupt, ""},
		{"a value that is no row", compress(t, codec.LZ4, frame(row("a")), frame([]byte("12345")), end), provider.ErrCorrupt, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, _ := open(t, fstest.MapFS{"p/1.delta": file(c.data)}, hdfs.Config{})
			_, err := entries(p, 1, provider.LoadOptions{})
			require.ErrorIs(t, err, c.kind)
			require.ErrorIs(t, err, provider.ErrDamaged)
			var fe *provider.FileError
			require.ErrorAs(t, err, &fe)
			assert.Equal(t, "p/1.delta", fe.Path)
			assert.Equal(t, c.condition, fe.Condition)
			assert.NotContains(t, err.Error(), "\n")
		})
	}
}

// A file that is not compressed cannot hold a row longer than itself, however
// much its length promises.
func TestUncompressedRowsAreBounded(t *testing.T) {
	data := append(append(frame(row("a")), 0x00, 0x10, 0x00, 0x00), make([]byte, 1000)...) // a value of 1 MiB
	p, _ := open(t, fstest.MapFS{"p/1.delta": file(data)}, hdfs.Config{})
	_, err := entries(p, 1, provider.LoadOptions{})
	require.ErrorIs(t, err, provider.ErrTooLarge)
}

func TestSnapshotsHaveNoRemoves(t *testing.T) {
	p, _ := open(t, fstest.MapFS{"p/1.snapshot": file(compress(t, codec.LZ4, remove("a"), end))}, hdfs.Config{})
	_, err := entries(p, 1, provider.LoadOptions{})
	require.ErrorIs(t, err, provider.ErrCorrupt)
	assert.ErrorContains(t, err, "CANNOT_READ_SNAPSHOT_FILE_VALUE_SIZE")
}

// What follows the end mark changes no row: Spark does not read it.
func TestBytesAfterTheEnd(t *testing.T) {
	whole := compress(t, codec.LZ4, put("a", "1"), end)
	const mark = 21 // the LZ4 block that ends the stream
	for name, data := range map[string][]byte{
		"records":     compress(t, codec.LZ4, put("a", "1"), end, put("b", "2")),
		"raw bytes":   append(bytes.Clone(whole), "stray"...),
		"no LZ4 mark": whole[:len(whole)-mark],
	} {
		t.Run(name, func(t *testing.T) {
			p, w := open(t, fstest.MapFS{"p/1.delta": file(data)}, hdfs.Config{})
			got, err := entries(p, 1, provider.LoadOptions{})
			require.NoError(t, err)
			assert.Equal(t, map[string]string{"a": "1"}, got)
			require.Len(t, w.list, 1)
		})
	}
}

func TestFourByteTail(t *testing.T) {
	value := append(row("1"), 9, 9, 9, 9)
	p, w := open(t, fstest.MapFS{"p/1.delta": file(compress(t, codec.LZ4, frame(row("a")), frame(value), end))}, hdfs.Config{})
	got, err := entries(p, 1, provider.LoadOptions{})
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"a": "1"}, got)
	assert.Empty(t, w.list)
}

func TestRowChecksum(t *testing.T) {
	b := func(s string) []byte {
		out, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
		require.NoError(t, err)
		return out
	}
	key, value := b("0000000000000000 0100000000000000"), b("0000000000000000 0700000000000000")
	putRow := append(frame(key), frame(append(b("20f187ca"), value...))...)
	removeRow := append(frame(append(b("cde74c0b"), key...)), end...)
	for _, known := range []bool{true, false} {
		p, w := open(t, fstest.MapFS{
			"p/1.delta": file(compress(t, codec.LZ4, putRow, end)),
			"p/2.delta": file(compress(t, codec.LZ4, removeRow, end)),
		}, hdfs.Config{RowChecksum: known})
		for e, err := range provider.Rows(p.Batches(context.Background(), provider.Version{Number: 1}, provider.LoadOptions{})) {
			require.NoError(t, err)
			assert.Equal(t, key, e.Key)
			assert.Equal(t, value, e.Value)
		}
		got, err := entries(p, 2, provider.LoadOptions{})
		require.NoError(t, err)
		assert.Empty(t, got)
		assert.Empty(t, w.list)
	}
	putRow[len(putRow)-1] ^= 1
	p, _ := open(t, fstest.MapFS{"p/1.delta": file(compress(t, codec.LZ4, putRow, end))}, hdfs.Config{RowChecksum: true})
	_, err := entries(p, 1, provider.LoadOptions{})
	require.ErrorIs(t, err, provider.ErrChecksum)
	assert.ErrorContains(t, err, "STATE_STORE_ROW_CHECKSUM_VERIFICATION_FAILED")
}

func hadoopCRC(data []byte) []byte {
	out := []byte("crc\x00\x00\x00\x02\x00")
	for len(data) > 0 {
		n := min(512, len(data))
		out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(data[:n]))
		data = data[n:]
	}
	return out
}

func sparkCRC(data []byte) []byte {
	sum := int32(crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)))
	return fmt.Appendf(nil, `{"algorithm":"CRC32C","value":%d,"mainFileSize":%d,"timestampMs":1,"creator":{"executorId":"","taskInfo":""}}`, sum, len(data))
}

// A sidecar that differs is an error where the codec cannot see damage, and a
// warning where it can and sees none; --ignore-crc silences both.
func TestSidecars(t *testing.T) {
	for _, c := range codec.All() {
		data := compress(t, c, put("a", "1"), end)
		for name, crc := range map[string]func([]byte) []byte{sidecar.HadoopName("1.delta"): hadoopCRC, sidecar.SparkName("1.delta"): sparkCRC} {
			t.Run(c.String()+" "+name, func(t *testing.T) {
				want := map[string]string{"a": "1"}
				read := func(side []byte, ignore bool) (map[string]string, int, error) {
					p, w := open(t, fstest.MapFS{"p/1.delta": file(data), "p/" + name: file(side)}, hdfs.Config{IgnoreSidecars: ignore})
					got, err := entries(p, 1, provider.LoadOptions{})
					return got, len(w.list), err
				}
				got, warned, err := read(crc(data), false)
				require.NoError(t, err)
				assert.Equal(t, want, got)
				assert.Zero(t, warned)

				other := crc(append([]byte("x"), data[1:]...))
				got, warned, err = read(other, false)
				if c.Checksummed() {
					require.NoError(t, err)
					assert.Equal(t, want, got)
					assert.Equal(t, 1, warned)
				} else {
					require.ErrorIs(t, err, provider.ErrChecksum)
					assert.ErrorContains(t, err, "p/1.delta")
				}
				got, warned, err = read(other, true)
				require.NoError(t, err)
				assert.Equal(t, want, got)
				assert.Zero(t, warned)

				// A sidecar that is none is worth a warning.
				got, warned, err = read([]byte("not a sidecar"), false)
				require.NoError(t, err)
				assert.Equal(t, want, got)
				assert.Equal(t, 1, warned)
			})
		}
	}
}

func TestCodecOtherThanRecorded(t *testing.T) {
	p, w := open(t, fstest.MapFS{"p/1.delta": file(compress(t, codec.Zstd, put("a", "1"), end))}, hdfs.Config{Codec: codec.LZ4})
	_, err := entries(p, 1, provider.LoadOptions{})
	require.NoError(t, err)
	require.Len(t, w.list, 1)
	assert.ErrorContains(t, w.list[0], "the file is zstd, the checkpoint's conf says lz4")
}

func TestNotARegularFile(t *testing.T) {
	p, _ := open(t, fstest.MapFS{"p/1.delta": &fstest.MapFile{Mode: 0o600 | 1<<25 /* fs.ModeNamedPipe */}}, hdfs.Config{})
	_, err := entries(p, 1, provider.LoadOptions{})
	require.ErrorIs(t, err, provider.ErrCorrupt)
	assert.ErrorContains(t, err, "not a regular file")
}

func TestStopAndCancel(t *testing.T) {
	p, _ := open(t, fstest.MapFS{"p/1.delta": file(compress(t, codec.LZ4, put("a", "1"), put("b", "2"), end))}, hdfs.Config{})
	n := 0
	for _, err := range provider.Rows(p.Batches(context.Background(), provider.Version{Number: 1}, provider.LoadOptions{})) {
		require.NoError(t, err)
		n++
		break
	}
	assert.Equal(t, 1, n)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, err := range provider.Rows(p.Batches(ctx, provider.Version{Number: 1}, provider.LoadOptions{})) {
		require.ErrorIs(t, err, context.Canceled)
	}
}

// Random histories of many versions, sizes and snapshots against a plain map.
func TestRandomHistories(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		state := map[string]string{}
		fsys := fstest.MapFS{}
		c := codec.Compressions()[r.IntN(len(codec.Compressions()))]
		for v := 1; v <= 12; v++ {
			var records [][]byte
			for range r.IntN(200) {
				k := fmt.Sprintf("key %d", r.IntN(150))
				if r.IntN(3) == 0 {
					records = append(records, remove(k))
					delete(state, k)
					continue
				}
				value := strings.Repeat("v", 1+r.IntN(1<<r.IntN(12))) + fmt.Sprint(v)
				records = append(records, put(k, value))
				state[k] = value
			}
			fsys[fmt.Sprintf("p/%d.delta", v)] = file(compress(t, c, append(records, end)...))
			if r.IntN(4) == 0 {
				var rows [][]byte
				for k, value := range state {
					rows = append(rows, put(k, value))
				}
				fsys[fmt.Sprintf("p/%d.snapshot", v)] = file(compress(t, c, append(rows, end)...))
			}
			p, _ := open(t, fsys, hdfs.Config{})
			got, err := entries(p, int64(v), provider.LoadOptions{})
			require.NoError(t, err)
			require.Equal(t, state, got, "seed %d, version %d", seed, v)
		}
	}
}

// Whatever the bytes, reading ends, without a panic, in rows or in an error
// about the file.
func FuzzDelta(f *testing.F) {
	for _, c := range codec.All() {
		f.Add(compress(f, c, put("a", "1"), remove("b"), put("a", "2"), end), true)
		f.Add(compress(f, c, end), false)
	}
	f.Fuzz(func(t *testing.T, data []byte, snapshot bool) {
		name := "p/1.delta"
		if snapshot {
			name = "p/1.snapshot"
		}
		p, _ := open(t, fstest.MapFS{name: file(data)}, hdfs.Config{})
		if _, err := entries(p, 1, provider.LoadOptions{}); err != nil {
			var fe *provider.FileError
			require.ErrorAs(t, err, &fe)
			require.Equal(t, name, fe.Path)
		}
	})
}

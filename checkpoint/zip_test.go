package checkpoint_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore"
)

// zipped writes a zip file into a new directory.
func zipped(t *testing.T, write func(w *zip.Writer)) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	write(w)
	require.NoError(t, w.Close())
	name := filepath.Join(t.TempDir(), "ck.zip")
	require.NoError(t, os.WriteFile(name, b.Bytes(), 0o600))
	return name
}

func add(t *testing.T, w *zip.Writer, name string, b []byte) {
	t.Helper()
	f, err := w.Create(name)
	require.NoError(t, err)
	_, err = f.Write(b)
	require.NoError(t, err)
}

// zeros adds a file of zero bytes, deflated, that says it has another size.
func zeros(t *testing.T, w *zip.Writer, name string, claimed uint64, real int64) {
	t.Helper()
	var b bytes.Buffer
	fw, err := flate.NewWriter(&b, 9)
	require.NoError(t, err)
	sum := crc32.NewIEEE()
	_, err = io.Copy(io.MultiWriter(fw, sum), io.LimitReader(endless{}, real))
	require.NoError(t, err)
	require.NoError(t, fw.Close())
	f, err := w.CreateRaw(&zip.FileHeader{Name: name, Method: zip.Deflate, CRC32: sum.Sum32(),
		CompressedSize64: uint64(b.Len()), UncompressedSize64: claimed})
	require.NoError(t, err)
	_, err = f.Write(b.Bytes())
	require.NoError(t, err)
}

// endless is a file of zero bytes that never ends.
type endless struct{}

func (endless) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// whole adds a checkpoint that is whole but for some files.
func whole(t *testing.T, w *zip.Writer, but ...string) {
	t.Helper()
	r := fixture(t, "3.5.9/ad_billing")
	for _, name := range but {
		r.remove(name)
	}
	for name, f := range r.m {
		add(t, w, "ck/"+name, f.Data)
	}
}

func TestHostileZips(t *testing.T) {
	readAll := func(cp *checkpoint.Checkpoint) (err error) {
		for _, o := range cp.Operators() {
			for _, s := range o.Stores() {
				if _, cerr := s.Counts(context.Background()); err == nil {
					err = cerr
				}
			}
		}
		return err
	}
	anything := errors.New("anything")
	for _, c := range []struct {
		name  string
		write func(w *zip.Writer)
		opens error // of opening it
		reads error // of reading it
	}{
		{"nothing wrong", func(w *zip.Writer) { whole(t, w) }, nil, nil},
		{"a file that states its gigabyte", func(w *zip.Writer) {
			whole(t, w)
			zeros(t, w, "ck/state/0/0/8.delta", 1<<30, 1<<20)
		}, statestore.ErrTooLarge, nil},
		{"sizes beyond all measure", func(w *zip.Writer) {
			whole(t, w)
			zeros(t, w, "ck/a", 1<<63, 1)
			zeros(t, w, "ck/b", 1<<63, 1)
		}, statestore.ErrTooLarge, nil},
		{"a delta that goes on after its size", func(w *zip.Writer) {
			whole(t, w, "state/0/0/7.delta")
			zeros(t, w, "ck/state/0/0/7.delta", 100, 1<<24)
		}, nil, statestore.ErrDamaged},
		{"a log that goes on after its size", func(w *zip.Writer) {
			whole(t, w, "offsets/6")
			zeros(t, w, "ck/offsets/6", 100, 1<<24)
		}, nil, nil},
		{"names that lead out", func(w *zip.Writer) {
			whole(t, w)
			for _, n := range []string{"../outside", "ck/../../elsewhere", "/absolute", `C:\windows`, "ck/state/0/0/../../../../../x.delta", "ck/state/0/0/8.delta/9.delta"} {
				add(t, w, n, []byte("x"))
			}
		}, nil, nil},
		{"a name twice", func(w *zip.Writer) { // which of the two is meant, nobody knows
			whole(t, w)
			add(t, w, "ck/state/0/0/7.delta", []byte("another"))
		}, anything, nil},
		{"nothing of ours", func(w *zip.Writer) { add(t, w, "a/b", nil) }, checkpoint.ErrNotCheckpoint, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			name := zipped(t, c.write)
			peak, err := peakOf(func() error {
				cp, err := checkpoint.Open(name)
				if c.opens == anything {
					require.Error(t, err)
					return nil
				}
				if c.opens != nil {
					require.ErrorIs(t, err, c.opens)
					return nil
				}
				require.NoError(t, err)
				defer cp.Close()
				_, err = cp.Check(context.Background(), checkpoint.DeepCheck)
				require.NoError(t, err)
				return readAll(cp)
			})
			if c.reads != nil {
				assert.ErrorIs(t, err, c.reads)
			} else {
				assert.NoError(t, err)
			}
			assert.Less(t, peak, uint64(64<<20))
		})
	}
}

// A sparse file can hold any number of entries, so its list is not believed
// before it is read.
func TestZipsOfAnyNumberOfFiles(t *testing.T) {
	end := func(entries uint16, b []byte) []byte {
		b = append(b, "PK\x05\x06\x00\x00\x00\x00"...)
		b = binary.LittleEndian.AppendUint16(b, entries)
		b = binary.LittleEndian.AppendUint16(b, entries)
		b = append(b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff) // size and offset of the list
		return append(b, 0, 0)
	}
	const sparse = 1 << 40
	dir := t.TempDir()
	write := func(name string, tail []byte) string {
		full := filepath.Join(dir, name)
		f, err := os.Create(full)
		require.NoError(t, err)
		defer f.Close()
		if _, err = f.WriteAt(tail, sparse); err != nil {
			t.Skipf("no sparse file of this size here: %v", err)
		}
		return full
	}
	var b []byte
	b = append(b, "PK\x06\x06"...)
	b = binary.LittleEndian.AppendUint64(b, 44)
	b = append(b, make([]byte, 12)...)
	for range 2 {
		b = binary.LittleEndian.AppendUint64(b, 1<<33) // entries
	}
	b = binary.LittleEndian.AppendUint64(b, 1<<39)
	b = binary.LittleEndian.AppendUint64(b, 0)
	b = append(b, "PK\x06\x07\x00\x00\x00\x00"...)
	b = binary.LittleEndian.AppendUint64(b, sparse)
	b = append(b, 1, 0, 0, 0)
	for name, tail := range map[string][]byte{"many.zip": end(0xffff, b), "none.zip": end(7, nil), "cut.zip": []byte("PK\x05\x06")} {
		full := write(name, tail)
		peak, err := peakOf(func() error {
			_, err := checkpoint.Open(full)
			return err
		})
		require.ErrorIs(t, err, statestore.ErrDamaged, name)
		if name == "many.zip" {
			assert.ErrorContains(t, err, "a zip file of 8589934592 files")
		}
		assert.Less(t, peak, uint64(8<<20), name)
	}

	// And a list that is merely long has its limit.
	long := zipped(t, func(w *zip.Writer) {
		whole(t, w)
		for i := range 2000 {
			add(t, w, fmt.Sprintf("ck/junk/%d", i), nil)
		}
	})
	cp, err := checkpoint.Open(long)
	require.NoError(t, err)
	require.NoError(t, cp.Close())
	_, err = checkpoint.Open(long, checkpoint.WithLimits(checkpoint.Limits{ZipDirectoryBytes: 64 << 10}))
	assert.ErrorIs(t, err, statestore.ErrTooLarge)
}

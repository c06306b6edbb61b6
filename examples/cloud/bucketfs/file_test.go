package bucketfs_test

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/sparkstate/sparkstate/examples/cloud/bucketfs"
)

// text is what the objects of these tests hold: no part is like another.
var text = func() string {
	var b strings.Builder
	for i := range 40_000 {
		b.WriteString(string(rune('a'+i%23)) + string(rune('A'+i/23%26)))
	}
	return b.String()
}()

// TestReadOnce: a file is one request, its size included, however it is read.
func TestReadOnce(t *testing.T) {
	c := &calls{Bucket: memory(t, map[string]string{"x": text, "none": ""})}
	fsys := bucketfs.New(t.Context(), c)
	for name, want := range map[string]string{"x": text, "none": ""} {
		c.reset()
		f, err := fsys.Open(name)
		require.NoError(t, err)
		st, err := f.Stat()
		require.NoError(t, err)
		require.EqualValues(t, len(want), st.Size())
		var got bytes.Buffer
		for p := make([]byte, 777); ; {
			n, err := f.Read(p)
			got.Write(p[:n])
			if err == io.EOF {
				break
			}
			require.NoError(t, err)
		}
		require.Equal(t, want, got.String())
		require.NoError(t, f.Close())
		require.Equal(t, [3]int64{0, 1, 0}, c.all())

		_, err = f.Read(make([]byte, 1))
		require.ErrorIs(t, err, fs.ErrClosed)
		_, err = f.Stat()
		require.ErrorIs(t, err, fs.ErrClosed)
		require.ErrorIs(t, f.Close(), fs.ErrClosed)
	}
	// To look is not to read.
	c.reset()
	st, err := fs.Stat(fsys, "x")
	require.NoError(t, err)
	require.EqualValues(t, len(text), st.Size())
	require.Equal(t, [3]int64{0, 0, 1}, c.all())
}

// TestReadAt: ranges, each by one request.
func TestReadAt(t *testing.T) {
	c := &calls{Bucket: memory(t, map[string]string{"x": text})}
	f, err := bucketfs.New(t.Context(), c).Open("x")
	require.NoError(t, err)
	defer f.Close()
	at := f.(io.ReaderAt)
	end := int64(len(text))
	for _, r := range []struct {
		off  int64
		size int
		n    int
		err  error
	}{
		{0, 10, 10, nil}, {12345, 1000, 1000, nil}, {end - 5, 5, 5, nil}, {end - 5, 9, 5, io.EOF}, {end, 1, 0, io.EOF}, {end + 7, 1, 0, io.EOF}, {3, 0, 0, nil},
	} {
		p := make([]byte, r.size)
		n, err := at.ReadAt(p, r.off)
		require.Equal(t, r.n, n)
		require.Equal(t, r.err, err)
		require.Equal(t, text[min(r.off, end):min(r.off, end)+int64(n)], string(p[:n]))
	}
	_, err = at.ReadAt(make([]byte, 1), -1)
	require.ErrorIs(t, err, fs.ErrInvalid)
	// Reading on from the beginning is not disturbed.
	got, err := io.ReadAll(f)
	require.NoError(t, err)
	require.Equal(t, text, string(got))
}

// flaky is a bucket of which every body ends after some bytes, with an error
// or as if it were the end.
type flaky struct {
	*blob.Bucket
	after   int64
	err     error
	opened  int
	between func() // before a body is asked for again
}

func (f *flaky) NewRangeReader(ctx context.Context, key string, offset, length int64, opts *blob.ReaderOptions) (*blob.Reader, error) {
	if f.opened++; f.opened > 1 && f.between != nil {
		f.between()
	}
	if f.opened > 1 && f.err != nil {
		return nil, f.err
	}
	size := f.after
	if length >= 0 {
		size = min(size, length)
	}
	return f.Bucket.NewRangeReader(ctx, key, offset, size, opts)
}

// TestInterrupted: a body that breaks off is asked for again from there.
func TestInterrupted(t *testing.T) {
	f := &flaky{Bucket: memory(t, map[string]string{"x": text}), after: 30_000}
	got, err := fs.ReadFile(bucketfs.New(t.Context(), f), "x")
	require.NoError(t, err)
	require.Equal(t, text, string(got))
	require.Equal(t, 3, f.opened)
}

// TestBroken: where nothing more comes, reading ends in the error, after some
// tries that wait for longer and longer.
func TestBroken(t *testing.T) {
	b := memory(t, map[string]string{"x": text})
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			bucket *flaky
			want   error
		}{
			{&flaky{Bucket: b, after: 30_000, err: errBroken}, errBroken},
			{&flaky{Bucket: b, after: 0}, io.ErrUnexpectedEOF},
		} {
			got, err := fs.ReadFile(bucketfs.New(t.Context(), c.bucket), "x")
			require.ErrorIs(t, err, c.want)
			require.Equal(t, text[:len(got)], string(got))
			require.LessOrEqual(t, c.bucket.opened, 6)
			var pe *fs.PathError
			require.ErrorAs(t, err, &pe)
			require.Equal(t, "x", pe.Path)
		}
	})
}

// TestChanged: an object that is replaced while it is read is not put together
// of two.
func TestChanged(t *testing.T) {
	b := memory(t, map[string]string{"x": text})
	f := &flaky{Bucket: b, after: 30_000, between: func() {
		require.NoError(t, b.WriteAll(t.Context(), "x", []byte(strings.ToUpper(text)), nil))
	}}
	got, err := fs.ReadFile(bucketfs.New(t.Context(), f), "x")
	require.ErrorIs(t, err, bucketfs.ErrChanged)
	require.Equal(t, text[:30_000], string(got))
}

// TestVanished: an object that is removed while it is read.
func TestVanished(t *testing.T) {
	b := memory(t, map[string]string{"x": text})
	f := &flaky{Bucket: b, after: 30_000, between: func() {
		if err := b.Delete(t.Context(), "x"); gcerrors.Code(err) != gcerrors.NotFound {
			require.NoError(t, err)
		}
	}}
	_, err := fs.ReadFile(bucketfs.New(t.Context(), f), "x")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

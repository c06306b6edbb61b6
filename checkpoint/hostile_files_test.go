package checkpoint_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore"
)

// everything does whatever can be done with a checkpoint, and returns the
// errors that files gave. Of a check there must be none.
func everything(t *testing.T, fsys fs.FS, opts ...checkpoint.OpenOption) []error {
	t.Helper()
	ctx := context.Background()
	var errs []error
	note := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	cp, err := checkpoint.OpenFS(fsys, ".", opts...)
	if err != nil {
		return []error{err}
	}
	_, err = cp.ID()
	note(err)
	for e, err := range cp.History(ctx) {
		require.NoError(t, err)
		note(e.Err())
	}
	logs, err := cp.SourceLogs()
	note(err)
	for _, l := range logs {
		for _, err := range l.Files(ctx) {
			note(err)
		}
	}
	for _, o := range cp.Operators() {
		note(o.Err())
		for _, s := range o.Stores() {
			note(s.Err())
			_, err := s.Counts(ctx)
			note(err)
			for rec, err := range s.Records(ctx) {
				if note(err); err == nil {
					rec.Release()
				}
			}
			loss := &checkpoint.Loss{}
			for p := range 4 {
				for _, err := range s.Salvage(ctx, p, loss) {
					note(err)
				}
			}
			for _, err := range loss.Files {
				note(err)
			}
		}
	}
	for _, level := range checkLevels {
		_, err := cp.Check(ctx, level)
		require.NoError(t, err)
	}
	return errs
}

// changed is a file system of which one file is another once it is open than
// it was said to be.
type changed struct {
	fstest.MapFS
	name string
	size int64 // that is said
	data []byte
	more bool // data is repeated for ever
}

func (c *changed) Open(name string) (fs.File, error) {
	f, err := c.MapFS.Open(name)
	if err != nil || name != c.name {
		return f, err
	}
	return &changedFile{File: f, of: c}, nil
}

func (c *changed) Stat(name string) (fs.FileInfo, error) {
	f, err := c.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Stat()
}

type changedFile struct {
	fs.File
	of *changed
	at int
}

func (f *changedFile) Stat() (fs.FileInfo, error) {
	st, err := f.File.Stat()
	return changedInfo{st, f.of.size}, err
}

func (f *changedFile) Read(b []byte) (int, error) {
	if f.of.more && f.at >= len(f.of.data) && len(f.of.data) > 0 {
		f.at = 0
	}
	n, err := bytes.NewReader(f.of.data[min(f.at, len(f.of.data)):]).Read(b)
	f.at += n
	return n, err
}

type changedInfo struct {
	fs.FileInfo
	size int64
}

func (i changedInfo) Size() int64 { return i.size }

// A file that shrinks, grows or is replaced while it is read, or never ends,
// costs neither memory nor time, and gives no wrong row: state is as it was
// when its file was opened, or there is an error.
func TestFilesThatChange(t *testing.T) {
	r := fixture(t, "4.1.4/ad_billing")
	for _, name := range []string{"metadata", "offsets/6", "commits/6", "sources/0/0", "state/0/_metadata/metadata", "state/0/0/_metadata/schema",
		"state/0/0/7.delta", "state/0/0/6.snapshot", "state/0/0/7.delta.crc", "state/0/0/.7.delta.crc", "offsets/.6.crc"} {
		b := r.get(name)
		for what, c := range map[string]*changed{
			"shrinks":              {size: int64(len(b)), data: b[:len(b)/2]},
			"shrinks to nothing":   {size: int64(len(b))},
			"grows":                {size: int64(len(b)), data: append(bytes.Clone(b), b...)},
			"never ends":           {size: int64(len(b)), data: b, more: true},
			"never ends, of zeros": {size: 1 << 20, data: make([]byte, 1<<16), more: true},
			"is said to be huge":   {size: 1 << 62, data: b},
			"is said to be empty":  {size: 0, data: b},
			"is replaced":          {size: int64(len(b)), data: bytes.Repeat([]byte{0x5a}, len(b))},
		} {
			t.Run(name+" "+what, func(t *testing.T) {
				c.MapFS, c.name = r.m, name
				var errs []error
				peak, _ := peakOf(func() error {
					errs = everything(t, c)
					return nil
				})
				assert.Less(t, peak, uint64(128<<20))
				if what == "grows" && !strings.HasSuffix(name, ".crc") && strings.HasPrefix(name, "state/") && !strings.Contains(name, "_metadata") {
					assert.Empty(t, errs, "it is read as it was")
				}
				if strings.HasPrefix(what, "shrinks") && (strings.HasSuffix(name, ".delta") || strings.HasSuffix(name, ".snapshot")) {
					require.NotEmpty(t, errs)
					assert.ErrorIs(t, errs[0], statestore.ErrTruncated)
				}
			})
		}
	}
}

// Text that is larger than anything Spark writes, or nested without end.
func TestHugeText(t *testing.T) {
	deep := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	utf := func(s string) []byte { return append(binary.BigEndian.AppendUint16(nil, uint16(len(s))), s...) }
	chunked := func(s string) []byte {
		var b []byte
		n := 0
		for ; len(s) > 0; n++ {
			k := min(len(s), 65535)
			b = append(b, utf(s[:k])...)
			s = s[k:]
		}
		return append(binary.BigEndian.AppendUint32(nil, uint32(n)), b...)
	}
	schema := func(j string) []byte {
		return append(append(utf("v2"), chunked(j)...), chunked(`{"type":"struct","fields":[]}`)...)
	}
	arrays := func(n int) string {
		return `{"type":"struct","fields":[{"name":"a","type":` + strings.Repeat(`{"type":"array","containsNull":true,"elementType":`, n) + `"long"` + strings.Repeat("}", n) + `}]}`
	}
	huge := strings.Repeat("x", 9<<20)
	for name, contents := range map[string][][]byte{
		"metadata":  {[]byte(`{"id":"` + huge + `"}`), []byte(deep(1 << 20))},
		"offsets/6": {[]byte("v1\n{}\n" + huge), []byte("v1\n" + deep(1<<20)), []byte("v1\n{}\n" + deep(1<<20)), bytes.Repeat([]byte("\n"), 7<<20), []byte("v1\n{}" + strings.Repeat("\n-", 3<<20)), []byte("v1\n{}" + strings.Repeat("\n-", 15_000))},
		"commits/6": {[]byte("v1\n{\"a\":\"" + huge + "\"}"), []byte("v1\n" + deep(1<<20))},
		"state/0/_metadata/metadata": {[]byte("v1\n{\"operatorInfo\":{\"operatorId\":0,\"operatorName\":\"" + huge + "\"}}"), []byte("v1\n" + deep(1<<20)),
			[]byte("v1\n{\"operatorInfo\":{\"operatorId\":0,\"operatorName\":\"dedupe\"},\"stateStoreInfo\":[" + strings.TrimSuffix(strings.Repeat(`{"storeName":"a"},`, 100_000), ",") + "]}")},
		"state/0/0/_metadata/schema": {schema(arrays(1 << 18)), schema(deep(1 << 20)), schema(`"` + huge + `"`),
			schema(`{"type":"struct","fields":[` + strings.TrimSuffix(strings.Repeat(`{"name":"a","type":"long"},`, 200_000), ",") + `]}`)},
		"sources/0/0":           {[]byte("v1\n" + huge), []byte("v1\n" + deep(1<<19)), bytes.Repeat([]byte("\n"), 4<<20)},
		"state/0/0/7.delta.crc": {[]byte(deep(1 << 19)), []byte(`{"algorithm":"` + huge + `"}`)},
	} {
		for i, b := range contents {
			t.Run(fmt.Sprint(name, " ", i), func(t *testing.T) {
				r := fixture(t, "4.1.4/ad_billing")
				r.put(name, b)
				r.unsum(name)
				var errs []error
				peak, _ := peakOf(func() error {
					errs = everything(t, r.m)
					return nil
				})
				t.Logf("%d MB of memory, %d errors", peak>>20, len(errs))
				assert.Less(t, peak, uint64(256<<20))
				if len(b) > 8<<20 && !strings.Contains(name, "sources") && !strings.HasSuffix(name, ".crc") {
					require.NotEmpty(t, errs)
					assert.ErrorIs(t, errs[0], statestore.ErrTooLarge)
					assert.ErrorContains(t, errs[0], name)
				}
			})
		}
	}

	// The limit is an option.
	r := fixture(t, "4.1.4/ad_billing")
	errs := everything(t, r.m, checkpoint.WithLimits(checkpoint.Limits{FileBytes: 100}))
	require.NotEmpty(t, errs)
	assert.ErrorIs(t, errs[0], statestore.ErrTooLarge)
	errs = everything(t, r.m, checkpoint.WithLimits(checkpoint.Limits{RowBytes: 16}))
	require.NotEmpty(t, errs)
	assert.ErrorIs(t, errs[0], statestore.ErrTooLarge)
	errs = everything(t, r.m, checkpoint.WithLimits(checkpoint.Limits{BlockBytes: 16}))
	require.NotEmpty(t, errs)
	assert.ErrorIs(t, errs[0], statestore.ErrTooLarge)
}

// What a file names is a file of the checkpoint, and of its own directory.
func TestRecordedPathsDoNotLeadOut(t *testing.T) {
	for _, name := range []string{"..", "../1", "../../../../secret", "a/b", "/etc", ".", ""} {
		r := fixture(t, "4.1.4/ad_billing")
		r.put("state/0/_metadata/metadata", fmt.Appendf(nil, "v1\n{\"operatorInfo\":{\"operatorId\":0,\"operatorName\":\"dedupe\"},\"stateStoreInfo\":[{\"storeName\":%q,\"numColsPrefixKey\":0,\"numPartitions\":4}]}", name))
		r.unsum("state/0/_metadata/metadata")
		op, err := r.open().Operator(0)
		require.NoError(t, err)
		assert.ErrorIs(t, op.Err(), statestore.ErrCorrupt, name)
	}
	// And neither does an offset log's name for a source.
	r := fixture(t, "4.1.4/ad_billing")
	moved := fstest.MapFS{}
	for n, f := range r.m {
		moved["ck/"+n] = f
	}
	moved["state/0/9"] = &fstest.MapFile{Data: []byte("v1")}
	for b := range 7 {
		name := fmt.Sprintf("offsets/%d", b)
		text := strings.Replace(string(r.get(name)), "v1\n", "v2\n", 1)
		i := strings.LastIndex(text, "\n")
		r.put(name, []byte(text[:i+1]+"../../state/0:"+text[i+1:]))
		r.unsum(name)
		moved["ck/"+name] = r.m[name]
		delete(moved, fmt.Sprintf("ck/offsets/.%d.crc", b))
	}
	for _, p := range []string{"5.delta", "6.delta", "6.snapshot", "7.delta"} {
		delete(moved, "ck/state/0/2/"+p)
	}
	cp, err := checkpoint.OpenFS(moved, "ck")
	require.NoError(t, err)
	report, err := cp.Check(context.Background(), checkpoint.QuickCheck)
	require.NoError(t, err)
	back := report.Answers[checkpoint.Spark41].Back
	require.NotNil(t, back)
	assert.Empty(t, back.Sources)
	_, err = checkpoint.OpenFS(moved, "ck/../state")
	assert.ErrorIs(t, err, fs.ErrInvalid)
}

package checkpoint_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore"
)

func fileLine(path string, batch int) string {
	return fmt.Sprintf(`{"path":%q,"timestamp":%d,"batchId":%d}`, path, 1480730949000+int64(batch), batch)
}

func fileLog(lines ...string) string { return "v1\n" + strings.Join(lines, "\n") }

// read collects what Files yields, errors included.
func read(l *checkpoint.SourceLog) (paths []string, errs []error) {
	for f, err := range l.Files(context.Background()) {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		paths = append(paths, f.Path)
	}
	return paths, errs
}

func TestFilesOfCompactedLog(t *testing.T) {
	files := map[string]string{
		"offsets/0": "v1\n{}\n{\"logOffset\":0}",
		// Old files stay for a while.
		"sources/0/3":         fileLog(fileLine("file:///in/3", 3)),
		"sources/0/4.compact": fileLog(fileLine("file:///in/0", 0), fileLine("file:///in/3", 3), fileLine("file:///in/4", 4)),
		"sources/0/8":         fileLog(fileLine("file:///in/8", 8)),
		"sources/0/9.compact": fileLog(fileLine("file:///in/0", 0), fileLine("s3a://b/a%20b/%C3%A9+%25.csv", 1), fileLine("file:///100%", 9)) + "\n",
		"sources/0/10":        fileLog(fileLine("file:///in/10", 10), fileLine("file:///in/10b", 10)),
		"sources/0/11":        "v1",
		"sources/0/.11.crc":   "not a sidecar",
		"sources/0/12.tmp":    "", "sources/0/x.compact": "", "sources/0/013": "",
	}
	cp := logFiles(t, files)
	logs, err := cp.SourceLogs()
	require.NoError(t, err)
	require.Len(t, logs, 1)
	l := logs[0]
	assert.Equal(t, "0", l.Name())
	paths, errs := read(l)
	assert.Empty(t, errs)
	assert.Equal(t, []string{"file:///in/0", "s3a://b/a b/é+%.csv", "file:///100%", "file:///in/10", "file:///in/10b"}, paths)
	batch, interval := l.Compact()
	assert.EqualValues(t, 9, batch)
	assert.EqualValues(t, 5, interval)
	for f, err := range l.Files(context.Background()) {
		require.NoError(t, err)
		assert.Equal(t, checkpoint.SourceFile{Path: "file:///in/0", Raw: "file:///in/0", TimestampMs: 1480730949000}, f)
		break
	}

	// A file that cannot be read, and one that is not there, cost themselves.
	files["sources/0/10"] = fileLog(fileLine("file:///in/10", 10), `{"path":"file:///in/10`)
	delete(files, "sources/0/11")
	files["sources/0/14"] = fileLog(fileLine("file:///in/14", 14))
	logs, err = logFiles(t, files).SourceLogs()
	require.NoError(t, err)
	paths, errs = read(logs[0])
	assert.Equal(t, []string{"file:///in/0", "s3a://b/a b/é+%.csv", "file:///100%", "file:///in/10", "file:///in/14"}, paths)
	require.Len(t, errs, 2)
	assert.ErrorIs(t, errs[0], statestore.ErrCorrupt)
	assert.ErrorContains(t, errs[0], "sources/0/10: at byte 67: line 3")
	assert.ErrorIs(t, errs[1], statestore.ErrMissing)
	assert.ErrorContains(t, errs[1], "batches 11 to 13")

	// Without a compact file the log starts with 0.
	delete(files, "sources/0/9.compact")
	delete(files, "sources/0/4.compact")
	logs, err = logFiles(t, map[string]string{"offsets/0": "v1\n{}\n", "sources/0/1": fileLog(fileLine("a", 1))}).SourceLogs()
	require.NoError(t, err)
	paths, errs = read(logs[0])
	assert.Equal(t, []string{"a"}, paths)
	require.Len(t, errs, 1)
	assert.ErrorContains(t, errs[0], "batch 0 of the log")
	batch, interval = logs[0].Compact()
	assert.EqualValues(t, -1, batch)
	assert.Zero(t, interval)
}

func TestParseSourceFiles(t *testing.T) {
	parse := func(r io.Reader) (n int, err error) {
		for _, err := range checkpoint.ParseSourceFiles(r) {
			if err != nil {
				return n, err
			}
			n++
		}
		return n, nil
	}
	a, b := fileLine("a", 0), fileLine("b", 1)
	long := fileLine(strings.Repeat("x", 1<<20), 0)
	for _, c := range []struct {
		name string
		text string
		n    int
		err  error
		says string
	}{
		{name: "two files", text: fileLog(a, b), n: 2},
		{name: "none", text: "v1"},
		{name: "Java's other line ends, an empty line", text: "v1\r\n" + a + "\r\r\n" + b + "\n\n", n: 2},
		{name: "unknown fields", text: fileLog(`{"path":"a","timestamp":1,"batchId":0,"etag":[1]}`), n: 1},
		{name: "a long path", text: fileLog(fileLine(strings.Repeat("x", 1<<19), 0)), n: 1},
		{name: "empty", err: statestore.ErrTruncated},
		{name: "a later version", text: "v2\n" + a, err: statestore.ErrUnsupported},
		{name: "no version", text: "1\n" + a, err: statestore.ErrCorrupt},
		{name: "cut", text: fileLog(a, b[:20]), n: 1, err: statestore.ErrCorrupt, says: "at byte 54: line 3"},
		{name: "a number too large", text: fileLog(`{"path":"a","timestamp":9223372036854775808}`), err: statestore.ErrCorrupt, says: "line 2"},
		{name: "no path", text: fileLog(a, "{}"), n: 1, err: statestore.ErrCorrupt, says: "line 3 names no path"},
		{name: "too long a line", text: fileLog(a, long, b), n: 1, err: statestore.ErrTooLarge, says: "at byte 54: line 3"},
		{name: "rate", text: "v1\n1480730949000", err: statestore.ErrUnsupported},
		{name: "Kafka", text: "\x00v1\n" + `{"t":{"0":5}}`, err: statestore.ErrUnsupported},
		{name: "Kafka, 2.1.0", text: "\x0d" + `{"t":{"0":5}}`, err: statestore.ErrUnsupported},
		{name: "another source", text: "v1\n" + `{"t":{"0":5}}`, err: statestore.ErrUnsupported},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(c.text), iotest.HalfReader(strings.NewReader(c.text)), iotest.DataErrReader(strings.NewReader(c.text))} {
				n, err := parse(r)
				assert.Equal(t, c.n, n)
				if c.err == nil {
					assert.NoError(t, err)
					continue
				}
				var fe *statestore.FileError
				require.ErrorAs(t, err, &fe)
				assert.ErrorIs(t, err, c.err)
				assert.ErrorContains(t, err, c.says)
			}
		})
	}
	broken := errors.New("broken")
	_, err := parse(io.MultiReader(strings.NewReader("v1\n"), iotest.ErrReader(broken)))
	assert.ErrorIs(t, err, broken)
	_, err = parse(iotest.ErrReader(broken))
	assert.ErrorIs(t, err, broken)
}

func TestSourceStart(t *testing.T) {
	kafka := `{"kafka-initial-offset-2-1-0":{"2":2,"1":1,"0":0}}`
	want := []checkpoint.TopicOffset{topic("kafka-initial-offset-2-1-0", 0, 0), topic("kafka-initial-offset-2-1-0", 1, 1), topic("kafka-initial-offset-2-1-0", 2, 2)}
	for name, text := range map[string]string{
		"Kafka":              "\x00v1\n" + kafka,
		"Kafka, 2.1.0":       "2" + kafka + "\n", // 50 bytes, and '2' is 50
		"without the byte":   "v1\n" + kafka,
		"nothing but JSON":   kafka,
		"the length is a v":  "v" + kafka,
		"the length is a {":  "{" + kafka,
		"another line's end": "\x00v1\r\n" + kafka + "\r\n",
	} {
		o, err := checkpoint.ParseSourceStart([]byte(text))
		require.NoError(t, err, name)
		assert.Equal(t, checkpoint.KafkaOffset, o.Kind, name)
		assert.Equal(t, want, o.Partitions, name)
	}
	o, err := checkpoint.ParseSourceStart([]byte("v1\n1480730949000"))
	require.NoError(t, err)
	assert.Equal(t, checkpoint.Offset{Kind: checkpoint.NumberOffset, Raw: "1480730949000", Number: 1480730949000}, o)
	o, err = checkpoint.ParseSourceStart([]byte(fileLog(fileLine("a", 0), fileLine("b", 0))))
	require.NoError(t, err)
	assert.Equal(t, checkpoint.OtherOffset, o.Kind)

	for text, kind := range map[string]error{"": statestore.ErrTruncated, "\x00": statestore.ErrCorrupt, "\x00v2\n{}": statestore.ErrUnsupported, "5": statestore.ErrCorrupt} {
		_, err := checkpoint.ParseSourceStart([]byte(text))
		assert.ErrorIs(t, err, kind, "%q", text)
	}
}

// Which directory belongs to a line of the offset log, and when that cannot be
// told.
func TestSourceLogOfLine(t *testing.T) {
	v1 := func(n int) *checkpoint.OffsetLog {
		return &checkpoint.OffsetLog{Version: 1, Sources: make([]checkpoint.SourceOffset, n)}
	}
	v2 := &checkpoint.OffsetLog{Version: 2, Sources: make([]checkpoint.SourceOffset, 9)}
	for _, c := range []struct {
		name string
		dirs []string
		log  *checkpoint.OffsetLog
		id   string
		ok   bool
	}{
		{"one", []string{"0"}, v1(1), "0", true},
		{"two", []string{"0", "1"}, v1(2), "1", true},
		{"a memory source has none", []string{"1"}, v1(2), "1", true},
		{"and is asked for", []string{"1"}, v1(2), "0", false},
		{"a self-join, then another: the first", []string{"0", "1"}, v1(3), "0", true},
		{"a self-join, then another: its second line", []string{"0", "1"}, v1(3), "1", false},
		{"by name", []string{"clicks", "0"}, v2, "clicks", true},
		{"no such name", []string{"clicks"}, v2, "..", false},
		{"no directories", nil, v1(1), "0", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := map[string]string{}
			for _, d := range c.dirs {
				files["sources/"+d+"/0"] = "v1\n5"
			}
			l, err := logFiles(t, files).SourceLog(c.log, c.id)
			if !c.ok {
				assert.ErrorIs(t, err, checkpoint.ErrNotFound)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.id, l.Name())
			o, err := l.Start()
			require.NoError(t, err)
			assert.EqualValues(t, 5, o.Number)
		})
	}
	files := map[string]string{"sources/file": "", "sources/.hidden/0": ""}
	for _, d := range []string{"10", "9", "b", "a"} {
		files["sources/"+d+"/1"] = ""
	}
	logs, err := logFiles(t, files).SourceLogs()
	require.NoError(t, err)
	var names []string
	for _, l := range logs {
		names = append(names, l.Name())
		_, err := l.Start()
		assert.ErrorIs(t, err, fs.ErrNotExist)
	}
	assert.Equal(t, []string{"9", "10", "a", "b"}, names)

	// A part of a checkpoint has no logs.
	part, err := checkpoint.OpenFS(fstest.MapFS{"0/0/1.delta": {}}, ".")
	require.NoError(t, err)
	logs, err = part.SourceLogs()
	require.NoError(t, err)
	assert.Empty(t, logs)
	assert.Empty(t, history(t, part))
}

// A log that does not match its sidecar is read with a warning.
func TestSourceLogSidecars(t *testing.T) {
	text := fileLog(fileLine("a", 0))
	sum := crc32.ChecksumIEEE([]byte(text))
	crc := "crc\x00\x00\x00\x02\x00" + string([]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
	for _, c := range []struct {
		name, crc string
		warns     error
		opts      []checkpoint.OpenOption
	}{
		{name: "match", crc: crc},
		{name: "mismatch", crc: crc[:11] + "\x00", warns: statestore.ErrChecksum},
		{name: "not a sidecar", crc: "crd", warns: statestore.ErrCorrupt},
		{name: "too large", crc: crc + strings.Repeat("x", 100), warns: statestore.ErrTooLarge},
		{name: "ignored", crc: crc[:11] + "\x00", opts: []checkpoint.OpenOption{checkpoint.IgnoreSidecars()}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var warned []error
			opts := append(c.opts, checkpoint.OnWarning(func(err error) { warned = append(warned, err) }))
			logs, err := logFiles(t, map[string]string{"sources/0/0": text, "sources/0/.0.crc": c.crc}, opts...).SourceLogs()
			require.NoError(t, err)
			paths, errs := read(logs[0])
			assert.Equal(t, []string{"a"}, paths)
			assert.Empty(t, errs)
			if c.warns == nil {
				assert.Empty(t, warned)
				return
			}
			require.Len(t, warned, 1)
			assert.ErrorIs(t, warned[0], c.warns)
		})
	}
}

func TestFilesStopWithContext(t *testing.T) {
	logs, err := logFiles(t, map[string]string{"sources/0/0": fileLog(fileLine("a", 0), fileLine("b", 0)), "sources/0/1": fileLog(fileLine("c", 1))}).SourceLogs()
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	n := 0
	for _, err := range logs[0].Files(ctx) {
		if n++; n == 2 {
			assert.ErrorIs(t, err, context.Canceled)
		}
		cancel()
	}
	assert.Equal(t, 2, n)
}

// Every file that Spark noted comes out, with the numbers that the offset log
// has; the evicted case has a compact file.
func TestFilesOfRealCheckpoints(t *testing.T) {
	logs, compact, files := 0, 0, 0
	for _, dir := range realCheckpoints(t) {
		cp, err := checkpoint.Open(dir, checkpoint.OnWarning(func(err error) { // Spark's fixtures have two logs edited by hand
			assert.Contains(t, filepath.ToSlash(dir), "/golden/", "%v", err)
		}))
		require.NoError(t, err)
		defer cp.Close()
		ls, err := cp.SourceLogs()
		require.NoError(t, err)
		for _, l := range ls {
			logs++
			if b, _ := l.Compact(); b >= 0 {
				compact++
				assert.EqualValues(t, 9, b)
			}
			next := int64(0)
			for f, err := range l.Files(context.Background()) {
				require.NoError(t, err, dir)
				assert.True(t, strings.HasPrefix(f.Path, "file:///"), f.Path)
				assert.Equal(t, next, f.LogBatch, "%s: one file a batch", dir)
				next++
				files++
			}
			planned, _ := cp.Batches()
			o, err := cp.OffsetLog(planned[len(planned)-1])
			require.NoError(t, err)
			for _, s := range o.Sources {
				if s.ID == l.Name() {
					assert.Equal(t, next-1, s.Parse().Number, dir)
				}
			}
		}
	}
	t.Logf("%d logs, %d of them compacted, %d files", logs, compact, files)
}

func FuzzSourceFiles(f *testing.F) {
	f.Add([]byte(fileLog(fileLine("file:///a%20b", 0), fileLine("b", 1))))
	f.Add([]byte("\x00v1\n{\"t\":{\"0\":5}}"))
	f.Add([]byte("v1\n1480730949000"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var fe *statestore.FileError
		if _, err := checkpoint.ParseSourceStart(b); err != nil {
			require.ErrorAs(t, err, &fe)
		}
		n := 0
		for f, err := range checkpoint.ParseSourceFiles(bytes.NewReader(b)) {
			if err != nil {
				require.ErrorAs(t, err, &fe)
				require.LessOrEqual(t, fe.Offset, int64(len(b)))
				continue
			}
			require.NotEmpty(t, f.Raw)
			n++
		}
		require.LessOrEqual(t, n, bytes.Count(b, []byte("{")))
	})
}

func BenchmarkSourceFiles(b *testing.B) {
	var lines []string
	for i := range 100_000 {
		lines = append(lines, fileLine(fmt.Sprintf("s3a://bucket/clicks/date=2026-01-05/part-%05d.snappy.parquet", i), i))
	}
	text := []byte(fileLog(lines...))
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range checkpoint.ParseSourceFiles(bytes.NewReader(text)) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

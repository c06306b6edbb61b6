package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
)

// reportOf runs the verb and parses the page.
func reportOf(t *testing.T, ckpt string, flags ...string) *html.Node {
	t.Helper()
	code, out, errs := sparkstate(append([]string{"report", ckpt, "-o", "-"}, flags...)...)
	require.Zero(t, code, errs)
	doc, err := html.Parse(strings.NewReader(out))
	require.NoError(t, err)
	return doc
}

// elements returns those of a name.
func elements(n *html.Node, name string) []*html.Node {
	var out []*html.Node
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && d.Data == name {
			out = append(out, d)
		}
	}
	return out
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// words returns the text of an element as one line, without style sheets.
func words(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode && d.Parent.Data != "style" {
			b.WriteString(d.Data + " ")
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// line returns the words of the first table row that begins like this.
func line(t *testing.T, doc *html.Node, region, first string) string {
	t.Helper()
	for _, d := range elements(doc, "div") {
		if attribute(d, "role") != "region" || attribute(d, "aria-label") != region {
			continue
		}
		for _, tr := range elements(d, "tr") {
			if w := words(tr); w == first || strings.HasPrefix(w, first+" ") {
				return w
			}
		}
	}
	require.Failf(t, "no such line", "%s: %s", region, first)
	return ""
}

// What every page keeps to, whatever is in it.
func assertSound(t *testing.T, doc *html.Node) {
	t.Helper()
	known := []string{"html", "head", "meta", "title", "style", "body", "a", "header", "nav", "main", "section", "article", "h1", "h2", "h3", "h4", "p", "ul", "li",
		"dl", "dt", "dd", "div", "span", "strong", "small", "code", "bdi", "figure", "figcaption", "details", "summary",
		"table", "caption", "thead", "tbody", "tr", "th", "td", "svg", "path", "rect"}
	ids := make(map[string]bool)
	for d := range doc.Descendants() {
		if d.Type == html.CommentNode {
			assert.Fail(t, "a comment", d.Data)
		}
		if d.Type != html.ElementNode {
			continue
		}
		assert.Contains(t, known, d.Data)
		for _, a := range d.Attr {
			assert.False(t, strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "src", a.Key)
		}
		if id := attribute(d, "id"); id != "" {
			assert.False(t, ids[id], "twice: %s", id)
			ids[id] = true
		}
	}
	for _, a := range elements(doc, "a") {
		target, inside := strings.CutPrefix(attribute(a, "href"), "#")
		assert.True(t, inside && ids[target], attribute(a, "href"))
	}
	for _, svg := range elements(doc, "svg") {
		assert.True(t, attribute(svg, "aria-hidden") == "true" || attribute(svg, "role") == "img" && attribute(svg, "aria-label") != "", "a picture without words")
	}
	for _, fig := range elements(doc, "figure") {
		assert.Len(t, elements(fig, "figcaption"), 1)
	}
	for _, d := range elements(doc, "details") {
		assert.NotEmpty(t, elements(d, "table"))
	}
	for _, th := range elements(doc, "th") {
		assert.NotEmpty(t, attribute(th, "scope"))
	}
	var policy string
	for _, m := range elements(doc, "meta") {
		if attribute(m, "http-equiv") == "Content-Security-Policy" {
			policy = attribute(m, "content")
		}
	}
	assert.Contains(t, policy, "default-src 'none'; style-src 'sha256-")
	assert.Equal(t, "en", attribute(elements(doc, "html")[0], "lang"))
	assert.Len(t, elements(doc, "main"), 1)
	for _, p := range elements(doc, "path") {
		assert.NotContains(t, attribute(p, "d"), "N")
	}
}

// The numbers of the page are those of the other verbs.
func TestReport(t *testing.T) {
	doc := reportOf(t, adBilling)
	assertSound(t, doc)
	text := words(doc)
	for _, says := range []string{
		"The query restarts as it is, from the state of batch 6.",
		"2e457384-811d-4474-8099-4d705067ae12", "4.0 or later", "HDFSBackedStateStoreProvider", "Nothing was found.",
		"keeps every key for ever", "dropDuplicatesWithinWatermark", "adviser_hot",
	} {
		assert.Contains(t, text, says)
	}
	assert.Equal(t, "Operator 1 (dedupe) even 6 4 714 714 39.0 KiB 11.2 KiB 36 25.6 KiB", line(t, doc, "Size of each store", "Operator 1 (dedupe)"))
	assert.Equal(t, "Spark before 4.1 ✓ yes 6", line(t, doc, "Who can start from it", "Spark before 4.1"))
	assert.Equal(t, "2 11 12 18 19 7 12 5", line(t, doc, "Rows by partition and batch", "2"), "partition 2 of operator 0 after each batch")
	assert.Equal(t, "4 now 14 1.4 1.1 % 0", line(t, doc, "Other numbers of partitions", "4 now"))
}

// A skewed join: each store has a section, and the hot key is named.
func TestReportOfJoin(t *testing.T) {
	doc := reportOf(t, root+"/testdata/4.3.0/join_skewed.zip")
	assertSound(t, doc)
	var titles []string
	for _, h := range elements(doc, "h2") {
		titles = append(titles, words(h))
	}
	for _, store := range []string{"left-keyToNumValues", "left-keyWithIndexToValue", "right-keyToNumValues", "right-keyWithIndexToValue"} {
		assert.Contains(t, titles, "Operator 0 (symmetricHashJoin) / "+store)
	}
	assert.Equal(t, `{"field0":"ad_hot"} 218 60.6 % 11 100.0 %`, line(t, doc, "Largest keys", `{"field0":"ad_hot"}`))
	assert.Contains(t, words(doc), "4.2 or later (inferred: the conf of batch 2 has spark.sql.streaming.stateStore.rowChecksum.enabled)")
	one := reportOf(t, root+"/testdata/4.3.0/join_skewed.zip", "--store", "left-keyWithIndexToValue", "--batches", "2", "--what-if", "7")
	assert.NotContains(t, words(one), "right-keyToNumValues / ")
	assert.Contains(t, line(t, one, "Rows by partition and batch", "11 hot"), "11 hot ")
	assert.NotEmpty(t, line(t, one, "Other numbers of partitions", "7"))
}

// Damage in one part costs that part, which the page names, and no more.
func TestReportOfDamage(t *testing.T) {
	truncated := func(b []byte) []byte { return b[:len(b)/2] }
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, dir string)
		says   []string
	}{
		{"a delta", func(t *testing.T, dir string) { edit(t, filepath.Join(dir, "state/1/2/7.delta"), truncated) },
			[]string{"does not restart as it is. Batch 5 is the newest", "sizes and skew after batch 6: it cannot be read in every partition, so they are those after batch 5",
				"1 partition lost something", "a state file ends too early", "What to do:", "Spark before 4.1; Spark 4.1; Spark 4.2 and later; this library: state/1/2/7.delta"}},
		{"a snapshot", func(t *testing.T, dir string) { edit(t, filepath.Join(dir, "state/1/2/6.snapshot"), truncated) },
			[]string{"restarts as it is with some versions of Spark only: Spark 4.2 and later.", "a damaged snapshot that can be done without"}},
		{"operator metadata", func(t *testing.T, dir string) {
			edit(t, filepath.Join(dir, "state/1/_metadata/metadata"), truncated)
			removeSidecars(t, dir, "state/1/_metadata/metadata")
		}, []string{"What could not be looked at", "state/1/_metadata/metadata", "Operator 0 (stateStoreSave)"}},
		{"a schema", func(t *testing.T, dir string) {
			edit(t, filepath.Join(dir, "state/1/0/_metadata/schema"), truncated)
		}, []string{"Not computed", "the schema: ", "state/1/0/_metadata/schema", "Operator 1 (dedupe)"}},
		{"the query's id", func(t *testing.T, dir string) {
			edit(t, filepath.Join(dir, "metadata"), func([]byte) []byte { return []byte("{") })
			removeSidecars(t, dir, "metadata")
		}, []string{"What could not be looked at", "metadata", "Operator 1 (dedupe)"}},
		{"a partition's directory", func(t *testing.T, dir string) { require.NoError(t, os.RemoveAll(filepath.Join(dir, "state/0/3"))) },
			[]string{"Operator 1 (dedupe)", "Operator 0 (stateStoreSave)"}},
		{"all of a store", func(t *testing.T, dir string) {
			for _, p := range []string{"0", "1", "2", "3"} {
				files, err := filepath.Glob(filepath.Join(dir, "state/1", p, "[0-9]*"))
				require.NoError(t, err)
				for _, d := range files {
					edit(t, d, truncated)
				}
			}
		}, []string{"sizes and skew: no batch can be read in every partition", "Operator 0 (stateStoreSave)"}},
		{"the logs", func(t *testing.T, dir string) {
			require.NoError(t, os.RemoveAll(filepath.Join(dir, "commits")))
			require.NoError(t, os.RemoveAll(filepath.Join(dir, "offsets")))
		}, []string{"Operator 1 (dedupe)", "4.0 or later (inferred: operators have metadata)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := copyOf(t, adBilling)
			c.damage(t, dir)
			doc := reportOf(t, dir)
			assertSound(t, doc)
			for _, says := range c.says {
				assert.Contains(t, words(doc), says)
			}
		})
	}
}

// Every fixture has a report, a part of a checkpoint too.
func TestReportOfEverything(t *testing.T) {
	all, err := filepath.Glob(root + "/testdata/*/*.zip")
	require.NoError(t, err)
	require.NotEmpty(t, all)
	all = append(all, adBilling+"/state", adBilling+"/state/1", adBilling+"/state/1/2")
	for _, ckpt := range all {
		doc := reportOf(t, ckpt)
		assertSound(t, doc)
		assert.NotContains(t, words(doc), "What could not be looked at", ckpt)
	}
}

// State that is not read yet is named, and nothing is claimed of it.
func TestReportOfRocksDB(t *testing.T) {
	doc := reportOf(t, root+"/testdata/4.1.4/rocksdb_agg.zip")
	assertSound(t, doc)
	assert.Contains(t, words(doc), "written by RocksDBStateStoreProvider, which is not read yet")
	assert.NotContains(t, words(doc), "restarts as it is")
}

// Keys are shown as text, whatever they are.
func TestReportOfHostileKeys(t *testing.T) {
	doc := reportOf(t, sessions(t, 4, 2, 20, 30))
	assertSound(t, doc)
	var keys []string
	for _, td := range elements(doc, "td") {
		if attribute(td, "class") == "key" {
			keys = append(keys, words(td))
		}
	}
	for _, key := range []string{
		`{"user":"<script>alert(1)</script>"}`,
		`{"user":"\"></td><img src=x onerror=alert(1)>"}`,
		`"</style><style>*{display:none}"`,
		"\"{{.}} <!-- ` ${1} & &amp; ' \\\"\"",
		`"right\u202eto left\u2066 isolated \u200b\u0000\u001b[31m"`,
		"\"not UTF-8: \ufffd\ufffd\ufffd(\"",
		`"שלום عليكم"`,
	} {
		assert.Contains(t, keys, key)
	}
	long := slices.IndexFunc(keys, func(k string) bool { return strings.HasPrefix(k, `"long long`) })
	require.GreaterOrEqual(t, long, 0)
	assert.Less(t, len(keys[long]), 300)
	assert.Contains(t, keys[long], "… (1,048,577 bytes in all)")
}

// The page is there whole or not at all, and never within the checkpoint.
func TestReportFile(t *testing.T) {
	dir := t.TempDir()
	page := filepath.Join(dir, "report.html")
	code, out, errs := sparkstate("report", adBilling, "-o", page)
	require.Zero(t, code, errs)
	assert.Empty(t, out)
	first, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.Contains(t, string(first), "</html>")

	require.NoError(t, os.Chmod(page, 0o600))
	code, _, errs = sparkstate("report", adBilling, "-o", page)
	require.Zero(t, code, errs)
	st, err := os.Stat(page)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), st.Mode().Perm(), "a file that is replaced keeps its permissions")

	// A page that cannot be made leaves the one before, and nothing beside it.
	code, _, _ = sparkstate("report", filepath.Join(adBilling, "sources"), "-o", page)
	assert.Equal(t, exitInput, code)
	again, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.Len(t, again, len(first))
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, files, 1)

	if _, err := os.Stat("/dev/full"); err == nil {
		code, _, errs = sparkstate("report", adBilling, "-o", "/dev/full")
		assert.Equal(t, exitOutput, code, errs)
	}

	ckpt := copyOf(t, adBilling)
	linked := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink(filepath.Join(ckpt, "state"), linked))
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{nil, exitUsage, "-o report.html"},
		{[]string{"-o", filepath.Join(ckpt, "report.html")}, exitUsage, "is in the checkpoint"},
		{[]string{"-o", filepath.Join(ckpt, "state", "report.html")}, exitUsage, "is in the checkpoint"},
		{[]string{"-o", filepath.Join(linked, "report.html")}, exitUsage, "is in the checkpoint"},
		{[]string{"-o", dir}, exitUsage, "is a directory"},
		{[]string{"-o", filepath.Join(dir, "none", "report.html")}, exitOutput, "no such file or directory"},
		{[]string{"-o", page, "--batches", "0"}, exitUsage, "--batches 0"},
		{[]string{"-o", page, "--batches", "121"}, exitUsage, "between 1 and 120"},
		{[]string{"-o", page, "--top", "0"}, exitUsage, "--top 0"},
		{[]string{"-o", page, "--what-if", "0"}, exitUsage, "--what-if 0"},
		{[]string{"-o", page, "--rule", "guess"}, exitUsage, "--rule"},
		{[]string{"-o", page, "--level", "some"}, exitUsage, "--level some"},
		{[]string{"-o", page, "--operator", "9"}, exitUsage, "9"},
	} {
		code, _, errs := sparkstate(append([]string{"report", ckpt}, c.args...)...)
		assert.Equal(t, c.code, code, "%v: %s", c.args, errs)
		assert.Contains(t, errs, c.says)
	}
}

// Numbers are grouped in words as they are in tables.
func TestReportGroupsNumbers(t *testing.T) {
	doc := reportOf(t, sessions(t, 1000, 2, 1000, 1))
	for _, says := range []string{"1,000 partitions (recorded)", ": 2,000 files, "} {
		assert.Contains(t, words(doc), says)
	}
}

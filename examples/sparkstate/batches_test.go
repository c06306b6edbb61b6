package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// write makes a directory of files given as path and content.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	return dir
}

// clicks is a query from Kafka that has seen better days: partition 1 stands
// still, 3 comes and goes, 2 starts anew, batches are missing and one commit is
// damaged.
func clicks(t *testing.T) string {
	files := map[string]string{"sources/0/0": "\x00v1\n" + `{"clicks":{"0":100,"1":100,"2":100}}`}
	for _, b := range []struct {
		id, partitions int
		offsets        string
	}{
		{0, 5, `{"clicks":{"0":150,"1":100,"2":160}}`},
		{1, 5, `{"clicks":{"0":250,"1":100,"2":260}}`},
		{2, 5, `{"clicks":{"0":350,"1":100,"2":9007199254740993}}`},
		{3, 8, `{"clicks":{"0":360,"1":100,"2":9007199254740994,"3":40}}`},
		{6, 8, `{"clicks":{"0":460,"1":100,"2":4}}`},
		{7, 8, `{"clicks":{"0":500,"1":100,"2":70}}`},
	} {
		ms := 1767600000000 + int64(b.id)*60_000
		files[fmt.Sprintf("offsets/%d", b.id)] = fmt.Sprintf("v1\n"+
			`{"batchWatermarkMs":%d,"batchTimestampMs":%d,"conf":{"spark.sql.shuffle.partitions":"%d","spark.sql.streaming.multipleWatermarkPolicy":"min"}}`+"\n%s",
			ms-60_000, ms+500, b.partitions, b.offsets)
		files[fmt.Sprintf("commits/%d", b.id)] = fmt.Sprintf("v1\n"+`{"nextBatchWatermarkMs":%d}`, ms)
	}
	delete(files, "commits/2")
	files["commits/7"] = "garbage"
	return write(t, files)
}

func TestBatchesTable(t *testing.T) {
	dir := clicks(t)
	code, out, errs := sparkstate("batches", dir)
	assert.Equal(t, exitInput, code)
	want := `
batch_id  planned               committed   watermark             nextWatermark         sources                         note
       0  2026-01-05 08:00:00Z  yes         2026-01-05 07:59:00Z  2026-01-05 08:00:00Z  kafka 110 records
       1  2026-01-05 08:01:00Z  yes         2026-01-05 08:00:00Z  2026-01-05 08:01:00Z  kafka 200 records
       2  2026-01-05 08:02:00Z  no          2026-01-05 08:01:00Z  –                     kafka 9007199254740833 records  no commit
       3  2026-01-05 08:03:00Z  yes         2026-01-05 08:02:00Z  2026-01-05 08:03:00Z  kafka 11 or more records        shuffle.partitions: 5 → 8; new: clicks 3
       6  2026-01-05 08:06:00Z  yes         2026-01-05 08:05:00Z  2026-01-05 08:06:00Z  kafka 100 or more records       batches 4-5 are in neither log; backwards: clicks 2; gone: clicks 3
       7  2026-01-05 08:07:00Z  unreadable  2026-01-05 08:06:00Z  –                     kafka 106 records               stand still: clicks 1
`
	assert.Equal(t, want[1:], out)
	assert.Contains(t, errs, "note: offsets/ has holes: 4-5\n")
	assert.Contains(t, errs, "note: commits/ has holes: 2, 4-5\n")
	assert.Contains(t, errs, "sparkstate: commits/7: ")

	code, out, errs = sparkstate("batches", dir, "--from", "2", "--to", "3", "--still", "4")
	assert.Equal(t, exitOK, code, errs)
	assert.Equal(t, 3, strings.Count(out, "\n"))
	assert.Contains(t, out, "stand still: clicks 1")
	_, out, _ = sparkstate("batches", dir, "--from", "2", "--to", "3", "--still", "5")
	assert.NotContains(t, out, "stand still")
}

// What every run of Spark looks like fits a terminal.
func TestBatchesTableIsNarrow(t *testing.T) {
	for _, args := range [][]string{{}, {"--sources"}, {"--conf"}, {"--files"}} {
		code, out, errs := sparkstate(append([]string{"batches", adBilling}, args...)...)
		require.Zero(t, code, errs)
		for line := range strings.Lines(out) {
			assert.LessOrEqual(t, utf8.RuneCountInString(line), 121, "%v", args)
		}
		assert.GreaterOrEqual(t, strings.Count(out, "\n"), 7, "%v", args)
	}
}

// rowsOf decodes JSON lines, with their numbers as text.
func rowsOf(t *testing.T, out string) []map[string]any {
	t.Helper()
	var rows []map[string]any
	d := json.NewDecoder(strings.NewReader(out))
	d.UseNumber()
	for d.More() {
		var row map[string]any
		require.NoError(t, d.Decode(&row))
		rows = append(rows, row)
	}
	return rows
}

func TestBatchesForPrograms(t *testing.T) {
	dir := clicks(t)
	code, out, _ := sparkstate("batches", dir, "--format", "json", "--from", "2")
	assert.Equal(t, exitInput, code)
	var doc struct {
		SchemaVersion    int               `json:"schemaVersion"`
		Checkpoint       string            `json:"checkpoint"`
		Batch            int               `json:"batch"`
		MissingOffsets   string            `json:"missingOffsets"`
		MissingCommits   string            `json:"missingCommits"`
		UnplannedCommits string            `json:"unplannedCommits"`
		Rows             []json.RawMessage `json:"rows"`
	}
	require.NoError(t, json.Unmarshal([]byte(out), &doc))
	assert.Equal(t, 1, doc.SchemaVersion)
	assert.Equal(t, dir, doc.Checkpoint)
	assert.Equal(t, 7, doc.Batch)
	assert.Equal(t, "4-5", doc.MissingOffsets)
	assert.Equal(t, "2, 4-5", doc.MissingCommits)
	assert.Empty(t, doc.UnplannedCommits)
	require.Len(t, doc.Rows, 4)
	assert.JSONEq(t, `{"batch_id":3,"planned":true,"committed":true,"timestampMs":1767600180500,"watermarkMs":1767600120000,
		"nextWatermarkMs":1767600180000,"nextWatermarkFrom":"recorded","records":null,
		"sources":[{"source":"0","kind":"kafka","change":"moved","offset":{"clicks":{"0":360,"1":100,"2":9007199254740994,"3":40}},
			"moved":null,"records":null,"still":["clicks-1"],"added":["clicks-3"],"removed":[],"backwards":[]}],
		"confChanges":[{"key":"spark.sql.shuffle.partitions","before":"5","after":"8"}],
		"note":"shuffle.partitions: 5 → 8; new: clicks 3"}`, string(doc.Rows[1]))
	assert.Contains(t, string(doc.Rows[1]), "9007199254740994", "exact")

	_, out, _ = sparkstate("batches", dir, "--format", "jsonl")
	rows := rowsOf(t, out)
	require.Len(t, rows, 6)
	assert.Equal(t, json.Number("110"), rows[0]["records"])
	assert.Nil(t, rows[5]["nextWatermarkMs"])
	assert.Contains(t, rows[5]["note"], "commits/7: ")

	_, out, _ = sparkstate("batches", dir, "--format", "csv")
	lines, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	require.NoError(t, err)
	assert.Equal(t, "batch_id,planned,committed,timestampMs,watermarkMs,nextWatermarkMs,nextWatermarkFrom,records,sources,confChanges,note", strings.Join(lines[0], ","))
	assert.Len(t, lines, 7)
}

func TestBatchesSources(t *testing.T) {
	_, out, _ := sparkstate("batches", clicks(t), "--sources", "--format", "csv", "--from", "3", "--to", "6")
	assert.Equal(t, `batch_id,source,kind,topic,partition,start,end,moved,files,change,idle
3,0,kafka,clicks,0,350,360,10,,moved,0
3,0,kafka,clicks,1,100,100,0,,still,4
3,0,kafka,clicks,2,9007199254740993,9007199254740994,1,,moved,0
3,0,kafka,clicks,3,,40,,,added,0
6,0,kafka,clicks,0,360,460,100,,moved,0
6,0,kafka,clicks,1,100,100,0,,still,5
6,0,kafka,clicks,2,9007199254740994,4,-9007199254740990,,backwards,0
6,0,kafka,clicks,3,40,,,,removed,
`, out)

	delta := func(version int, table string) string {
		return fmt.Sprintf(`{"sourceVersion":1,"reservoirId":%q,"reservoirVersion":%d,"index":-1,"isStartingVersion":false}`, table, version)
	}
	dir := write(t, map[string]string{
		"offsets/0":           "v1\n{}\n" + `{"logOffset":1}` + "\n7\n" + `{"offset":10,"timestamp":1000}` + "\n" + delta(5, "a") + "\n[1]\n-",
		"offsets/1":           "v1\n{}\n" + `{"logOffset":3}` + "\n5\n" + `{"offset":30,"timestamp":3000}` + "\n" + delta(7, "a") + "\nnot JSON\n-",
		"offsets/2":           "v1\n{}\n" + `{"logOffset":3}` + "\n" + `{"logOffset":5}` + "\n-\n" + delta(8, "b") + "\n[2]",
		"sources/0/2.compact": "v1\n" + `{"path":"a","timestamp":1,"batchId":0}` + "\n" + `{"path":"b","timestamp":1,"batchId":0}` + "\n" + `{"path":"c","timestamp":1,"batchId":2}`,
		"sources/0/3":         "v1\n" + `{"path":"d%20e","timestamp":1767600000000,"batchId":3}`,
	})
	code, out, errs := sparkstate("batches", dir, "--sources", "--from", "1")
	assert.Equal(t, exitOK, code, errs)
	assert.Equal(t, `batch_id  source  kind              topic  partition     start       end  moved  files  change     idle
       1  0       file              –              –         1         3      2      2  moved         –
       1  1       number            –              –         7         5     -2      –  backwards     –
       1  2       rate-micro-batch  –              –        10        30     20      –  moved         –
       1  3       delta             –              –      5:-1      7:-1      2      –  moved         –
       1  4       other             –              –       [1]  not JSON      –      –  moved         –
       1  5       none              –              –         –         –      –      –  still         –
       2  0       file              –              –         3         3      0      0  still         –
       2  1       file              –              –         5         5      –      –  replaced      –
       2  2       rate-micro-batch  –              –        30         –      –      –  removed       –
       2  3       delta             –              –      7:-1      8:-1      –      –  replaced      –
       2  4       other             –              –  not JSON       [2]      –      –  moved         –
       2  5       none              –              –         –         –      –      –  removed       –
`, out)

	code, out, errs = sparkstate("batches", dir, "--files")
	assert.Equal(t, exitOK, code, errs)
	assert.Equal(t, `batch_id  source  logOffset  modified              path
       0  0               0  1970-01-01 00:00:00Z  a
       0  0               0  1970-01-01 00:00:00Z  b
       1  0               2  1970-01-01 00:00:00Z  c
       1  0               3  2026-01-05 08:00:00Z  d e
`, out)

	_, out, _ = sparkstate("batches", dir)
	assert.Contains(t, out, "file 3 (+2); 5 (-2); rate 30 (+20); del…  source 1: backwards\n")
	_, out, _ = sparkstate("batches", dir, "--format", "jsonl")
	rows := rowsOf(t, out)
	assert.Equal(t, "source 1: backwards", rows[1]["note"])
	assert.Equal(t, "source 1: number offsets before, file now; source 2: no offset any more; source 3: another Delta table; source 5: gone", rows[2]["note"])
	assert.Equal(t, "not JSON", rows[1]["sources"].([]any)[4].(map[string]any)["offset"])
}

func TestBatchesConf(t *testing.T) {
	dir := write(t, map[string]string{
		"offsets/0": "v1\n{}\n0",
		"offsets/1": "v1\n" + `{"conf":{"spark.sql.shuffle.partitions":"5","spark.sql.streaming.stateStore.providerClass":"org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"}}` + "\n1",
		"offsets/2": "v1\n{",
		"offsets/3": "v1\n" + `{"conf":{"spark.sql.shuffle.partitions":"8","x":""}}` + "\n3",
	})
	code, out, errs := sparkstate("batches", dir, "--conf")
	assert.Equal(t, exitInput, code)
	assert.Contains(t, errs, "offsets/2")
	assert.Equal(t, `batch_id  change   key                                 before                        after
       1  first    shuffle.partitions                  –                             5
       1  first    streaming.stateStore.providerClass  –                             HDFSBackedStateStoreProvider
       3  changed  shuffle.partitions                  5                             8
       3  removed  streaming.stateStore.providerClass  HDFSBackedStateStoreProvider  –
       3  added    x                                   –
`, out)
	_, out, _ = sparkstate("batches", dir, "--conf", "--format", "csv", "--from", "3")
	assert.Equal(t, "batch_id,change,key,before,after\n3,first,spark.sql.shuffle.partitions,,8\n3,first,x,,\"\"\n", out)
	code, out, _ = sparkstate("batches", dir, "--format", "jsonl")
	assert.Equal(t, exitInput, code)
	rows := rowsOf(t, out)
	assert.Contains(t, rows[2]["note"], "offsets/2: ")
	assert.Nil(t, rows[2]["timestampMs"])
	assert.Equal(t, "compared with batch 1; 3 changes of the conf", rows[3]["note"])
}

func TestBatchesExitCodes(t *testing.T) {
	noLogs := write(t, map[string]string{"0/0/1.delta": ""})
	damaged := write(t, map[string]string{"offsets/0": "v1\n{}\n" + `{"logOffset":1}`, "sources/0/0": "v1\n{", "sources/0/2": "v1",
		"offsets/1": "v1\n{}\n" + `{"logOffset":2}`, "commits/3": "v1"})
	for _, c := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"range upside down", []string{adBilling, "--from", "3", "--to", "2"}, exitUsage, "upwards"},
		{"below 0", []string{adBilling, "--from", "-3"}, exitUsage, "count from 0"},
		{"below 0", []string{adBilling, "--to", "-3"}, exitUsage, "count from 0"},
		{"no batch there", []string{adBilling, "--from", "7"}, exitUsage, "offsets/ has 0-6, commits/ has 0-6"},
		{"two views", []string{adBilling, "--conf", "--files"}, exitUsage, "pick one"},
		{"still", []string{adBilling, "--still", "0"}, exitUsage, "at least one"},
		{"no such path", []string{adBilling + "x"}, exitInput, "no such file"},
		{"no logs", []string{noLogs}, exitOK, "has no logs"},
		{"unplanned commit", []string{damaged}, exitOK, "committed, but not in offsets/: 3"},
		{"log of files damaged", []string{damaged, "--sources"}, exitInput, "sources/0/0"},
		{"log of files damaged", []string{damaged, "--files"}, exitInput, "sources/0/0"},
		{"and with a hole", []string{damaged, "--files"}, exitInput, "warning: sources/0: batch 1 of the log of files is missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, _, errs := sparkstate(append([]string{"batches"}, c.args...)...)
			assert.Equal(t, c.code, code, errs)
			assert.Contains(t, errs, c.says)
		})
	}
	code, out, _ := sparkstate("batches", noLogs, "--format", "json")
	assert.Equal(t, exitOK, code)
	assert.Contains(t, out, `"batch":null`)
	assert.Contains(t, out, `"rows":[]`)
}

// Every checkpoint that Spark wrote is listed in every view and format, and
// every input file is in one batch.
func TestBatchesOfRealCheckpoints(t *testing.T) {
	for _, c := range sparkCases(t) {
		for _, view := range []string{"", "--sources", "--conf", "--files"} {
			for _, f := range []string{"table", "json", "jsonl", "csv"} {
				args := []string{"batches", c.ckpt, "--format", f}
				if view != "" {
					args = append(args, view)
				}
				code, out, errs := sparkstate(args...)
				require.Equal(t, exitOK, code, "%v\n%s", args, errs)
				if f == "json" {
					assert.True(t, json.Valid([]byte(out)), "%v", args)
				}
			}
		}
		_, files, _ := sparkstate("batches", c.ckpt, "--format", "jsonl", "--files")
		_, sources, _ := sparkstate("batches", c.ckpt, "--format", "jsonl", "--sources")
		counted := int64(0)
		for _, row := range rowsOf(t, sources) {
			if n, ok := row["files"].(json.Number); ok {
				v, err := n.Int64()
				require.NoError(t, err)
				counted += v
			}
		}
		assert.EqualValues(t, strings.Count(files, "\n"), counted, c.name)
	}
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/statestore/statetest"
)

// samples are the numbers in the text format, by name and labels.
func samples(t *testing.T, text string) map[string]float64 {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	require.NoError(t, err)
	out := make(map[string]float64)
	for name, f := range families {
		for _, m := range f.GetMetric() {
			assert.Nil(t, m.TimestampMs, name)
			key := name
			for _, l := range m.GetLabel() {
				if l.GetName() != "checkpoint" {
					key += " " + l.GetValue()
				}
			}
			out[key] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return out
}

// The numbers are those of the other verbs.
func TestMetricsFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sparkstate.prom")
	code, out, errs := sparkstate("metrics", adBilling, "-o", file)
	require.Zero(t, code, errs)
	assert.Empty(t, out)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	got := samples(t, string(text))

	code, out, errs = sparkstate("metadata", adBilling, "--format", "json")
	require.Zero(t, code, errs)
	var counts struct {
		Rows []struct {
			OperatorID   int    `json:"operatorId"`
			OperatorName string `json:"operatorName"`
			Store        string `json:"stateStoreName"`
			PartitionID  int    `json:"partitionId"`
			NumRows      float64
			KeyBytes     float64
			ValueBytes   float64
		} `json:"rows"`
	}
	require.NoError(t, json.Unmarshal([]byte(out), &counts))
	require.Len(t, counts.Rows, 8)
	rows, bytes := make(map[string]float64), make(map[string]float64)
	for _, r := range counts.Rows {
		label := fmt.Sprintf("%s_%d", r.OperatorName, r.OperatorID)
		rows[label] += r.NumRows
		bytes[label] += r.KeyBytes + r.ValueBytes
		assert.Equal(t, r.NumRows, got[fmt.Sprintf("sparkstate_store_partition_rows %s %d %s", label, r.PartitionID, r.Store)])
	}
	for label := range rows {
		assert.Equal(t, rows[label], got["sparkstate_store_rows "+label+" default"])
		assert.Equal(t, bytes[label], got["sparkstate_store_bytes "+label+" default"])
	}
	for key, want := range map[string]float64{
		"sparkstate_checkpoint_last_committed_batch": 6, "sparkstate_checkpoint_restartable spark41": 1,
		"sparkstate_checkpoint_watermark_timestamp_seconds": 1767604259.529, "sparkstate_checkpoint_findings critical": 0,
		"sparkstate_store_skew_verdict dedupe_1 default even": 1, "sparkstate_store_never_expires dedupe_1 default": 1,
		"sparkstate_read_success": 1,
	} {
		assert.Contains(t, got, key)
		assert.Equal(t, want, got[key], key)
	}
	// The collector runs as somebody else, and takes names that end in .prom.
	st, err := os.Stat(file)
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o644), st.Mode().Perm())
	left, err := os.ReadDir(filepath.Dir(file))
	require.NoError(t, err)
	assert.Len(t, left, 1, "nothing temporary is left")
}

// Keys and values of the state are in no metric.
func TestMetricsHaveNoKeys(t *testing.T) {
	code, out, errs := sparkstate("metrics", hotJoin(t, 20, 200, 20_000))
	require.Zero(t, code, errs)
	assert.False(t, strings.Contains(out, "script") || regexp.MustCompile(`"key `).MatchString(out))
	assert.Equal(t, 1.0, samples(t, out)["sparkstate_store_skew_verdict symmetricHashJoin_0 left-keyWithIndexToValue hot-key"])
	assert.Equal(t, 2.0, samples(t, out)["sparkstate_store_skew_severity symmetricHashJoin_0 left-keyWithIndexToValue"])
}

func TestPromtoolCheck(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed; Debian has it in the package prometheus")
	}
	broken := copyOf(t, adBilling)
	require.NoError(t, os.Remove(filepath.Join(broken, "state", "1", "2", "7.delta")))
	for _, args := range [][]string{{adBilling}, {broken, adBilling, "nowhere"}} {
		_, out, _ := sparkstate(append([]string{"metrics"}, args...)...)
		require.NotEmpty(t, out)
		check := exec.CommandContext(t.Context(), promtool, "check", "metrics")
		check.Stdin = strings.NewReader(out)
		said, err := check.CombinedOutput()
		assert.NoError(t, err, "%s", said)
		assert.Empty(t, string(said))
	}
}

// What cannot be read is in the file, and an exit code.
func TestMetricsOfDamage(t *testing.T) {
	dir := copyOf(t, adBilling)
	require.NoError(t, os.Remove(filepath.Join(dir, "state", "1", "2", "7.delta")))
	file := filepath.Join(t.TempDir(), "sparkstate.prom")
	code, _, errs := sparkstate("metrics", dir, "-o", file)
	assert.Equal(t, exitInput, code)
	assert.Equal(t, 1, strings.Count(errs, "7.delta"), errs)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	got := samples(t, string(text))
	for key, want := range map[string]float64{
		"sparkstate_read_success": 0, "sparkstate_read_errors_total": 1, "sparkstate_store_readable dedupe_1 default": 0,
		"sparkstate_store_readable stateStoreSave_0 default": 1, "sparkstate_checkpoint_restartable spark41": 0,
		"sparkstate_checkpoint_newest_restorable_batch spark41": 5, "sparkstate_checkpoint_findings_of_kind delta-missing": 1,
	} {
		assert.Contains(t, got, key)
		assert.Equal(t, want, got[key], key)
	}
	assert.NotContains(t, got, "sparkstate_last_success_timestamp_seconds")
}

func TestMetricsRefuses(t *testing.T) {
	dir := copyOf(t, adBilling)
	for _, c := range []struct {
		args, want string
		code       int
	}{
		{"", "which checkpoint?", exitUsage},
		{"CKPT CKPT", "given twice", exitUsage},
		{"CKPT --listen :0 -o x.prom", "leave one of them out", exitUsage},
		{"CKPT --every 1m", "-o FILE or --listen", exitUsage},
		{"CKPT --every 1ms --listen 127.0.0.1:0", "no less than 1s", exitUsage},
		{"CKPT --wait 1s", "--listen", exitUsage},
		{"CKPT --listen :0 --wait 0s", "more than 0", exitUsage},
		{"CKPT --partition-series -1", "no less than 0", exitUsage},
		{"CKPT --floor -2", "from 0 up", exitUsage},
		{"CKPT --level much", "none of quick", exitUsage},
		{"CKPT --rule guess", "--rule", exitUsage},
		{"CKPT -o CKPT/x.prom", "nothing is ever written", exitUsage},
		{"CKPT -o CKPT/state/0/x.prom", "nothing is ever written", exitUsage},
		{"CKPT -o /nowhere/at/all/x.prom", "no such file", exitOutput},
		{"CKPT --listen 127.0.0.1:nobody", "writing the output", exitOutput},
		{"nowhere", "check the path", exitInput},
	} {
		code, _, errs := sparkstate(append([]string{"metrics"}, strings.Fields(strings.ReplaceAll(c.args, "CKPT", dir))...)...)
		assert.Equal(t, c.code, code, "%s: %s", c.args, errs)
		assert.Contains(t, errs, c.want, c.args)
	}
}

var listening = regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+/metrics`)

// served runs metrics --listen until the returned function is called, which
// returns the exit code.
func served(t *testing.T, errs *lineWaiter, args ...string) (url string, stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, append([]string{"metrics", "--listen", "127.0.0.1:0"}, args...), io.Discard, errs)
	}()
	errs.wait(t, "/metrics\n", 1)
	return listening.FindString(errs.String()), func() int { cancel(); return <-code }
}

func scraped(t *testing.T, url string) map[string]float64 {
	t.Helper()
	r, err := http.Get(url)
	require.NoError(t, err)
	defer r.Body.Close()
	require.Equal(t, http.StatusOK, r.StatusCode)
	text, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return samples(t, string(text))
}

// A scrape reads what has changed; with --every, what the last round found.
func TestMetricsListen(t *testing.T) {
	for _, every := range [][]string{nil, {"--every", "1s"}} {
		dir := filepath.Join(t.TempDir(), "checkpoint")
		errs := newLineWaiter()
		url, stop := served(t, errs, append(every, dir)...)
		got := scraped(t, url)
		assert.Equal(t, 0.0, got["sparkstate_read_success"])
		assert.Contains(t, got, "go_goroutines", "the process itself, where nobody else tells of it")

		w := statetest.NewWriter(counted(t), statetest.Dir(dir))
		for batch := range 3 {
			w.Put(0, "default", []any{fmt.Sprint(batch)}, []any{1})
			require.NoError(t, w.Commit())
			if every == nil {
				got = scraped(t, url)
				assert.Equal(t, float64(batch+1), got["sparkstate_store_rows stateStoreSave_0 default"])
			} else {
				require.Eventually(t, func() bool {
					got = scraped(t, url)
					return got["sparkstate_store_rows stateStoreSave_0 default"] == float64(batch+1)
				}, time.Minute, 10*time.Millisecond)
			}
			assert.Equal(t, float64(batch), got["sparkstate_checkpoint_last_committed_batch"])
		}
		assert.Equal(t, exitOK, stop(), errs)
		assert.Contains(t, errs.String(), "check the path", "what goes wrong is said")
	}
}

// A file is written again and again while the directory changes.
func TestMetricsEvery(t *testing.T) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "x.prom")
	w := statetest.NewWriter(counted(t), statetest.Dir(dir))
	require.NoError(t, w.Commit())
	ctx, cancel := context.WithCancel(t.Context())
	var errs bytes.Buffer
	code := make(chan int)
	go func() { code <- run(ctx, []string{"metrics", dir, "-o", file, "--every", "1s"}, io.Discard, &errs) }()
	rows := func() float64 {
		text, err := os.ReadFile(file)
		if err != nil {
			return -1
		}
		return samples(t, string(text))["sparkstate_store_rows stateStoreSave_0 default"]
	}
	for n := range 3 {
		require.Eventually(t, func() bool { return rows() == float64(n) }, time.Minute, 10*time.Millisecond)
		w.Put(0, "default", []any{fmt.Sprint(n)}, []any{1})
		require.NoError(t, w.Commit())
	}
	cancel()
	assert.Equal(t, exitOK, <-code, errs.String())
	assert.Empty(t, errs.String())
}

// A failure is told once in a round, or by the scrape that met it.
func TestMetricsFailureIsToldOnce(t *testing.T) {
	dir := copyOf(t, adBilling)
	require.NoError(t, os.Remove(filepath.Join(dir, "state", "1", "2", "7.delta")))
	errs := newLineWaiter()
	url, stop := served(t, errs, dir)
	scraped(t, url)
	assert.Equal(t, exitOK, stop())
	assert.Equal(t, 1, strings.Count(errs.String(), dir+": operator dedupe_1, store default: "), errs)

	file := filepath.Join(t.TempDir(), "x.prom")
	errs = newLineWaiter()
	ctx, cancel := context.WithCancel(t.Context())
	code := make(chan int)
	go func() { code <- run(ctx, []string{"metrics", dir, "-o", file, "--every", "1h"}, io.Discard, errs) }()
	errs.wait(t, "7.delta", 1)
	cancel()
	assert.Equal(t, exitOK, <-code)
	assert.Equal(t, 1, strings.Count(errs.String(), "7.delta"), errs)
}

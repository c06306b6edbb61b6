package grafana

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	module  = "../.."
	fixture = "testdata/4.1.4/ad_billing"
	sample  = "sample/sparkstate.prom"
)

// installed skips the test where a program is not there.
func installed(t *testing.T, name, where string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed; Debian has it in the package %s", name, where)
	}
	return path
}

// tool builds sparkstate.
func tool(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "sparkstate")
	b := exec.CommandContext(t.Context(), "go", "build", "-o", name, "./examples/sparkstate")
	b.Dir = module
	out, err := b.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return name
}

func TestRules(t *testing.T) {
	promtool := installed(t, "promtool", "prometheus")
	for _, args := range [][]string{{"test", "rules", "sparkstate.rules.test.yml"}, {"check", "rules", "sparkstate.rules.yml"}, {"check", "config", "prometheus.yml"}} {
		c := exec.CommandContext(t.Context(), promtool, args...)
		c.Dir = "prometheus"
		out, err := c.CombinedOutput()
		assert.NoError(t, err, "promtool %s: %s", args, out)
	}
}

// changing are the samples that differ from run to run.
var changing = regexp.MustCompile(`(?m)^(sparkstate_(?:read_duration_seconds|last_success_timestamp_seconds|checkpoint_file_bytes)\{.*\}) .*$|^sparkstate_build_info.*$`)

// The sample is what the tool writes.
func TestSample(t *testing.T) {
	c := exec.CommandContext(t.Context(), tool(t), "metrics", fixture)
	c.Dir = module
	now, err := c.Output()
	require.NoError(t, err)
	want, err := os.ReadFile(sample)
	require.NoError(t, err)
	assert.Equal(t, changing.ReplaceAllString(string(want), "$1"), changing.ReplaceAllString(string(now), "$1"))
}

// background runs a program until the test ends.
func background(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, args...)
	c.Dir = module
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = 10 * time.Second
	var said bytes.Buffer
	c.Stdout, c.Stderr = &said, &said
	require.NoError(t, c.Start())
	t.Cleanup(func() {
		_ = c.Wait() // how a program ends that is interrupted is its own affair
		if t.Failed() {
			t.Logf("%s: %s", name, &said)
		}
	})
	return c
}

// address is one of this machine that nobody listens at.
func address(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}

// get returns the body of a page, or nothing as long as there is none.
func get(address string) []byte {
	r, err := http.Get(address)
	if err != nil {
		return nil
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		return nil
	}
	return b
}

func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	require.Eventually(t, f, time.Minute, 200*time.Millisecond, what)
}

// Every expression of the dashboard and every metric of the rules has an answer
// in a Prometheus that scrapes the tool.
func TestExpressions(t *testing.T) {
	program := installed(t, "prometheus", "prometheus")
	exporter, server := address(t), address(t)
	background(t, tool(t), "metrics", "--listen", exporter, fixture)
	config, err := os.ReadFile("prometheus/prometheus.yml")
	require.NoError(t, err)
	rules, err := filepath.Abs("prometheus/sparkstate.rules.yml")
	require.NoError(t, err)
	text := strings.NewReplacer("127.0.0.1:9464", exporter, "15s", "1s", "scrape_timeout: 10s", "scrape_timeout: 1s", "- sparkstate.rules.yml", "- "+rules).Replace(string(config))
	dir := t.TempDir()
	name := filepath.Join(dir, "prometheus.yml")
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	background(t, program, "--config.file="+name, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+server)

	ask := func(expr string) int {
		b := get("http://" + server + "/api/v1/query?query=" + url.QueryEscape(expr))
		var answer struct {
			Data struct {
				Result []json.RawMessage `json:"result"`
			} `json:"data"`
		}
		if json.Unmarshal(b, &answer) != nil {
			return 0
		}
		return len(answer.Data.Result)
	}
	eventually(t, "two scrapes", func() bool { return ask(`count_over_time(sparkstate_reads_total[1m]) >= 2`) > 0 })
	d := load(t)
	for _, state := range []string{"dedupe_1", "stateStoreSave_0"} {
		fill := strings.NewReplacer("$checkpoint", fixture, "$operator", state, "$store", "default")
		for where, expr := range expressions(t, d) {
			assert.Positive(t, ask(fill.Replace(expr)), "%s: %s", where, expr)
		}
	}
	assert.Equal(t, 4, ask(`sparkstate_store_partition_rows{operator="dedupe_1"}`))
	for _, v := range d.Templating.List {
		if v.Definition == nil {
			continue
		}
		query := regexp.MustCompile(`label_values\((.*), (\w+)\)`).FindStringSubmatch(*v.Definition)
		require.NotNil(t, query, v.Name)
		expr := strings.NewReplacer("$checkpoint", fixture, "$operator", "dedupe_1").Replace(query[1])
		assert.Positive(t, ask(fmt.Sprintf(`group by (%s) (%s)`, query[2], expr)), v.Name)
	}
	alerts, err := os.ReadFile(rules)
	require.NoError(t, err)
	metrics := regexp.MustCompile(`\bsparkstate_[a-z_]+`).FindAllString(string(alerts), -1)
	slices.Sort(metrics)
	for _, m := range slices.Compact(metrics) {
		assert.Positive(t, ask(m), m)
	}
	// The rules are evaluated, and a whole checkpoint fires none.
	var answer struct {
		Data struct {
			Groups []struct {
				Rules []struct{ Name, Health, State, LastError string }
			}
		}
	}
	eventually(t, "rules", func() bool {
		b := get("http://" + server + "/api/v1/rules")
		if json.Unmarshal(b, &answer) != nil || len(answer.Data.Groups) != 1 {
			return false
		}
		for _, r := range answer.Data.Groups[0].Rules {
			if r.Health == "unknown" {
				return false
			}
		}
		return true
	})
	require.Len(t, answer.Data.Groups[0].Rules, 6)
	for _, r := range answer.Data.Groups[0].Rules {
		assert.Equal(t, "ok", r.Health, "%s: %s", r.Name, r.LastError)
		assert.Equal(t, "inactive", r.State, r.Name)
	}
}

// node_exporter takes the sample as it is.
func TestTextfileCollector(t *testing.T) {
	program := installed(t, "prometheus-node-exporter", "prometheus-node-exporter")
	at := address(t)
	dir, err := filepath.Abs(filepath.Dir(sample))
	require.NoError(t, err)
	background(t, program, "--web.listen-address="+at, "--collector.disable-defaults", "--collector.textfile", "--collector.textfile.directory="+dir)
	var page string
	eventually(t, "node_exporter", func() bool { page = string(get("http://" + at + "/metrics")); return page != "" })
	assert.Contains(t, page, "node_textfile_scrape_error 0\n")
	text, err := os.ReadFile(sample)
	require.NoError(t, err)
	for _, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, "sparkstate_") {
			name, _, _ := strings.Cut(line, " ")
			assert.True(t, strings.Contains(page, name), name)
		}
	}
}

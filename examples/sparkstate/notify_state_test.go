package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gofrs/flock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A file that is damaged is said to be, kept, and loses no alert.
func TestNotifyStateDamaged(t *testing.T) {
	s := channel(t)
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "told.json")
	newUneven(t, dir, "hot", 1, 20).skew(1)
	code, _, errs := runNotify(t, dir, "--notify-state", file)
	require.Zero(t, code, errs)
	s.Taken()
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	for name, text := range map[string]string{
		"empty": "", "cut": string(whole[:len(whole)/2]), "longer": string(whole) + "}", "no JSON": "\x00\xff", "an array": "[]",
		"another version": strings.Replace(string(whole), `Version": 1`, `Version": 2`, 1),
		"somebody else's": `{"schemaVersion":1,"rows":[]}`, "null": "null", "other types": `{"schemaVersion":1,"overRate":[{"operatorId":"0"}]}`,
		"endless": strings.Repeat(" ", maxAlertFile+1),
	} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600), name)
		code, _, errs := runNotify(t, dir, "--notify-state", file, "--dry-run")
		require.Zero(t, code, errs)
		assert.Contains(t, errs, "is damaged", name)
		code, _, errs = runNotify(t, dir, "--notify-state", file)
		require.Zero(t, code, errs)
		assert.Contains(t, errs, "warning: --notify-state "+file+" is damaged: ", name)
		taken, _ := s.Taken()
		assert.Len(t, taken, 1, name)
		kept, err := os.ReadFile(file + ".damaged")
		require.NoError(t, err, name)
		assert.Equal(t, text, string(kept), name)
		code, _, errs = runNotify(t, dir, "--notify-state", file)
		assert.Zero(t, code)
		assert.Empty(t, errs, name)
		_, tries := s.Taken()
		assert.Zero(t, tries, name)
	}
}

// Where nothing can be remembered it is told all the same, and the run fails.
func TestNotifyStateNowhere(t *testing.T) {
	s := channel(t)
	dir := t.TempDir()
	u := newUneven(t, dir, "hot", 1, 20)
	u.skew(1)
	file := filepath.Join(t.TempDir(), "nowhere", "told.json")
	for range 2 {
		code, out, errs := runNotify(t, dir, "--notify-state", file)
		assert.Equal(t, exitOutput, code)
		assert.Contains(t, errs, "sparkstate: --notify-state: open "+file+".lock: ")
		assert.Contains(t, errs, "; check the path\n")
		assert.Contains(t, out, "verdict: hot-key")
		taken, _ := s.Taken()
		assert.Len(t, taken, 1)
	}
	// One that watches remembers by itself what the file has not got.
	f := skewFlags{notifyFlags: notifyFlags{notify: toSlack, notifyState: file}, rate: defaultRate, rateOf: rateOfMove}
	a := &app{err: os.Stderr, messages: newMessages(new(strings.Builder))}
	n, err := a.notifier(f)
	require.NoError(t, err)
	stores := []storeSkew{{StateStoreName: "default", label: "x_0/default", judged: judged{SkewRate: 0.5}}}
	stores[0].Max = 1
	for range 2 {
		assert.Equal(t, exitOutput, exitCode(n.tell(t.Context(), a, dir, stores)))
	}
	taken, _ := s.Taken()
	assert.Len(t, taken, 1)
	require.NoError(t, os.Mkdir(filepath.Dir(file), 0o700))
	require.NoError(t, n.tell(t.Context(), a, dir, stores))
	_, tries := s.Taken()
	assert.Zero(t, tries)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	known, err := parseAlerts(text)
	require.NoError(t, err)
	assert.Len(t, known, 1)
	assert.Empty(t, n.told)
}

// Who is told to stop while another run has the file stops, and tells nothing.
func TestNotifyStateLocked(t *testing.T) {
	s := channel(t)
	file := filepath.Join(t.TempDir(), "told.json")
	held := flock.New(file + ".lock")
	require.NoError(t, held.Lock())
	defer held.Unlock()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	n := &notifier{flags: skewFlags{notifyFlags: notifyFlags{notifyState: file}, rateOf: rateOfMove}}
	stores := []storeSkew{{judged: judged{SkewRate: 1}}}
	stores[0].Max = 1
	assert.ErrorIs(t, n.tell(ctx, nil, "c", stores), context.Canceled)
	_, tries := s.Taken()
	assert.Zero(t, tries)
}

// The same checkpoint is the same by whichever path.
func TestNotifyStateByPaths(t *testing.T) {
	s := channel(t)
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "told.json")
	root := filepath.Join(dir, "checkpoint")
	newUneven(t, root, "hot", 1, 20).skew(1)
	t.Chdir(dir)
	for i, given := range []string{dir, root, "checkpoint", ".", "checkpoint/state", "checkpoint/state/0/3", dir + "/./checkpoint/"} {
		code, _, errs := runNotify(t, given, "--notify-state", file)
		require.Zero(t, code, errs)
		taken, _ := s.Taken()
		assert.Len(t, taken, max(1-i, 0), given)
	}
}

// A path that is not UTF-8 is found again in the file, which is.
func TestNotifyStateOfOddNames(t *testing.T) {
	s := channel(t)
	dir, file := filepath.Join(t.TempDir(), "b\xc3d \u202e\n<!here>"), filepath.Join(t.TempDir(), "told.json")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Skipf("no such name can be made here: %v", err)
	}
	newUneven(t, dir, "hot", 1, 20).skew(1)
	for i := range 2 {
		code, _, errs := runNotify(t, dir, "--notify-state", file)
		require.Zero(t, code, errs)
		taken, _ := s.Taken()
		require.Len(t, taken, 1-i)
		if i == 0 {
			assert.Contains(t, taken[0].Shown, "/b\ufffdd ··<!here>, after batch 1")
		}
	}
}

// asTool holds the arguments of a process that is to be the tool.
const asTool = "SPARKSTATE_TEST_ARGUMENTS"

// TestProcess is the tool, in a process of its own.
func TestProcess(t *testing.T) {
	text := os.Getenv(asTool)
	if text == "" {
		t.Skip("is run by TestNotifyRace")
	}
	var args []string
	require.NoError(t, json.Unmarshal([]byte(text), &args))
	os.Exit(run(t.Context(), args, os.Stdout, os.Stderr))
}

// Processes that start at the same time tell each change once, and none forgets
// what another has told.
func TestNotifyRace(t *testing.T) {
	s := channel(t)
	file := filepath.Join(t.TempDir(), "told.json")
	var dirs []string
	for range 3 {
		dir := t.TempDir()
		newUneven(t, dir, "hot", 1, 4).skew(1)
		dirs = append(dirs, dir)
	}
	race := func() {
		var all sync.WaitGroup
		for _, dir := range append(dirs, dirs...) {
			args, err := json.Marshal([]string{"skew", dir, "--notify", "slack", "--floor", "100", "--notify-state", file})
			require.NoError(t, err)
			all.Go(func() {
				c := exec.Command(os.Args[0], "-test.run=^TestProcess$")
				c.Env = append(os.Environ(), asTool+"="+string(args))
				out, err := c.CombinedOutput()
				assert.NoError(t, err, string(out))
				assert.Contains(t, string(out), "verdict: ")
			})
		}
		all.Wait()
	}
	race()
	taken, tries := s.Taken()
	assert.Len(t, taken, len(dirs))
	assert.Equal(t, len(dirs), tries)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	known, err := parseAlerts(text)
	require.NoError(t, err)
	assert.Len(t, known, len(dirs))
	race()
	_, tries = s.Taken()
	assert.Zero(t, tries)
}

// Whatever is in the file, it is read or refused.
func FuzzParseAlerts(f *testing.F) {
	f.Add([]byte(`{"schemaVersion":1,"overRate":[{"checkpoint":"/c","operatorId":1,"stateStoreName":"default","measure":"rows","batch":6,"rate":0.35,"since":"2026-01-05T09:10:59Z"}]}`))
	f.Add([]byte(`{"schemaVersion":1,"overRate":null}`))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, text []byte) {
		known, err := parseAlerts(text)
		if err != nil {
			return
		}
		file := &alertFile{name: filepath.Join(t.TempDir(), "told.json")}
		require.NoError(t, file.write(known))
		assert.Equal(t, known, file.read())
		assert.NoError(t, file.damage)
	})
}

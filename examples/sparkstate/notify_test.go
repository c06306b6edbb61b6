package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/examples/sparkstate/internal/slack/slacktest"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
	"github.com/sparkstate/sparkstate/statestore/statetest"
)

// hotRows are those of the key that makes a state uneven.
const hotRows = 300

// uneven is a state of session windows that one key makes uneven, and even
// again: in each of so many operators.
type uneven struct {
	t         *testing.T
	w         *statetest.Writer
	key       string
	operators int
}

// newUneven writes an even state, in so many partitions, to dir.
func newUneven(t *testing.T, dir, key string, operators, partitions int) *uneven {
	t.Helper()
	typ := func(s string) *sqltype.Type {
		st, err := sqltype.ParseDDL(s)
		require.NoError(t, err)
		return st
	}
	q := statetest.Query{Spark: "4.0", Partitions: partitions}
	for range operators {
		q.Operators = append(q.Operators, statetest.Operator{Name: "sessionWindowStateStoreSaveExec", PrefixColumns: 1, Stores: []statetest.Store{
			{Key: typ("user STRING, sessionStartTime TIMESTAMP"), Value: typ("count BIGINT"), Hashed: []int{0}}}})
	}
	u := &uneven{t, statetest.NewWriter(q, statetest.Dir(dir)), key, operators}
	for o := range operators {
		for i := range 20 * partitions {
			u.w.Put(o, "default", []any{fmt.Sprint("user ", i), int64(0)}, []any{int64(1)})
		}
	}
	require.NoError(t, u.w.Commit())
	return u
}

// skew makes the first of the operators uneven.
func (u *uneven) skew(operators int) {
	u.t.Helper()
	for o := range operators {
		for i := range hotRows {
			u.w.Put(o, "default", []any{u.key, int64(i)}, []any{int64(1)})
		}
	}
	require.NoError(u.t, u.w.Commit())
}

// even makes all even.
func (u *uneven) even() {
	u.t.Helper()
	for o := range u.operators {
		for i := range hotRows {
			u.w.Remove(o, "default", []any{u.key, int64(i)})
		}
	}
	require.NoError(u.t, u.w.Commit())
}

// channel is a Slack whose webhook the tool is given.
func channel(t *testing.T, answers ...slacktest.Answer) *slacktest.Slack {
	t.Helper()
	s := slacktest.New(t, answers...)
	t.Setenv(webhookVariable, s.Serve())
	return s
}

// runNotify runs skew --notify slack, and sees that nothing of the secret is in
// anything that it prints.
func runNotify(t *testing.T, dir string, flags ...string) (code int, out, errs string) {
	t.Helper()
	code, out, errs = sparkstate(append([]string{"skew", dir, "--notify", "slack", "--floor", "100"}, flags...)...)
	assert.Empty(t, slacktest.Leak(out+errs), out+errs)
	return code, out, errs
}

// A store that passes the rate is told of once, and so is that it is back.
func TestNotifyOnce(t *testing.T) {
	s := channel(t)
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "told.json")
	u := newUneven(t, dir, "<!channel> *& <@U123|x> `", 1, 20)
	told := func(want string) slacktest.Message {
		t.Helper()
		code, out, errs := runNotify(t, dir, "--notify-state", file)
		require.Zero(t, code, errs)
		assert.Contains(t, out, "verdict: ")
		taken, tries := s.Taken()
		if want == "" {
			assert.Zero(t, tries)
			assert.Empty(t, errs)
			return slacktest.Message{}
		}
		require.Len(t, taken, 1)
		assert.Equal(t, want, taken[0].Header)
		assert.Equal(t, "sparkstate: note: told Slack: "+want+"\n", errs)
		assert.True(t, strings.HasPrefix(taken[0].Text, want+" (checkpoint "+dir))
		return taken[0]
	}
	const name = "sessionWindowStateStoreSaveExec_0/default"
	told("")
	assert.NoFileExists(t, file)
	u.skew(1)
	m := told("Skew rate above 0.1: " + name)
	assert.Contains(t, m.Shown, "checkpoint "+dir+", after batch 1")
	assert.Contains(t, m.Shown, "Verdict\nhot-key (critical)")
	assert.Regexp(t, `Hot by rule sigma\npartition \d+\n`, m.Shown)
	assert.Regexp(t, `Fullest partition\n\d+ with 3\d\d, 4\d\.\d % of all`, m.Shown)
	assert.Contains(t, m.Shown, `{"user":"<!channel> *& <@U123|x> `+"`"+`"}  300, 42.9 % of all`)
	assert.Contains(t, m.Shown, "• repartitioning will not help")
	told("")
	told("")
	u.even()
	m = told("Skew rate no longer above 0.1: " + name)
	assert.Regexp(t, `Back:\n`+name+`: 0(\.0\d+)?; it was 0\.\d+ at batch 1, and above the limit since 20`, m.Shown)
	told("")
	u.skew(1)
	told("Skew rate above 0.1: " + name)
	told("")
}

// Without a file every run over the rate tells, and nobody knows what is back.
func TestNotifyWithoutMemory(t *testing.T) {
	s := channel(t)
	dir := t.TempDir()
	u := newUneven(t, dir, "hot", 1, 20)
	u.skew(1)
	for range 2 {
		code, _, errs := runNotify(t, dir)
		require.Zero(t, code, errs)
		taken, _ := s.Taken()
		assert.Len(t, taken, 1)
	}
	for _, flags := range [][]string{{"--rate", "0.9"}, {"--rate-of", "hot"}, {"--floor", "5000"}} {
		code, _, errs := runNotify(t, dir, flags...)
		require.Zero(t, code, errs)
		_, tries := s.Taken()
		assert.Zero(t, tries, flags)
	}
	code, _, errs := runNotify(t, dir, "--rate-of", "hot", "--rate", "0.04")
	require.Zero(t, code, errs)
	taken, _ := s.Taken()
	require.Len(t, taken, 1)
	assert.Contains(t, taken[0].Header, "Share of hot partitions above 0.04: ")
	assert.Contains(t, taken[0].Shown, "Share of hot partitions\n0.05 (limit 0.04)")
	u.even()
	code, _, errs = runNotify(t, dir)
	require.Zero(t, code, errs)
	_, tries := s.Taken()
	assert.Zero(t, tries)
}

// What Slack does not take fails the run, and the next one tries again.
func TestNotifyFails(t *testing.T) {
	s := channel(t)
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "told.json")
	newUneven(t, dir, "hot", 1, 20).skew(1)
	for _, answer := range []slacktest.Answer{slacktest.Invalid, slacktest.Prohibited, slacktest.NoService, slacktest.Archived} {
		s.Answer(answer)
		code, out, errs := runNotify(t, dir, "--notify-state", file)
		assert.Equal(t, exitOutput, code)
		assert.Contains(t, out, "verdict: hot-key", "the answer is there all the same")
		assert.Contains(t, errs, fmt.Sprintf("sparkstate: --notify: Slack answered %d ", answer.Status))
		assert.Contains(t, errs, "("+answer.Body+"); see whether the webhook in "+webhookVariable)
		_, tries := s.Taken()
		assert.Equal(t, 1, tries)
		assert.NoFileExists(t, file)
	}
	s.Answer(slacktest.NoService)
	code, _, errs := runNotify(t, dir, "--fail")
	assert.Equal(t, exitOutput, code, "nobody has been told what was found")
	assert.Contains(t, errs, "hot-key (critical)")
	s.Taken()
	s.Answer(slacktest.Limited, slacktest.Limited)
	code, _, errs = runNotify(t, dir, "--notify-state", file, "--fail")
	assert.Equal(t, exitFound, code, errs)
	taken, tries := s.Taken()
	assert.Len(t, taken, 1)
	assert.Equal(t, 3, tries)
	assert.FileExists(t, file)
}

// A directory that is watched is told of once a change, without a file, and a
// message that was not taken is tried again in the next round.
func TestNotifyEvery(t *testing.T) {
	s := channel(t, slacktest.NoService)
	dir := t.TempDir()
	u := newUneven(t, dir, "hot", 1, 20)
	out, errs := newLineWaiter(), newLineWaiter()
	code := make(chan int)
	broken := &brokenOnce{w: out, broken: make(chan struct{})}
	go func() {
		code <- run(t.Context(), []string{"skew", dir, "--notify", "slack", "--floor", "100", "--every", "1s"}, broken, errs)
	}()
	out.wait(t, "after batch 0", 1)
	u.skew(1)
	errs.wait(t, "Slack answered 404", 1)
	errs.wait(t, "told Slack: Skew rate above 0.1", 1)
	out.wait(t, "after batch 1", 3)
	u.even()
	errs.wait(t, "told Slack: Skew rate no longer above 0.1", 1)
	close(broken.broken) // which ends the rounds
	assert.Equal(t, exitOutput, <-code)
	taken, tries := s.Taken()
	assert.Len(t, taken, 2)
	assert.Equal(t, 3, tries)
	assert.Empty(t, slacktest.Leak(out.String()+errs.String()))
}

// brokenOnce is an output that breaks when it is told to.
type brokenOnce struct {
	w      *lineWaiter
	broken chan struct{}
}

func (b *brokenOnce) Write(text []byte) (int, error) {
	select {
	case <-b.broken:
		return 0, errors.New("the pipe is closed")
	default:
		return b.w.Write(text)
	}
}

// One message has all the stores of a run, within the limits.
func TestNotifyManyStores(t *testing.T) {
	s := channel(t)
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "told.json")
	u := newUneven(t, dir, strings.Repeat("<&>", 100), 8, 4)
	u.skew(6)
	code, _, errs := runNotify(t, dir, "--notify-state", file)
	require.Zero(t, code, errs)
	taken, _ := s.Taken()
	require.Len(t, taken, 1)
	assert.Equal(t, "Skew rate above 0.1: 6 stores", taken[0].Header)
	assert.Contains(t, taken[0].Shown, "Also with a skew rate above 0.1:\n")
	u.even()
	u.skew(2)
	code, _, errs = runNotify(t, dir, "--notify-state", file, "--operator", "1")
	require.Zero(t, code, errs)
	_, tries := s.Taken()
	assert.Zero(t, tries, "the other operators are not looked at")
	code, _, errs = runNotify(t, dir, "--notify-state", file, "--measure", "bytes")
	require.Zero(t, code, errs)
	taken, _ = s.Taken()
	require.Len(t, taken, 1)
	assert.Equal(t, "Skew rate above 0.1: 2 stores", taken[0].Header, "another measure")
	code, _, errs = runNotify(t, dir, "--notify-state", file)
	require.Zero(t, code, errs)
	taken, _ = s.Taken()
	require.Len(t, taken, 1)
	assert.Equal(t, "Skew rate no longer above 0.1: 4 stores", taken[0].Header)
}

// The message can be seen before anybody gets it.
func TestNotifyDryRun(t *testing.T) {
	t.Setenv(webhookVariable, "")
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "told.json")
	u := newUneven(t, dir, "hot", 1, 20)
	code, out, errs := runNotify(t, dir, "--dry-run")
	require.Zero(t, code, errs)
	assert.Empty(t, out)
	assert.Contains(t, errs, "nothing would be sent")
	u.skew(1)
	for range 2 {
		code, out, errs = runNotify(t, dir, "--dry-run", "--notify-state", file, "--fail")
		require.Equal(t, exitFound, code, errs)
		m, err := slacktest.Parse([]byte(out))
		require.NoError(t, err)
		assert.Contains(t, m.Shown, "hot-key")
	}
	left, err := os.ReadDir(filepath.Dir(file))
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestNotifyRefuses(t *testing.T) {
	s := channel(t)
	for _, c := range []struct{ flags, want string }{
		{"--notify pager", "whom? slack"},
		{"--notify=", "whom? slack"},
		{"--notify-state FILE", "goes with --notify"},
		{"--dry-run", "goes with --notify"},
		{"--notify slack --notify-state=", "which file?"},
		{"--notify slack --notify-state .", "is no file"},
		{"--notify slack --dry-run --every 1m", "leave --every out"},
		{"--notify slack --dry-run --format json", "leave --format out"},
		{"--notify slack --trend", "leave --notify out"},
		{"--notify slack --measure fileBytes", "no level of chance"},
		{"--notify slack --rate -1", "--rate -1: from 0 to below 1"},
		{"--notify slack --rate 10", "0.1 is 10 %"},
		{"--fail --rate NaN", "from 0 to below 1"},
		{"--rate 0.1", "goes with --fail or --notify"},
	} {
		code, out, errs := sparkstate(append([]string{"skew", adBilling}, strings.Fields(c.flags)...)...)
		assert.Equal(t, exitUsage, code, c.flags)
		assert.Empty(t, out, c.flags)
		assert.Contains(t, errs, c.want, c.flags)
	}
	for server, want := range map[string]string{"": "does not begin with https://", "http://example.com": "https://", "https://%zz": "cannot be parsed", "https://": "names no host"} {
		if server == "" {
			t.Setenv(webhookVariable, "T0TEAMTEAM")
			want = "names no host"
		} else {
			t.Setenv(webhookVariable, s.Address(server))
		}
		code, out, errs := runNotify(t, adBilling)
		assert.Equal(t, exitUsage, code)
		assert.Contains(t, errs, webhookVariable+": ")
		assert.Contains(t, errs, want)
		assert.Empty(t, out)
	}
	t.Setenv(webhookVariable, "")
	code, _, errs := runNotify(t, adBilling)
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, errs, "needs the address of an incoming webhook in "+webhookVariable)
}

// Nothing is remembered inside of the checkpoint, whichever part of it is given.
func TestNotifyStateOutside(t *testing.T) {
	s := channel(t)
	dir := copyOf(t, adBilling)
	linked := filepath.Join(t.TempDir(), "link")
	if runtime.GOOS != "windows" {
		require.NoError(t, os.Symlink(dir, linked))
	} else {
		linked = dir
	}
	for _, given := range []string{dir, filepath.Join(dir, "state"), filepath.Join(dir, "state", "1", "0"), linked} {
		for _, in := range []string{dir, filepath.Join(dir, "state"), linked} {
			code, out, errs := runNotify(t, given, "--notify-state", filepath.Join(in, "told.json"))
			assert.Equal(t, exitUsage, code)
			assert.Contains(t, errs, "is in the checkpoint")
			assert.Empty(t, out)
		}
	}
	_, tries := s.Taken()
	assert.Zero(t, tries)
}

// The documents of skew are the same with and without.
func TestNotifyLeavesTheAnswer(t *testing.T) {
	channel(t)
	_, plain, _ := sparkstate("skew", adBilling, "--format", "json", "--floor", "100")
	code, out, errs := runNotify(t, adBilling, "--format", "json")
	require.Zero(t, code, errs)
	assert.Equal(t, plain, out)
	assert.True(t, json.Valid([]byte(out)))
}

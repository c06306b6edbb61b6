package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/examples/sparkstate/internal/slack"
)

// webhookVariable is where the address of the webhook is, a secret: flags are
// seen by everybody who may list processes.
const webhookVariable = "SPARKSTATE_SLACK_WEBHOOK"

// toSlack is whom --notify knows.
const toSlack = "slack"

// notifyFlags are the flags of skew that tell somebody.
type notifyFlags struct {
	notify, notifyState string
	dryRun              bool
}

func (f *notifyFlags) declare(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.notify, "notify", "", "tell of stores that pass --rate, and of those that no longer do: slack, by the webhook in "+webhookVariable)
	fl.StringVar(&f.notifyState, "notify-state", "", "with --notify: file that remembers between runs what has been told")
	fl.BoolVar(&f.dryRun, "dry-run", false, "with --notify: print the message that would be sent, and nothing else")
}

// checkNotify refuses what has no effect or cannot work.
func (f *skewFlags) checkNotify(cmd *cobra.Command) error {
	given := cmd.Flags().Changed
	switch {
	case f.notify == "" && given("notify"), f.notify != "" && f.notify != toSlack:
		return usagef("--notify %q: whom? slack", f.notify)
	case f.notify == "" && given("notify-state"):
		return usagef("--notify-state goes with --notify")
	case f.notify == "" && given("dry-run"):
		return usagef("--dry-run goes with --notify")
	case f.notifyState == "" && given("notify-state"):
		return usagef("--notify-state: which file?")
	case f.dryRun && given("every"):
		return usagef("--dry-run is a rehearsal of one run; leave --every out")
	case f.dryRun && given("format"):
		return usagef("--dry-run prints the message and no answer; leave --format out")
	}
	if st, err := os.Stat(f.notifyState); err == nil && !st.Mode().IsRegular() {
		return usagef("--notify-state %s is no file", f.notifyState)
	}
	return nil
}

// notifyError is a message that was not sent, or could not be remembered.
type notifyError struct{ err error }

func (e *notifyError) Error() string { return e.err.Error() }
func (e *notifyError) Unwrap() error { return e.err }

// notifier tells of stores that have passed the rate or come back, each change
// once.
type notifier struct {
	flags skewFlags
	hook  *slack.Webhook // nil with --dry-run
	// told is what this process has told and no file has: nil of a store that
	// is back. Without a file it is all the memory there is.
	told map[alertKey]*alert
}

// notifier returns nil without --notify.
func (a *app) notifier(f skewFlags) (*notifier, error) {
	if f.notify == "" {
		return nil, nil
	}
	n := &notifier{flags: f, told: make(map[alertKey]*alert)}
	if f.dryRun {
		return n, nil
	}
	address := os.Getenv(webhookVariable)
	if address == "" {
		return nil, usagef("--notify slack needs the address of an incoming webhook in %s", webhookVariable)
	}
	var err error
	if n.hook, err = slack.NewWebhook(address); err != nil {
		return nil, usagef("%s: %v", webhookVariable, err)
	}
	return n, nil
}

// change is a store that has passed the rate, or one that is back: then was is
// what had been told of it.
type change struct {
	key alertKey
	now *storeSkew
	was *alert
}

// tell tells of what has changed. What cannot be remembered is told all the
// same: better twice than never.
func (n *notifier) tell(ctx context.Context, a *app, at string, all []storeSkew) error {
	if n == nil {
		return nil
	}
	file := &alertFile{name: n.flags.notifyState}
	if !n.flags.dryRun {
		file.lock(ctx)
		defer file.unlock()
		if ctx.Err() != nil {
			return &notifyError{ctx.Err()}
		}
	}
	known := file.read()
	if file.damage != nil {
		a.warn(file.damage)
	}
	for k, was := range n.told {
		known.set(k, was)
	}
	over, back := n.changes(a, at, known, all)
	if len(over)+len(back) == 0 {
		if n.flags.dryRun {
			a.note("nothing would be sent: no store has passed the rate or come back")
		}
		return n.remember(file, known)
	}
	m := n.message(at, over, back)
	if n.flags.dryRun {
		return errors.Join(a.printMessage(m), notifying(file.err))
	}
	if err := n.hook.Post(ctx, m); err != nil {
		return notifying(errors.Join(fmt.Errorf("--notify: %w", err), file.err))
	}
	a.note("told Slack: " + n.title(over, back))
	for _, c := range over {
		n.told[c.key] = &alert{alertKey: c.key, Batch: c.now.batch, Rate: float64(c.now.rated(n.flags)), Since: time.Now().UTC().Truncate(time.Second)}
	}
	for _, c := range back {
		n.told[c.key] = nil
	}
	for k, now := range n.told {
		known.set(k, now)
	}
	return n.remember(file, known)
}

// outside refuses to remember inside of the checkpoint.
func (n *notifier) outside(at string) error {
	if n == nil || n.flags.notifyState == "" {
		return nil
	}
	return outsideOf(at, n.flags.notifyState)
}

// notifying makes an error one of --notify.
func notifying(err error) error {
	if err == nil {
		return nil
	}
	return &notifyError{err}
}

// remember writes what is known to the file, if that has not got it.
func (n *notifier) remember(file *alertFile, known alerts) error {
	if file.name == "" || n.flags.dryRun || file.err != nil {
		return notifying(file.err)
	}
	if len(n.told) == 0 && file.damage == nil {
		return nil
	}
	if err := file.write(known); err != nil {
		return notifying(err)
	}
	clear(n.told)
	return nil
}

// changes compares what is with what has been told; the worst come first. A
// store whose rate is not known stays as it was.
func (n *notifier) changes(a *app, at string, known alerts, all []storeSkew) (over, back []change) {
	for i := range all {
		s := &all[i]
		c := change{key: newAlertKey(at, s), now: s}
		var told bool
		var was alert
		if was, told = known[c.key]; told {
			c.was = &was
		}
		switch {
		case s.matters() && !s.rated(n.flags).Defined():
			a.note(fmt.Sprintf("--notify does not watch %s: its %s is not known", s.label, n.flags.rateName()))
		case s.passes(n.flags) && !told:
			over = append(over, c)
		case !s.passes(n.flags) && told:
			back = append(back, c)
		}
	}
	slices.SortStableFunc(over, func(x, y change) int {
		return -cmp.Compare(x.now.rated(n.flags), y.now.rated(n.flags))
	})
	return over, back
}

// printMessage prints what would be posted.
func (a *app) printMessage(m *slack.Message) error {
	e := json.NewEncoder(a.out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return output(e.Encode(m))
}

// rootOf is the path of the directory of the checkpoint itself, whichever part
// of it or directory around it was given.
func rootOf(cp *checkpoint.Checkpoint) string {
	_, root := cp.FS()
	return filepath.Join(absolute(cp.Path()), filepath.FromSlash(root))
}

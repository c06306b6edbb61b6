package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// alertKey is what an alert is about.
type alertKey struct {
	Checkpoint     string `json:"checkpoint"`
	OperatorID     int    `json:"operatorId"`
	StateStoreName string `json:"stateStoreName"`
	Measure        string `json:"measure"`
}

// newAlertKey is the key of a store. Names of files can be anything; in the file
// of alerts they are UTF-8, and have to be found again.
func newAlertKey(at string, s *storeSkew) alertKey {
	valid := func(text string) string { return strings.ToValidUTF8(text, "\ufffd") }
	return alertKey{valid(at), s.OperatorID, valid(s.StateStoreName), valid(s.Measure)}
}

// alert has been told of a store that is over the rate.
type alert struct {
	alertKey
	Batch int64     `json:"batch"`
	Rate  float64   `json:"rate"`
	Since time.Time `json:"since"`
}

// alerts are those of which no recovery has been told.
type alerts map[alertKey]alert

// set makes an alert known, or with nil forgets it.
func (a alerts) set(k alertKey, to *alert) {
	if to == nil {
		delete(a, k)
		return
	}
	a[k] = *to
}

// alertsSchema is the version of the file.
const alertsSchema = 1

// alertsDocument is what is in the file.
type alertsDocument struct {
	SchemaVersion int     `json:"schemaVersion"`
	OverRate      []alert `json:"overRate"`
}

// maxAlertFile bounds what is read: it holds some 50,000 alerts.
const maxAlertFile = 16 << 20

// How long to wait for another run that is just telling, which takes two
// minutes at most, and how often to look.
const (
	lockWait = 3 * time.Minute
	lockLook = 50 * time.Millisecond
)

// alertFile is the file of --notify-state. One run at a time has it, from
// reading it until it is written: else two would tell the same. Without a name
// it is empty.
type alertFile struct {
	name string
	held *flock.Flock
	// damage is what is wrong with what was in the file; it then is empty.
	damage error
	// err is why the file cannot be used: it is not written then.
	err error
}

// lock waits for other runs. The lock is a file beside, since the file itself
// is replaced.
func (f *alertFile) lock(ctx context.Context) {
	if f.name == "" {
		return
	}
	limited, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	f.held = flock.New(f.name + ".lock")
	_, err := f.held.TryLockContext(limited, lockLook)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		f.err = fmt.Errorf("--notify-state %s: another run has kept %s locked for %v", f.name, f.held.Path(), lockWait)
	case err != nil:
		f.err = fmt.Errorf("--notify-state: %w", err)
	}
}

func (f *alertFile) unlock() {
	if f.held != nil {
		// The end of the process unlocks it, whatever fails here.
		_ = f.held.Unlock()
	}
}

// read returns what has been told. A file that is damaged, or cannot be read,
// knows nothing: what is over the rate is then told again.
func (f *alertFile) read() alerts {
	if f.name == "" {
		return alerts{}
	}
	text, err := readBounded(f.name, maxAlertFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return alerts{}
	case err != nil:
		f.err = errors.Join(f.err, fmt.Errorf("--notify-state: %w", err))
		return alerts{}
	}
	known, err := parseAlerts(text)
	if err != nil {
		f.damage = fmt.Errorf("--notify-state %s is damaged: %w; what is over the rate counts as new", f.name, err)
		return alerts{}
	}
	return known
}

func readBounded(name string, limit int64) (text []byte, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.ReadAll(io.LimitReader(f, limit+1))
}

func parseAlerts(text []byte) (alerts, error) {
	var doc alertsDocument
	switch err := json.Unmarshal(text, &doc); {
	case len(text) > maxAlertFile:
		return nil, fmt.Errorf("it is longer than %d bytes", maxAlertFile)
	case len(text) == 0:
		return nil, errors.New("it is empty")
	case err != nil:
		return nil, err
	case doc.SchemaVersion != alertsSchema || doc.OverRate == nil:
		return nil, fmt.Errorf("it is not what this program writes (schemaVersion %d)", alertsSchema)
	}
	known := make(alerts, len(doc.OverRate))
	for _, a := range doc.OverRate {
		known[a.alertKey] = a
	}
	return known, nil
}

// write replaces the file. What was damaged is kept beside it: it may be
// somebody else's file.
func (f *alertFile) write(known alerts) error {
	if f.damage != nil {
		if err := os.Rename(f.name, f.name+".damaged"); err != nil {
			return fmt.Errorf("--notify-state: %w", err)
		}
	}
	doc := alertsDocument{SchemaVersion: alertsSchema, OverRate: []alert{}}
	for _, a := range known {
		doc.OverRate = append(doc.OverRate, a)
	}
	slices.SortFunc(doc.OverRate, func(a, b alert) int {
		return cmp.Or(cmp.Compare(a.Checkpoint, b.Checkpoint), a.OperatorID-b.OperatorID,
			cmp.Compare(a.StateStoreName, b.StateStoreName), cmp.Compare(a.Measure, b.Measure))
	})
	err := writeWhole(f.name, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(doc)
	})
	var out *outputError
	if errors.As(err, &out) { // not the answer's
		err = out.err
	}
	if err != nil {
		return fmt.Errorf("--notify-state: %w", err)
	}
	return nil
}

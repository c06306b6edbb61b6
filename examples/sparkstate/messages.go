package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/sparkstate/sparkstate/statestore"
)

// maxOfKind is how many warnings about files, of one kind, are said one by one.
const maxOfKind = 5

// messages are what the tool says beside its answer, a line each, no line
// twice. Warnings wait until the answer begins: what a verb cannot do without
// becomes its error, and is then not a warning as well.
type messages struct {
	w io.Writer

	mu      sync.Mutex
	said    map[string]bool
	earlier map[string]bool // said in the round before
	held    []string        // warnings that wait
	begun   bool            // no longer
	kinds   map[string]*similar
	ordered []*similar
}

// similar counts warnings of one kind.
type similar struct {
	rest string // what the line about those left out ends in
	max  int
	n    int
}

func newMessages(w io.Writer) *messages {
	return &messages{w: w, said: make(map[string]bool), kinds: make(map[string]*similar)}
}

func (m *messages) print(text string) { fmt.Fprintln(m.w, "sparkstate: "+text) }

// first says whether a text is said for the first time in this round and the
// one before.
func (m *messages) first(text string) bool {
	was := m.said[text] || m.earlier[text]
	m.said[text] = true
	return !was
}

// nextRound begins a round of a verb that answers again and again. What was
// said in the round before is not said again for as long as it stays so, and
// what came before that is forgotten: memory does not grow with the rounds.
func (m *messages) nextRound() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.earlier, m.said = m.said, make(map[string]bool)
	m.held, m.begun = nil, false
	m.kinds, m.ordered = make(map[string]*similar), nil
}

// note says what a reader of the answer should know.
func (m *messages) note(text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if text = oneLine(text); m.first(text) {
		m.print("note: " + text)
	}
}

// warn says a warning of the library.
func (m *messages) warn(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	text := oneLine(err.Error())
	switch {
	case !m.first(text) || m.tooMany(err):
	case m.begun:
		m.print("warning: " + text)
	default:
		m.held = append(m.held, text)
	}
}

// tooMany counts a warning, and says whether enough like it have been said.
// Files in another compression than the conf says all tell the same.
func (m *messages) tooMany(err error) bool {
	var fe *statestore.FileError
	if !errors.As(err, &fe) || fe.Kind == nil {
		return false
	}
	kind := fe.Kind.Error()
	a := &similar{rest: "warnings: " + kind, max: maxOfKind}
	if errors.Is(fe.Kind, statestore.ErrCodec) {
		kind += fe.Detail
		a = &similar{rest: "files: " + oneLine(fe.Detail), max: 1}
	}
	if known := m.kinds[kind]; known != nil {
		a = known
	} else {
		m.kinds[kind], m.ordered = a, append(m.ordered, a)
	}
	a.n++
	return a.n > a.max
}

// begin says the warnings that wait.
func (m *messages) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.release("")
}

// supersede forgets the warnings that an error says: for a verb that answers
// first and then ends in it.
func (m *messages) supersede(err error) {
	if err == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held = slices.DeleteFunc(m.held, func(text string) bool { return strings.Contains(message(err), text) })
}

// release says the warnings that wait but those that an error says.
func (m *messages) release(failure string) {
	for _, text := range m.held {
		if !strings.Contains(failure, text) {
			m.print("warning: " + text)
		}
	}
	m.held, m.begun = nil, true
}

// end says what is left to say: how many warnings were left out, and the error
// that the verb ended in.
func (m *messages) end(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	failure := ""
	if err != nil {
		failure = message(err)
	}
	m.release(failure)
	for _, a := range m.ordered {
		if a.n <= a.max {
			continue
		}
		if text := fmt.Sprintf("warning: and %d more %s", a.n-a.max, a.rest); m.first(text) {
			m.print(text)
		}
	}
	if err != nil {
		m.print(failure)
	}
}

// outStream is the stream that the answer goes to. It remembers that a write has
// failed, for those who do not look (the text of --help).
type outStream struct {
	w     io.Writer
	begin func() // called before every write
	err   error
}

func (o *outStream) Write(b []byte) (int, error) {
	o.begin()
	n, err := o.w.Write(b)
	if err != nil && o.err == nil {
		o.err = err
	}
	return n, err
}

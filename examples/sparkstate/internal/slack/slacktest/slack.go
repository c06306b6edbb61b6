// Package slacktest stands in for Slack in tests: an incoming webhook that
// answers as Slack documents, and checks each message as Slack would.
package slacktest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// secret is the path of the webhook, as those of Slack are made.
const secret = "/services/T0TEAMTEAM/B0HOOKHOOK/SecretSecretSecretSecret"

// Answer is one that is given instead of taking the message.
type Answer struct {
	Status     int
	Body       string
	RetryAfter string
}

// What Slack documents for incoming webhooks, but for those that the server
// finds itself.
var (
	Limited    = Answer{http.StatusTooManyRequests, "rate_limited", "0"}
	Invalid    = Answer{http.StatusBadRequest, "invalid_payload", ""}
	Prohibited = Answer{http.StatusForbidden, "action_prohibited", ""}
	NoService  = Answer{http.StatusNotFound, "no_service", ""}
	Archived   = Answer{http.StatusGone, "channel_is_archived", ""}
	Rollup     = Answer{http.StatusInternalServerError, "rollup_error", ""}
)

// Slack is a webhook: an http.Handler.
type Slack struct {
	t testing.TB

	mu      sync.Mutex
	answers []Answer
	tries   int
	taken   []Message
}

// New returns a webhook that gives these answers first.
func New(t testing.TB, answers ...Answer) *Slack { return &Slack{t: t, answers: answers} }

// Serve returns the address of the webhook on this machine.
func (s *Slack) Serve() string {
	server := httptest.NewServer(s)
	s.t.Cleanup(server.Close)
	return s.Address(server.URL)
}

// Address is that of the webhook at a server.
func (s *Slack) Address(server string) string { return server + secret }

// ServeHTTP implements http.Handler.
func (s *Slack) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tries++
	body, err := io.ReadAll(r.Body)
	answer := Answer{Status: http.StatusOK, Body: "ok"}
	switch {
	case err != nil:
		answer = Invalid
	case r.URL.Path != secret:
		answer = NoService
	case r.Method != http.MethodPost, !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json"):
		answer = Invalid
	case len(s.answers) > 0:
		answer, s.answers = s.answers[0], s.answers[1:]
	default:
		m, err := Parse(body)
		if err != nil {
			s.t.Errorf("no message that Slack takes: %v\n%s", err, body)
			answer = Answer{Status: http.StatusBadRequest, Body: "invalid_blocks"}
			break
		}
		s.taken = append(s.taken, m)
	}
	if answer.RetryAfter != "" {
		w.Header().Set("Retry-After", answer.RetryAfter)
	}
	w.WriteHeader(answer.Status)
	if _, err := io.WriteString(w, answer.Body); err != nil {
		s.t.Log(err)
	}
}

// Answer adds answers to give before the next message is taken.
func (s *Slack) Answer(answers ...Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers = append(s.answers, answers...)
}

// Taken returns the messages that were taken since it was asked last, and how
// many requests there were in all since then.
func (s *Slack) Taken() (taken []Message, tries int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken, tries, s.taken, s.tries = s.taken, s.tries, nil, 0
	return taken, tries
}

// Leak returns what of the secret is in a text; "" for nothing.
func Leak(text string) string {
	for part := range strings.SplitSeq(secret[len("/services/"):], "/") {
		if strings.Contains(text, part) {
			return part
		}
	}
	if strings.Contains(text, "/services/") {
		return "/services/"
	}
	return ""
}

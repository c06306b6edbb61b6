package slack

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// How a message is posted. Slack takes one a second from a webhook, in the long
// run, and says in Retry-After for how many seconds it takes none.
const (
	maxTries   = 5
	oneTry     = 10 * time.Second // until an answer is there
	allTries   = 2 * time.Minute  // with the waiting between them
	firstPause = time.Second      // doubled each time
)

// ErrAddress is returned for what is no address of a webhook.
var ErrAddress = errors.New("slack: no address of a webhook")

// Webhook is an incoming webhook. Printed in any way, it does not tell its
// address.
type Webhook struct {
	address *url.URL
	client  *http.Client
}

// NewWebhook takes the address that Slack has given. It has to be of https, but
// on this very machine, where whatever stands in for Slack may listen.
func NewWebhook(address string) (*Webhook, error) {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil { // it quotes the address
		return nil, fmt.Errorf("%w: it cannot be parsed", ErrAddress)
	}
	switch host := u.Hostname(); {
	case host == "":
		return nil, fmt.Errorf("%w: it names no host", ErrAddress)
	case u.Scheme == "https", u.Scheme == "http" && loopback(host):
	default:
		return nil, fmt.Errorf("%w: it does not begin with https://", ErrAddress)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	return &Webhook{address: u, client: &http.Client{
		Transport: transport,
		Timeout:   oneTry,
		// Slack sends nobody elsewhere, and elsewhere the secret would be in
		// the Referer.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

func loopback(host string) bool {
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

// Format implements fmt.Formatter, for every verb.
func (*Webhook) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "[webhook]") }

// StatusError is an answer that is no success.
type StatusError struct {
	Status int
	// Code is what Slack calls it, such as invalid_payload; empty where the
	// answer was not Slack's.
	Code string
	// RetryAfter is how long it asks to wait.
	RetryAfter time.Duration
	// asked says that it does.
	asked bool
}

// Error is described at StatusError.
func (e *StatusError) Error() string {
	text := fmt.Sprintf("Slack answered %d", e.Status)
	if name := http.StatusText(e.Status); name != "" {
		text += " " + name
	}
	if e.Code != "" {
		text += " (" + e.Code + ")"
	}
	if e.asked {
		text += fmt.Sprintf(", and asks to wait %v", e.RetryAfter)
	}
	return text
}

// again says whether another try can help.
func (e *StatusError) again() bool {
	return e.Status == http.StatusTooManyRequests || e.Status >= http.StatusInternalServerError
}

// Post posts a message: again after a pause where Slack has no time or an error
// of its own, or cannot be reached. A message whose answer got lost may so be
// there twice. The error is a *StatusError, or says what failed without the
// address.
func (w *Webhook) Post(ctx context.Context, m *Message) error {
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, allTries)
	defer cancel()
	waited := time.Duration(0)
	for try := 1; ; try++ {
		err := w.post(limited, body)
		if err == nil {
			return nil
		}
		pause := firstPause << (try - 1)
		pause += rand.N(pause / 2) // many jobs start with the same minute
		var status *StatusError
		if errors.As(err, &status) {
			if !status.again() {
				return err
			}
			if status.asked {
				pause = status.RetryAfter
			}
		}
		if try == maxTries {
			return fmt.Errorf("%w, %d times", err, try)
		}
		if waited += pause; waited > allTries-oneTry {
			return fmt.Errorf("%w; there is no time for that", err)
		}
		switch stopped := wait(limited, pause); {
		case ctx.Err() != nil:
			return ctx.Err()
		case stopped != nil: // the tries took all the time
			return err
		}
	}
}

// post is one try.
func (w *Webhook) post(ctx context.Context, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.address.String(), bytes.NewReader(body))
	if err != nil {
		return hushed(err)
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	res, err := w.client.Do(req)
	if err != nil {
		return hushed(err)
	}
	defer res.Body.Close()
	// What follows a status is worth a word in an error and no failure itself:
	// a message that was taken was taken.
	answer, _ := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if res.StatusCode == http.StatusOK {
		return nil
	}
	e := &StatusError{Status: res.StatusCode, Code: code(answer)}
	e.RetryAfter, e.asked = retryAfter(res.Header.Get("Retry-After"))
	return e
}

// maxAnswer is how much of an answer is read: Slack's are a word.
const maxAnswer = 4 << 10

// code returns the answer if it is a word of Slack's. Whatever else answered, a
// proxy say, may have the address in its text.
func code(answer []byte) string {
	s := strings.TrimSpace(string(answer))
	if len(s) > 64 || strings.Trim(s, "abcdefghijklmnopqrstuvwxyz_") != "" {
		return ""
	}
	return s
}

// retryAfter reads the header: seconds from Slack, or a time from others.
func retryAfter(header string) (time.Duration, bool) {
	if n, err := strconv.ParseUint(header, 10, 31); err == nil {
		return time.Duration(n) * time.Second, true
	}
	if t, err := http.ParseTime(header); err == nil {
		return max(time.Until(t).Round(time.Second), 0), true
	}
	return 0, false
}

// hushed says what failed in words that have neither the address of the webhook,
// which net/http puts before all it says, nor that of a proxy.
func hushed(err error) error {
	var timeout net.Error
	var dns *net.DNSError
	var op *net.OpError
	var certificate *tls.CertificateVerificationError
	why := ""
	switch {
	case errors.As(err, &timeout) && timeout.Timeout():
		return errors.New("no answer from Slack")
	case errors.As(err, &dns):
		why = ": " + dns.Err
	case errors.As(err, &op) && op.Op == "proxyconnect":
		why = " through the proxy"
	case op != nil:
		why = ": " + op.Op + ": " + op.Err.Error()
	case errors.As(err, &certificate):
		why = ": " + certificate.Error()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		why = ": the connection was closed"
	}
	return errors.New("cannot reach Slack" + why)
}

// wait returns after a pause, or with the error of ctx.
func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

package slack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/examples/sparkstate/internal/slack/slacktest"
)

// direct hands requests to a handler, without a network: so that time can be
// that of a test.
type direct struct {
	handler http.Handler
	fails   []error // before anything is handled
}

func (d *direct) RoundTrip(r *http.Request) (*http.Response, error) {
	if len(d.fails) > 0 {
		var err error
		if err, d.fails = d.fails[0], d.fails[1:]; err != nil {
			return nil, err
		}
	}
	w := httptest.NewRecorder()
	d.handler.ServeHTTP(w, r)
	return w.Result(), nil
}

func message() *Message { return &Message{Text: "text", Blocks: []Block{Header("header")}} }

// Slack is tried again as long as that can help, and no longer.
func TestPost(t *testing.T) {
	after := func(text string) slacktest.Answer {
		return slacktest.Answer{Status: http.StatusTooManyRequests, Body: "rate_limited", RetryAfter: text}
	}
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	for name, c := range map[string]struct {
		answers     []slacktest.Answer
		fails       []error
		tries       int
		least, most time.Duration
		want        string
	}{
		"at once":              {tries: 1},
		"limited twice":        {answers: []slacktest.Answer{after("30"), after("7")}, tries: 3, least: 37 * time.Second, most: 37 * time.Second},
		"limited for too long": {answers: []slacktest.Answer{after("3600")}, tries: 1, want: "Slack answered 429 Too Many Requests (rate_limited), and asks to wait 1h0m0s; there is no time for that"},
		"limited for years":    {answers: []slacktest.Answer{after("2147483647")}, tries: 1, want: "no time"},
		"limited, unsaid":      {answers: []slacktest.Answer{after("soon"), after("-1"), after("")}, tries: 4, least: 7 * time.Second, most: 10500 * time.Millisecond},
		"limited for ever":     {answers: []slacktest.Answer{after("0"), after("0"), after("0"), after("0"), after("0")}, tries: 5, want: "and asks to wait 0s, 5 times"},
		"an error of Slack":    {answers: []slacktest.Answer{slacktest.Rollup}, tries: 2, least: time.Second, most: 1500 * time.Millisecond},
		"errors of Slack": {answers: []slacktest.Answer{slacktest.Rollup, slacktest.Rollup, slacktest.Rollup, slacktest.Rollup, {Status: 503}}, tries: 5,
			least: 15 * time.Second, most: 22500 * time.Millisecond, want: "Slack answered 503 Service Unavailable, 5 times"},
		"no connection":   {fails: []error{refused, refused}, tries: 1, least: 3 * time.Second, most: 4500 * time.Millisecond},
		"none for ever":   {fails: []error{refused, refused, refused, refused, refused}, least: 15 * time.Second, most: 22500 * time.Millisecond, want: "cannot reach Slack: dial: connection refused, 5 times"},
		"invalid":         {answers: []slacktest.Answer{slacktest.Invalid}, tries: 1, want: "Slack answered 400 Bad Request (invalid_payload)"},
		"prohibited":      {answers: []slacktest.Answer{slacktest.Prohibited}, tries: 1, want: "Slack answered 403 Forbidden (action_prohibited)"},
		"no service":      {answers: []slacktest.Answer{slacktest.NoService}, tries: 1, want: "Slack answered 404 Not Found (no_service)"},
		"archived":        {answers: []slacktest.Answer{slacktest.Archived}, tries: 1, want: "Slack answered 410 Gone (channel_is_archived)"},
		"of somebody":     {answers: []slacktest.Answer{{Status: 407, Body: "<html>no way to /services/T0TEAMTEAM</html>"}}, tries: 1, want: "Slack answered 407 Proxy Authentication Required"},
		"a redirection":   {answers: []slacktest.Answer{{Status: 302}}, tries: 1, want: "Slack answered 302 Found"},
		"another success": {answers: []slacktest.Answer{{Status: 204}}, tries: 1, want: "Slack answered 204 No Content"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := slacktest.New(t, c.answers...)
				w, err := NewWebhook(s.Address("https://hooks.slack.example"))
				require.NoError(t, err)
				w.client.Transport = &direct{s, c.fails}
				start := time.Now()
				err = w.Post(t.Context(), message())
				taken, tries := s.Taken()
				assert.Equal(t, c.tries, tries)
				assert.LessOrEqual(t, c.least, time.Since(start))
				assert.GreaterOrEqual(t, c.most, time.Since(start))
				if c.want == "" {
					require.NoError(t, err)
					assert.Len(t, taken, 1)
					return
				}
				assert.Empty(t, taken)
				require.ErrorContains(t, err, c.want)
				assert.Empty(t, slacktest.Leak(err.Error()))
			})
		})
	}
}

// Who is told to stop stops, also while waiting, and in the end on its own.
func TestPostEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := slacktest.New(t, slacktest.Answer{Status: 429, RetryAfter: "60"})
		w, err := NewWebhook(s.Address("https://hooks.slack.example"))
		require.NoError(t, err)
		w.client.Transport = &direct{handler: s}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		start := time.Now()
		assert.ErrorIs(t, w.Post(ctx, message()), context.DeadlineExceeded)
		assert.Equal(t, 5*time.Second, time.Since(start))
	})
	synctest.Test(t, func(t *testing.T) {
		w, err := NewWebhook("https://hooks.slack.example")
		require.NoError(t, err)
		w.client.Transport = silent{}
		start := time.Now()
		require.ErrorContains(t, w.Post(t.Context(), message()), "no answer from Slack, 5 times")
		assert.LessOrEqual(t, time.Since(start), allTries)
	})
}

// silent takes requests and answers none.
type silent struct{}

func (silent) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestNewWebhook(t *testing.T) {
	for _, address := range []string{"https://hooks.slack.com/services/T/B/X", " https://hooks.slack.com/services/T/B/X\n", "http://localhost:80/x", "http://127.0.0.1/x", "http://[::1]:8080/x"} {
		_, err := NewWebhook(address)
		assert.NoError(t, err, address)
	}
	s := slacktest.New(t)
	for _, server := range []string{"", "http://hooks.slack.com", "hooks.slack.com", "ftp://localhost", "https://", "http://127.0.0.1.example", "https://host:port", "%zz", "https://a b"} {
		_, err := NewWebhook(s.Address(server))
		require.ErrorIs(t, err, ErrAddress, server)
		assert.Empty(t, slacktest.Leak(err.Error()), server)
	}
}

// Nothing that fails, and no way to print, tells the address.
func TestSecret(t *testing.T) {
	s := slacktest.New(t)
	w, err := NewWebhook(s.Serve())
	require.NoError(t, err)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
		assert.Equal(t, "[webhook]", fmt.Sprintf(verb, w))
		assert.Empty(t, slacktest.Leak(fmt.Sprintf(verb, struct{ W *Webhook }{w})), verb)
	}
	closed := httptest.NewServer(s)
	closed.Close()
	hangsUp := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if assert.NoError(t, err) {
			assert.NoError(t, c.Close())
		}
	}))
	defer hangsUp.Close()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/elsewhere"+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	defer elsewhere.Close()
	unknown := httptest.NewUnstartedServer(s)
	unknown.Config.ErrorLog = log.New(io.Discard, "", 0) // of the handshake that fails
	unknown.StartTLS()
	defer unknown.Close()
	plain := httptest.NewServer(s)
	defer plain.Close()
	nowhere := &net.DNSError{Err: "no such host", Name: "hooks.slack.example", IsNotFound: true}
	for name, c := range map[string]struct {
		server, proxy, want string
		dial                error
	}{
		"closed":           {server: closed.URL, want: "cannot reach Slack: dial: connect: connection refused"},
		"hangs up":         {server: hangsUp.URL, want: "cannot reach Slack"},
		"redirects":        {server: elsewhere.URL, want: "307 Temporary Redirect"},
		"unknown to us":    {server: unknown.URL, want: "certificate"},
		"no TLS":           {server: "https" + plain.URL[len("http"):], want: "cannot reach Slack"},
		"no such host":     {server: "https://hooks.slack.example", want: "cannot reach Slack: no such host", dial: nowhere},
		"no proxy there":   {server: "https://hooks.slack.example", proxy: closed.URL, want: "cannot reach Slack through the proxy"},
		"refused by proxy": {server: "https://hooks.slack.example", proxy: plain.URL, want: "cannot reach Slack"},
		"of that proxy":    {server: "https://hooks.slack.example", proxy: "gopher://user:T0TEAMTEAM@host", want: "cannot reach Slack: no such host", dial: nowhere},
	} {
		w, err := NewWebhook(s.Address(c.server))
		require.NoError(t, err, name)
		if c.proxy != "" {
			w.client.Transport.(*http.Transport).Proxy = func(*http.Request) (*url.URL, error) { return url.Parse(c.proxy) }
		}
		if c.dial != nil {
			w.client.Transport.(*http.Transport).DialContext = func(context.Context, string, string) (net.Conn, error) { return nil, c.dial }
		}
		err = w.post(t.Context(), []byte("{}"))
		require.ErrorContains(t, err, c.want, name)
		assert.Empty(t, slacktest.Leak(err.Error()), "%s: %v", name, err)
	}
}

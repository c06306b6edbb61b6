package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// chromium is a headless browser, spoken to by the DevTools protocol over two
// pipes: messages are JSON and end in a zero byte.
type chromium struct {
	t        *testing.T
	in       io.Writer
	messages chan devtools
	id       int
	session  string
	// Events are what the browser has told since the last page was opened.
	events []devtools
}

type devtools struct {
	ID     int             `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`
}

// startChromium starts a browser, or skips the test where there is none.
func startChromium(t *testing.T) *chromium {
	t.Helper()
	var name string
	for _, n := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(n); err == nil {
			name = path
			break
		}
	}
	if name == "" {
		t.Skip("no Chromium is installed, so the page is not opened in a browser")
	}
	toRead, ourWrite, err := os.Pipe()
	require.NoError(t, err)
	ourRead, toWrite, err := os.Pipe()
	require.NoError(t, err)
	cmd := exec.Command(name, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
		"--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--user-data-dir="+t.TempDir(), "--remote-debugging-pipe", "about:blank")
	cmd.ExtraFiles = []*os.File{toRead, toWrite}
	require.NoError(t, cmd.Start())
	require.NoError(t, toRead.Close())
	require.NoError(t, toWrite.Close())
	c := &chromium{t: t, in: ourWrite, messages: make(chan devtools, 1024)}
	go func() {
		defer close(c.messages)
		for r := bufio.NewReader(ourRead); ; {
			b, err := r.ReadBytes(0)
			if err != nil {
				return
			}
			var m devtools
			if json.Unmarshal(bytes.TrimSuffix(b, []byte{0}), &m) == nil {
				c.messages <- m
			}
		}
	}()
	t.Cleanup(func() {
		c.call("Browser.close", nil, nil)
		_ = ourWrite.Close()
		_ = cmd.Wait() // it says how it ended, which is of no interest
		_ = ourRead.Close()
	})
	var target struct {
		TargetID string `json:"targetId"`
	}
	c.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct {
		SessionID string `json:"sessionId"`
	}
	c.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	c.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		c.call(domain+".enable", nil, nil)
	}
	return c
}

// call sends a command and waits for its result.
func (c *chromium) call(method string, params, result any) {
	c.t.Helper()
	c.id++
	command := map[string]any{"id": c.id, "method": method}
	if params != nil {
		command["params"] = params
	}
	if c.session != "" && method != "Browser.close" {
		command["sessionId"] = c.session
	}
	b, err := json.Marshal(command)
	require.NoError(c.t, err)
	_, err = c.in.Write(append(b, 0))
	require.NoError(c.t, err)
	id := c.id
	m := c.until(func(m devtools) bool { return m.ID == id })
	require.Empty(c.t, string(m.Error), method)
	if result != nil {
		require.NoError(c.t, json.Unmarshal(m.Result, result))
	}
}

// until waits for a message, and keeps the events that come before it.
func (c *chromium) until(wanted func(devtools) bool) devtools {
	c.t.Helper()
	late := time.After(60 * time.Second)
	for {
		select {
		case m, ok := <-c.messages:
			require.True(c.t, ok, "the browser has gone")
			if m.Method != "" {
				c.events = append(c.events, m)
			}
			if wanted(m) {
				return m
			}
		case <-late:
			require.Fail(c.t, "the browser does not answer")
		}
	}
}

// open opens a file on a screen of so many pixels.
func (c *chromium) open(name string, width int, dark bool) {
	c.t.Helper()
	scheme := map[bool]string{false: "light", true: "dark"}[dark]
	c.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}, nil)
	c.call("Emulation.setEmulatedMedia", map[string]any{"features": []any{map[string]any{"name": "prefers-color-scheme", "value": scheme}}}, nil)
	c.events = nil
	path, err := filepath.Abs(name)
	require.NoError(c.t, err)
	c.call("Page.navigate", map[string]any{"url": "file://" + path}, nil)
	if !slices.ContainsFunc(c.events, isLoaded) {
		c.until(isLoaded)
	}
}

func isLoaded(m devtools) bool { return m.Method == "Page.loadEventFired" }

// eval evaluates an expression in the page, beside its policy.
func (c *chromium) eval(expression string, result any) {
	c.t.Helper()
	var r struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		Exception json.RawMessage `json:"exceptionDetails"`
	}
	c.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true}, &r)
	require.Empty(c.t, string(r.Exception), expression)
	require.NoError(c.t, json.Unmarshal(r.Result.Value, result), expression)
}

// press presses a key.
func (c *chromium) press(key string, code int) {
	c.t.Helper()
	for _, kind := range []string{"rawKeyDown", "keyUp"} {
		c.call("Input.dispatchKeyEvent", map[string]any{"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code}, nil)
	}
}

// picture keeps a screenshot of the whole page, where the tests are told to keep
// what they make (go test -artifacts).
func (c *chromium) picture(name string) {
	c.t.Helper()
	if keep := flag.Lookup("test.artifacts"); keep == nil || keep.Value.String() != "true" {
		return
	}
	var shot struct {
		Data string `json:"data"`
	}
	c.call("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true}, &shot)
	b, err := base64.StdEncoding.DecodeString(shot.Data)
	require.NoError(c.t, err)
	require.NoError(c.t, os.WriteFile(filepath.Join(c.t.ArtifactDir(), name+".png"), b, 0o600))
}

// complaints are what the browser has said on its console, and the addresses
// that the page has asked for beside itself.
func (c *chromium) complaints() []string {
	var out []string
	for _, m := range c.events {
		switch m.Method {
		case "Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown":
			out = append(out, fmt.Sprintf("%s: %s", m.Method, m.Params))
		case "Network.requestWillBeSent":
			var p struct {
				Type    string `json:"type"`
				Request struct {
					URL string `json:"url"`
				} `json:"request"`
			}
			if json.Unmarshal(m.Params, &p) != nil || p.Type != "Document" {
				out = append(out, "asked for "+p.Request.URL)
			}
		}
	}
	return out
}

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What the test below looks for is seen where it is.
func TestBrowserNotices(t *testing.T) {
	c := startChromium(t)
	file := filepath.Join(t.TempDir(), "bad.html")
	require.NoError(t, os.WriteFile(file, []byte(`<!doctype html><meta name="viewport" content="width=device-width">`+
		`<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src *"><p style="width: 900px">.</p><pre>`+strings.Repeat("wide", 300)+
		`</pre><img src="http://127.0.0.1:1/x.png"><script>alert(1)</script>`), 0o600))
	c.open(file, 360, false)
	all := strings.Join(c.complaints(), "\n")
	for _, says := range []string{"inline style", "inline script", "asked for http://127.0.0.1:1/x.png"} {
		assert.Contains(t, all, says)
	}
	var wide int
	c.eval("document.documentElement.scrollWidth", &wide)
	assert.Greater(t, wide, 360)
}

// loneColumn lists the tables, by their headings, whose second column has to be
// scrolled to.
const loneColumn = `[...document.querySelectorAll('.table')].filter(t => {
	const second = t.querySelectorAll('thead th')[1];
	return second && second.getBoundingClientRect().right > t.getBoundingClientRect().right + 1;
}).map(t => t.innerText.split('\n')[0])`

// The page in a real browser: nothing is asked for, nothing complains, nothing
// is cut off on a phone, and all of it can be reached by keyboard.
func TestReportInBrowser(t *testing.T) {
	c := startChromium(t)
	damaged := copyOf(t, adBilling)
	edit(t, filepath.Join(damaged, "state/1/2/7.delta"), func(b []byte) []byte { return b[:len(b)/2] })
	for _, p := range []struct{ name, ckpt string }{
		{"ad_billing", adBilling},
		{"damaged", damaged},
		{"join_skewed", root + "/testdata/4.3.0/join_skewed.zip"},
		{"rocksdb", root + "/testdata/4.1.4/rocksdb_agg.zip"},
		{"hostile-4", sessions(t, 4, 7, 400, 30)},
		{"200", sessions(t, 200, 6, 20_000, 1200)},
		{"2000", sessions(t, 2000, 2, 30_000, 9000)},
	} {
		file := filepath.Join(t.TempDir(), p.name+".html")
		code, _, errs := sparkstate("report", p.ckpt, "-o", file)
		require.Zero(t, code, errs)
		for _, width := range []int{360, 1200} {
			for _, dark := range []bool{false, true} {
				name := fmt.Sprintf("%s-%d-%v", p.name, width, map[bool]string{false: "light", true: "dark"}[dark])
				c.open(file, width, dark)
				assert.Empty(t, c.complaints(), name)
				var wide int
				c.eval("document.documentElement.scrollWidth", &wide)
				assert.LessOrEqual(t, wide, width, "%s scrolls sideways", name)
				var lone []string
				c.eval(loneColumn, &lone)
				assert.Empty(t, lone, "%s: of these tables only the first column is seen", name)
				var scripts int
				c.eval("document.querySelectorAll('script,img,iframe,object,link').length", &scripts)
				assert.Zero(t, scripts, name)
				c.picture(name)
			}
		}
		c.byKeyboard(p.name)
	}
}

// byKeyboard goes through the page by the tab key, as often as there is something
// to reach, and out of it again.
func (c *chromium) byKeyboard(name string) {
	c.t.Helper()
	const focusable = `[...document.querySelectorAll('a[href],summary,[tabindex="0"]')].filter(e => e.checkVisibility({contentVisibilityAuto: true}))`
	var n int
	c.eval(focusable+".length", &n)
	require.Greater(c.t, n, 5, name)
	seen := make(map[int]bool)
	for range n {
		c.press("Tab", 9)
		var at int
		c.eval(focusable+".indexOf(document.activeElement)", &at)
		seen[at] = true
	}
	assert.Len(c.t, seen, n, "%s: each of them once", name)
	assert.NotContains(c.t, seen, -1, name)
	var outline string
	c.eval(`getComputedStyle(document.activeElement).outlineStyle`, &outline)
	assert.Equal(c.t, "solid", outline, "%s: the focus is seen", name)
	c.eval(`(document.querySelector('summary') || document.body).focus(), document.activeElement.tagName`, &outline)
	if strings.EqualFold(outline, "summary") {
		var before, after bool
		c.eval(`document.activeElement.parentElement.open`, &before)
		c.call("Input.dispatchKeyEvent", map[string]any{"type": "keyDown", "key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"}, nil)
		c.call("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13}, nil)
		c.eval(`document.activeElement.parentElement.open`, &after)
		assert.NotEqual(c.t, before, after, "%s: the enter key opens and closes tables", name)
	}
}

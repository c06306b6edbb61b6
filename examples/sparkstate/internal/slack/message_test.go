package slack

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/examples/sparkstate/internal/slack/slacktest"
)

func TestEscape(t *testing.T) {
	for _, c := range []struct {
		limit      int
		text, want string
	}{
		{10, "", ""},
		{4, "four", "four"},
		{3, "four", "fo…"},
		{1, "four", "…"},
		{100, "<!channel> & <@U1>", "&lt;!channel&gt; &amp; &lt;@U1&gt;"},
		{100, "&amp;", "&amp;amp;"},
		{10, "a<b", "a&lt;b"},
		{5, "a<b", "a…"},
		{5, "a<", "a&lt;"},
		{4, "a<", "a…"},
		{2, "😀", "😀"},
		{2, "😀😀", "…"},
		{3, "😀😀", "😀…"},
		{100, "bad \xff", "bad \ufffd"},
	} {
		assert.Equal(t, c.want, Escape(c.limit, c.text), "%d of %q", c.limit, c.text)
	}
}

func TestLines(t *testing.T) {
	assert.Equal(t, "", Lines(100, nil))
	assert.Equal(t, "a\nb", Lines(100, []string{"a", "b"}))
	var many []string
	for i := range 100 {
		many = append(many, fmt.Sprint("line ", i))
	}
	text := Lines(100, many)
	assert.LessOrEqual(t, len(text), 100)
	assert.Regexp(t, `^line 0\n(line \d+\n)+… and \d\d more$`, text)
	assert.Equal(t, "<<<<<<<<<<\n… and 1 more", Lines(50, []string{"<<<<<<<<<<", "more"}), "counted as escaped")
	assert.Equal(t, strings.Repeat("x", 200), Lines(100, []string{strings.Repeat("x", 200)}))
}

// Whatever is in it, a message is one that Slack takes.
func FuzzMessage(f *testing.F) {
	f.Add("a header", "a text", "a value", 100)
	f.Add("", "", "", 1)
	f.Add(strings.Repeat("<", 200), strings.Repeat("&😀", 4000), "*bold* <!here|x>", 9000)
	f.Fuzz(func(t *testing.T, header, text, value string, limit int) {
		if limit < 1 {
			limit = 1
		}
		m := &Message{Text: Escape(100, "x"+header), Blocks: []Block{Header(header), Section(limit, text), Divider()}}
		var fields []Field
		for range 12 {
			fields = append(fields, Field{"label", value})
		}
		m.Blocks = append(m.Blocks, Section(100, text, fields...))
		body, err := json.Marshal(m)
		require.NoError(t, err)
		_, err = slacktest.Parse(body)
		require.NoError(t, err)
		for _, limit := range []int{1, 7, 100} {
			assert.True(t, utf8.ValidString(Escape(limit, text)))
			if lines := strings.Split(text, "\n"); length(lines[0]) < limit {
				assert.LessOrEqual(t, length(Lines(limit+20, lines)), limit+20)
			}
		}
	})
}

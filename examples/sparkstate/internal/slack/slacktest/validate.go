package slacktest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf16"
)

// Message is what Slack would show.
type Message struct {
	// Text is the notification, Header the large text, Shown all texts of the
	// blocks, a line each, as they are read.
	Text, Header, Shown string
	// Blocks is how many there are, Characters how long their texts are.
	Blocks, Characters int
}

// Parse checks a payload by what Slack documents of Block Kit
// (docs.slack.dev/reference/block-kit), from the JSON alone: it shares no type
// and no number with the package that makes messages. It is stricter where this
// program promises more: all text is plain_text, and control characters are
// written as entities.
func Parse(body []byte) (m Message, err error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var top map[string]any
	if err := d.Decode(&top); err != nil {
		return m, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return m, errors.New("text after the payload")
	}
	for _, off := range []string{"mrkdwn", "unfurl_links", "unfurl_media"} {
		if top[off] != false {
			return m, fmt.Errorf("%s is %v", off, top[off])
		}
		delete(top, off)
	}
	text, _ := top["text"].(string)
	blocks, _ := top["blocks"].([]any)
	switch {
	case len(top) != 2:
		return m, fmt.Errorf("fields nobody knows among %v", top)
	case text == "" || len(blocks) == 0 || len(blocks) > 50:
		return m, fmt.Errorf("%d characters of text, %d blocks", len(text), len(blocks))
	}
	if m.Text, err = unescape(text, 4000); err != nil {
		return m, err
	}
	v := &validator{}
	for i, b := range blocks {
		if err := v.block(b); err != nil {
			return m, fmt.Errorf("block %d: %w", i, err)
		}
	}
	if v.characters > 11_000 { // refused in practice, see slack.MaxMessage
		return m, fmt.Errorf("%d characters in all", v.characters)
	}
	m.Header, m.Shown, m.Blocks, m.Characters = v.header, strings.Join(v.shown, "\n"), len(blocks), v.characters
	return m, nil
}

type validator struct {
	header     string
	shown      []string
	characters int
}

func (v *validator) block(b any) error {
	f, ok := b.(map[string]any)
	if !ok {
		return errors.New("no object")
	}
	kind, _ := f["type"].(string)
	delete(f, "type")
	switch kind {
	case "divider":
		return only(f)
	case "header":
		if err := v.text(f["text"], 150); err != nil {
			return err
		}
		v.header = v.shown[len(v.shown)-1]
		return only(f, "text")
	case "section":
		_, has := f["text"]
		if has {
			if err := v.text(f["text"], 3000); err != nil {
				return err
			}
		}
		if err := v.texts(f["fields"], 10, 2000, has); err != nil {
			return err
		}
		return only(f, "text", "fields")
	}
	return fmt.Errorf("type %q", kind)
}

func (v *validator) texts(of any, most, limit int, optional bool) error {
	if of == nil && optional {
		return nil
	}
	all, _ := of.([]any)
	if len(all) == 0 || len(all) > most {
		return fmt.Errorf("%d texts of at most %d", len(all), most)
	}
	for _, t := range all {
		if err := v.text(t, limit); err != nil {
			return err
		}
	}
	return nil
}

func (v *validator) text(of any, limit int) error {
	f, _ := of.(map[string]any)
	s, _ := f["text"].(string)
	if f["type"] != "plain_text" || f["emoji"] != false || s == "" {
		return fmt.Errorf("no plain text: %v", of)
	}
	if err := only(f, "type", "emoji", "text"); err != nil {
		return err
	}
	shown, err := unescape(s, limit)
	if err != nil {
		return err
	}
	v.characters += len(utf16.Encode([]rune(s)))
	v.shown = append(v.shown, shown)
	return nil
}

func only(f map[string]any, known ...string) error {
	for _, k := range known {
		delete(f, k)
	}
	if len(f) > 0 {
		return fmt.Errorf("fields nobody knows: %v", f)
	}
	return nil
}

// entity is what an ampersand has to begin.
var entity = regexp.MustCompile(`&(amp;|lt;|gt;)?`)

// unescape checks a text that Slack gets, and returns it as it is shown.
func unescape(s string, limit int) (string, error) {
	if n := len(utf16.Encode([]rune(s))); n > limit {
		return "", fmt.Errorf("%d characters, at most %d: %s", n, limit, s)
	}
	if strings.ContainsAny(s, "<>") {
		return "", fmt.Errorf("not escaped: %s", s)
	}
	for _, e := range entity.FindAllString(s, -1) {
		if e == "&" {
			return "", fmt.Errorf("not escaped: %s", s)
		}
	}
	return strings.NewReplacer("&amp;", "&", "&lt;", "<", "&gt;", ">").Replace(s), nil
}

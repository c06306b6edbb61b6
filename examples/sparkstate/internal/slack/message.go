// Package slack posts messages to an incoming webhook of Slack.
//
// A message is made of Block Kit's blocks, and all text in them is plain_text:
// nothing in a key of somebody's state can then be a link, a mention or markup.
// The address of a webhook is a secret, and no error of this package has it.
package slack

import (
	"strconv"
	"strings"
	"unicode/utf16"
)

// What Slack documents as the most of each, in characters or blocks
// (docs.slack.dev, reference/block-kit/blocks). MaxMessage is of all text
// together: beyond some 11,000 to 13,000 characters Slack refuses messages with
// msg_blocks_too_long, without documenting where (slackapi/bolt-js, issues 2509
// and 2867).
const (
	MaxBlocks  = 50
	MaxHeader  = 150
	MaxText    = 3000
	MaxFields  = 10
	MaxField   = 2000
	MaxMessage = 10_000
)

// Message is the payload of a webhook.
type Message struct {
	// Text is what a notification shows in place of the blocks.
	Text string `json:"text"`
	// Slack takes markup in Text, and shows what links lead to, unless it is
	// told not to: these are always false.
	Markup      bool    `json:"mrkdwn"`
	UnfurlLinks bool    `json:"unfurl_links"`
	UnfurlMedia bool    `json:"unfurl_media"`
	Blocks      []Block `json:"blocks"`
}

// Block is one of the kinds of blocks that are made here.
type Block struct {
	Type   string `json:"type"`
	Text   *Text  `json:"text,omitempty"`
	Fields []Text `json:"fields,omitempty"`
}

// Text is a text object.
type Text struct {
	Type string `json:"type"`
	Text string `json:"text"`
	// Emoji has :names: replaced by pictures.
	Emoji bool `json:"emoji"`
}

// Header is a line of large text.
func Header(text string) Block {
	t := plain(MaxHeader, text)
	return Block{Type: "header", Text: &t}
}

// Section is a text of at most limit characters, with fields in two columns
// below it.
func Section(limit int, text string, fields ...Field) Block {
	t := plain(min(limit, MaxText), text)
	b := Block{Type: "section", Text: &t}
	for _, f := range fields[:min(len(fields), MaxFields)] {
		b.Fields = append(b.Fields, plain(min(maxField, MaxField), f.Label+"\n"+f.Value))
	}
	return b
}

// Field is a value with its name above it.
type Field struct{ Label, Value string }

// maxField is how long a field gets, which is a fraction of what Slack takes:
// it is read in a column.
const maxField = 150

// Divider is a line between blocks.
func Divider() Block { return Block{Type: "divider"} }

func plain(limit int, text string) Text {
	if text == "" { // Slack wants one character at least
		text = "–"
	}
	return Text{Type: "plain_text", Text: Escape(limit, text)}
}

// Escape writes &, < and > as Slack wants them in any text, and cuts the text
// where it would be longer than limit then. It is counted in UTF-16, as nobody
// counts more.
func Escape(limit int, text string) string {
	var b strings.Builder
	n, whole := 0, 0 // whole is where to cut, with room for an ellipsis
	for _, r := range text {
		s, width := escaped(r)
		if n += width; n > limit {
			return b.String()[:whole] + "…"
		}
		b.WriteString(s)
		if n < limit {
			whole = b.Len()
		}
	}
	return b.String()
}

// escaped returns a character as Slack wants it, and its length.
func escaped(r rune) (string, int) {
	s := string(r)
	switch r {
	case '&':
		s = "&amp;"
	case '<':
		s = "&lt;"
	case '>':
		s = "&gt;"
	default:
		return s, utf16.RuneLen(r)
	}
	return s, len(s)
}

// Lines joins as many lines as are no longer than limit in all, and says how
// many more there are. The first is always there: the block cuts it.
func Lines(limit int, lines []string) string {
	const more = len("\n… and 1000000 more")
	n := 0
	for i, l := range lines {
		n += length(l) + 1
		if i > 0 && n > limit-more {
			return strings.Join(lines[:i], "\n") + "\n… and " + strconv.Itoa(len(lines)-i) + " more"
		}
	}
	return strings.Join(lines, "\n")
}

func length(s string) int {
	n := 0
	for _, r := range s {
		_, width := escaped(r)
		n += width
	}
	return n
}

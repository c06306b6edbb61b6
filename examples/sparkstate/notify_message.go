package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sparkstate/sparkstate/examples/sparkstate/internal/slack"
)

// How much of a run one message shows, in stores and in characters: all of it
// stays within slack.MaxMessage, and can be read on a telephone.
const (
	maxDetailed   = 3
	maxTitle      = 300
	maxKeysText   = 500
	maxAdviceText = 900
	maxListText   = 800
	keysNamed     = 3
)

// message says what has changed. One message has all the changes of a run: the
// four stores of a join are skewed together.
func (n *notifier) message(at string, over, back []change) *slack.Message {
	title := n.title(over, back)
	where := fmt.Sprintf("checkpoint %s, after batch %d", visible(at), slices.Concat(over, back)[0].now.batch)
	m := &slack.Message{
		Text:   slack.Escape(maxTitle, title+" ("+where+")"),
		Blocks: []slack.Block{slack.Header(title), slack.Section(maxTitle, where)},
	}
	detailed := over[:min(len(over), maxDetailed)]
	for _, c := range detailed {
		m.Blocks = append(m.Blocks, n.details(c.now)...)
	}
	list := func(head string, lines []string) {
		if len(lines) > 0 {
			m.Blocks = append(m.Blocks, slack.Divider(), slack.Section(maxListText, slack.Lines(maxListText, append([]string{head}, lines...))))
		}
	}
	var lines []string
	for _, c := range over[len(detailed):] {
		lines = append(lines, fmt.Sprintf("%s: %s", short(c.now.label), number(c.now.rated(n.flags))))
	}
	list(fmt.Sprintf("Also with a %s above %g:", n.flags.rateName(), n.flags.rate), lines)
	lines = nil
	for _, c := range back {
		lines = append(lines, n.backText(c))
	}
	list("Back:", lines)
	return m
}

// title is the headline.
func (n *notifier) title(over, back []change) string {
	limit := fmt.Sprintf("%g", n.flags.rate)
	if len(over) == 0 {
		return capital(n.flags.rateName()) + " no longer above " + limit + ": " + naming(back)
	}
	text := capital(n.flags.rateName()) + " above " + limit + ": " + naming(over)
	if len(back) > 0 {
		text += "; no longer: " + naming(back)
	}
	return text
}

// naming names one store, and counts more.
func naming(cs []change) string {
	if len(cs) == 1 {
		return short(cs[0].now.label)
	}
	return counting(len(cs), "store")
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// details are the blocks about a store that is over the rate.
func (n *notifier) details(s *storeSkew) []slack.Block {
	hot := "none"
	switch {
	case len(s.Hot) > 0:
		hot = ints(s.Hot)
	case s.Inconclusive != "":
		hot = "cannot be told"
	}
	fields := []slack.Field{
		{Label: capital(n.flags.rateName()), Value: fmt.Sprintf("%s (limit %g)", number(s.rated(n.flags)), n.flags.rate)},
		{Label: "Verdict", Value: fmt.Sprintf("%s (%s)", s.Verdict, s.Severity)},
		{Label: "Fullest partition", Value: fmt.Sprintf("%d with %s, %s of all", s.Fullest, number(s.Max), share(s.Max, s.Total))},
		{Label: "Hot by rule " + s.Rule, Value: hot},
		{Label: "In all", Value: fmt.Sprintf("%s in %s", number(s.Total), counting(s.Count, "partition"))},
		{Label: "max/median", Value: number(s.MaxOverMedian)},
	}
	blocks := []slack.Block{slack.Divider(), slack.Section(maxTitle, fmt.Sprintf("%s: %s by partition", short(s.label), short(s.Measure)), fields...)}
	if s.Analysis == nil {
		return blocks
	}
	if keys := s.Analysis.keysText(); len(keys) > 0 {
		blocks = append(blocks, slack.Section(maxKeysText, slack.Lines(maxKeysText, keys)))
	}
	var advice []string
	for _, t := range s.Analysis.Advice {
		advice = append(advice, "• "+visible(t))
	}
	if len(advice) > 0 {
		blocks = append(blocks, slack.Section(maxAdviceText, slack.Lines(maxAdviceText, advice)))
	}
	return blocks
}

// keysText names the largest keys, and where all are alike the values of their
// columns.
func (s *skewAnalysis) keysText() []string {
	var lines []string
	for _, k := range s.TopKeys[:min(keysNamed, len(s.TopKeys))] {
		lines = append(lines, k.text())
	}
	if len(lines) > 0 {
		return append([]string{"Largest keys:"}, lines...)
	}
	for _, c := range s.Columns {
		if len(c.Top) > 0 {
			lines = append(lines, c.text())
		}
	}
	return lines
}

// backText says that a store is back.
func (n *notifier) backText(c change) string {
	return fmt.Sprintf("%s: %s; it was %.3g at batch %d, and above the limit since %s", short(c.now.label),
		number(c.now.rated(n.flags)), c.was.Rate, c.was.Batch, c.was.Since.Format(time.RFC3339))
}

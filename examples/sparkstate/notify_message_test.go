package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/examples/sparkstate/internal/slack"
	"github.com/sparkstate/sparkstate/examples/sparkstate/internal/slack/slacktest"
	"github.com/sparkstate/sparkstate/skew"
)

// However much there is to say, the message is one that Slack takes.
func TestNotifyMessageFits(t *testing.T) {
	long := strings.Repeat(`<&> *"😀"* `, 1000)
	s := storeSkew{label: long, Measure: long, batch: 7, Summary: skew.Summary{Count: 2000, Total: 1e300, Max: 1e300, MaxOverMedian: 1e300, Fullest: 1999},
		Finding: skew.Finding{Rule: "sigma"}, judged: judged{Verdict: "wrong-partitioning", Severity: skew.Critical, SkewRate: 0.9}}
	for p := 0; p < 2000; p += 2 {
		s.Hot = append(s.Hot, p)
	}
	part, share := 1999, skew.Float(1)
	key := topKey{Key: json.RawMessage(`"` + long + `"`), Value: 1e300, PartitionID: &part, OfPartition: &share, OfAll: 1}
	s.Analysis = &skewAnalysis{TopKeys: []topKey{key, key, key, key}, Advice: []string{long, long}}
	columns := s
	columns.Analysis = &skewAnalysis{Columns: []columnSkew{{Name: long, Top: []topKey{key, key, key}}}, Advice: []string{"short", long}}
	bare := s
	bare.Analysis, bare.Hot, bare.Inconclusive = nil, nil, "there are too few"
	was := &alert{Batch: 1 << 60, Rate: 1e300}
	n := &notifier{flags: skewFlags{rate: 1e-300, rateOf: rateOfHot}}
	for _, stores := range [][]*storeSkew{{&s}, {&columns, &bare}, {&s, &s, &s}, slices.Repeat([]*storeSkew{&s}, 500)} {
		var over, back []change
		for _, s := range stores {
			over, back = append(over, change{now: s}), append(back, change{now: s, was: was})
		}
		for _, m := range []*slack.Message{n.message(long, over, nil), n.message(long, nil, back), n.message(long, over, back)} {
			body, err := json.Marshal(m)
			require.NoError(t, err)
			read, err := slacktest.Parse(body)
			require.NoError(t, err)
			assert.LessOrEqual(t, read.Characters, slack.MaxMessage)
			assert.LessOrEqual(t, read.Blocks, slack.MaxBlocks)
		}
	}
}

// A rate that is not known is said, and is neither over nor back.
func TestNotifyUnknownRate(t *testing.T) {
	var errs strings.Builder
	a := &app{messages: newMessages(&errs)}
	store := func(rate, max float64) []storeSkew {
		return []storeSkew{{StateStoreName: "default", label: "x_0/default", Summary: skew.Summary{Max: skew.Float(max)}, judged: judged{SkewRate: skew.Float(rate), Floor: 10}}}
	}
	n := &notifier{flags: skewFlags{rate: 0.1, rateOf: rateOfMove}}
	told := alerts{{Checkpoint: "c", StateStoreName: "default"}: {}}
	unknown := float64(skew.Undefined())
	for _, c := range []struct {
		rate, max  float64
		known      alerts
		over, back int
	}{
		{0.2, 11, nil, 1, 0}, {0.2, 11, told, 0, 0}, {0.2, 10, nil, 0, 0}, {0.2, 10, told, 0, 1},
		{0.1, 11, nil, 0, 0}, {0.1, 11, told, 0, 1}, {unknown, 10, told, 0, 1},
		{unknown, 11, nil, 0, 0}, {unknown, 11, told, 0, 0},
	} {
		over, back := n.changes(a, "c", c.known, store(c.rate, c.max))
		assert.Len(t, over, c.over, c)
		assert.Len(t, back, c.back, c)
	}
	assert.Equal(t, "sparkstate: note: --notify does not watch x_0/default: its skew rate is not known\n", errs.String())
}

package report

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"plain <b>&":       "plain <b>&",
		"a\u202eb\u2066":   `a\u202eb\u2066`,
		"tab\tbell\a":      `tab\u0009bell\u0007`,
		"two\nlines":       "two lines",
		"wide\u3000space":  `wide\u3000space`,
		"\xff\xfe":         "\ufffd\ufffd",
		"\U000e0001 tag":   `\U000e0001 tag`,
		"שלום":             "שלום",
		"zero\u200bwidth":  `zero\u200bwidth`,
		"\ufeffbom":        `\ufeffbom`,
		"line\u2028breaks": `line\u2028breaks`,
	} {
		assert.Equal(t, want, Text(in).String())
	}
	long := Key(strings.Repeat("é", 1<<20)).String()
	assert.Equal(t, strings.Repeat("é", maxKey)+"… (2,097,152 bytes in all)", long)
	assert.Equal(t, maxText, utf8.RuneCountInString(Text(strings.Repeat("x", maxText)).String()), "what just fits is whole")
}

func TestNumbers(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Count(0), "0"}, {Count(999), "999"}, {Count(1000), "1,000"}, {Count(1234567), "1,234,567"}, {Count(-1234), "−1,234"},
		{Count(17.14), "17.1"}, {Count(281.03), "281"}, {Count(nan), "–"}, {Count(math.Inf(1)), "–"},
		{Bytes(0), "0 bytes"}, {Bytes(1023), "1,023 bytes"}, {Bytes(1024), "1.0 KiB"}, {Bytes(6.1 * 1024), "6.1 KiB"},
		{Bytes(1 << 20), "1.0 MiB"}, {Bytes(1<<20 - 1), "1.0 MiB"}, {Bytes(nan), "–"},
		{Percent(0), "0.0 %"}, {Percent(0.273), "27.3 %"}, {Percent(1), "100.0 %"}, {Percent(0.0001), "< 0.1 %"}, {Percent(nan), "–"},
		{Ratio(1), "1"}, {Ratio(1.09), "1.09"}, {Ratio(13.33), "13.3"}, {Ratio(301.4), "301"}, {Ratio(0.0105), "0.011"}, {Ratio(0.00001), "1e-05"}, {Ratio(nan), "–"},
		{Plural(1, "partition"), "1 partition"}, {Plural(2000, "partition"), "2,000 partitions"},
		{span(3, 3), "3"}, {span(3, 9), "3–9"},
	} {
		assert.Equal(t, c.want, c.got)
	}
}

// Every partition is in one column, columns are few, and hot ones stay visible.
func TestRanges(t *testing.T) {
	for _, c := range []struct {
		partitions int
		hot        []int
		columns    int
	}{
		{0, nil, 0}, {1, nil, 1}, {4, []int{2}, 4}, {200, []int{0, 199}, 200}, {201, nil, 101},
		{2000, nil, 200}, {2000, []int{1754}, 202}, {2000, []int{10}, 201}, {2000, []int{0, 1999}, 202}, {100_000, []int{7}, 202},
	} {
		values := make([]float64, c.partitions)
		for _, p := range c.hot {
			values[p] = 1
		}
		ranges := Ranges(values, c.hot)
		assert.Len(t, ranges, c.columns, "%d partitions, hot %v", c.partitions, c.hot)
		next, hot := 0, []int(nil)
		for _, r := range ranges {
			assert.Equal(t, next, r.From)
			next = r.To + 1
			if r.Hot {
				assert.True(t, r.Alone())
				hot = append(hot, r.From)
			}
		}
		assert.Equal(t, c.partitions, next)
		assert.Equal(t, c.hot, hot)
	}
}

// Of very many hot partitions the fullest have columns of their own; the columns
// of the others are marked.
func TestRangesWithManyHot(t *testing.T) {
	values := make([]float64, 2000)
	var hot []int
	for p := 0; p < 2000; p += 5 {
		values[p] = float64(p)
		hot = append(hot, p)
	}
	ranges := Ranges(values, hot)
	assert.LessOrEqual(t, len(ranges), MaxColumns+2*MaxHot)
	marked := make(map[int]bool)
	for _, r := range ranges {
		for p := r.From; p <= r.To; p++ {
			marked[p] = r.Hot
		}
	}
	for _, p := range hot {
		assert.True(t, marked[p], p)
	}
	assert.Contains(t, ranges, Range{1995, 1995, true})
}

func TestHeatScale(t *testing.T) {
	even := newHeatScale([][]float64{{170, 188, 195, 161}})
	for _, v := range []float64{170, 188, 195, 161} {
		assert.Equal(t, heatLevels, even.level(v), "an even state has one colour")
	}
	hot := newHeatScale([][]float64{{0, 15, 9000, nan, 60}})
	assert.Equal(t, heatLevels, hot.level(9000))
	assert.Equal(t, 0, hot.level(0))
	assert.Greater(t, hot.level(60), hot.level(15), "what is small is told apart beside what is large")
	assert.GreaterOrEqual(t, hot.level(1e-9), 1, "nothing is only nothing")
	assert.Equal(t, 0, newHeatScale(nil).level(1))
	for _, s := range []heatScale{even, hot, newHeatScale([][]float64{{1}}), newHeatScale([][]float64{{1, 1e12}})} {
		steps := s.legend()
		assert.Equal(t, s.top, steps[len(steps)-1].Upto)
		for i, step := range steps[1:] {
			assert.Greater(t, step.Upto, steps[i].Upto)
			assert.Equal(t, step.Level, s.level(step.Upto), "the legend tells the truth about %v", step.Upto)
		}
	}
}

func TestMarks(t *testing.T) {
	assert.Equal(t, Lost, Loads.Worse(Lost))
	assert.Equal(t, Lost, Lost.Worse(Unjudged))
	assert.Equal(t, Loads, Unjudged.Worse(Loads))
	g, ranges := loadGrid(&LoadMap{Batches: []int64{3, 4}, Cells: [][]Mark{{Loads, Loads}, {Loads, Lost}, {Unjudged, Unjudged}}})
	assert.Len(t, ranges, 3)
	assert.Equal(t, "Map of 3 partitions and batches 3 to 4: 1 partition lost something; the list below says what", g.Label)
	assert.Equal(t, []string{"m0", "m4", "m5", "between", "dot lost"}, classes(g.figure))
	g, _ = loadGrid(&LoadMap{Batches: []int64{3, 4}, Cells: [][]Mark{{CleanedUp, Loads}}})
	assert.Contains(t, g.Label, "cleaned up, the others load")
	g, _ = loadGrid(&LoadMap{})
	assert.Nil(t, g)
}

func classes(f *figure) []string {
	var out []string
	for _, s := range f.Shapes {
		out = append(out, s.Class)
	}
	return out
}

// A curve is broken where a value is not known.
func TestCurve(t *testing.T) {
	f := &figure{}
	f.curve([]float64{0, 10, nan, 5, nan}, 10)
	assert.Equal(t, []shape{
		{"area", "M5 100L15 0L15 100L5 100zM35 50L35 100L35 100z"},
		{"line", "M5 100L15 0M35 50"},
		{"dot", "M5 100h0M15 0h0M35 50h0"},
	}, f.Shapes)
}

// made is a page of so many partitions and batches.
func made(partitions, batches int) *Page {
	s := Store{Operator: "Operator 0 (<b>&)", Name: "default", Partitions: partitions,
		Size: &Size{}, Skew: &Skew{Verdict: "hot-key", Level: Critical, Fullest: partitions / 2, Line: 500, Rule: "sigma", Rate: 0.2, PValue: nan,
			TopKeys: []TopKey{{Key: `{"k":"<script>alert(1)</script>"}`, Value: 1000, Share: 0.5, Partition: partitions / 2}},
			WhatIf:  []WhatIf{{1, 9, 1, 0, 0}, {partitions, 9, 1, nan, 0}}}}
	lm := LoadMap{}
	for p := range partitions {
		v := 100.0
		if p == partitions/2 {
			v, s.Skew.Hot = 1000, []int{p}
		}
		s.Skew.Values = append(s.Skew.Values, v)
		s.Size.Partition = append(s.Size.Partition, PartitionSize{Rows: v, Keys: v, Bytes: 10 * v, FileBytes: v})
		var line []float64
		for b := range batches {
			line = append(line, v*float64(b+1)/float64(batches)+float64(p%7))
		}
		s.Series.Rows = append(s.Series.Rows, line)
		lm.Cells = append(lm.Cells, make([]Mark, batches))
	}
	s.Skew.Max, s.Skew.Median = 1000, 100
	for b := range batches {
		s.Series.Batches = append(s.Series.Batches, int64(b))
		s.Series.Points = append(s.Series.Points, Point{Rows: float64(b), Bytes: float64(b), MaxOverMedian: 1})
		lm.Batches = append(lm.Batches, int64(b))
	}
	return &Page{Name: "<i>", Path: `/"quoted"/'path'`, Written: time.Unix(0, 0), Level: Good, Stores: []Store{s}, Whole: Whole{Map: lm}}
}

// However many partitions there are, a page stays one that can be mailed.
func TestPageStaysSmall(t *testing.T) {
	for _, c := range []struct{ partitions, batches, most int }{
		{1, 1, 40_000}, {4, 7, 60_000}, {200, MaxLines, 700_000}, {2000, 50, 700_000}, {20_000, 12, 1_000_000},
	} {
		var b bytes.Buffer
		require.NoError(t, made(c.partitions, c.batches).WriteHTML(&b))
		assert.Less(t, b.Len(), c.most, "%d partitions, %d batches", c.partitions, c.batches)
		doc, err := html.Parse(&b)
		require.NoError(t, err)
		hot := fmt.Sprintf("partition %d: 1,000 rows, hot", c.partitions/2)
		assert.Contains(t, texts(doc, "title"), hot, "the hot one is there by itself")
	}
}

// An empty page is one too: nothing could be read.
func TestEmptyPage(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, (&Page{Level: Critical, Headline: "nothing here", Stores: []Store{{Operator: "Operator 0", Name: "x", Missing: []Text{"all of it"}}}}).WriteHTML(&b))
	for _, says := range []string{"nothing here", "all of it", "not readable", "Nothing was found", "no state that could be judged"} {
		assert.Contains(t, b.String(), says)
	}
	assert.NotContains(t, b.String(), "NaN")
}

// texts returns what elements of a name hold.
func texts(n *html.Node, name string) []string {
	var out []string
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && d.Data == name && d.FirstChild != nil {
			out = append(out, d.FirstChild.Data)
		}
	}
	return out
}

// The names below a picture stand below their own columns, and not too close.
func TestAxis(t *testing.T) {
	for _, c := range []struct {
		n    int
		want string
	}{
		{1, "0"}, {8, "0 1 2 3 4 5 6 7"}, {9, "0 2 4 6 8"}, {24, "0 5 10 15 20"}, {60, "0 10 20 30 40 50"}, {61, ""},
	} {
		var ranges []Range
		for i := range c.n {
			ranges = append(ranges, Range{From: i, To: i})
		}
		a := axisOf(ranges)
		var got []string
		for i, name := range a.Each {
			if name != "" {
				require.Equal(t, ranges[i].String(), name)
				got = append(got, name)
			}
		}
		require.Equal(t, c.want, strings.Join(got, " "))
		require.Equal(t, c.want == "", a.Last != "")
	}
	// Columns of several partitions have names that are too long for that.
	require.Empty(t, axisOf([]Range{{From: 0}, {From: 1, To: 2}, {From: 3, To: 3}, {From: 4, To: 4}, {From: 5, To: 5}, {From: 6, To: 6}, {From: 7, To: 7}, {From: 8, To: 8}, {From: 9, To: 9}}).Each)
}

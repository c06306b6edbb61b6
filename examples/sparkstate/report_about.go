package main

import (
	"fmt"
	"strings"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/examples/sparkstate/internal/report"
)

// about says what the checkpoint is.
func (r *reporting) about() {
	add := func(name, from, format string, v ...any) {
		r.page.About = append(r.page.About, report.Fact{Name: name, Value: report.Text(fmt.Sprintf(format, v...)), From: from})
	}
	s, err := r.summarise(r.cp)
	if err != nil {
		r.missing("the query's id and batches", err)
		s = &summary{last: -1}
	}
	if s.QueryID != nil {
		add("Query id", "", "%s", *s.QueryID)
	}
	if since, why := sparkSince(r.cp); since != "" {
		add("Spark", "inferred: "+why, "%s or later", since)
	} else {
		add("Spark", "", "not recorded")
	}
	p := r.cp.Provider()
	add("State provider", p.From.String(), "%s", p.Name())
	if codec := s.Conf[checkpoint.ConfCodec]; codec != "" {
		add("Compression", "recorded", "%s", codec)
	}
	if s.last >= 0 {
		add("Last committed batch", s.BatchFrom.String(), "%d", s.last)
	} else {
		add("Last committed batch", "", "none")
	}
	if s.Committed != "" || s.Planned != "" {
		add("Batches in the logs", "", "planned %s; committed %s", orDash(s.Planned), orDash(s.Committed))
	}
	if s.TimestampMs != nil {
		add("Batch planned at", "", "%s", clock(s.TimestampMs))
	}
	if s.WatermarkMs != nil {
		add("Watermark", "", "%s in batch %d, %s after it", clock(s.WatermarkMs), s.last, clock(s.NextWatermark))
	}
	for _, o := range r.cp.Operators() {
		name, from := o.Name()
		if name == "" {
			name = "of unknown kind"
		}
		n, nFrom := o.Partitions()
		var stores []string
		for _, st := range o.Stores() {
			stores = append(stores, st.Name())
		}
		add(fmt.Sprintf("Operator %d", o.ID()), "", "%s (%s); %s (%s); %s: %s", name, from, report.Plural(n, "partition"), nFrom,
			report.Plural(len(stores), "store"), strings.Join(stores, ", "))
	}
	if len(r.cp.Operators()) == 0 {
		add("Operators", "", "none has state")
	}
}

// sparkMarks are what checkpoints have had since some version of Spark, the
// newest first. No file names the version itself. The keys of the conf are those
// that the offset log pins; versions before may lack them and later ones not.
var sparkMarks = []struct{ since, key string }{
	{"4.2", checkpoint.ConfRowChecksum},
	{"4.0", checkpoint.ConfStateStoreEncoding},
	{"3.2", checkpoint.ConfStrictDistribution},
	{"3.1", checkpoint.ConfCodec},
	{"3.0", checkpoint.ConfJoinFormat},
	{"2.4", checkpoint.ConfAggregationFormat},
	{"2.3", checkpoint.ConfProviderClass},
	{"2.2", checkpoint.ConfShufflePartitions},
}

// sparkSince returns the version of Spark that the last batch is at least from,
// and what tells; "" where nothing does.
func sparkSince(cp *checkpoint.Checkpoint) (since, why string) {
	conf, batch := cp.Conf()
	for _, m := range sparkMarks {
		if _, ok := conf[m.key]; ok {
			return m.since, fmt.Sprintf("the conf of batch %d has %s", batch, m.key)
		}
	}
	for _, o := range cp.Operators() {
		if o.Metadata() != nil {
			return "4.0", "operators have metadata"
		}
	}
	return "", ""
}

// headline answers whether the query restarts, in a sentence.
func (r *reporting) headline() {
	var start []string // the Sparks that do
	refuse, newest := false, int64(-1)
	for j, a := range r.check.Answers {
		switch spark := checkpoint.Judge(j); {
		case spark == checkpoint.Library:
		case a.Restarts:
			start = append(start, spark.String())
		default:
			refuse, newest = true, max(newest, a.Newest)
		}
	}
	worst, found := r.check.Worst()
	level, text := report.Good, fmt.Sprintf("The query restarts as it is, from the state of batch %d.", r.check.Asked)
	switch provider := r.cp.Provider(); {
	case provider.Format != checkpoint.HDFS:
		level, text = report.Info, "The state was written by "+provider.Name()+", which is not read yet: only the logs could be judged."
	case r.check.LastCommitted < 0:
		level, text = report.Warning, "No batch is committed, so there is no state to restart from."
	case len(start) == 0:
		level, text = report.Critical, "The query does not restart as it is; no batch loads everywhere."
		if newest >= 0 {
			text = fmt.Sprintf("The query does not restart as it is. Batch %d is the newest that it can go back to.", newest)
		}
	case refuse:
		level, text = report.Warning, fmt.Sprintf("The query restarts as it is with some versions of Spark only: %s.", strings.Join(start, "; "))
	case found && worst >= checkpoint.Warning:
		level = report.Level(worst.String())
		text += " But there are findings to look at."
	}
	r.page.Level, r.page.Headline = level, report.Text(text)
}

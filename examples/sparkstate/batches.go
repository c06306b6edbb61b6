package main

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sparkstate/sparkstate/checkpoint"
)

// batchFlags are the flags of batches.
type batchFlags struct {
	from, to             int64
	sources, conf, files bool
	still                int
}

func (a *app) batchesCommand() *cobra.Command {
	f := batchFlags{still: 3}
	cmd := &cobra.Command{
		Use:   "batches CKPT",
		Short: "What the logs say of each batch: watermarks, source offsets, changes of the conf",
		Long: `What the offset log and the commit log say of each batch: when it was planned,
whether it is committed, the watermark in it and after it, how far each source
went, and what is not as it should be.

--sources, --conf and --files each show one thing in detail instead. Times in
tables are UTC, to the second; the other formats have milliseconds since 1970.`,
		Args: oneCheckpoint,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.batches(cmd, args[0], f)
		},
	}
	a.shared(cmd)
	a.naming(cmd)
	cmd.Flags().Int64Var(&f.from, "from", -1, "the first batch (default: the first in the logs)")
	cmd.Flags().Int64Var(&f.to, "to", -1, "the last batch, included (default: the last in the logs)")
	cmd.Flags().BoolVar(&f.sources, "sources", false, "a row for each source, of Kafka for each topic partition")
	cmd.Flags().BoolVar(&f.conf, "conf", false, "the conf of the first batch, and then a row for each change")
	cmd.Flags().BoolVar(&f.files, "files", false, "a row for each input file that a batch in the logs read")
	cmd.Flags().IntVar(&f.still, "still", f.still, "a topic partition stands still after so many batches in which only others moved")
	return cmd
}

// batchView is one way to show batches.
type batchView interface {
	columns() []column
	// entry writes the rows of one batch of the range.
	entry(sh *sheet, e *checkpoint.HistoryEntry) error
	// end writes what comes after all batches.
	end(sh *sheet) error
}

// check fills in the defaults of the range.
func (f *batchFlags) check(cmd *cobra.Command) error {
	for _, b := range []struct {
		flag   string
		to     *int64
		absent int64
	}{{"from", &f.from, 0}, {"to", &f.to, math.MaxInt64}} {
		switch {
		case !cmd.Flags().Changed(b.flag):
			*b.to = b.absent
		case *b.to < 0:
			return usagef("--%s %d: batches count from 0", b.flag, *b.to)
		}
	}
	views := 0
	for _, v := range []bool{f.sources, f.conf, f.files} {
		if v {
			views++
		}
	}
	switch {
	case f.from > f.to:
		return usagef("a range of batches goes upwards, not from %d to %d", f.from, f.to)
	case f.still < 1:
		return usagef("--still %d: at least one batch", f.still)
	case views > 1:
		return usagef("--sources, --conf and --files are a view each; pick one")
	}
	return nil
}

func (a *app) batches(cmd *cobra.Command, path string, f batchFlags) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	cp, err := a.open(path)
	if err != nil {
		return err
	}
	defer cp.Close()
	planned, committed := cp.Batches()
	in := func(ids []int64) []int64 {
		return slices.DeleteFunc(slices.Clone(ids), func(id int64) bool { return id < f.from || id > f.to })
	}
	switch inRange := append(in(planned), in(committed)...); {
	case len(planned)+len(committed) == 0:
		a.note("this checkpoint has no logs, so nothing is known of its batches")
	case len(inRange) == 0:
		return usagef("the logs have no batch in that range; offsets/ has %s, commits/ has %s",
			orDash(checkpoint.Ranges(planned)), orDash(checkpoint.Ranges(committed)))
	}
	a.noteHoles(cp.Holes())

	failed := &failures{app: a}
	var view batchView
	switch {
	case f.sources:
		view = &sourceView{ctx: cmd.Context(), table: a.format == asTable, cp: cp, failed: failed, counts: make(map[string]fileCounts)}
	case f.conf:
		view = &confView{table: a.format == asTable}
	case f.files:
		view = &fileView{ctx: cmd.Context(), app: a, cp: cp, failed: failed}
	default:
		v := &summaryView{table: a.format == asTable, still: f.still, committed: committed}
		if ids := in(planned); len(ids) > 0 {
			v.newest = ids[len(ids)-1]
		}
		view = v
	}
	sh := &sheet{format: a.format, camel: a.camel, columns: view.columns(), header: batchesHeader(path, committed, cp.Holes())}
	if err := sh.begin(a.out); err != nil {
		return err
	}
	if err := a.writeBatches(cmd, cp, f, view, sh, failed); err != nil {
		return err
	}
	if err := sh.end(); err != nil {
		return err
	}
	return failed.first
}

// failures are the errors of single files, which cost less than the answer.
// The tool fails with the first once everything else is written; the others
// are printed as they come.
type failures struct {
	app   *app
	first error
}

func (f *failures) add(err error) {
	switch {
	case err == nil:
	case f.first == nil:
		f.first = err
	default:
		f.app.warn(err)
	}
}

// writeBatches writes all batches of the range. Those whose logs cannot be read
// have a row like the others.
func (a *app) writeBatches(cmd *cobra.Command, cp *checkpoint.Checkpoint, f batchFlags, view batchView, sh *sheet, failed *failures) error {
	defer a.progress("reading the logs")()
	for e, err := range cp.History(cmd.Context()) {
		if err != nil {
			return err
		}
		if e.ID > f.to {
			break
		}
		if e.ID < f.from {
			continue
		}
		failed.add(e.OffsetErr)
		failed.add(e.CommitErr)
		if err := view.entry(sh, e); err != nil {
			return err
		}
	}
	return view.end(sh)
}

func batchesHeader(path string, committed []int64, h checkpoint.Holes) []field {
	var last any
	if n := len(committed); n > 0 {
		last = committed[n-1]
	}
	return append(document(path, last),
		field{"missingOffsets", ranges(h.Offsets)}, field{"missingCommits", ranges(h.Commits)},
		field{"unplannedCommits", checkpoint.Ranges(h.Unplanned)})
}

// ranges writes ranges of batches as checkpoint.Ranges writes batches.
func ranges(rs []checkpoint.BatchRange) string {
	var out []string
	for _, r := range rs {
		out = append(out, span(r.First, r.Last))
	}
	return strings.Join(out, ", ")
}

func span(first, last int64) string {
	if first == last {
		return fmt.Sprint(first)
	}
	return fmt.Sprintf("%d-%d", first, last)
}

// summaryView has a row for each batch.
type summaryView struct {
	table     bool
	still     int
	committed []int64
	newest    int64 // the last planned batch of the range
}

func (v *summaryView) columns() []column {
	if v.table {
		return []column{{"batch_id", true}, {"planned", false}, {"committed", false},
			{"watermark", false}, {"nextWatermark", false}, {"sources", false}, {"note", false}}
	}
	return []column{{"batch_id", true}, {"planned", false}, {"committed", false}, {"timestampMs", true},
		{"watermarkMs", true}, {"nextWatermarkMs", true}, {"nextWatermarkFrom", false}, {"records", true},
		{"sources", false}, {"confChanges", false}, {"note", false}}
}

func (v *summaryView) entry(sh *sheet, e *checkpoint.HistoryEntry) error {
	if v.table {
		return v.line(sh, e)
	}
	timestamp, watermark, next := cell("null"), cell("null"), cell("null")
	if e.Offsets != nil {
		timestamp, watermark = jsonCell(e.Offsets.TimestampMs), jsonCell(e.Offsets.WatermarkMs)
	}
	if e.NextWatermarkFrom != checkpoint.Unknown {
		next = jsonCell(e.NextWatermarkMs)
	}
	sources := []sourceSummary{}
	for i := range e.Sources {
		sources = append(sources, summarise(&e.Sources[i], v.still))
	}
	changes := []confChange{}
	for _, c := range e.ConfChanges {
		changes = append(changes, confChange(c))
	}
	return sh.row(jsonCell(e.ID), jsonCell(e.Planned), jsonCell(e.Committed), timestamp, watermark, next,
		jsonCell(e.NextWatermarkFrom), recordsCell(e), jsonCell(sources), jsonCell(changes), textOrNull(v.note(e)))
}

// line writes the batch for people.
func (v *summaryView) line(sh *sheet, e *checkpoint.HistoryEntry) error {
	planned, watermark, next := cell("null"), cell("null"), cell("null")
	switch {
	case e.Offsets != nil:
		planned, watermark = secondsCell(e.Offsets.TimestampMs), secondsCell(e.Offsets.WatermarkMs)
	case e.OffsetErr != nil:
		planned = textCell("unreadable")
	}
	committed := "no"
	switch {
	case e.CommitErr != nil:
		committed = "unreadable"
	case e.Committed:
		committed = "yes"
	}
	if e.NextWatermarkFrom != checkpoint.Unknown {
		next = secondsCell(e.NextWatermarkMs)
	}
	var sources []string
	for i := range e.Sources {
		if t := advance(&e.Sources[i]); t != "" {
			sources = append(sources, t)
		}
	}
	return sh.row(jsonCell(e.ID), planned, textCell(committed), watermark, next,
		textOrNull(cut(strings.Join(sources, "; "))), textCell(v.note(e)))
}

// cut shortens what comes before the note, so that the note stays in sight.
func cut(s string) string {
	const most = 40
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

func (v *summaryView) end(*sheet) error { return nil }

// sourceSummary is what a row says of one source.
type sourceSummary struct {
	Source string                  `json:"source"`
	Kind   checkpoint.OffsetKind   `json:"kind"`
	Change checkpoint.OffsetChange `json:"change"`
	Offset json.RawMessage         `json:"offset"`
	// Moved is in the source's own unit.
	Moved   *int64 `json:"moved"`
	Records *int64 `json:"records"`
	// Topic partitions.
	Still     []string `json:"still"`
	Added     []string `json:"added"`
	Removed   []string `json:"removed"`
	Backwards []string `json:"backwards"`
}

type confChange struct {
	Key    string  `json:"key"`
	Before *string `json:"before"`
	After  *string `json:"after"`
}

func summarise(p *checkpoint.SourceProgress, still int) sourceSummary {
	s := sourceSummary{Source: p.ID, Kind: p.End.Kind, Change: p.Change, Offset: json.RawMessage(rawCell(p.End)),
		Still: names(p.StandingStill(still)), Added: names(changed(p, checkpoint.OffsetAdded)),
		Removed: names(changed(p, checkpoint.OffsetRemoved)), Backwards: names(changed(p, checkpoint.OffsetBackwards))}
	if n, ok := p.Moved(); ok {
		s.Moved = &n
	}
	if p.Exact {
		s.Records = &p.Records
	}
	return s
}

// changed returns the topic partitions that changed in one way.
func changed(p *checkpoint.SourceProgress, c checkpoint.OffsetChange) []checkpoint.PartitionProgress {
	return slices.DeleteFunc(slices.Clone(p.Partitions), func(q checkpoint.PartitionProgress) bool { return q.Change != c })
}

func names(ps []checkpoint.PartitionProgress) []string {
	out := make([]string, len(ps))
	for i, p := range ps {
		out[i] = p.String()
	}
	return out
}

// recordsCell is the number of records in a batch, null where it is not known
// of every source.
func recordsCell(e *checkpoint.HistoryEntry) cell {
	n, counted := int64(0), false
	for _, p := range e.Sources {
		switch {
		case p.End.Kind == checkpoint.NoOffset:
			continue
		case !p.Exact || p.Records > math.MaxInt64-n:
			return cell("null")
		}
		n, counted = n+p.Records, true
	}
	if !counted {
		return cell("null")
	}
	return jsonCell(n)
}

// rawCell is an offset as the source wrote it: JSON where it is any.
func rawCell(o checkpoint.Offset) cell {
	switch {
	case o.Kind == checkpoint.NoOffset:
		return cell("null")
	case json.Valid([]byte(o.Raw)):
		return cell(o.Raw)
	}
	return textCell(o.Raw)
}

func textOrNull(s string) cell {
	if s == "" {
		return cell("null")
	}
	return textCell(s)
}

// secondsCell writes milliseconds since 1970 for a table.
func secondsCell(ms int64) cell {
	if ms == 0 {
		return textCell("none")
	}
	return textCell(time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05Z"))
}

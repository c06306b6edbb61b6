package main

import (
	"bufio"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

func (a *app) infoCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "info CKPT",
		Short: "What is in a checkpoint: batches, watermark, operators, stores, schemas",
		Args:  oneCheckpoint,
		RunE:  a.info,
	}
	a.shared(cmd)
	return cmd
}

// summary is what info says of the checkpoint as a whole.
type summary struct {
	QueryID       *string           `json:"queryId"`
	Provider      string            `json:"provider"`
	ProviderFrom  checkpoint.Source `json:"providerFrom"`
	BatchFrom     checkpoint.Source `json:"batchFrom"`
	Committed     string            `json:"committedBatches"`
	Planned       string            `json:"plannedBatches"`
	WatermarkMs   *int64            `json:"watermarkMs"`
	NextWatermark *int64            `json:"nextWatermarkMs"`
	TimestampMs   *int64            `json:"timestampMs"`
	Conf          map[string]string `json:"conf"`
	ConfBatch     *int64            `json:"confBatch"`
	Notes         []string          `json:"notes"`
	last          int64
}

func (a *app) info(cmd *cobra.Command, args []string) error {
	cp, err := a.open(args[0])
	if err != nil {
		return err
	}
	defer cp.Close()
	s, err := a.summarise(cp)
	if err != nil {
		return err
	}
	// All that can be is shown, and then the error.
	var rows [][]cell
	var failed error
	for _, op := range cp.Operators() {
		if err := op.Err(); err != nil {
			failed = err
		}
		for _, st := range op.Stores() {
			cells, err := a.storeCells(cmd, cp, st)
			if err != nil {
				failed = err
			}
			rows = append(rows, cells)
		}
	}
	a.messages.supersede(failed)
	sh := &sheet{format: a.format, columns: []column{
		{"operatorId", true}, {"operatorName", false}, {"operatorNameFrom", false}, {"stateStoreName", false},
		{"numPartitions", true}, {"numPartitionsFrom", false}, {"numColsPrefixKey", true},
		{"keySchema", false}, {"keySchemaFrom", false}, {"valueSchema", false}, {"valueSchemaFrom", false}, {"readableBatches", false},
	}}
	var batch any
	if s.last >= 0 {
		batch = s.last
	}
	sh.header = append(document(args[0], batch), s.fields()...)
	if a.format == asTable {
		if err := s.print(a, args[0]); err != nil {
			return err
		}
		if len(cp.Operators()) == 0 {
			return nil
		}
		sh.columns = slices.DeleteFunc(sh.columns, func(c column) bool { return strings.HasSuffix(c.name, "From") })
	}
	if err := sh.begin(a.out); err != nil {
		return err
	}
	for _, cells := range rows {
		if err := sh.row(cells...); err != nil {
			return err
		}
	}
	if err := sh.end(); err != nil {
		return err
	}
	for _, op := range cp.Operators() {
		for _, st := range op.Stores() {
			if why, cure := st.NeverExpires(); why != "" {
				a.note("operator " + op.Label() + ": " + why + "; " + cure)
			}
		}
	}
	return failed
}

func (a *app) storeCells(cmd *cobra.Command, cp *checkpoint.Checkpoint, st *checkpoint.Store) ([]cell, error) {
	op := st.Operator()
	_, nameFrom := op.Name()
	partitions, partFrom := op.Partitions()
	prefix, prefixFrom := st.PrefixColumns()
	key, keyFrom := st.Key()
	value, valueFrom := st.Value()
	prefixCell := cell("null")
	if prefixFrom != checkpoint.Unknown {
		prefixCell = jsonCell(prefix)
	}
	readable := cell("null")
	var failed error
	if cp.Provider().Format == checkpoint.HDFS {
		r, err := st.Readable(cmd.Context())
		if err != nil {
			failed = err
		} else {
			readable = textCell(checkpoint.Ranges(r))
		}
	}
	if a.format == asTable {
		return []cell{jsonCell(op.ID()), nameCell(st), textCell(st.Name()), jsonCell(partitions), prefixCell,
			ddlCell(key), ddlCell(value), readable}, failed
	}
	return []cell{jsonCell(op.ID()), nameCell(st), jsonCell(nameFrom), textCell(st.Name()), jsonCell(partitions), jsonCell(partFrom), prefixCell,
		ddlCell(key), jsonCell(keyFrom), ddlCell(value), jsonCell(valueFrom), readable}, failed
}

func ddlCell(t *sqltype.Type) cell {
	if t == nil {
		return cell("null")
	}
	return textCell(t.DDL())
}

func (a *app) summarise(cp *checkpoint.Checkpoint) (*summary, error) {
	planned, committed := cp.Batches()
	p := cp.Provider()
	s := &summary{Provider: p.Name(), ProviderFrom: p.From, Committed: checkpoint.Ranges(committed), Planned: checkpoint.Ranges(planned),
		Notes: cp.Notes(), last: -1}
	if s.Notes == nil {
		s.Notes = []string{}
	}
	id, err := cp.ID()
	if err != nil {
		return nil, err
	}
	if id != "" {
		s.QueryID = &id
	}
	if p.Format == checkpoint.HDFS || len(committed) > 0 {
		last, from, err := cp.LastCommitted()
		if err != nil {
			return nil, err
		}
		s.last, s.BatchFrom = last, from
	}
	if conf, b := cp.Conf(); b >= 0 {
		s.Conf, s.ConfBatch = conf, &b
	}
	if s.last < 0 || len(planned)+len(committed) == 0 {
		return s, nil
	}
	b, err := cp.Batch(s.last)
	if err != nil {
		a.warn(err)
		return s, nil
	}
	if b.Offsets != nil {
		s.WatermarkMs, s.TimestampMs = &b.Offsets.WatermarkMs, &b.Offsets.TimestampMs
	}
	if b.Commit != nil && b.Commit.HasNextWatermark {
		s.NextWatermark = &b.Commit.NextWatermarkMs
	}
	return s, nil
}

func (s *summary) fields() []field {
	return []field{
		{"queryId", s.QueryID}, {"provider", s.Provider}, {"providerFrom", s.ProviderFrom}, {"batchFrom", s.BatchFrom},
		{"committedBatches", s.Committed}, {"plannedBatches", s.Planned},
		{"watermarkMs", s.WatermarkMs}, {"nextWatermarkMs", s.NextWatermark}, {"timestampMs", s.TimestampMs},
		{"conf", s.Conf}, {"confBatch", s.ConfBatch}, {"notes", s.Notes},
	}
}

func (s *summary) print(a *app, path string) error {
	w := bufio.NewWriter(a.out)
	line := func(name, format string, v ...any) { fmt.Fprintf(w, "%-12s %s\n", name, fmt.Sprintf(format, v...)) }
	line("checkpoint", "%s", path)
	if s.QueryID != nil {
		line("query id", "%s", *s.QueryID)
	}
	line("provider", "%s (%s)", s.Provider, s.ProviderFrom)
	if s.last >= 0 {
		line("last batch", "%d (%s)", s.last, s.BatchFrom)
	} else {
		line("last batch", "none is committed")
	}
	if s.Committed != "" || s.Planned != "" {
		line("committed", "%s", orDash(s.Committed))
		line("planned", "%s", orDash(s.Planned))
	}
	if s.WatermarkMs != nil {
		line("watermark", "%s in batch %d, %s after it", clock(s.WatermarkMs), s.last, clock(s.NextWatermark))
	}
	if s.TimestampMs != nil {
		line("planned at", "%s", clock(s.TimestampMs))
	}
	for i, k := range sortedKeys(s.Conf) {
		name := ""
		if i == 0 {
			name = "conf"
		}
		line(name, "%s = %s", k, s.Conf[k])
	}
	fmt.Fprintln(w)
	return output(w.Flush())
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func orDash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

// clock writes milliseconds since 1970; 0 is how Spark says that there is no
// watermark yet.
func clock(ms *int64) string {
	if ms == nil {
		return "not recorded"
	}
	if *ms == 0 {
		return "none"
	}
	return time.UnixMilli(*ms).UTC().Format("2006-01-02T15:04:05.000Z")
}

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/spf13/cobra"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/examples/sparkstate/internal/sparkjson"
	"github.com/sparkstate/sparkstate/skew"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

// skewAnalysis is what a walk over the keys has found, as the tool shows it.
type skewAnalysis struct {
	UnexplainedRate skew.Float    `json:"unexplainedRate"`
	Keys            []float64     `json:"keys"`
	RowsPerKey      skew.Float    `json:"rowsPerKey"`
	NullKeys        float64       `json:"nullKeys"`
	TopKeys         []topKey      `json:"topKeys"`
	TopError        float64       `json:"topError"`
	Columns         []columnSkew  `json:"columns"`
	Placement       placed        `json:"placement"`
	WhatIf          []skew.WhatIf `json:"whatIf"`
	Salting         []salting     `json:"salting"`
	// WatermarkMs is the watermark that the next batch starts with, 0 for none.
	WatermarkMs  int64             `json:"watermarkMs"`
	Times        []skew.TimeReport `json:"times"`
	NeverExpires *string           `json:"neverExpires"`
	Advice       []string          `json:"advice"`
	Notes        []string          `json:"notes"`
}

type topKey struct {
	Key         json.RawMessage `json:"key"`
	Value       float64         `json:"value"`
	Error       float64         `json:"error"`
	PartitionID *int            `json:"partitionId,omitempty"`
	OfPartition *skew.Float     `json:"shareOfPartition,omitempty"`
	OfAll       skew.Float      `json:"share"`
}

type columnSkew struct {
	Name     string     `json:"name"`
	Distinct int64      `json:"distinct"`
	Exact    bool       `json:"exact"`
	Null     skew.Float `json:"nullShare"`
	Top      []topKey   `json:"top"`
}

type placed struct {
	Checked       int64    `json:"checked"`
	Misplaced     int64    `json:"misplaced"`
	Strict        bool     `json:"strict"`
	PartitionedBy []string `json:"partitionedBy"`
	// Examples are some of the misplaced keys.
	Examples []misplacedKey `json:"examples"`
}

type misplacedKey struct {
	Key         json.RawMessage `json:"key"`
	PartitionID int             `json:"partitionId"`
	Belongs     int             `json:"belongs"`
}

type salting struct {
	Keys          int        `json:"keys"`
	Salts         int        `json:"salts"`
	MaxOverMedian skew.Float `json:"maxOverMedian"`
}

// MarshalJSON puts the analysis beside the measures, as one flat object.
func (s storeSkew) MarshalJSON() ([]byte, error) {
	type flat storeSkew
	b, err := json.Marshal(flat(s))
	if err != nil || s.Analysis == nil {
		return b, err
	}
	more, err := json.Marshal(s.Analysis)
	if err != nil {
		return nil, err
	}
	return append(append(b[:len(b)-1], ','), more[1:]...), nil
}

// analysed turns keys into JSON.
func (a *app) analysed(r *skew.Report) (*skewAnalysis, error) {
	out := &skewAnalysis{
		UnexplainedRate: r.UnexplainedRate, Keys: r.Keys, RowsPerKey: r.RowsPerKey, NullKeys: r.NullKeys, TopError: r.TopError,
		WhatIf: r.WhatIf, Advice: r.Advice, Notes: r.Notes, TopKeys: []topKey{}, Columns: []columnSkew{}, Salting: []salting{},
		Placement: placed{r.Placement.Checked, r.Placement.Misplaced, r.Placement.Strict, r.Placement.PartitionedBy, []misplacedKey{}},
	}
	for _, x := range r.Placement.Examples {
		k, err := a.topKey(skew.TopKey{Row: x.Row, Type: x.Type, Partition: x.Partition}, false)
		if err != nil {
			return nil, err
		}
		out.Placement.Examples = append(out.Placement.Examples, misplacedKey{k.Key, x.Partition, x.Belongs})
	}
	for _, k := range r.TopKeys {
		t, err := a.topKey(k, false)
		if err != nil {
			return nil, err
		}
		out.TopKeys = append(out.TopKeys, t)
	}
	for _, c := range r.Columns {
		col := columnSkew{Name: c.Name, Distinct: c.Distinct, Exact: c.Exact, Null: c.Null, Top: []topKey{}}
		for _, k := range c.Top {
			t, err := a.topKey(k, true)
			if err != nil {
				return nil, err
			}
			col.Top = append(col.Top, t)
		}
		out.Columns = append(out.Columns, col)
	}
	for _, s := range r.Salting {
		out.Salting = append(out.Salting, salting{s.Keys, s.Salts, s.MaxOverMedian})
	}
	return out, nil
}

// lifetime adds what the store's rows have to do with time: which are due, and
// whether they ever are.
func (a *app) lifetime(cmd *cobra.Command, s *checkpoint.Store, batch int64, out *skewAnalysis, opts []checkpoint.Option) error {
	var err error
	if out.WatermarkMs, err = s.Operator().Checkpoint().WatermarkMs(); err != nil {
		a.warn(err)
	}
	clock := skew.Clock{WatermarkMs: out.WatermarkMs}
	if b, err := s.Operator().Checkpoint().Batch(batch); err == nil && b.Offsets != nil {
		clock.WallMs = b.Offsets.TimestampMs
	}
	if out.Times, err = skew.Times(cmd.Context(), s, clock, opts...); err != nil {
		return err
	}
	if why, cure := s.NeverExpires(); why != "" {
		out.NeverExpires = &why
		out.Advice = append(out.Advice, cure)
	}
	return nil
}

// topKey decodes a key; alone says that it is a value of one column.
func (a *app) topKey(k skew.TopKey, alone bool) (topKey, error) {
	out := topKey{Value: k.Value, Error: k.Error, OfAll: k.OfAll}
	if k.Partition >= 0 {
		out.PartitionID, out.OfPartition = &k.Partition, &k.OfPartition
	}
	if k.Type == nil { // no schema: as it is stored
		out.Key = json.RawMessage(hexWriter([][]byte{k.Row})(nil, 0))
		return out, nil
	}
	rows, err := a.decode("key", k.Type, [][]byte{k.Row}, []int{k.Partition})
	if err != nil {
		return out, err
	}
	defer rows.Release()
	out.Key, err = keyJSON(k.Type, rows, alone)
	return out, err
}

func keyJSON(t *sqltype.Type, rows *array.Struct, alone bool) (json.RawMessage, error) {
	w, err := sparkjson.For(t, rows)
	if alone {
		w, err = sparkjson.For(t.Fields[0].Type, rows.Field(0))
	}
	if err != nil {
		return nil, err
	}
	return w(nil, 0), nil
}

// print writes the verdict for people.
func (s judged) print(w *bufio.Writer) {
	fmt.Fprintf(w, "\nverdict: %s (%s)", s.Verdict, s.Severity)
	if s.SkewRate.Defined() {
		fmt.Fprintf(w, "; skew rate %s", number(s.SkewRate))
	}
	if s.Chance != nil && s.Chance.PValue.Defined() {
		fmt.Fprintf(w, "; even hashing of %s keys is as uneven with p = %s", number(s.Chance.Keys), number(s.Chance.PValue))
	}
	fmt.Fprintln(w)
}

// print writes the analysis for people.
func (s *skewAnalysis) print(w *bufio.Writer) {
	if r := float64(s.RowsPerKey); s.RowsPerKey.Defined() && r != 1 {
		fmt.Fprintf(w, "%s rows per key\n", number(s.RowsPerKey))
	}
	if len(s.TopKeys) > 0 {
		fmt.Fprintln(w, "largest keys:")
		for _, k := range s.TopKeys {
			fmt.Fprintln(w, "  "+k.text())
		}
		if s.TopError > 0 {
			fmt.Fprintf(w, "  (estimated, too high by at most %s)\n", number(skew.Float(s.TopError)))
		}
	}
	for _, c := range s.Columns {
		if len(c.Top) == 0 {
			continue
		}
		fmt.Fprintln(w, c.text())
	}
	if s.Placement.Misplaced > 0 {
		fmt.Fprintln(w, s.Placement)
		for _, x := range s.Placement.Examples {
			fmt.Fprintf(w, "  %s is in partition %d and belongs in %d\n", short(string(x.Key)), x.PartitionID, x.Belongs)
		}
	}
	if len(s.WhatIf) > 0 {
		fmt.Fprintln(w, "at other partition counts:")
		for _, x := range s.WhatIf {
			line := fmt.Sprintf("  %5d  max/median %-6s  to move %-6s  empty %-5d", x.Partitions, number(x.MaxOverMedian), percent(x.Hoover), x.Empty)
			if x.Floor > 1 { // a max/mean of 1 is the least there is
				line += fmt.Sprintf("  max/mean ≥ %s, for the largest key alone", number(x.Floor))
			}
			fmt.Fprintln(w, strings.TrimRight(line, " "))
		}
	}
	for _, t := range s.Times {
		fmt.Fprintln(w, s.timeText(t))
	}
	if s.NeverExpires != nil {
		fmt.Fprintln(w, "growth: "+*s.NeverExpires)
	}
	for _, t := range s.Advice {
		fmt.Fprintln(w, "advice: "+t)
	}
	for _, t := range s.Notes {
		fmt.Fprintln(w, "note: "+t)
	}
}

// text says what the key holds, on a line.
func (k topKey) text() string {
	text := fmt.Sprintf("%s  %s, %s of all", short(string(k.Key)), number(skew.Float(k.Value)), percent(k.OfAll))
	if k.PartitionID != nil {
		text += fmt.Sprintf(", %s of partition %d", percent(*k.OfPartition), *k.PartitionID)
	}
	return text
}

// text says what the column holds, on a line.
func (c columnSkew) text() string {
	var top []string
	for _, k := range c.Top[:min(3, len(c.Top))] {
		top = append(top, fmt.Sprintf("%s %s", short(string(k.Key)), percent(k.OfAll)))
	}
	more := ""
	if !c.Exact {
		more = "more than "
	}
	text := fmt.Sprintf("key column %s: %s%s; %s", c.Name, more, counting(int(c.Distinct), "value"), strings.Join(top, ", "))
	if float64(c.Null) > 0 {
		text += fmt.Sprintf("; null %s", percent(c.Null))
	}
	return text
}

// timeText says what a column that plays a part in time holds.
func (s *skewAnalysis) timeText(t skew.TimeReport) string {
	text := fmt.Sprintf("%s %s: from %s to %s; watermark %s", t.Role, t.Column, clock(t.Oldest), clock(t.Newest), clock(&s.WatermarkMs))
	if t.Due != nil {
		text += ", " + counting(int(*t.Due), "row") + " due"
	}
	if t.Unset > 0 {
		text += fmt.Sprintf(", %d without", t.Unset)
	}
	return text
}

// String says how many rows are elsewhere.
func (p placed) String() string {
	text := fmt.Sprintf("%d of %d rows are not in the partition that their hash names", p.Misplaced, p.Checked)
	if len(p.PartitionedBy) > 0 {
		text += fmt.Sprintf("; they are partitioned by %s alone", strings.Join(p.PartitionedBy, ", "))
	}
	return text
}

func percent(f skew.Float) string {
	if !f.Defined() {
		return "–"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(f))
}

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/skew"
)

func (a *app) skewCommand() *cobra.Command {
	var f skewFlags
	cmd := &cobra.Command{
		Use:   "skew CKPT",
		Short: "How unevenly the state is spread over its partitions, why, and what would help",
		Args:  oneCheckpoint,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			if err := f.checkRounds(cmd, a.format); err != nil {
				return err
			}
			if err := f.checkNotify(cmd); err != nil {
				return err
			}
			if f.trend {
				return a.skewTrend(cmd, args[0])
			}
			n, err := a.notifier(f)
			if err != nil {
				return err
			}
			return a.repeatedly(cmd, func() error { return a.skew(cmd, args[0], f, n) })
		},
	}
	a.shared(cmd)
	a.selecting(cmd)
	a.watching(cmd)
	f.declare(cmd)
	return cmd
}

// storeSkew is the answer for one store.
type storeSkew struct {
	OperatorID     int     `json:"operatorId"`
	OperatorName   *string `json:"operatorName"`
	StateStoreName string  `json:"stateStoreName"`
	Measure        string  `json:"measure"`
	skew.Summary
	skew.Finding
	Partitions []partitionValue `json:"partitions"`
	skew.Imbalance
	judged
	Analysis *skewAnalysis `json:"-"`
	label    string        // of the operator and the store
	batch    int64
}

// verdict is a verdict, or none: then it is null in JSON.
type verdict skew.Verdict

// String returns a word for people.
func (v verdict) String() string {
	if v == "" {
		return "none"
	}
	return string(v)
}

// MarshalJSON is described at verdict.
func (v verdict) MarshalJSON() ([]byte, error) {
	if v == "" {
		return []byte("null"), nil
	}
	return json.Marshal(string(v))
}

// judged is what every measure is judged by.
type judged struct {
	Verdict  verdict       `json:"verdict"`
	Severity skew.Severity `json:"severity"`
	Floor    float64       `json:"floor"`
	// SkewRate is undefined where the number of keys is not known, or the
	// measure has no level of chance.
	SkewRate skew.Float       `json:"skewRate"`
	Chance   *skew.ChanceTest `json:"chance"`
}

type partitionValue struct {
	PartitionID int     `json:"partitionId"`
	Value       float64 `json:"value"`
}

func (a *app) skew(cmd *cobra.Command, path string, f skewFlags, n *notifier) error {
	rule, err := skew.ParseRule(f.rule)
	if err != nil {
		return usagef("--rule: %v", err)
	}
	cp, stores, opts, err := a.openStores(cmd, path)
	if err != nil {
		return err
	}
	defer cp.Close()
	at := rootOf(cp)
	if err := n.outside(at); err != nil {
		return err
	}
	all := []storeSkew{}
	var batch any
	var found []string
	var without []leftOut
	for _, s := range stores {
		r, read, err := a.skewOf(cmd, s, f, rule, opts)
		label := fmt.Sprintf("operator %s, store %s", s.Operator().Label(), s.Name())
		if errors.Is(err, skew.ErrMeasure) && f.column() {
			without = append(without, leftOut{label, measureError(err)})
			continue
		}
		if errors.Is(err, skew.ErrMeasure) {
			return usagef("%s: %s", label, measureError(err))
		}
		if err != nil {
			return err
		}
		batch, r.batch = read.Batch, read.Batch
		if why := r.failing(f, cmd.Flags().Changed("rate")); why != "" {
			found = append(found, r.label+": "+why)
		}
		all = append(all, *r)
	}
	if len(without) > 0 && len(all) == 0 {
		text := "no store has " + f.measure
		for _, w := range without {
			text += "; " + w.store + ": " + w.why
		}
		return usagef("%s", text)
	}
	for _, w := range without {
		a.note(w.store + " is left out: " + w.why)
	}
	// First what others wait for: nothing of it depends on who reads the answer.
	told := n.tell(cmd.Context(), a, at, all)
	if !f.dryRun {
		if err := a.writeSkew(path, batch, all); err != nil {
			return errors.Join(told, err)
		}
	}
	if f.fail && len(found) > 0 {
		return errors.Join(told, &errFound{strings.Join(found, "; ")})
	}
	return told
}

// leftOut is a store that does not have the column that is measured.
type leftOut struct{ store, why string }

// measureError is an error about the measure without the words that all of
// them begin with.
func measureError(err error) string {
	return strings.TrimPrefix(err.Error(), skew.ErrMeasure.Error()+": ")
}

// skewOf measures one store, and looks for causes where the measure allows.
func (a *app) skewOf(cmd *cobra.Command, s *checkpoint.Store, f skewFlags, rule skew.Rule, opts []checkpoint.Option) (*storeSkew, checkpoint.At, error) {
	r := &storeSkew{OperatorID: s.Operator().ID(), StateStoreName: s.Name(), Measure: f.measure, Partitions: []partitionValue{},
		label: s.Operator().Label() + "/" + s.Name()}
	if n, _ := s.Operator().Name(); n != "" {
		r.OperatorName = &n
	}
	measure := a.walked
	if f.counted() {
		measure = a.counted
	}
	values, at, err := measure(cmd, s, f, opts, r)
	if err != nil {
		return nil, at, err
	}
	for p, v := range values {
		r.Partitions = append(r.Partitions, partitionValue{p, v})
	}
	r.Summary = skew.Measure(values)
	r.Finding = skew.Find(rule, values)
	r.Imbalance = skew.MeasureImbalance(values)
	return r, at, nil
}

// walked measures a store by a walk over its keys, and looks for causes.
func (a *app) walked(cmd *cobra.Command, s *checkpoint.Store, f skewFlags, opts []checkpoint.Option, r *storeSkew) ([]float64, checkpoint.At, error) {
	done := a.progress("walking " + s.Operator().Label() + "/" + s.Name())
	report, err := skew.Analyze(cmd.Context(), s, skew.Options{Measure: f.measure, WhatIf: f.whatIf, Top: f.top, Floor: f.libraryFloor(), Workers: a.workers}, opts...)
	done()
	if err != nil {
		return nil, checkpoint.At{}, err
	}
	a.about(s)
	r.judged = judged{verdict(report.Verdict), report.Severity, report.Floor, report.SkewRate, report.Chance}
	if r.Analysis, err = a.analysed(report); err != nil {
		return nil, report.At, err
	}
	return report.Values, report.At, a.lifetime(cmd, s, report.Batch, r.Analysis, opts)
}

// counted measures a store by what is counted of each partition.
func (a *app) counted(cmd *cobra.Command, s *checkpoint.Store, f skewFlags, opts []checkpoint.Option, r *storeSkew) ([]float64, checkpoint.At, error) {
	c, err := a.counts(cmd, s, opts)
	if err != nil {
		return nil, checkpoint.At{}, err
	}
	values := make([]float64, len(c.Partitions))
	for i, p := range c.Partitions {
		switch {
		case f.measure == byFileBytes:
			values[i] = float64(p.FileBytes)
		case p.Keys < 0:
			return nil, c.At, usagef("--measure keys: not known for operator %s, store %s", s.Operator().Label(), s.Name())
		default:
			values[i] = float64(p.Keys)
		}
	}
	r.judged = judgeCounts(values, f, s.Placement().Single)
	return values, c.At, nil
}

// judgeCounts judges numbers of keys, or bytes of files. Those have no level of
// chance, so where they are uneven there is no verdict, only a severity.
func judgeCounts(values []float64, f skewFlags, single bool) judged {
	e := skew.Evidence{Values: values, Single: single, TopPartition: -1}
	j := judged{Floor: f.countFloor(), SkewRate: skew.Undefined()}
	if f.measure == byKeys {
		e.Keys, e.Top = values, 1
		c := skew.Chance(values)
		j.Chance = &c
		j.SkewRate = skew.Float(skew.SkewRate(skew.Hoover(values), skew.ChanceHoover(int64(c.Keys), len(values))))
	}
	shape := skew.Judge(e)
	j.Severity = skew.Grade(shape, skew.Measure(values), j.Floor)
	if f.measure == byKeys || shape != skew.Structural {
		j.Verdict = verdict(shape)
	}
	return j
}

func (a *app) writeSkew(path string, batch any, all []storeSkew) error {
	if a.format == asTable {
		w := bufio.NewWriter(a.out)
		for i, s := range all {
			if i > 0 {
				fmt.Fprintln(w)
			}
			s.print(w, batch)
		}
		if a.every > 0 {
			fmt.Fprintln(w) // before the next round
		}
		return output(w.Flush())
	}
	sh := &sheet{format: a.format, header: append(document(path, batch), field{"stores", all}), columns: []column{
		{"operatorId", true}, {"operatorName", false}, {"stateStoreName", false}, {"measure", false},
		{"partitionId", true}, {"value", true}, {"hot", false},
		{"verdict", false}, {"severity", false}, {"skewRate", true},
	}}
	if err := sh.begin(a.out); err != nil {
		return err
	}
	for _, s := range all {
		for _, p := range s.Partitions {
			if err := sh.row(jsonCell(s.OperatorID), jsonCell(s.OperatorName), textCell(s.StateStoreName), textCell(s.Measure),
				jsonCell(p.PartitionID), jsonCell(p.Value), jsonCell(slices.Contains(s.Hot, p.PartitionID)),
				jsonCell(s.Verdict), textCell(string(s.Severity)), jsonCell(s.SkewRate)); err != nil {
				return err
			}
		}
	}
	return sh.end()
}

// barWidth is the width of the longest bar, in characters: the table fits 80
// columns.
const barWidth = 48

// print writes the store as a picture for people.
func (s storeSkew) print(w *bufio.Writer, batch any) {
	name := "unknown"
	if s.OperatorName != nil {
		name = *s.OperatorName
	}
	fmt.Fprintf(w, "operator %d (%s), store %s: %s by partition after batch %v\n\n", s.OperatorID, name, s.StateStoreName, s.Measure, batch)
	s.picture(w)
	fmt.Fprintf(w, "\n%d partitions, %s in all; mean %s, std %s, median %s, p90 %s, p99 %s, max %s\n",
		s.Count, number(s.Total), number(s.Mean), number(s.Std), number(s.Median), number(s.P90), number(s.P99), number(s.Max))
	fmt.Fprintf(w, "max/median %s", number(s.MaxOverMedian))
	if s.Fullest >= 0 && s.Max > 0 {
		fmt.Fprintf(w, "; the fullest is partition %d with %s of the %s", s.Fullest, share(s.Max, s.Total), s.Measure)
	}
	fmt.Fprintln(w)
	switch {
	case len(s.Hot) > 0:
		fmt.Fprintf(w, "hot by rule %s (%s): %s, %s of the partitions\n", s.Rule, s.Condition, ints(s.Hot), percent(s.HotShare))
	case s.Inconclusive != "":
		fmt.Fprintf(w, "rule %s (%s): %s\n", s.Rule, s.Condition, s.Inconclusive)
	default:
		fmt.Fprintf(w, "rule %s (%s) marks none\n", s.Rule, s.Condition)
	}
	s.judged.print(w)
	if s.Analysis != nil {
		s.Analysis.print(w)
	}
}

// maxLines is how many lines the picture has: more partitions share them.
const maxLines = 40

// picture draws a bar for each partition, or for each of as many ranges as fit
// a screen: then the bar is that of the fullest one in the range.
func (s storeSkew) picture(w *bufio.Writer) {
	per := (len(s.Partitions) + maxLines - 1) / maxLines
	top := 0.0
	for _, p := range s.Partitions {
		top = max(top, p.Value)
	}
	last := fmt.Sprint(max(len(s.Partitions)-1, 0))
	label := "partition"
	if per > 1 {
		label = "partitions"
	}
	digits := max(len(label), 2*len(last)+1)
	wide := max(len(number(skew.Float(top))), len(s.Measure))
	bars := min(barWidth, 80-digits-wide-len("    fullest")-2)
	head := fmt.Sprintf("%*s  %*s", digits, label, wide, s.Measure)
	if per > 1 {
		head += "  the most of any in the range"
	}
	fmt.Fprintln(w, head)
	for from := 0; from < len(s.Partitions); from += per {
		line := s.Partitions[from:min(from+per, len(s.Partitions))]
		most, hot, fullest := 0.0, 0, false
		for _, p := range line {
			most = max(most, p.Value)
			if slices.Contains(s.Hot, p.PartitionID) {
				hot++
			}
			fullest = fullest || p.PartitionID == s.Fullest && len(s.Partitions) > 1 && p.Value > 0
		}
		n := 0
		if top > 0 {
			n = int(math.Round(most / top * float64(bars)))
		}
		mark := ""
		switch {
		case hot > 1:
			mark = fmt.Sprintf("  %d hot", hot)
		case hot == 1:
			mark = "  hot"
		case fullest:
			mark = "  fullest"
		}
		name := fmt.Sprint(line[0].PartitionID)
		if len(line) > 1 {
			name += fmt.Sprintf("-%d", line[len(line)-1].PartitionID)
		}
		text := fmt.Sprintf("%*s  %*s  %s%s", digits, name, wide, number(skew.Float(most)), strings.Repeat("█", n), mark)
		fmt.Fprintln(w, strings.TrimRight(text, " "))
	}
}

// number writes a measure for people: a dash where it is undefined.
func number(f skew.Float) string {
	switch v := float64(f); {
	case !f.Defined():
		return "–"
	case v == math.Trunc(v) && math.Abs(v) < 1e15:
		return fmt.Sprintf("%.0f", v)
	case math.Abs(v) >= 100:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.3g", v)
	}
}

func share(part, whole skew.Float) string {
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(whole))
}

// ints names partitions.
func ints(ns []int) string {
	var all []int64
	for _, n := range ns {
		all = append(all, int64(n))
	}
	if len(all) == 1 {
		return "partition " + checkpoint.Ranges(all)
	}
	return "partitions " + checkpoint.Ranges(all)
}

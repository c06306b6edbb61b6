package main

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/skew"
	"github.com/sparkstate/sparkstate/statestore"
)

// skewFlags are the flags of the verb.
type skewFlags struct {
	measure, rule string
	whatIf        []int
	floor, rate   float64
	rateOf        string
	top           int
	fail, trend   bool
}

func (a *app) skewCommand() *cobra.Command {
	var f skewFlags
	cmd := &cobra.Command{
		Use:   "skew CKPT",
		Short: "How unevenly the state is spread over its partitions, why, and what would help",
		Args:  oneCheckpoint,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.trend {
				return a.skewTrend(cmd, args[0])
			}
			return a.skew(cmd, args[0], f)
		},
	}
	a.shared(cmd)
	a.selecting(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.measure, "measure", skew.ByRows, "what is measured: rows, keys, bytes, changes (rows changed per batch) or fileBytes")
	fl.StringVar(&f.measure, "weigh", skew.ByRows, "measure a numeric column instead, such as value.count")
	fl.StringVar(&f.rule, "rule", skew.RuleSigma, "which rule marks hot partitions: "+strings.Join(skew.RuleNames(), ", "))
	fl.IntSliceVar(&f.whatIf, "what-if", nil, "numbers of partitions to try (default: a quarter to four times the present one)")
	fl.Float64Var(&f.floor, "floor", -1, "what the fullest partition must exceed to matter (default: 10,000 rows or keys, 256 MB)")
	fl.IntVar(&f.top, "top", 5, "how many keys and values are named")
	fl.BoolVar(&f.fail, "fail", false, "exit with 1 when a verdict is a warning or worse, or --rate is passed")
	fl.BoolVar(&f.trend, "trend", false, "rows, bytes, changes and skew after every batch that can be read")
	fl.Float64Var(&f.rate, "rate", 0, "with --fail: also when the skew rate is above this")
	fl.StringVar(&f.rateOf, "rate-of", "move", "what --rate is compared with: move (the skew rate) or hot (the share of hot partitions)")
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
	Analysis *skewAnalysis `json:"-"`
}

type partitionValue struct {
	PartitionID int     `json:"partitionId"`
	Value       float64 `json:"value"`
}

// counted are the measures that come from counting, without a walk over keys.
var counted = map[string]func(statestore.Count) (int64, bool){
	"keys":      func(c statestore.Count) (int64, bool) { return c.Keys, c.Keys >= 0 },
	"fileBytes": func(c statestore.Count) (int64, bool) { return c.FileBytes, true },
}

func (a *app) skew(cmd *cobra.Command, path string, f skewFlags) error {
	rule, err := skew.ParseRule(f.rule)
	if err != nil {
		return usagef("--rule: %v", err)
	}
	if f.rateOf != "move" && f.rateOf != "hot" {
		return usagef("--rate-of %s is neither move nor hot", f.rateOf)
	}
	cp, err := a.open(path)
	if err != nil {
		return err
	}
	defer cp.Close()
	stores, err := a.stores(cp)
	if err != nil {
		return err
	}
	opts, err := a.options(cmd)
	if err != nil {
		return err
	}
	all := []storeSkew{}
	var batch any
	var found []string
	for _, s := range stores {
		r, at, err := a.skewOf(cmd, s, f, rule, opts)
		if err != nil {
			return err
		}
		batch = at.Batch
		if why := r.failing(f, cmd.Flags().Changed("rate")); why != "" {
			found = append(found, s.Operator().Label()+"/"+s.Name()+": "+why)
		}
		all = append(all, *r)
	}
	if err := a.writeSkew(path, batch, all); err != nil {
		return err
	}
	if f.fail && len(found) > 0 {
		return &errFound{strings.Join(found, "; ")}
	}
	return nil
}

// failing says why --fail should fail; "" for no reason.
func (s *storeSkew) failing(f skewFlags, rate bool) string {
	if s.Analysis != nil && s.Analysis.Severity != skew.Info {
		return fmt.Sprintf("%s (%s)", s.Analysis.Verdict, s.Analysis.Severity)
	}
	if !rate || !(float64(s.Max) > s.floor()) {
		return ""
	}
	value, name := s.HotShare, "share of hot partitions"
	if f.rateOf == "move" {
		if s.Analysis == nil {
			return ""
		}
		value, name = s.Analysis.SkewRate, "skew rate"
	}
	if float64(value) > f.rate {
		return fmt.Sprintf("%s %.3f is above %g", name, float64(value), f.rate)
	}
	return ""
}

func (s *storeSkew) floor() float64 {
	if s.Analysis != nil {
		return s.Analysis.Floor
	}
	return 0
}

// skewOf measures one store, and looks for causes where the measure allows.
func (a *app) skewOf(cmd *cobra.Command, s *checkpoint.Store, f skewFlags, rule skew.Rule, opts []checkpoint.Option) (*storeSkew, checkpoint.At, error) {
	r := &storeSkew{OperatorID: s.Operator().ID(), StateStoreName: s.Name(), Measure: f.measure, Partitions: []partitionValue{}}
	if n, _ := s.Operator().Name(); n != "" {
		r.OperatorName = &n
	}
	var values []float64
	var at checkpoint.At
	if of, ok := counted[f.measure]; ok {
		c, err := a.counts(cmd, s, opts)
		if err != nil {
			return nil, at, err
		}
		at = c.At
		for _, p := range c.Partitions {
			v, ok := of(p)
			if !ok {
				return nil, at, usagef("--measure %s: not known for operator %s, store %s", f.measure, s.Operator().Label(), s.Name())
			}
			values = append(values, float64(v))
		}
	} else {
		done := a.progress("walking " + s.Operator().Label() + "/" + s.Name())
		report, err := skew.Analyze(cmd.Context(), s, skew.Options{Measure: f.measure, WhatIf: f.whatIf, Top: f.top, Floor: f.floor, Workers: a.workers}, opts...)
		done()
		if errors.Is(err, skew.ErrMeasure) {
			return nil, at, usagef("%v", err)
		}
		if err != nil {
			return nil, at, err
		}
		for _, n := range s.Notes() {
			a.note("operator " + s.Operator().Label() + ": " + n)
		}
		if r.Analysis, err = a.analysed(report); err != nil {
			return nil, at, err
		}
		if err := a.lifetime(cmd, s, r.Analysis, opts); err != nil {
			return nil, at, err
		}
		at, values = report.At, report.Values
	}
	for p, v := range values {
		r.Partitions = append(r.Partitions, partitionValue{p, v})
	}
	r.Summary = skew.Measure(values)
	r.Finding = skew.Find(rule, values)
	r.Imbalance = skew.MeasureImbalance(values)
	return r, at, nil
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
		return output(w.Flush())
	}
	sh := &sheet{format: a.format, header: append(document(path, batch), field{"stores", all}), columns: []column{
		{"operatorId", true}, {"operatorName", false}, {"stateStoreName", false}, {"measure", false},
		{"partitionId", true}, {"value", true}, {"hot", false},
	}}
	if err := sh.begin(a.out); err != nil {
		return err
	}
	for _, s := range all {
		for _, p := range s.Partitions {
			if err := sh.row(jsonCell(s.OperatorID), jsonCell(s.OperatorName), textCell(s.StateStoreName), textCell(s.Measure),
				jsonCell(p.PartitionID), jsonCell(p.Value), jsonCell(slices.Contains(s.Hot, p.PartitionID))); err != nil {
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
		fmt.Fprintf(w, "hot by rule %s (%s): %s\n", s.Rule, s.Condition, ints(s.Hot))
	case s.Inconclusive != "":
		fmt.Fprintf(w, "rule %s (%s): %s\n", s.Rule, s.Condition, s.Inconclusive)
	default:
		fmt.Fprintf(w, "rule %s (%s) marks none\n", s.Rule, s.Condition)
	}
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

func ints(ns []int) string {
	var all []int64
	for _, n := range ns {
		all = append(all, int64(n))
	}
	return "partitions " + checkpoint.Ranges(all)
}

package main

import (
	"bufio"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/skew"
	"github.com/sparkstate/sparkstate/statestore"
)

func (a *app) skewCommand() *cobra.Command {
	measure, rule, fail := "rows", skew.RuleSigma, false
	cmd := &cobra.Command{
		Use:   "skew CKPT",
		Short: "How unevenly the state is spread over its partitions",
		Args:  oneCheckpoint,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.skew(cmd, args[0], measure, rule, fail)
		},
	}
	a.shared(cmd)
	a.selecting(cmd)
	cmd.Flags().StringVar(&measure, "measure", measure, "what is measured: "+strings.Join(measureNames(), ", "))
	cmd.Flags().StringVar(&rule, "rule", rule, "which rule marks hot partitions: "+strings.Join(skew.RuleNames(), ", "))
	cmd.Flags().BoolVar(&fail, "fail", false, "exit with 1 when a partition is marked")
	return cmd
}

// measures are the numbers that can be compared between partitions.
var measures = []struct {
	name string
	of   func(statestore.Count) (int64, bool)
}{
	{"rows", func(c statestore.Count) (int64, bool) { return c.Rows, true }},
	{"keys", func(c statestore.Count) (int64, bool) { return c.Keys, c.Keys >= 0 }},
	{"bytes", func(c statestore.Count) (int64, bool) { return c.KeyBytes + c.ValueBytes, true }},
	{"fileBytes", func(c statestore.Count) (int64, bool) { return c.FileBytes, true }},
}

func measureNames() []string {
	var names []string
	for _, m := range measures {
		names = append(names, m.name)
	}
	return names
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
}

type partitionValue struct {
	PartitionID int   `json:"partitionId"`
	Value       int64 `json:"value"`
}

func (a *app) skew(cmd *cobra.Command, path, measure, ruleText string, fail bool) error {
	i := slices.Index(measureNames(), measure)
	if i < 0 {
		return usagef("--measure %s is none of %s", measure, strings.Join(measureNames(), ", "))
	}
	rule, err := skew.ParseRule(ruleText)
	if err != nil {
		return usagef("--rule: %v", err)
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
	var counted []*checkpoint.Counts
	hot := 0
	for _, s := range stores {
		c, err := a.counts(cmd, s, opts)
		if err != nil {
			return err
		}
		counted = append(counted, c)
		r, err := measureStore(s, c, measure, measures[i].of, rule)
		if err != nil {
			return err
		}
		hot += len(r.Hot)
		all = append(all, r)
	}
	if err := a.writeSkew(path, batchOf(counted), all); err != nil {
		return err
	}
	if fail && hot > 0 {
		return &errFound{fmt.Sprintf("%d partitions are marked by %s", hot, rule)}
	}
	return nil
}

func measureStore(s *checkpoint.Store, c *checkpoint.Counts, name string, of func(statestore.Count) (int64, bool), rule skew.Rule) (storeSkew, error) {
	r := storeSkew{OperatorID: s.Operator().ID(), StateStoreName: s.Name(), Measure: name, Partitions: []partitionValue{}}
	if n, _ := s.Operator().Name(); n != "" {
		r.OperatorName = &n
	}
	var values []int64
	for _, p := range c.Partitions {
		v, ok := of(p)
		if !ok {
			return r, usagef("--measure %s: not known for operator %s, store %s", name, s.Operator().Label(), s.Name())
		}
		values = append(values, v)
		r.Partitions = append(r.Partitions, partitionValue{p.Partition, v})
	}
	r.Summary = skew.Measure(values)
	r.Finding = skew.Find(rule, values)
	return r, nil
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
	digits := len("partition")
	top := int64(0)
	for _, p := range s.Partitions {
		top = max(top, p.Value)
	}
	wide := max(len(fmt.Sprint(top)), len(s.Measure))
	fmt.Fprintf(w, "%*s  %*s\n", digits, "partition", wide, s.Measure)
	for _, p := range s.Partitions {
		n := 0
		if top > 0 {
			n = int(math.Round(float64(p.Value) / float64(top) * barWidth))
		}
		mark := ""
		switch {
		case slices.Contains(s.Hot, p.PartitionID):
			mark = "  hot"
		case p.PartitionID == s.Fullest && len(s.Partitions) > 1 && p.Value > 0:
			mark = "  fullest"
		}
		line := fmt.Sprintf("%*d  %*d  %s%s", digits, p.PartitionID, wide, p.Value, strings.Repeat("█", n), mark)
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
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

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sparkstate/sparkstate/skew"
)

// skewFlags are the flags of the verb.
type skewFlags struct {
	measure, weigh, rule string
	whatIf               []int
	floor, rate          float64
	rateOf               string
	top                  int
	fail, trend          bool
	notifyFlags
}

// What --rate is compared with.
const (
	rateOfMove = "move" // the skew rate
	rateOfHot  = "hot"  // the share of hot partitions
)

// defaultRate is the --rate of --notify.
const defaultRate = 0.10

// maxWhatIf is the largest number of partitions that is tried.
const maxWhatIf = 1_000_000

// The measures that come from counting, without a walk over keys.
const (
	byKeys      = "keys"
	byFileBytes = "fileBytes"
)

// measures are the names that --measure knows beside columns.
var measures = []string{skew.ByRows, byKeys, skew.ByBytes, skew.ByChanges, byFileBytes}

func (f *skewFlags) declare(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.measure, "measure", skew.ByRows, "what is measured: rows, keys, bytes, changes (rows changed per batch) or fileBytes")
	fl.StringVar(&f.weigh, "weigh", "", "measure a numeric column instead, such as value.count, of the stores that have it")
	fl.StringVar(&f.rule, "rule", skew.RuleSigma, "which rule marks hot partitions: "+strings.Join(skew.RuleNames(), ", "))
	fl.IntSliceVar(&f.whatIf, "what-if", nil, "numbers of partitions to try (default: a quarter to four times the present one)")
	fl.Float64Var(&f.floor, "floor", -1, "what the fullest partition must exceed to matter (default: 10,000 rows or keys, 256 MB)")
	fl.IntVar(&f.top, "top", 5, "how many keys and values are named")
	fl.BoolVar(&f.fail, "fail", false, "exit with 1 when a verdict is a warning or worse, or a given --rate is passed")
	fl.BoolVar(&f.trend, "trend", false, "rows, bytes, changes and skew after every batch that can be read")
	fl.Float64Var(&f.rate, "rate", defaultRate, "with --notify: what the skew rate must be above; with --fail, where it is given: also when it is above this")
	fl.StringVar(&f.rateOf, "rate-of", rateOfMove, "what --rate is compared with: move (the skew rate) or hot (the share of hot partitions)")
	f.notifyFlags.declare(cmd)
}

// check refuses values out of range, and flags that would have no effect: a
// check in a script that checks nothing is worse than none. It settles the
// measure.
func (f *skewFlags) check(cmd *cobra.Command) error {
	given := cmd.Flags().Changed
	if f.trend {
		for _, flag := range []string{"fail", "rate", "rate-of", "weigh", "measure", "rule", "what-if", "floor", "top", "notify"} {
			if given(flag) {
				return usagef("--trend shows the measures as they are; leave --%s out", flag)
			}
		}
		if given("batch") {
			return usagef("--trend is over all batches; leave --batch out")
		}
		return nil
	}
	if err := f.checkMeasure(cmd); err != nil {
		return err
	}
	switch {
	case f.rateOf != rateOfMove && f.rateOf != rateOfHot:
		return usagef("--rate-of %s is neither move nor hot", f.rateOf)
	case given("rate") && !f.fail && f.notify == "":
		return usagef("--rate goes with --fail or --notify")
	case given("rate-of") && !given("rate") && f.notify == "":
		return usagef("--rate-of goes with --rate or --notify")
	case !(f.rate >= 0 && f.rate < 1):
		return usagef("--rate %v: from 0 to below 1, as nothing is above that; 0.1 is 10 %%", f.rate)
	case (given("rate") || f.notify != "") && f.measure == byFileBytes && f.rateOf == rateOfMove:
		return usagef("bytes of files have no level of chance, so no skew rate; compare --rate with --rate-of hot, or measure rows, keys or bytes")
	case given("floor") && !(f.floor >= 0):
		return usagef("--floor %v: no number from 0 up", f.floor)
	}
	return f.checkWalk()
}

// checkWalk refuses values out of range of the flags that tell a walk over the
// keys what to look at.
func (f *skewFlags) checkWalk() error {
	if f.top < 1 {
		return usagef("--top %d: at least one", f.top)
	}
	for _, n := range f.whatIf {
		if n < 1 || n > maxWhatIf {
			return usagef("--what-if %d: between 1 and %d partitions", n, maxWhatIf)
		}
	}
	return nil
}

// checkRounds refuses what does not go with answering again and again.
func (f *skewFlags) checkRounds(cmd *cobra.Command, as format) error {
	given := cmd.Flags().Changed
	switch {
	case !given("every"):
	case f.trend:
		return usagef("--trend is over all batches already; leave --every out")
	case f.fail:
		return usagef("--fail ends with a code, and --every goes on; leave one of them out")
	case given("batch"):
		return usagef("the state after one batch stays as it is; leave --batch or --every out")
	case as == asCSV:
		return usagef("--every writes one answer after another, and CSV has one header; take --format jsonl")
	}
	return nil
}

func (f *skewFlags) checkMeasure(cmd *cobra.Command) error {
	given := cmd.Flags().Changed
	flag := "measure"
	if given("weigh") {
		if given("measure") {
			return usagef("--weigh is a measure itself; leave --measure out")
		}
		flag, f.measure = "weigh", f.weigh
	}
	column := strings.HasPrefix(f.measure, "key.") || strings.HasPrefix(f.measure, "value.")
	switch {
	case flag == "weigh" && !column && f.measure != skew.ByChanges:
		return usagef("--weigh %s is none of changes, key.COLUMN and value.COLUMN", f.measure)
	case !column && !slices.Contains(measures, f.measure):
		return usagef("--measure %s is none of %s, key.COLUMN and value.COLUMN", f.measure, strings.Join(measures, ", "))
	case f.counted() && (given("what-if") || given("top")):
		return usagef("--what-if and --top need a walk over the keys, and --measure %s only counts; leave them out", f.measure)
	}
	return nil
}

// counted says whether the measure comes from counting alone.
func (f *skewFlags) counted() bool { return f.measure == byKeys || f.measure == byFileBytes }

// column says whether the measure is a column, which not every store has.
func (f *skewFlags) column() bool { return !slices.Contains(measures, f.measure) }

// countFloor is what the fullest partition must exceed, of a measure that is
// counted.
func (f *skewFlags) countFloor() float64 {
	switch {
	case f.floor >= 0:
		return f.floor
	case f.measure == byFileBytes:
		return skew.FloorBytes
	}
	return skew.FloorRows
}

// libraryFloor is the flag as skew.Options take it: below 0 it was not given,
// and 0 asks for none.
func (f skewFlags) libraryFloor() float64 {
	switch {
	case f.floor < 0:
		return 0
	case f.floor == 0:
		return -1
	}
	return f.floor
}

// failing says why --fail should fail; "" for no reason.
func (s *storeSkew) failing(f skewFlags, rate bool) string {
	if s.Severity != skew.Info {
		if s.Verdict == "" {
			return fmt.Sprintf("uneven (%s)", s.Severity)
		}
		return fmt.Sprintf("%s (%s)", s.Verdict, s.Severity)
	}
	if rate && s.passes(f) {
		return fmt.Sprintf("%s %.3f is above %g", f.rateName(), float64(s.rated(f)), f.rate)
	}
	return ""
}

// rateName is what --rate is compared with, in words.
func (f *skewFlags) rateName() string {
	if f.rateOf == rateOfMove {
		return "skew rate"
	}
	return "share of hot partitions"
}

// rated is what --rate is compared with: undefined where it is not known.
func (s *storeSkew) rated(f skewFlags) skew.Float {
	switch {
	case f.rateOf == rateOfMove:
		return s.SkewRate
	case s.Inconclusive != "":
		return skew.Undefined()
	}
	return s.HotShare
}

// matters says whether the fullest partition exceeds the floor.
func (s *storeSkew) matters() bool { return float64(s.Max) > s.Floor }

// passes says whether the rate is passed, of a store that matters.
func (s *storeSkew) passes(f skewFlags) bool { return s.matters() && float64(s.rated(f)) > f.rate }

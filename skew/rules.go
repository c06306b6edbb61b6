package skew

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A Rule draws a line; the partitions above it are called hot. It lists them
// and judges nothing: whether they are chance, and whether they matter, are
// other questions, for [Chance] and for a floor.
//
// The rules of this package are plain values. Their zero value is the rule
// with its usual threshold.
type Rule interface {
	// Name is the name by which [ParseRule] finds the rule.
	Name() string
	// String is the condition that makes a partition hot, thresholds included.
	String() string
	// Line returns the value above which a partition is hot, NaN where there
	// is none. A rule that could not have listed any of so many partitions,
	// however full, says why in inconclusive; otherwise that is empty. All
	// values are finite, and there is at least one.
	Line(values []float64) (line float64, inconclusive string)
}

// ErrRule is the kind of the errors of [ParseRule].
var ErrRule = errors.New("skew: not a rule")

// The names of the rules.
const (
	RuleAQE    = "aqe"
	RuleFlink  = "flink"
	RuleRobust = "robust"
	RuleSigma  = "sigma"
)

// RuleNames returns the names that [ParseRule] knows, sorted.
func RuleNames() []string {
	return []string{RuleAQE, RuleFlink, RuleRobust, RuleSigma}
}

// ParseRule returns the rule of that name, such as "robust". A threshold other
// than the usual one follows after a colon, such as "sigma:3": a number above
// 0, with the meaning of the first field of the rule. A rule parsed has no
// floor; see [WithFloor]. Errors are of the kind [ErrRule] and name the
// choices.
func ParseRule(text string) (Rule, error) {
	name, number, given := strings.Cut(text, ":")
	var threshold float64
	if given {
		var err error
		threshold, err = strconv.ParseFloat(number, 64)
		if err != nil || !finite(threshold) || threshold <= 0 {
			return nil, fmt.Errorf("%w: the threshold in %q is not a number above 0", ErrRule, text)
		}
	}
	switch name {
	case RuleAQE:
		return AQE{Factor: threshold}, nil
	case RuleFlink:
		return Flink{Percent: threshold}, nil
	case RuleRobust:
		return Robust{Score: threshold}, nil
	case RuleSigma:
		return Sigma{Deviations: threshold}, nil
	}
	return nil, fmt.Errorf("%w: %q is none of %s", ErrRule, name, strings.Join(RuleNames(), ", "))
}

// What a partition must exceed, by custom, before its size matters to anyone.
const (
	// FloorRows is for rows, keys and rows changed.
	FloorRows = 10_000
	// FloorBytes is for bytes of any kind. It is the default of
	// spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes, 256 MB.
	FloorBytes = 256 << 20
)

// WithFloor returns the rule with that floor, in the unit of the values, if it
// is a rule that has one: an [AQE]. All others are returned as they are.
func WithFloor(rule Rule, floor float64) Rule {
	if aqe, ok := rule.(AQE); ok {
		aqe.Floor = floor
		return aqe
	}
	return rule
}

// Finding is what a rule has listed. Like [Summary] it is made to be embedded.
type Finding struct {
	// Rule is the name of the rule, Condition the rule in full.
	Rule      string `json:"rule"`
	Condition string `json:"condition"`
	// Line is the value above which a partition is hot.
	Line Float `json:"line"`
	// Hot holds the indexes of the hot partitions in ascending order. It is
	// never nil, so that JSON has an empty list and not null.
	Hot []int `json:"hot"`
	// HotShare is the number of hot partitions divided by all.
	HotShare Float `json:"hotShare"`
	// Inconclusive says why an empty Hot means nothing here; it is empty where
	// it does mean something.
	Inconclusive string `json:"inconclusive,omitempty"`
}

// Find lists the partitions that the rule calls hot.
//
// For no partitions, or where a value is not finite, nothing is hot, and the
// finding says that it is inconclusive.
func Find[T Number](rule Rule, values []T) Finding {
	x := floats(values)
	f := Finding{Rule: rule.Name(), Condition: rule.String(), Line: Undefined(), Hot: []int{}, HotShare: share(0, len(x))}
	switch {
	case len(x) == 0:
		f.Inconclusive = "there are no partitions"
		return f
	case !allFinite(x):
		f.Inconclusive = "the value of a partition is not known"
		return f
	}
	line, inconclusive := rule.Line(x)
	f.Line, f.Inconclusive = Float(line), inconclusive
	for i, v := range x {
		if v > line {
			f.Hot = append(f.Hot, i)
		}
	}
	f.HotShare = share(len(f.Hot), len(x))
	return f
}

// AQE is the rule by which Spark's adaptive query execution splits the
// partitions of a join: larger than Factor times the median and larger than
// Floor (OptimizeSkewedJoin, Spark 3.0 and later). The median is taken as 1
// where it is less, as Spark does, so that with a Floor of 0 a partition is
// hot exactly where a MaxOverMedian made of its value would be above Factor. Spark drops the half from the median of an even number of
// partitions; this rule keeps it.
//
// At most half of the partitions can be hot. The rule cannot conclude with
// fewer than three of them while Factor is not below their number: half of a
// partition is in the median of two.
type AQE struct {
	// Factor is spark.sql.adaptive.skewJoin.skewedPartitionFactor; 0 stands
	// for 5.
	Factor float64
	// Floor is in the unit of the values; see [FloorRows] and [FloorBytes].
	// 0 is no floor.
	Floor float64
}

// Name returns "aqe".
func (AQE) Name() string { return RuleAQE }

func (r AQE) String() string {
	s := "value > " + number(r.factor()) + " × median"
	if r.Floor != 0 {
		s += " and value > " + number(r.Floor)
	}
	return s
}

// Line returns the greater of the two thresholds.
func (r AQE) Line(values []float64) (float64, string) {
	n, factor := len(values), r.factor()
	line := max(factor*max(Median(values), 1), r.Floor)
	if n < 3 && factor >= float64(n) {
		return line, fmt.Sprintf("cannot conclude: with n = %d no value can be more than %d × the median", n, n)
	}
	return line, ""
}

func (r AQE) factor() float64 { return orElse(r.Factor, 5) }

// Robust lists what has a modified z-score above Score; see [RobustZScores].
// Of all rules here it is the one for listing outliers: a partition cannot
// hide another, nor itself.
//
// It cannot conclude with two partitions or fewer, nor, while more than half
// are equal, where the ceiling of the fallback is not above Score: with the
// usual Score, four partitions or fewer.
type Robust struct {
	// Score is the threshold; 0 stands for 3.5.
	Score float64
}

// Name returns "robust".
func (Robust) Name() string { return RuleRobust }

func (r Robust) String() string {
	return "modified z-score > " + number(r.score())
}

// Line returns the value with the modified z-score Score.
func (r Robust) Line(values []float64) (float64, string) {
	n, score := len(values), r.score()
	s := spreadOf(values)
	line := s.median + score*s.unit()
	switch {
	case n < 3:
		return line, fmt.Sprintf("cannot conclude: with n = %d no value can be far from the median and the others not", n)
	case s.mad == 0 && score >= float64(n)/meanToNormal:
		return line, fmt.Sprintf("cannot conclude: with n = %d, most of them equal, no modified z-score can exceed %.3f", n, float64(n)/meanToNormal)
	}
	return line, ""
}

func (r Robust) score() float64 { return orElse(r.Score, 3.5) }

// Sigma lists what is more than Deviations sample standard deviations above
// the mean, as s[s > s.mean() + 2*s.std()] does in pandas. It is the rule most
// people start with; the package documentation says why not to stay with it.
//
// It cannot conclude where Deviations is not below [ZCeiling]: with the usual
// 2, five partitions or fewer. However many there are, fewer than one in
// 1+Deviations² can be hot.
type Sigma struct {
	// Deviations is the threshold; 0 stands for 2.
	Deviations float64
}

// Name returns "sigma".
func (Sigma) Name() string { return RuleSigma }

func (r Sigma) String() string {
	return "value > mean + " + number(r.deviations()) + " × sample standard deviation"
}

// Line returns the mean plus Deviations sample standard deviations.
func (r Sigma) Line(values []float64) (float64, string) {
	n, deviations := len(values), r.deviations()
	m := momentsOf(values)
	line := m.mean + deviations*m.std
	if deviations >= ZCeiling(n) {
		return line, fmt.Sprintf("cannot conclude: with n = %d no value can be more than %.3f deviations above the mean", n, ZCeiling(n))
	}
	return line, ""
}

func (r Sigma) deviations() float64 { return orElse(r.Deviations, 2) }

// Flink lists the partitions whose own part in Flink's data skew score,
// 100·(x−mean)/mean, is above Percent; see [FlinkScore] for the score of all
// partitions together. Flink itself draws no line. The usual one here is where
// its scale ends, at 100 %: twice the mean.
//
// It cannot conclude where Percent/100 is not below n−1, since nothing exceeds
// n times the mean: with the usual 100, two partitions or fewer. Nor can it
// where a value is negative.
type Flink struct {
	// Percent is the threshold; 0 stands for 100.
	Percent float64
}

// Name returns "flink".
func (Flink) Name() string { return RuleFlink }

func (r Flink) String() string {
	return "value > mean + " + number(r.percent()) + " % of the mean"
}

// Line returns the mean plus Percent of it.
func (r Flink) Line(values []float64) (float64, string) {
	if !quantities(values) {
		return math.NaN(), "cannot conclude: a part of the mean is no measure where values are negative"
	}
	n, excess := len(values), r.percent()/100
	mean := momentsOf(values).mean
	line := mean + excess*mean
	if excess >= float64(n-1) {
		return line, fmt.Sprintf("cannot conclude: with n = %d no value can be more than %d %% above the mean", n, 100*(n-1))
	}
	return line, ""
}

func (r Flink) percent() float64 { return orElse(r.Percent, 100) }

// orElse returns the threshold, or the usual one where none is set.
func orElse(threshold, usual float64) float64 {
	if threshold == 0 {
		return usual
	}
	return threshold
}

// number writes a threshold for people: whole ones without exponent.
func number(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1e15 {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

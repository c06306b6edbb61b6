package skew_test

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/sparkstate/sparkstate/skew"
)

// Rows of ten partitions, of which one has most.
var rows = []int64{120, 118, 131, 1406, 109, 125, 117, 122, 130, 122}

func ExampleMeasure() {
	s := skew.Measure(rows)
	fmt.Printf("%d partitions, %.0f rows, mean %.0f, median %.0f\n", s.Count, s.Total, s.Mean, s.Median)
	fmt.Printf("partition %d has %.0f, %.1f times the median\n", s.Fullest, s.Max, s.MaxOverMedian)
	// Output:
	// 10 partitions, 2500 rows, mean 250, median 122
	// partition 3 has 1406, 11.5 times the median
}

func ExampleMeasureImbalance() {
	i := skew.MeasureImbalance(rows)
	fmt.Printf("%.0f %% of the rows are in the wrong place\n", 100*i.Hoover)
	fmt.Printf("%.0f %% of the time nine workers wait for the tenth\n", 100*i.Idle)
	// Output:
	// 46 % of the rows are in the wrong place
	// 82 % of the time nine workers wait for the tenth
}

func ExampleFind() {
	for _, name := range skew.RuleNames() {
		rule, err := skew.ParseRule(name)
		if err != nil {
			fmt.Println(err)
			return
		}
		f := skew.Find(rule, rows)
		fmt.Printf("%-7s %v  %s\n", f.Rule, f.Hot, f.Condition)
	}
	// Output:
	// aqe     [3]  value > 5 × median
	// flink   [3]  value > mean + 100 % of the mean
	// robust  [3]  modified z-score > 3.5
	// sigma   [3]  value > mean + 2 × sample standard deviation
}

// With five partitions the rule of two deviations cannot list any.
func ExampleFind_inconclusive() {
	f := skew.Find(skew.Sigma{}, []int64{0, 0, 0, 0, 1_000_000})
	fmt.Println(f.Hot, f.Inconclusive)
	// Output:
	// [] cannot conclude: with n = 5 no value can be more than 1.789 deviations above the mean
}

func ExampleChance() {
	// As many keys as this vary by a quarter, and that is all they do.
	c := skew.Chance([]int64{14, 19, 11, 22, 16, 15, 9, 18})
	fmt.Printf("vary by %.0f %%, expected %.0f %%, p = %.2f\n", 100*c.CV, 100*c.ChanceCV, c.PValue)

	c = skew.Chance([]int64{14, 19, 11, 22, 16, 15, 9, 70})
	fmt.Printf("vary by %.0f %%, expected %.0f %%, p = %.0e\n", 100*c.CV, 100*c.ChanceCV, c.PValue)
	// Output:
	// vary by 27 %, expected 25 %, p = 0.32
	// vary by 90 %, expected 21 %, p = 7e-24
}

func ExampleSkewRate() {
	keys := []int64{245, 240, 252, 229, 261, 250, 238, 245}
	fmt.Printf("%.3f\n", skew.SkewRate(skew.Hoover(keys), skew.ChanceHoover(1960, len(keys))))

	// The same keys, one of which has 1,500 rows.
	rows := []int64{245, 240, 252, 1729, 261, 250, 238, 245}
	fmt.Printf("%.3f\n", skew.SkewRate(skew.Hoover(rows), skew.ChanceHoover(1960, len(keys))))
	// Output:
	// 0.000
	// 0.351
}

func ExampleKeySizes() {
	var sizes skew.KeySizes
	sizes.Add(1500)
	for range 1959 {
		sizes.Add(1)
	}
	fmt.Printf("expected of these keys over 8 partitions: %.3f\n", sizes.ChanceHoover(8))
	fmt.Printf("expected of as many keys of equal size: %.3f\n", skew.ChanceHoover(sizes.Count(), 8))
	// Output:
	// expected of these keys over 8 partitions: 0.379
	// expected of as many keys of equal size: 0.024
}

// Results are made to be embedded: the fields come out side by side, and what
// is undefined is null.
func ExampleSummary() {
	one := []int64{7}
	record := struct {
		Measure string `json:"measure"`
		skew.Summary
	}{"rows", skew.Measure(one)}
	if err := json.NewEncoder(os.Stdout).Encode(record); err != nil {
		fmt.Println(err)
	}
	// Output:
	// {"measure":"rows","count":1,"total":7,"mean":7,"std":null,"stdPop":0,"min":7,"median":7,"p90":7,"p99":7,"max":7,"maxOverMedian":1,"fullest":0}
}

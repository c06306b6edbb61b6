package skew

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"testing"
)

// FuzzMeasures reads any bits as the values of partitions. Nothing may panic,
// JSON must come out, and what is defined must hold together.
func FuzzMeasures(f *testing.F) {
	seed := func(x ...float64) {
		var data []byte
		for _, v := range x {
			data = binary.LittleEndian.AppendUint64(data, math.Float64bits(v))
		}
		f.Add(data)
	}
	seed()
	seed(7)
	seed(0, 0, 0)
	seed(10, 12, 9, 11, 10, 500, 8, 12, 10, 11)
	seed(1e15, 1e15+1, 1e15+2)
	seed(math.NaN(), 1, math.Inf(-1))
	seed(math.MaxFloat64, math.MaxFloat64, -math.MaxFloat64, 0)
	seed(math.SmallestNonzeroFloat64, 3e-310, 0)
	seed(0.1, 0.1, 0.1, 1e308)
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 8*300 {
			return
		}
		x := make([]float64, len(data)/8)
		whole := make([]int64, len(x))
		for i := range x {
			bits := binary.LittleEndian.Uint64(data[8*i:])
			x[i], whole[i] = math.Float64frombits(bits), int64(bits)
		}
		checkAll(t, x)
		checkAll(t, whole)
	})
}

func checkAll[T Number](t *testing.T, values []T) {
	x := floats(values)
	s, i, c := Measure(values), MeasureImbalance(values), Chance(values)
	if s.Count != len(x) || len(ZScores(values)) != len(x) || len(RobustZScores(values)) != len(x) {
		t.Fatalf("not one answer for each of %d values", len(x))
	}
	known := len(x) > 0 && allFinite(x)
	if known {
		checkSummary(t, values, s)
	} else if s.Fullest != -1 || s.Mean.Defined() {
		t.Fatalf("%+v of values not known", s)
	}
	if quantities(x) {
		checkProperties(t, x)
		if !(c.PValue >= 0 && c.PValue <= 1) {
			t.Fatalf("p-value %v of %v", c.PValue, x)
		}
	} else if c.PValue.Defined() || i.Hoover.Defined() || i.Gini.Defined() || i.Idle.Defined() {
		t.Fatalf("measures of what are no quantities: %+v %+v", i, c)
	}

	var sizes KeySizes
	for _, v := range x {
		sizes.Add(v)
	}
	for _, n := range []int{1, 2, 200} {
		h := sizes.ChanceHoover(n)
		if h < 0 || h > 1-1/float64(n) {
			t.Fatalf("expected index %v of %v over %d", h, x, n)
		}
		if e := sizes.Effective(); e < 1 || e > float64(len(x)) {
			t.Fatalf("%v effective keys of %v", e, x)
		}
	}

	for _, rule := range []Rule{AQE{}, AQE{Factor: 1e-9, Floor: 3}, Flink{}, Robust{}, Sigma{}, Sigma{Deviations: 0.5}} {
		finding := Find(rule, values)
		last := -1
		for _, at := range finding.Hot {
			if at <= last || at >= len(x) || !(x[at] > float64(finding.Line)) {
				t.Fatalf("%v: hot %v of %v above %v", rule, finding.Hot, x, finding.Line)
			}
			last = at
		}
		if !known && (len(finding.Hot) > 0 || finding.Inconclusive == "") {
			t.Fatalf("%v: %+v of values not known", rule, finding)
		}
		if _, err := json.Marshal(struct {
			Summary
			Finding
			Imbalance
			Chance ChanceTest `json:"chance"`
		}{s, finding, i, c}); err != nil {
			t.Fatal(err)
		}
	}
	if hot := len(Find(Sigma{}, values).Hot); hot*5 > len(x) {
		t.Fatalf("%d of %d partitions are above 2σ: %v", hot, len(x), x)
	}
	if hot := len(Find(AQE{}, values).Hot); hot*2 > len(x) && s.Median > -1 {
		t.Fatalf("%d of %d partitions are above 5 medians: %v", hot, len(x), x)
	}
}

// checkSummary asserts the order of the numbers in a summary of finite values.
func checkSummary[T Number](t *testing.T, values []T, s Summary) {
	ascending := []Float{s.Min, s.Median, s.P90, s.P99, s.Max}
	for i := 1; i < len(ascending); i++ {
		if !(ascending[i-1] <= ascending[i]) {
			t.Fatalf("quantiles are not in order: %+v", s)
		}
	}
	if !(s.Min <= s.Mean && s.Mean <= s.Max) {
		t.Fatalf("the mean is outside: %+v", s)
	}
	if !(s.StdPop >= 0) || len(values) > 1 && !(s.Std >= s.StdPop) {
		t.Fatalf("deviations: %+v", s)
	}
	if (s.Min == s.Max) != (s.StdPop == 0) && s.Max-s.Min > 1e-300 {
		t.Fatalf("a deviation of 0 among values that differ, or the reverse: %+v", s)
	}
	if float64(values[s.Fullest]) != float64(s.Max) {
		t.Fatalf("the fullest is not the greatest: %+v", s)
	}
}

func FuzzParseRule(f *testing.F) {
	for _, s := range []string{"aqe", "robust:3.5", "sigma:0x1p3", "flink:1e309", ":", "sigma:1_0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rule, err := ParseRule(text)
		if (rule == nil) == (err == nil) {
			t.Fatalf("ParseRule(%q) = %v, %v", text, rule, err)
		}
		if err == nil && rule.String() == "" {
			t.Fatalf("ParseRule(%q) says nothing", text)
		}
	})
}

package skew_test

import (
	"context"
	"fmt"
	"log"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/skew"
)

// No partition of this state is hot, and no key; but one adviser has more than
// a quarter of the rows, and they never go.
func ExampleAnalyze() {
	cp, err := checkpoint.Open("../testdata/4.1.4/ad_billing/checkpoint")
	if err != nil {
		log.Fatal(err)
	}
	defer cp.Close()
	st, err := cp.Store(1, "default")
	if err != nil {
		log.Fatal(err)
	}
	r, err := skew.Analyze(context.Background(), st, skew.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Verdict, r.Severity)
	for _, c := range r.Columns {
		fmt.Println(c.Name, c.Top[0].OfAll > 0.25)
	}
	why, _ := st.NeverExpires()
	fmt.Println(why)
	// Output:
	// even info
	// profile_id false
	// adviser_id true
	// dropDuplicates keeps every key for ever: the event-time column is not among the columns it compares
}

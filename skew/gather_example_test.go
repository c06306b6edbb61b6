package skew_test

import (
	"context"
	"fmt"
	"log"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/skew"
)

// Two machines gather two partitions each; what they send is a few bytes for
// each key.
func ExampleGather() {
	cp, err := checkpoint.Open("../testdata/4.1.4/ad_billing")
	if err != nil {
		log.Fatal(err)
	}
	defer cp.Close()
	st, err := cp.Store(1, "default")
	if err != nil {
		log.Fatal(err)
	}
	ctx, options, batch := context.Background(), skew.Options{}, checkpoint.AtBatch(6)
	var whole skew.Part
	for _, partitions := range [][]int{{0, 1}, {2, 3}} {
		part, err := skew.Gather(ctx, st, options, partitions, batch)
		if err != nil {
			log.Fatal(err)
		}
		if err := whole.Merge(part); err != nil {
			log.Fatal(err)
		}
	}
	r, err := skew.Conclude(ctx, st, options, &whole, batch)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Verdict, r.Rows)
	// Output:
	// even [170 188 195 161]
}

// How the state grew.
func ExampleTrend() {
	cp, err := checkpoint.Open("../testdata/4.1.4/ad_billing")
	if err != nil {
		log.Fatal(err)
	}
	defer cp.Close()
	st, err := cp.Store(1, "default")
	if err != nil {
		log.Fatal(err)
	}
	points, err := skew.Trend(context.Background(), st, 2)
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range points {
		fmt.Println("batch", p.Batch, "rows", p.Rows, "inserted", p.Inserted, "deleted", p.Deleted)
	}
	// Output:
	// batch 0 rows 120 inserted 120 deleted 0
	// batch 1 rows 240 inserted 120 deleted 0
	// batch 2 rows 360 inserted 120 deleted 0
	// batch 3 rows 478 inserted 118 deleted 0
	// batch 4 rows 597 inserted 119 deleted 0
	// batch 5 rows 714 inserted 117 deleted 0
	// batch 6 rows 714 inserted 0 deleted 0
}

package checkpoint_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"testing/fstest"

	"github.com/apache/arrow/go/v17/arrow/array"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore/statetest"
)

// What two batches changed, as Spark's change feed has it.
func ExampleStore_Changes() {
	cp, err := checkpoint.Open("../testdata/4.1.4/ad_billing")
	if err != nil {
		log.Fatal(err)
	}
	defer cp.Close()
	st, err := cp.Store(1, "default")
	if err != nil {
		log.Fatal(err)
	}
	changed := map[int64]int{}
	for rec, err := range st.Changes(context.Background(), 4, 5) {
		if err != nil {
			log.Fatal(err)
		}
		batches := rec.Column(0).(*array.Int64)
		for i := range batches.Len() {
			changed[batches.Value(i)]++
		}
		rec.Release()
	}
	fmt.Println(changed)
	// Output:
	// map[4:119 5:117]
}

// The input rows that a stream-stream join still holds on its left side.
func ExampleJoinSide_Records() {
	cp, err := checkpoint.Open("../testdata/4.3.0/join_skewed.zip")
	if err != nil {
		log.Fatal(err)
	}
	defer cp.Close()
	op, err := cp.Operator(0)
	if err != nil {
		log.Fatal(err)
	}
	left, err := op.JoinSide(checkpoint.Left)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("joined by", left.Key().DDL())
	fmt.Println("holds", left.Value().DDL())
	var loss checkpoint.JoinLoss
	rows := int64(0)
	for rec, err := range left.Records(context.Background(), &loss) {
		if err != nil {
			log.Fatal(err)
		}
		rows += rec.NumRows()
		rec.Release()
	}
	fmt.Println(rows, "rows,", loss.Holes, "holes,", loss.Leftover, "left over")
	// Output:
	// joined by field0 STRING
	// holds ad STRING, shown TIMESTAMP, cost DECIMAL(20,4)
	// 360 rows, 0 holes, 0 left over
}

// What is left of a store that has lost a file: rows that are known from an
// older batch say so.
func ExampleStore_Salvage() {
	files := fstest.MapFS{}
	w := statetest.NewWriter(statetest.Query{
		Partitions: 1, Operators: []statetest.Operator{statetest.Aggregation("word STRING", "count BIGINT")},
	}, statetest.Map(files, "."))
	for batch := range 3 {
		w.Put(0, "", []any{"spark"}, []any{batch})
		w.Put(0, "", []any{fmt.Sprint("word ", batch)}, []any{1})
		if err := w.Commit(); err != nil {
			log.Fatal(err)
		}
	}
	if err := statetest.Damage(statetest.Map(files, "."), statetest.DropDelta(0, "default", 0, 2)); err != nil {
		log.Fatal(err)
	}

	cp, err := checkpoint.OpenFS(files, ".")
	if err != nil {
		log.Fatal(err)
	}
	defer cp.Close()
	st, err := cp.Store(0, "default")
	if err != nil {
		log.Fatal(err)
	}
	var loss checkpoint.Loss
	known := map[int64]int{} // rows by the batch that they are known from
	for row, err := range st.Salvage(context.Background(), 0, &loss) {
		if err != nil {
			log.Fatal(err)
		}
		known[row.Batch]++
	}
	fmt.Println(known, "of 4 rows")
	// Output:
	// map[0:1 2:2] of 4 rows
}

// Any file system will do, and limits bound what its files can ask for.
func ExampleOpenFS() {
	cp, err := checkpoint.OpenFS(os.DirFS("../testdata"), "4.1.4/ad_billing/checkpoint",
		checkpoint.WithLimits(checkpoint.Limits{FileBytes: 1 << 20}),
		checkpoint.OnWarning(func(err error) { log.Print(err) }))
	if err != nil {
		log.Fatal(err)
	}
	defer cp.Close()
	id, err := cp.ID()
	fmt.Println(id, err)
	// Output:
	// 2e457384-811d-4474-8099-4d705067ae12 <nil>
}

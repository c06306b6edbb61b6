package checkpoint_test

import (
	"context"
	"fmt"
	"log"

	"github.com/apache/arrow/go/v17/arrow/array"

	"github.com/sparkstate/sparkstate/checkpoint"
)

// What is in a checkpoint.
func ExampleOpen() {
	cp, err := checkpoint.Open("../testdata/4.1.4/ad_billing/checkpoint")
	if err != nil {
		log.Fatal(err)
	}
	defer cp.Close()
	last, from, err := cp.LastCommitted()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("last batch", last, from)
	for _, op := range cp.Operators() {
		n, _ := op.Partitions()
		for _, st := range op.Stores() {
			key, _ := st.Key()
			fmt.Printf("%s/%s: %d partitions, keys (%s)\n", op.Label(), st.Name(), n, key.DDL())
		}
	}
	// Output:
	// last batch 6 recorded
	// stateStoreSave_0/default: 4 partitions, keys (window STRUCT<start: TIMESTAMP, end: TIMESTAMP> NOT NULL, adviser_id STRING)
	// dedupe_1/default: 4 partitions, keys (profile_id STRING, adviser_id STRING)
}

// Rows as Arrow records, of one partition after one batch.
func ExampleStore_Records() {
	cp, err := checkpoint.Open("../testdata/4.1.4/ad_billing/checkpoint")
	if err != nil {
		log.Fatal(err)
	}
	defer cp.Close()
	st, err := cp.Store(0, "default")
	if err != nil {
		log.Fatal(err)
	}
	rows := int64(0)
	clicks := int64(0)
	for rec, err := range st.Records(context.Background(), checkpoint.AtBatch(3), checkpoint.Partitions(2)) {
		if err != nil {
			log.Fatal(err) // names the file, the offset and Spark's error condition
		}
		rows += rec.NumRows()
		count := rec.Column(1).(*array.Struct).Field(0).(*array.Int64)
		for i := range count.Len() {
			clicks += count.Value(i)
		}
		rec.Release()
	}
	fmt.Println(rows > 0, clicks >= rows)
	// Output:
	// true true
}

// Numbers for every partition; they need no schema.
func ExampleStore_Counts() {
	cp, err := checkpoint.Open("../testdata/4.1.4/ad_billing/checkpoint")
	if err != nil {
		log.Fatal(err)
	}
	defer cp.Close()
	st, err := cp.Store(1, "default")
	if err != nil {
		log.Fatal(err)
	}
	counts, err := st.Counts(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("after batch", counts.Batch, "in version", counts.Version)
	for _, p := range counts.Partitions {
		fmt.Println(p.Partition, p.Rows == p.Keys, p.Files > 0)
	}
	// Output:
	// after batch 6 in version 7
	// 0 true true
	// 1 true true
	// 2 true true
	// 3 true true
}

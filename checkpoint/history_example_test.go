package checkpoint_test

import (
	"context"
	"fmt"
	"log"
	"testing/fstest"

	"github.com/sparkstate/sparkstate/checkpoint"
)

func ExampleCheckpoint_History() {
	cp, err := checkpoint.OpenFS(fstest.MapFS{
		"offsets/0":   {Data: []byte("v1\n{\"conf\":{\"spark.sql.shuffle.partitions\":\"5\"}}\n{\"clicks\":{\"0\":150,\"1\":7}}")},
		"commits/0":   {Data: []byte("v1\n{\"nextBatchWatermarkMs\":1000}")},
		"offsets/1":   {Data: []byte("v1\n{\"conf\":{\"spark.sql.shuffle.partitions\":\"8\"}}\n{\"clicks\":{\"0\":170,\"1\":7}}")},
		"sources/0/0": {Data: []byte("\x00v1\n{\"clicks\":{\"0\":100,\"1\":7}}")},
	}, ".")
	if err != nil {
		log.Fatal(err)
	}
	defer cp.Close()
	for e, err := range cp.History(context.Background()) {
		if err != nil {
			log.Fatal(err)
		}
		if e.Err() != nil {
			fmt.Println("batch", e.ID, "cannot be read:", e.Err())
			continue
		}
		fmt.Printf("batch %d: committed %v\n", e.ID, e.Committed)
		for _, c := range e.ConfChanges {
			fmt.Printf("  %s: %s → %s\n", c.Key, *c.Before, *c.After)
		}
		for _, s := range e.Sources {
			fmt.Printf("  source %s: %d records, %v stand still\n", s.ID, s.Records, s.StandingStill(2))
		}
	}
	// Output:
	// batch 0: committed true
	//   source 0: 50 records, [] stand still
	// batch 1: committed false
	//   spark.sql.shuffle.partitions: 5 → 8
	//   source 0: 20 records, [clicks-1] stand still
}

func ExampleParseOffset() {
	for _, p := range checkpoint.ParseOffset(`{"clicks":{"10":7,"9":131}}`).Partitions {
		fmt.Println(p.Topic, p.Partition, p.Offset)
	}
	// Output:
	// clicks 9 131
	// clicks 10 7
}

package hdfs_test

import (
	"context"
	"fmt"
	"os"

	"github.com/sparkstate/sparkstate/statestore/hdfs"
	"github.com/sparkstate/sparkstate/statestore/provider"
)

// The rows of one partition's directory, without anything around it: batch 3
// wrote version 4.
func Example() {
	p, err := hdfs.Open(os.DirFS("../../testdata/4.1.4/ad_billing/checkpoint"), "state/1/2", hdfs.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("versions", p.Versions())
	rows := 0
	for e, err := range provider.Rows(p.Batches(context.Background(), provider.Version{Number: 4}, provider.LoadOptions{})) {
		if err != nil {
			fmt.Println(err)
			return
		}
		rows++
		_ = e.Key // an UnsafeRow, valid until the next step
	}
	fmt.Println("rows", rows)
	// Output:
	// versions [1 2 3 4 5 6 7]
	// rows 126
}

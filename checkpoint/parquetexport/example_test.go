package parquetexport_test

import (
	"bytes"
	"context"
	"fmt"
	"log"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/checkpoint/parquetexport"
)

// All rows of a store as one Parquet file.
func Example() {
	cp, err := checkpoint.Open("../../testdata/4.1.4/ad_billing")
	if err != nil {
		log.Fatal(err)
	}
	defer cp.Close()
	st, err := cp.Store(1, "default")
	if err != nil {
		log.Fatal(err)
	}
	schema, err := st.Schema()
	if err != nil {
		log.Fatal(err)
	}
	var file bytes.Buffer
	w, err := parquetexport.NewWriter(&file, schema)
	if err != nil {
		log.Fatal(err)
	}
	for rec, err := range st.Records(context.Background(), checkpoint.BatchSize(parquetexport.BatchRows, parquetexport.BatchBytes)) {
		if err == nil {
			err = w.Write(rec)
			rec.Release()
		}
		if err != nil {
			log.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	fmt.Println(w.Rows(), "rows,", string(file.Bytes()[:4]))
	// Output:
	// 714 rows, PAR1
}

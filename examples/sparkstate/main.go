// Command sparkstate reads the state of a Spark Structured Streaming query
// from its checkpoint directory: without Spark, and without writing.
//
//	sparkstate info     CKPT    what is in it
//	sparkstate metadata CKPT    rows, keys and bytes of every partition
//	sparkstate batches  CKPT    what the logs say of each batch
//	sparkstate check    CKPT    is it whole, what can be restored, what to do
//	sparkstate read     CKPT    the rows
//	sparkstate get      CKPT    the row of one key, and its history
//	sparkstate changes  CKPT    what each batch changed
//	sparkstate diff     CKPT    two batches or two checkpoints compared
//	sparkstate skew     CKPT    how unevenly they are spread
//	sparkstate report   CKPT    all of it as one HTML page
//	sparkstate metrics  CKPT…   numbers for Prometheus
//	sparkstate export   CKPT    the rows as Parquet, Arrow, CSV or JSON Lines
//
// See the README for each verb with its output.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

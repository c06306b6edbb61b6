// Command mutate damages checkpoints at random, reads what is left in every
// way that the library has, and says what it makes of it: see package mutation.
//
//	go run ./checkpoint/internal/mutation/cmd/mutate            # 100,000 mutations
//	go run ./checkpoint/internal/mutation/cmd/mutate -one 4711  # one of them again
//
// The exit code is 1 where a mutation has shown a fault of the library.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"time"

	"github.com/sparkstate/sparkstate/checkpoint/internal/mutation"
)

func main() {
	var c mutation.Config
	flag.Uint64Var(&c.Seed, "seed", 1, "decides, together with its number, everything about a mutation")
	flag.IntVar(&c.N, "n", 100_000, "number of mutations")
	flag.IntVar(&c.Workers, "workers", 0, "subjects worked on at once; 0 means one for each processor")
	flag.DurationVar(&c.Hang, "hang", 10*time.Second, "how long a mutation may take")
	one := flag.Int("one", -1, "do the mutation of that number alone, and show what came of it")
	testdata := flag.String("testdata", "testdata", "directory of the checkpoints that Spark wrote")
	maxMemory := flag.Int64("max-memory", 256<<20, "what the process may use at its peak, in bytes")
	verbose := flag.Bool("v", false, "name every mutation before it is done, on stderr")
	passed := flag.Bool("passed", false, "show every mutation whose wrong rows pass")
	flag.Parse()
	// The heaps here are so small that collecting them would be most of the work.
	debug.SetGCPercent(200)
	if *verbose {
		c.Begin = func(number int) { fmt.Fprintln(os.Stderr, "mutation", number) }
	}
	if err := run(c, *one, *testdata, *maxMemory, *passed); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(c mutation.Config, one int, testdata string, maxMemory int64, passed bool) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	subjects, err := mutation.Subjects(os.DirFS(testdata))
	if err != nil {
		return err
	}
	if one >= 0 {
		r, err := mutation.One(ctx, subjects, c.Seed, one)
		if err == nil {
			show(r)
		}
		return err
	}
	start, n, grown := time.Now(), 0, int64(0)
	c.Done = func(r mutation.Result) {
		if len(r.Faults) > 0 || passed && r.Outcome == mutation.Passed {
			show(r)
		}
		if peak, ok := peakMemory(); ok && peak > maxMemory && peak > grown {
			grown = peak + peak/16
			fmt.Printf("memory: %d MB at the peak, at or before %s %s\n", peak>>20, r.Subject, r.Mutation)
		}
		if n++; n%10_000 == 0 {
			fmt.Fprintf(os.Stderr, "%d in %v\n", n, time.Since(start).Round(time.Second))
		}
	}
	table, err := mutation.Run(ctx, subjects, c)
	if err != nil {
		return err
	}
	if _, err := table.WriteTo(os.Stdout); err != nil {
		return err
	}
	peak, known := peakMemory()
	fmt.Printf("\n%d mutations of %d subjects, seed %d, in %v; %d show a fault of the library", table.N(), len(subjects), c.Seed, time.Since(start).Round(time.Second), len(table.Faulty))
	if known {
		fmt.Printf("; %d MB of memory at the peak", peak>>20)
	}
	fmt.Println()
	switch {
	case len(table.Faulty) > 0:
		return errors.New("mutate: faults were found")
	case known && peak > maxMemory:
		return fmt.Errorf("mutate: %d bytes of memory, more than %d", peak, maxMemory)
	}
	return nil
}

func show(r mutation.Result) {
	fmt.Printf("%s %s\n  %s", r.Subject, r.Mutation, r.Outcome)
	if r.Found {
		fmt.Print(", found by a deep check")
	}
	fmt.Println()
	for _, f := range r.Faults {
		fmt.Printf("  fault: %s\n", f)
	}
}

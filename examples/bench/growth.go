package main

import (
	"context"
	"fmt"

	"github.com/sparkstate/sparkstate/statestore/codec"
	"github.com/sparkstate/sparkstate/statestore/statetest"
)

// sizes are the states that show how cost grows: with the keys, and with the
// partitions that a million keys are spread over.
var sizes = []struct{ keys, partitions int }{
	{10_000, 16}, {100_000, 16}, {1_000_000, 16}, {10_000_000, 16}, {50_000_000, 200},
	{1_000_000, 1}, {1_000_000, 100}, {1_000_000, 1000}, {1_000_000, 10_000},
}

// growth measures states of all sizes, each a snapshot, and prints a table.
func growth(ctx context.Context, o options, temp string) error {
	c, err := codec.Parse(o.codec)
	if err != nil {
		return err
	}
	row, flush := table("keys", "partitions", "files", "limit", "count", "count against the limit", "count, peak memory", "records", "records, peak memory")
	for _, size := range sizes {
		dir, err := write(ctx, temp, 0, statetest.Large{Keys: size.keys, Partitions: size.partitions, Codec: c, Snapshot: true})
		if err != nil {
			return err
		}
		limit, counts, records := newLine("limit", o.workers, dir), newLine("counts", o.workers, dir), newLine("records", o.workers, dir)
		if err := takeTurns(ctx, o.runs, size.keys, []*line{limit, counts, records}); err != nil {
			return err
		}
		bytes, err := sizeOf(dir)
		if err != nil {
			return err
		}
		took := func(l *line) string { return fmt.Sprintf("%.3f s", l.wall().Seconds()) }
		held := func(l *line) string { return fmt.Sprintf("%.0f MB", float64(l.peak())/1e6) }
		row(fmt.Sprint(size.keys), fmt.Sprint(size.partitions), fmt.Sprintf("%.1f MB", float64(bytes)/1e6),
			took(limit), took(counts), ratio(counts.wall(), limit.wall()), held(counts), took(records), held(records))
	}
	return flush()
}

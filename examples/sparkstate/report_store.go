package main

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/examples/sparkstate/internal/report"
	"github.com/sparkstate/sparkstate/skew"
)

// store looks at one store. What cannot be computed is said, with the reason,
// and the rest is shown.
func (r *reporting) store(s *checkpoint.Store) report.Store {
	n, _ := s.Operator().Partitions()
	out := report.Store{Operator: report.Text("Operator " + operatorLabel(r.cp, s.Operator().ID())), Name: report.Text(s.Name()), Partitions: n}
	key, keyFrom := s.Key()
	value, valueFrom := s.Value()
	for _, side := range []struct {
		name string
		ddl  cell
		from checkpoint.Source
	}{{"Key", ddlCell(key), keyFrom}, {"Value", ddlCell(value), valueFrom}} {
		f := report.Fact{Name: side.name, Value: report.Text(side.ddl.plain("not known"))}
		if side.from != checkpoint.Unknown {
			f.From = side.from.String()
		}
		out.Schema = append(out.Schema, f)
	}
	for _, n := range s.Notes() {
		out.Notes = append(out.Notes, report.Text(n))
	}
	if r.cp.Provider().Format != checkpoint.HDFS {
		out.Notes = append(out.Notes, "The state of this provider is not read yet, so there are no numbers.")
		return out
	}
	if err := s.Err(); err != nil {
		out.Missing = append(out.Missing, report.Text("the schema: "+message(err)))
	}
	loads := r.loading(s, n)
	r.series(s, loads, &out)
	batch, err := r.newestOf(loads)
	if err != nil {
		out.Missing = append(out.Missing, report.Text(err.Error()))
	}
	if batch < 0 {
		return out
	}
	opts := []checkpoint.Option{checkpoint.AtBatch(batch), checkpoint.Workers(r.workers), checkpoint.WithStats(&r.stats)}
	if c, err := r.counts(r.cmd, s, opts); err != nil {
		out.Missing = append(out.Missing, report.Text("sizes: "+message(err)))
	} else {
		out.Size = sizeOf(c)
	}
	r.skewPart(s, batch, opts, &out)
	return out
}

// loading says for each partition which batches of the window this library can
// load.
func (r *reporting) loading(s *checkpoint.Store, partitions int) [][]int64 {
	out := make([][]int64, partitions)
	first, last := r.window()
	for _, m := range r.check.Map.Stores {
		if m.Operator != s.Operator().ID() || m.Store != s.Name() {
			continue
		}
		for _, p := range m.Partitions {
			if p.Partition >= partitions {
				continue
			}
			for _, sp := range p.Spans {
				if sp.Loading[checkpoint.Library] != checkpoint.Loads {
					continue
				}
				for b := max(sp.First, first); b <= min(sp.Last, last); b++ {
					out[p.Partition] = append(out[p.Partition], b)
				}
			}
		}
	}
	// A partition that is not there counts as empty, as it does to every verb;
	// where it should be there the check has said so.
	for _, p := range s.Absent() {
		if p < partitions && out[p] == nil {
			for b := first; b <= last; b++ {
				out[p] = append(out[p], b)
			}
		}
	}
	return out
}

// newestOf returns the newest batch that all partitions can load, and an error
// that says so where it is not the last committed one; -1 for none.
func (r *reporting) newestOf(loads [][]int64) (int64, error) {
	common := make(map[int64]int)
	for _, batches := range loads {
		for _, b := range batches {
			common[b]++
		}
	}
	newest := int64(-1)
	for b, n := range common {
		if n == len(loads) {
			newest = max(newest, b)
		}
	}
	if newest < 0 { // one that is older than the pictures
		newest = r.check.Answers[checkpoint.Library].Newest
	}
	switch {
	case r.check.LastCommitted < 0:
		return -1, fmt.Errorf("sizes and skew: no batch is committed")
	case newest < 0:
		return newest, fmt.Errorf("sizes and skew: no batch can be read in every partition")
	case newest < r.check.LastCommitted:
		return newest, fmt.Errorf("sizes and skew after batch %d: it cannot be read in every partition, so they are those after batch %d", r.check.LastCommitted, newest)
	}
	return newest, nil
}

// series follows the store through the batches of the window, each partition as
// far as it can be read.
func (r *reporting) series(s *checkpoint.Store, loads [][]int64, out *report.Store) {
	all := slices.Concat(loads...)
	if len(all) == 0 {
		return
	}
	// From the first that anything can be read of to the last, those between
	// that are lost included.
	var batches []int64
	_, last := r.window()
	for b := slices.Min(all); b <= last; b++ {
		batches = append(batches, b)
	}
	steps := make([][]skew.Step, len(loads))
	errs := make([]error, len(loads))
	workers := r.workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	done := r.progress("following " + s.Operator().Label() + "/" + s.Name())
	defer done()
	var running sync.WaitGroup
	free := make(chan struct{}, workers)
	for p := range loads {
		free <- struct{}{}
		running.Go(func() {
			steps[p], errs[p] = skew.Follow(r.cmd.Context(), s, p, loads[p])
			<-free
		})
	}
	running.Wait()
	for p, err := range errs {
		if err != nil {
			out.Missing = append(out.Missing, report.Text(fmt.Sprintf("partition %d from batch to batch: %s", p, message(err))))
		}
	}
	out.Series = seriesOf(batches, steps)
}

// seriesOf puts the steps of the partitions into a table.
func seriesOf(batches []int64, steps [][]skew.Step) report.Series {
	at := make(map[int64]int, len(batches))
	for i, b := range batches {
		at[b] = i
	}
	out := report.Series{Batches: batches}
	whole := make([][]skew.Step, len(batches))
	for _, line := range steps {
		rows := make([]float64, len(batches))
		for i := range rows {
			rows[i] = math.NaN()
		}
		for _, st := range line {
			rows[at[st.Batch]] = float64(st.Rows)
			whole[at[st.Batch]] = append(whole[at[st.Batch]], st)
		}
		out.Rows = append(out.Rows, rows)
	}
	for _, all := range whole {
		if len(all) < len(steps) {
			nan := math.NaN()
			out.Points = append(out.Points, report.Point{Rows: nan, Bytes: nan, Inserted: nan, Updated: nan, Deleted: nan, MaxOverMedian: nan})
			continue
		}
		p := skew.NewTrendPoint(all)
		point := report.Point{
			Rows: float64(p.Rows), Bytes: float64(p.Bytes),
			Inserted: float64(p.Inserted), Updated: float64(p.Updated), Deleted: float64(p.Deleted),
			MaxOverMedian: float64(p.MaxOverMedian),
		}
		if slices.ContainsFunc(all, func(st skew.Step) bool { return !st.Followed }) {
			point.Inserted, point.Updated, point.Deleted = math.NaN(), math.NaN(), math.NaN()
		}
		out.Points = append(out.Points, point)
	}
	return out
}

// sizeOf sums counts up.
func sizeOf(c *checkpoint.Counts) *report.Size {
	z := &report.Size{Batch: c.Batch}
	for _, p := range c.Partitions {
		keys := float64(p.Keys)
		if p.Keys < 0 {
			keys = math.NaN()
		}
		z.Rows += float64(p.Rows)
		z.Keys += keys
		z.KeyBytes += float64(p.KeyBytes)
		z.ValueBytes += float64(p.ValueBytes)
		z.Files += float64(p.Files)
		z.FileBytes += float64(p.FileBytes)
		z.Partition = append(z.Partition, report.PartitionSize{Rows: float64(p.Rows), Keys: keys,
			Bytes: float64(p.KeyBytes + p.ValueBytes), FileBytes: float64(p.FileBytes), Absent: !p.Present})
	}
	return z
}

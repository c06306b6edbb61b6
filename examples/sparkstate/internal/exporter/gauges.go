package exporter

import (
	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/skew"
)

// checkpointGauges are the metrics of a checkpoint that are one number each. A
// new one is a line here; what is undefined is left out.
var checkpointGauges = []struct {
	*metric
	of func(r *reading) skew.Float
}{
	{gauge("checkpoint_last_committed_batch", "The newest committed batch; -1 for none."),
		func(r *reading) skew.Float { return skew.Float(r.committed) }},
	{gauge("checkpoint_last_planned_batch", "The newest batch in the offset log. Absent in a copy without one."),
		func(r *reading) skew.Float { return unless(r.planned < 0, float64(r.planned)) }},
	{gauge("checkpoint_last_planned_timestamp_seconds", "When the newest batch in the offset log was planned, in seconds since 1970."),
		func(r *reading) skew.Float { return seconds(r.plannedMs) }},
	{gauge("checkpoint_watermark_timestamp_seconds", "The event-time watermark that the next batch starts with, in seconds since 1970. Absent where there is none."),
		func(r *reading) skew.Float { return seconds(r.watermarkMs) }},
	{gauge("checkpoint_files", "Files below the checkpoint's directory, of any kind."),
		func(r *reading) skew.Float { return skew.Float(r.list.files) }},
	{gauge("checkpoint_file_bytes", "Stored size of the files below the checkpoint's directory, in bytes."),
		func(r *reading) skew.Float { return skew.Float(r.list.bytes) }},
	{gauge("checkpoint_stores_left_out", "Stores that have no series, since there are too many."),
		func(r *reading) skew.Float { return skew.Float(r.leftOut) }},
}

// walk is a store that was read, and what came of it.
type walk struct {
	*skew.Report
	store *checkpoint.Store
	hot   []int // partitions
}

// storeGauges are the metrics of a store that are one number each, taken when
// it has been read. A new one is a line here; what is undefined is left out.
var storeGauges = []struct {
	*metric
	of func(w *walk) skew.Float
}{
	{ofStore("batch", "The batch after which the store was read."),
		func(w *walk) skew.Float { return skew.Float(w.Batch) }},
	{ofStore("rows", "Rows of state."),
		func(w *walk) skew.Float { return w.Summary.Total }},
	{ofStore("keys", "Distinct keys by which rows are placed in partitions. Absent where they cannot be known."),
		func(w *walk) skew.Float { return unless(w.Keys == nil, sum(w.Keys)) }},
	{ofStore("bytes", "Size of the keys and values of all rows, decoded, in bytes."),
		func(w *walk) skew.Float { return skew.Float(sum(w.Bytes)) }},
	{ofStore("partitions", "Partitions of the store."),
		func(w *walk) skew.Float { return skew.Float(w.Summary.Count) }},
	{ofStore("partitions_empty", "Partitions without a row."),
		func(w *walk) skew.Float { return skew.Float(skew.Empty(w.Rows)) }},
	{ofStore("partitions_absent", "Partitions without a directory. They count as empty."),
		func(w *walk) skew.Float { return skew.Float(len(w.store.Absent())) }},
	{ofStore("partitions_hot", "Partitions that the rule given marks as hot, by rows."),
		func(w *walk) skew.Float { return skew.Float(len(w.hot)) }},
	{ofStore("partition_rows_max", "Rows of the fullest partition."),
		func(w *walk) skew.Float { return w.Summary.Max }},
	{ofStore("partition_rows_mean", "Mean of the partitions' rows."),
		func(w *walk) skew.Float { return w.Summary.Mean }},
	{ofStore("partition_rows_median", "Median of the partitions' rows."),
		func(w *walk) skew.Float { return w.Summary.Median }},
	{ofStore("partition_rows_max_over_median", "Rows of the fullest partition by the median, which counts as at least 1. 1 is even; there is no upper end."),
		func(w *walk) skew.Float { return w.Summary.MaxOverMedian }},
	{ofStore("skew_rate_ratio", "Part of the rows that would have to move to make the partitions equal, from 0 to 1, beyond what even hashing of as many keys costs. Absent where keys cannot be known."),
		func(w *walk) skew.Float { return w.SkewRate }},
	{ofStore("skew_severity", "Whether the verdict matters: 0 is info, 1 warning, 2 critical."),
		func(w *walk) skew.Float { return severities[w.Severity] }},
	{ofStore("never_expires", "Whether no row can ever be removed though the query has a watermark (1) or not (0)."),
		func(w *walk) skew.Float {
			why, _ := w.store.NeverExpires()
			return skew.Float(number(why != ""))
		}},
}

var severities = map[skew.Severity]skew.Float{skew.Info: 0, skew.Warning: 1, skew.Critical: 2}

// unless is a number, or undefined.
func unless(not bool, v float64) skew.Float {
	if not {
		return skew.Undefined()
	}
	return skew.Float(v)
}

// seconds is a time in milliseconds, of which 0 is none.
func seconds(ms int64) skew.Float { return unless(ms == 0, float64(ms)/1000) }

// number is 1 for true.
func number(v bool) float64 {
	if v {
		return 1
	}
	return 0
}

func sum(values []float64) (n float64) {
	for _, v := range values {
		n += v
	}
	return n
}

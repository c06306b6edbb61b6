package exporter

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/skew"
)

// metric describes a metric. The names follow Prometheus's guide: base units,
// _ratio from 0 to 1.
type metric struct {
	*prometheus.Desc
	kind prometheus.ValueType
}

var all []*metric

func newMetric(kind prometheus.ValueType, name, help string, labels ...string) *metric {
	m := &metric{prometheus.NewDesc("sparkstate_"+name, help, labels, nil), kind}
	all = append(all, m)
	return m
}

func gauge(name, help string, labels ...string) *metric {
	return newMetric(prometheus.GaugeValue, name, help, append([]string{"checkpoint"}, labels...)...)
}

func counter(name, help string) *metric {
	return newMetric(prometheus.CounterValue, name, help, "checkpoint")
}

func ofStore(name, help string, labels ...string) *metric {
	return gauge("store_"+name, help, append([]string{"operator", "store"}, labels...)...)
}

// What the exporter says of itself.
var (
	readSuccess  = gauge("read_success", "Whether the last reading of the checkpoint could read all of it (1) or not (0).")
	lastSuccess  = gauge("last_success_timestamp_seconds", "When a reading last could read all of the checkpoint, in seconds since 1970. Absent before the first.")
	readDuration = gauge("read_duration_seconds", "How long the last reading took, in seconds.")
	reads        = counter("reads_total", "Readings of the checkpoint, of any outcome.")
	unchanged    = counter("reads_unchanged_total", "Readings that found the files as they were, and read no more than their names, sizes and times.")
	readErrors   = counter("read_errors_total", "Readings that could not read all of the checkpoint.")
)

// What there is to say of a checkpoint, beyond checkpointGauges.
var (
	info         = gauge("checkpoint_info", "The query's id and the state store provider, always 1.", "query_id", "provider")
	restartable  = gauge("checkpoint_restartable", "Whether the query starts from the checkpoint as it is (1) or not (0), by the rules of each judge; of library, whether the state can be read.", "judge")
	restorable   = gauge("checkpoint_newest_restorable_batch", "The newest batch that every store can load, by the rules of each judge; -1 for none.", "judge")
	findings     = gauge("checkpoint_findings", "What a check has found, by severity.", "severity")
	kindFindings = gauge("checkpoint_findings_of_kind", "What a check has found, by kind, 0 for kinds that it looked for in vain.", "kind")
)

// What there is to say of a store, beyond storeGauges.
var (
	readable  = ofStore("readable", "Whether the store could be read at the last committed batch (1) or not (0). All else of it is absent then.")
	verdicts  = ofStore("skew_verdict", "1 for the verdict on how the rows are spread, 0 for all others.", "verdict")
	partition = ofStore("partition_rows", "Rows of one partition. Stores with too many partitions have series for hot ones and the fullest only.", "partition")
)

// Describe implements prometheus.Collector.
func (e *Exporter) Describe(ch chan<- *prometheus.Desc) {
	for _, m := range all {
		ch <- m.Desc
	}
}

// Collect implements prometheus.Collector: it shows the last readings, and
// reads nothing.
func (e *Exporter) Collect(ch chan<- prometheus.Metric) {
	for _, t := range e.targets {
		t.mu.Lock()
		r := t.last
		s := series{ch, []string{t.label}}
		t.health(s)
		t.mu.Unlock()
		if r != nil {
			r.collect(s, &e.options)
		}
	}
}

// series adds metrics whose first labels are the same.
type series struct {
	ch     chan<- prometheus.Metric
	labels []string
}

func (s series) with(labels ...string) series {
	return series{s.ch, append(s.labels[:len(s.labels):len(s.labels)], labels...)}
}

func (s series) add(m *metric, v float64, labels ...string) {
	s.ch <- prometheus.MustNewConstMetric(m.Desc, m.kind, v, s.with(labels...).labels...)
}

// addDefined leaves out what is undefined.
func (s series) addDefined(m *metric, v skew.Float) {
	if v.Defined() {
		s.add(m, float64(v))
	}
}

func (s series) addBool(m *metric, v bool, labels ...string) {
	s.add(m, number(v), labels...)
}

// health says how reading goes. The target is locked.
func (t *target) health(s series) {
	s.add(reads, float64(t.reads))
	s.add(unchanged, float64(t.unchanged))
	s.add(readErrors, float64(t.failures))
	if !t.attempted {
		return
	}
	s.addBool(readSuccess, t.up)
	s.add(readDuration, t.duration.Seconds())
	if !t.lastSuccess.IsZero() {
		s.add(lastSuccess, float64(t.lastSuccess.UnixMilli())/1000)
	}
}

func (r *reading) collect(s series, o *Options) {
	s.add(info, 1, clean(r.queryID), clean(r.provider))
	for _, g := range checkpointGauges {
		s.addDefined(g.metric, g.of(r))
	}
	for j, a := range r.check.answers {
		s.addBool(restartable, a.restarts, o.Judges[j])
		s.add(restorable, float64(a.newest), o.Judges[j])
	}
	for _, level := range []checkpoint.Severity{checkpoint.Info, checkpoint.Warning, checkpoint.Critical} {
		s.add(findings, float64(r.check.severity[level]), level.String())
	}
	for kind, n := range r.check.kinds {
		s.add(kindFindings, float64(n), kind)
	}
	for _, st := range r.stores {
		st.collect(s.with(st.operator, st.store))
	}
}

func (st *storeReading) collect(s series) {
	s.addBool(readable, st.err == nil)
	if st.err != nil {
		return
	}
	for i, g := range storeGauges {
		s.addDefined(g.metric, st.numbers[i])
	}
	for _, v := range skew.Verdicts() {
		s.addBool(verdicts, v == st.verdict, string(v))
	}
	for p, n := range st.rows {
		s.add(partition, n, strconv.Itoa(p))
	}
	for _, p := range st.fullest {
		s.add(partition, p.rows, strconv.Itoa(p.partition))
	}
}

package exporter

import (
	"io"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
)

// Registry returns the metrics of an exporter and of the program that it is
// in. Those of the process itself, which node_exporter has of its own, are not
// among them.
func Registry(e *Exporter) *prometheus.Registry {
	r := prometheus.NewRegistry()
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name:        "sparkstate_build_info",
		Help:        "How the program was built, always 1.",
		ConstLabels: buildLabels(),
	})
	build.Set(1)
	r.MustRegister(e, build)
	return r
}

func buildLabels() prometheus.Labels {
	out := prometheus.Labels{"version": "unknown", "revision": "unknown", "goversion": "unknown"}
	b, ok := debug.ReadBuildInfo()
	if !ok {
		return out
	}
	out["goversion"] = b.GoVersion
	if b.Main.Version != "" {
		out["version"] = b.Main.Version
	}
	for _, s := range b.Settings {
		if s.Key == "vcs.revision" {
			out["revision"] = s.Value
		}
	}
	return out
}

// WriteText writes metrics in Prometheus's text format, without timestamps.
func WriteText(w io.Writer, g prometheus.Gatherer) error {
	families, err := g.Gather()
	if err != nil {
		return err
	}
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(w, f); err != nil {
			return err
		}
	}
	return nil
}

// WriteFile writes metrics to a file for node_exporter's textfile collector:
// whole or not at all, readable by everybody. The temporary file beside it has
// a name that the collector does not take.
func WriteFile(name string, g prometheus.Gatherer) error {
	return prometheus.WriteToTextfile(name, g)
}

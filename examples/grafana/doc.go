// Package grafana is a Grafana dashboard and Prometheus rules for the metrics of
// sparkstate, with tests that hold them against Grafana's schema and against a
// running Prometheus. It is a module of its own: nothing else needs Grafana's
// types.
package grafana

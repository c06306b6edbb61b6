package main

import (
	"runtime"

	"github.com/spf13/cobra"

	"github.com/sparkstate/sparkstate/skew"
)

// skewTrend prints the measures after every batch that can be read.
func (a *app) skewTrend(cmd *cobra.Command, path string) error {
	cp, stores, _, err := a.openStores(cmd, path)
	if err != nil {
		return err
	}
	defer cp.Close()
	workers := a.workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var batch any
	all := make([][]skew.TrendPoint, len(stores))
	for i, s := range stores {
		a.about(s)
		done := a.progress("following " + s.Operator().Label() + "/" + s.Name())
		all[i], err = skew.Trend(cmd.Context(), s, workers)
		done()
		if err != nil {
			return err
		}
		if n := len(all[i]); n > 0 {
			batch = all[i][n-1].Batch
		}
	}
	sh := &sheet{format: a.format, header: document(path, batch), columns: []column{
		{"operatorId", true}, {"operatorName", false}, {"stateStoreName", false}, {"batch", true}, {"rows", true}, {"bytes", true},
		{"inserted", true}, {"updated", true}, {"deleted", true}, {"maxOverMedian", true}, {"hoover", true}, {"fullest", true},
	}}
	if err := sh.begin(a.out); err != nil {
		return err
	}
	for i, s := range stores {
		for _, p := range all[i] {
			ratio, hoover := jsonCell(p.MaxOverMedian), jsonCell(p.Hoover)
			if a.format == asTable {
				ratio, hoover = textCell(number(p.MaxOverMedian)), textCell(number(p.Hoover))
			}
			if err := sh.row(jsonCell(s.Operator().ID()), nameCell(s), textCell(s.Name()), jsonCell(p.Batch), jsonCell(p.Rows), jsonCell(p.Bytes),
				jsonCell(p.Inserted), jsonCell(p.Updated), jsonCell(p.Deleted), ratio, hoover, jsonCell(p.Fullest)); err != nil {
				return err
			}
		}
	}
	return sh.end()
}

package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/sparkstate/sparkstate/checkpoint"
)

// limitFields are the limits by the names that --limits gives them.
var limitFields = map[string]func(*checkpoint.Limits, int64){
	"directoryEntries":  func(l *checkpoint.Limits, n int64) { l.DirectoryEntries = int(n) },
	"fileBytes":         func(l *checkpoint.Limits, n int64) { l.FileBytes = n },
	"rowBytes":          func(l *checkpoint.Limits, n int64) { l.RowBytes = n },
	"blockBytes":        func(l *checkpoint.Limits, n int64) { l.BlockBytes = int(n) },
	"windowBytes":       func(l *checkpoint.Limits, n int64) { l.WindowBytes = n },
	"zipDirectoryBytes": func(l *checkpoint.Limits, n int64) { l.ZipDirectoryBytes = n },
	"zipRatio":          func(l *checkpoint.Limits, n int64) { l.ZipRatio = n },
	"findings":          func(l *checkpoint.Limits, n int64) { l.Findings = int(n) },
}

// openOptions returns what the flags that all verbs have say of opening.
func (a *app) openOptions() ([]checkpoint.OpenOption, error) {
	var limits checkpoint.Limits
	for name, n := range a.limits {
		set, ok := limitFields[name]
		if !ok || n <= 0 {
			return nil, usagef("--limits %s=%d: it takes numbers above 0 for %s", name, n, strings.Join(slices.Sorted(maps.Keys(limitFields)), ", "))
		}
		set(&limits, n)
	}
	opts := []checkpoint.OpenOption{checkpoint.WithLimits(limits)}
	if a.ignoreCRC {
		opts = append(opts, checkpoint.IgnoreSidecars())
	}
	return opts, nil
}

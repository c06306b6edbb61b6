//go:build unix

package main

import (
	"runtime"
	"syscall"
)

// peakMemory returns the most memory that the process has had, in bytes; false
// where that cannot be known.
func peakMemory() (int64, bool) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, false
	}
	peak := int64(u.Maxrss)
	if runtime.GOOS != "darwin" && runtime.GOOS != "ios" {
		peak *= 1024
	}
	return peak, true
}

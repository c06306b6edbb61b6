//go:build !unix

package main

func peakMemory() (int64, bool) { return 0, false }

//go:build race

package main

// raceEnabled: the race detector makes a test that is all computing take ten
// times as long.
const raceEnabled = true

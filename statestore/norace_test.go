//go:build !race

package statestore_test

const raceEnabled = false

//go:build race

package statestore_test

// raceEnabled: the race detector allocates on its own account, and its
// sync.Pool forgets on purpose.
const raceEnabled = true

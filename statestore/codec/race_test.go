//go:build race

package codec

// raceEnabled: the race detector allocates on its own account, and its
// sync.Pool forgets on purpose.
const raceEnabled = true

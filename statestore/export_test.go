package statestore

// Poison has released buffers of recycled records overwritten, so that a use
// after the release shows.
func Poison(on bool) { poison = on }

package skew

// arena holds the keys of a heavyTable, one behind the other in chunks, so that
// it grows without moving any.
type arena struct {
	chunks [][]byte // those behind the current one are empty
	at     int      // the current one
	bytes  int      // of all keys
}

const (
	arenaBits = 16
	// arenaChunk is the size of a chunk in bytes; a longer key gets one of its
	// own.
	arenaChunk = 1 << arenaBits
)

// put takes in a key and returns its place.
func (a *arena) put(key []byte) int {
	for a.at < len(a.chunks) && !fits(a.chunks[a.at], key) {
		a.at++
	}
	if a.at == len(a.chunks) {
		a.chunks = append(a.chunks, make([]byte, 0, max(arenaChunk, len(key))))
	}
	c := a.chunks[a.at]
	place := a.at<<arenaBits + len(c) // a key that is longer than a chunk begins it
	a.chunks[a.at] = append(c, key...)
	a.bytes += len(key)
	return place
}

// fits says whether a chunk has room for a key. One that was made for a longer
// key takes no more than others do.
func fits(chunk, key []byte) bool {
	return len(chunk)+len(key) <= cap(chunk) && (len(chunk) == 0 || len(chunk)+len(key) <= arenaChunk)
}

// get returns the key of a length at a place.
func (a *arena) get(place int, length int32) []byte {
	b := a.chunks[place>>arenaBits][place&(arenaChunk-1):]
	return b[:length:length]
}

// reset empties the arena, and keeps its memory.
func (a *arena) reset() {
	for i := range a.chunks {
		a.chunks[i] = a.chunks[i][:0]
	}
	a.at, a.bytes = 0, 0
}

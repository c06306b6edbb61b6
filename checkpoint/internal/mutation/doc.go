// Package mutation damages checkpoints at random, reads what is left in every
// way that the library has, and looks whether it says so.
//
// Its subjects are the checkpoints of testdata, which Spark wrote, and some of
// statetest, each in every compression that a state file can have, with its .crc
// files and without. A mutation changes one file, or two that change places:
//
//	flip        1 to 8 bytes are others
//	cut         the file ends early, at any byte or behind a block
//	zero        a range of zeros
//	insert      up to 16 bytes more
//	remove      the file is not there
//	partitions  swapped with the same file of another partition
//	versions    swapped with another file of its directory
//	duplicate   copied to another name, or over another file
//
// Then the checkpoint is opened and everything that the file can matter to is
// read: entries, records and changes at the last batch and some before it, what
// can be salvaged, the skew, and a check at every level. What the undamaged
// checkpoint says of the same batch is what is right. A mutation is harmless if
// every row is right; it is noticed if there was an error or a warning wherever
// rows are wrong; otherwise it passes.
//
// It shows a fault of the library if anything panics, takes more than 10 seconds
// or too much memory, if wrong rows pass although the codec, a .crc file or the
// checksum of a row knows, or if a read fails and a deep check finds nothing.
//
//	go run ./checkpoint/internal/mutation/cmd/mutate
//
// does 100,000 mutations; the tests do some hundred. Seed and number decide
// everything about a mutation, so that one is done again by
//
//	go run ./checkpoint/internal/mutation/cmd/mutate -seed 1 -one 4711
//
// Damage to the bytes of a file that no checksum covers, and whole files in the
// wrong place, can go unnoticed: nothing in a file says which partition and
// version it is of.
package mutation

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
// # What passes
//
// Damage to the bytes of a file that no checksum covers, and whole files in the
// wrong place, can go unnoticed: nothing in a file says which partition and
// version it is of. Of 100,000 mutations (seed 1) that are not harmless, so many
// passed, and in so many of those a deep check finds something above info:
//
//	                                     .crc files beside      no .crc files
//	damaged                              passed  check finds    passed  check finds
//	state: bytes changed, lz4             0 %                    0 %
//	state: bytes changed, lzf             0 %                    6.5 %     81 %
//	state: bytes changed, snappy          0 %                    7.9 %     80 %
//	state: bytes changed, zstd            0 %                    5.2 %     86 %
//	state: bytes changed, not compressed  0 %                   40.9 %     81 %
//	state: bytes changed, row checksums   0 %                    0 %
//	state: whole files astray             1.4 %    100 %        79 %       84 %
//	schema                                0.1 %      0 %         4.9 %     51 %
//	operator metadata, offsets, commits   0 %                    0 %
//
// The 1.4 % are copies under a name that has no .crc file of its own, such as a
// delta copied to 4.snapshot. The schemas that pass are of the same layout as
// the right one: another column's name, or that of the join's other side.
package mutation

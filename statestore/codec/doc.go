// Package codec reads and writes the stream compressions that Spark can put
// around a state store file, and tells them apart by their first bytes.
//
// Three of them are not what their names suggest: "lz4" is not the LZ4 frame
// format and "snappy" not Snappy's framing format, but the block streams of two
// Java libraries, and "lzf" is one library's chunks. A [Reader] decodes any of
// them strictly: what the format lets it check, it checks, and what its Java
// reader passes over in silence (a missing end mark, bytes behind it) is an
// error here. Lengths are held against what the file can hold before anything
// is allocated.
//
//	codec   ends with       a changed byte   a cut within   a cut between   a block's bytes,
//	                        is noticed       a block        blocks          and Spark's own choice
//	lz4     end mark        always           noticed        noticed           64 … 33,554,432   32,768
//	lzf     end of file     mostly not       noticed        not noticed        1 … 65,535       65,535 (no other)
//	snappy  end of file     mostly not       noticed        not noticed    1,024 … 33,554,432   32,768
//	zstd    last block      mostly not       noticed        noticed        1,024 … 131,072     131,072 (no other)
//	none    end of file     not              not            not                –
//
// So what a codec says is not the last word: a body of records has an end mark
// of its own, and that must be there too.
//
// How much passes was measured on 100,000 random damages to checkpoints of every
// operator (package checkpoint/internal/mutation, which tells how). Of those to
// state files that made a difference, so many gave wrong rows without an error:
//
//	          one to eight   a range     bytes      cut,       another
//	codec     bytes flipped  zeroed      inserted   removed    file's content
//	lz4            0 %          0 %        0 %        0 %         98 %
//	lzf           12 %          5 %        0 %        0 %         98 %
//	snappy        14 %          6 %        0 %        0 %         98 %
//	zstd           9 %          6 %        0 %        0 %         98 %
//	none          72 %         41 %        1 %        0 %         98 %
//
// Beside a .crc file, or with checksums in front of the rows, it was 0 % in the
// first four columns; the last, a whole file that another partition or version
// wrote, is 0 % only beside a .crc file of the file that belongs there. No format
// says which partition and version a file is of. A deep check of the checkpoint
// finds 84 % of what passes: by rows that do not fit their schema, keys in the
// wrong partition, and snapshots that differ from the deltas.
//
// # LZ4
//
// The stream of lz4-java's LZ4BlockOutputStream: blocks that do not depend on
// each other, then an end mark. Integers are little-endian.
//
//	┌───────────────┬───────┬──────────┬──────────┬──────────┬─────────────┐
//	│ "LZ4Block"    │ token │ stored   │ plain    │ checksum │ payload     │
//	│ 8 bytes       │ 1     │ int32    │ int32    │ uint32   │ stored bytes│
//	└───────────────┴───────┴──────────┴──────────┴──────────┴─────────────┘
//	0               8       9          13         17         21
//
//	token     high nibble  1 payload as it is (stored = plain), 2 one LZ4 block
//	          low nibble L no block of the stream is larger than 1 << (10+L)
//	checksum  XXH32 of the plain bytes, seed 9747B28C, without its top four bits
//	end mark  a block with stored = plain = checksum = 0
//
// Blocks are of 32 KiB by default (tokens 15 and 25), and of 64 bytes to 32 MiB
// where spark.io.compression.lz4.blockSize says so. After an end mark another
// stream may follow.
//
// # Snappy
//
// The stream of snappy-java's SnappyOutputStream (xerial): a header, then
// chunks until the file ends. Integers are big-endian.
//
//	┌─────────────────────────┬─────────────┬────────────┐
//	│ 82 "SNAPPY" 00          │ version = 1 │ oldest = 1 │   header
//	│ 8 bytes                 │ int32       │ int32      │   16 bytes
//	└─────────────────────────┴─────────────┴────────────┘
//	┌────────┬─────────────────────────────────────────┐
//	│ stored │ one raw Snappy block of stored bytes    │   chunk, repeated
//	│ int32  │ it starts with its plain length, varint │
//	└────────┴─────────────────────────────────────────┘
//
// Another header may stand where a chunk is expected: its first four bytes are
// a negative length. A chunk holds 32 KiB by default, 1 KiB at the least. There
// is no checksum and no end mark.
//
// # LZF
//
// The chunks of compress-lzf, without header, end mark or checksum. Integers
// are big-endian.
//
//	┌──────┬────┬────────┬──────────────┐
//	│ "ZV" │ 00 │ plain  │ plain bytes  │                  5 bytes and plain
//	│      │    │ uint16 │              │
//	└──────┴────┴────────┴──────────────┘
//	┌──────┬────┬────────┬────────┬──────────────┐
//	│ "ZV" │ 01 │ stored │ plain  │ stored bytes │         7 bytes and stored
//	│      │    │ uint16 │ uint16 │              │
//	└──────┴────┴────────┴────────┴──────────────┘
//
//	000nnnnn            n+1 literals follow
//	lllooooo oooooooo   copy l+2 bytes from o+1 back, l 1…6
//	111ooooo llllllll oooooooo   copy l+9 bytes
//
// A chunk holds at most 65,535 bytes, which is what writers fill it with. One
// of length 0 ends the stream for the Java reader; no writer makes one, and it
// is an error here.
//
// # Zstd
//
// Zstandard frames as in RFC 8878; Spark writes one.
//
//	┌─────────────┬────┬────────┬───────────────────────┬─────┬──────────┐
//	│ 28 B5 2F FD │ 00 │ window │ block, block, …       │ …   │ 01 00 00 │
//	│             │    │ 1 byte │ 3 bytes and a payload │     │          │
//	└─────────────┴────┴────────┴───────────────────────┴─────┴──────────┘
//
//	window    48, 512 KiB, at Spark's level 1; up to 88, 128 MiB, at level 22
//	last      the last block says that it is; Spark's is empty as a rule
//
// Spark's frames have neither content size nor checksum. Frames that have are
// read as well, checksums verified, and so are concatenated and skippable
// frames. See [WithMaxWindow] for how much memory a frame is given: however
// many files are read at once, only one window of more than 8 MiB is in use at
// a time, unless the Reader that has it is left to rest for a second while
// another one waits.
//
// # None
//
// Spark writes no uncompressed state files. Somebody who unpacked one has the
// record stream itself, which starts with the length of a key, or with FF FF FF
// FF if there is no record.
package codec

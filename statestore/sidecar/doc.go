// Package sidecar verifies files by the checksums that lie beside them.
//
// Two kinds exist, and both end in .crc.
//
// Hadoop's checksummed local file system writes a hidden binary file for every
// file, .NAME.crc beside NAME (all integers big-endian):
//
//	+-------------+------------------+----------------------------------+
//	| "crc" 00    | bytesPerChecksum | CRC-32 (IEEE) of each piece of   |
//	| 4 bytes     | int32, 512       | that many bytes, uint32 each     |
//	+-------------+------------------+----------------------------------+
//
// Spark 4.1 adds a visible JSON file for every state file, NAME.crc beside
// NAME, with the CRC-32C (Castagnoli) and the length of the whole file.
//
// Neither is ever required: HDFS and object stores have none of the first
// kind, and copies often lose the hidden files. A sidecar that does not match
// is strong evidence, not proof: a crash between two renames leaves an old
// sidecar beside a good file.
package sidecar

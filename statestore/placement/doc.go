// Package placement computes which partition a key of a state store belongs
// in, by the hash that Spark partitions rows with.
//
// A partition is the remainder of a 32-bit hash by the number of partitions.
// The hash starts at 42; each column in turn is hashed with the result of the
// one before as its seed, and a null leaves it as it is:
//
//	boolean, byte, short, integer, date, year-month interval   as an int
//	long, timestamps of 6 digits, time, day-time interval,
//	decimals of up to 18 digits (unscaled)                      as a long
//	timestamps of 7 to 9 digits     their microseconds as a long, then the
//	                                nanoseconds since, 0 to 999, as an int
//	calendar interval  its microseconds as a long, then days and months as
//	                   ints
//	float, double      by their bits; -0 is 0, and all NaN are the same
//	string, binary, decimals of more digits                     as bytes
//	struct, array      their fields and elements in order
//
// What is hashed is the value, not the bytes of its row. The hash is Murmur3
// (x86, 32 bit) with Spark's own treatment of bytes beyond a multiple of four.
//
// Maps, variants and geometries are not partitioned by, or by rules that are not
// established;
// collated strings hash by keys of their collation, which need its rules.
//
// Which columns of a store's key are hashed is the operator's affair; package
// checkpoint knows.
package placement

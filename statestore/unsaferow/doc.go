// Package unsaferow reads and writes the bytes of Spark's UnsafeRow, the form
// in which a state store keeps its keys and values.
//
// # Layout
//
//	row     ┌──────────────────┬──────────────────┬──────────────────────────┐
//	        │ null bits        │ n slots          │ region                   │
//	        │ 8·⌈n/64⌉ bytes   │ 8 bytes each     │ what does not fit a slot │
//	        └──────────────────┴──────────────────┴──────────────────────────┘
//	slot    a number, little-endian, the upper bytes 0 (for negatives too)
//	        or  ┌─────────────┬─────────────┐  offset: from the row's first byte
//	            │ size    i32 │ offset  i32 │  size: true, the region keeps
//	            └─────────────┴─────────────┘  it rounded up to 8
//
//	array   ┌──────────────┬────────────────┬───────────────────┬────────────┐
//	        │ count n  i64 │ null bits      │ n elements, 1, 2, │ region     │
//	        │              │ 8·⌈n/64⌉ bytes │ 4 or 8 bytes each │            │
//	        └──────────────┴────────────────┴─filled up to 8────┴────────────┘
//	map     ┌──────────────────────┬──────────────┬──────────────────────────┐
//	        │ size of the keys i64 │ array: keys  │ array: values            │
//	        └──────────────────────┴──────────────┴──────────────────────────┘
//
//	in the slot      boolean, byte, short, integer, long, float, double, date,
//	                 timestamps of 6 digits, time, ANSI intervals, decimals of
//	                 up to 18 digits
//	in the region    string, binary
//	                 decimal of 19 digits and more: big-endian two's complement,
//	                   16 bytes kept in a row, as many as needed in an array
//	                 calendar interval: months i32, days i32, microseconds i64
//	                 timestamps of 7 to 9 digits: microseconds i64, and the
//	                   nanoseconds since, 0 to 999, i64
//	                 struct: a row      array      map
//	                 variant: length of the value i32, value, metadata
//	                 geometry, geography: SRID i32, WKB
//
// A null has its bit set (the lowest bit of the first byte is field 0) and a
// slot of 0. Some types differ, in rows only, where 16 bytes of the region are
// kept for a value to come: a null decimal of more than 18 digits may keep its
// offset, a null calendar interval and a null timestamp of 7 to 9 digits their
// offset and size. What these 16 bytes hold means nothing; it need not be 0.
//
// The number of fields is not stored, and neither are types: the same bytes mean
// different things under different schemas. A row without fields has no bytes.
//
// # Reading
//
// A [Decoder] turns rows into Arrow columns. A [Row] looks at single fields
// without Arrow, and [Validate] only checks. [Append] writes rows, of Go values,
// and [AppendArrow] of Arrow's. Those who read take rows as a file holds them, and believe none of it: every rule that Spark's own
// check of structural integrity knows is applied, to every row and at every
// depth, and some more, since Spark checks only the first row it loads:
//
//   - sizes of rows, structs, arrays and maps are multiples of 8;
//   - what lies in the region lies behind the fixed part and within its
//     container, and all of it together is not larger than the container;
//     so no byte is decoded more than once a level, and hostile rows cannot
//     multiply;
//   - the upper bytes of a boolean, byte, short, integer or float are 0, and a
//     boolean is 0 or 1;
//   - nulls look as described above; the exceptions are exempt from the rule
//     that a null slot is 0. A void is null;
//   - decimals have no more digits than their type, and timestamps of 7 to 9
//     digits no more than 999 nanoseconds;
//   - an array has room for as many elements as it counts;
//   - a map has as many values as keys, and no null key.
//
// What breaks a rule is a [*RowError], which is an error of kind
// provider.ErrRow. Filler bytes, and null bits beyond the last field, are not
// looked at.
//
// Rows are taken as they are. Who reads value rows of the HDFS-backed provider
// first cuts them down to a multiple of 8 bytes, because Spark before 2.3 could
// leave four stray bytes at their end.
//
// # Text
//
// Strings that are not UTF-8 are kept, but what is malformed in them is replaced
// by U+FFFD, in the portions in which Java does it: one replacement character
// for each malformed sequence. Stats counts these strings.
package unsaferow

// Package arrowv18 hands the records of sparkstate, which are of
// apache/arrow/go/v17, to programs that use apache/arrow-go/v18.
//
// The two versions are different Go types over the same memory layout. So a
// record is converted by wrapping its buffers: no value is copied, and what it
// costs depends on the number of columns alone. The memory stays v17's and is
// given back to it once the last v18 array that uses it has been released.
//
// It is a module of its own, so that sparkstate does not need v18. A program
// that links it may use v18 for everything else, Parquet included. It cannot
// link the Parquet of v17 as well, which is what sparkstate's package
// parquetexport does: both define the same symbols, and Go's linker refuses
// ("duplicated definition of symbol clib._memcpy"). Package portable of
// sparkstate, which shapes records for Parquet, needs neither.
package arrowv18

// Package portable shapes the library's Arrow records so that every program
// takes them: Parquet has no intervals and no structs without columns, Polars
// and DuckDB take no struct in which a name repeats (Spark's aggregations write
// such rows), and pandas knows no intervals of months.
//
// The columns stay those of the records: key, value and partition_id, or those
// of the change feed. Types stay as they are in the records (see package
// sqltype), but for these:
//
//	Spark type                          portable
//	----------------------------------  ----------------------------------------------
//	interval year … month               int32, in months
//	interval day … second               int64, in microseconds
//	time(0) … time(6)                   time64[us]; others stay time64[ns]
//	decimal(p,s) with s < 0             utf8, the number in full
//	struct of no columns                struct of one column of nulls, named _empty
//
// Names within one struct are made unique without regard to case, since DuckDB
// and Spark tell none apart by it: the first column of a name keeps it, the next
// ones get _2, _3 …, or the next number that is free. A column without a name
// gets an underscore and its position, counted from 1.
//
// # Metadata
//
// Fields keep their metadata, so that spark.type says what a column was. The
// schema keeps its own (see checkpoint.Origin), and gets
//
//	sparkstate.schema   the schema as Spark recorded it, as its JSON: the names and
//	                    types before these rules
package portable

// Package parquetexport writes the library's Arrow records as Parquet files,
// through pqarrow. It is a package of its own because pqarrow links gRPC,
// Thrift and three more compressions into whatever imports it: no other package
// of the library does.
//
// # What a file looks like
//
// The columns are those of the records: key, value and partition_id, or those of
// the change feed. The root is named spark_schema and is required, as in files
// that Spark writes. Pages are compressed with Snappy. Only strings get a
// dictionary: keys of other types rarely repeat, and looking for repetition is
// most of what writing costs. Each record becomes a row group, so ask for
// records of [BatchRows].
//
// # Types
//
// A Spark type lies in the file as Spark itself would write it, where Spark and
// Parquet can. Where they cannot, the rule is:
//
//	Spark type                          in the file
//	----------------------------------  ----------------------------------------------
//	interval year … month               INT32, in months
//	interval day … second               INT64, in microseconds
//	interval (calendar interval)        group of months, days, microseconds
//	time(0) … time(6)                   TIME in microseconds
//	time(7) … time(9)                   TIME in nanoseconds
//	timestamp_ltz, timestamp_ntz of     group of timestamp and nanoseconds
//	  7 to 9 digits
//	decimal(p,s) with s < 0             UTF-8 text of the number: Parquet has no
//	                                    negative scales
//	geometry, geography                 group of srid and wkb
//	variant                             group of value and metadata
//	void, and types that are not known  INT32 of the logical type UNKNOWN, all null
//	struct of no columns                group of one such column, named _empty:
//	                                    Parquet has no groups without columns
//
// Names within one struct are made unique without regard to case, since DuckDB
// and Spark take no others: the first column of a name keeps it, the next ones
// get _2, _3 …, or the next number that is free. A column without a name gets
// an underscore and its position, counted from 1.
//
// # Metadata
//
// The key-value metadata of the file has what the metadata of the schema has
// (see checkpoint.Origin), and
//
//	sparkstate.schema                           the schema as Spark recorded it, as its
//	                                            JSON: the names and types before the
//	                                            rules above
//	org.apache.spark.sql.parquet.row.metadata   the schema as the file has it: Spark
//	                                            reads intervals, times, variants and
//	                                            collations back as such by it
package parquetexport

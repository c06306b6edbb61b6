// Package parquetexport writes the library's Arrow records as Parquet files,
// through pqarrow. It is a package of its own because pqarrow links gRPC,
// Thrift and three more compressions into whatever imports it: no other package
// of the library does. A program that links the Parquet of arrow-go v18 cannot
// link this one too: there, see examples/arrowv18.
//
// The columns are those that package portable makes of the records. A Spark type
// lies in the file as Spark itself would write it, where Spark can; beyond that,
//
//	Spark type                          in the file
//	----------------------------------  ----------------------------------------------
//	interval (calendar interval)        group of months, days, microseconds
//	timestamp_ltz, timestamp_ntz of     group of timestamp and nanoseconds
//	  7 to 9 digits
//	geometry, geography                 group of srid and wkb
//	void, and types that are not known  INT32 of the logical type UNKNOWN, all null
//
// The root is named spark_schema and is required, as in files that Spark
// writes. Pages are compressed with Snappy. Only strings get a dictionary, and
// only columns of them that repeat in a sample of the first record: other types
// rarely do, and looking for repetition is most of what writing costs. Each
// record becomes a row group, so ask for records of [BatchRows].
//
// # Metadata
//
// The key-value metadata of the file has what the metadata of the portable
// schema has: where the rows are from (checkpoint.Origin), and Spark's recorded
// schema. And, as Spark's own files have,
//
//	org.apache.spark.sql.parquet.row.metadata   the schema as the file has it: Spark
//	                                            reads intervals, times, variants and
//	                                            collations back as such by it
package parquetexport

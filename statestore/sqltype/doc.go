// Package sqltype knows the types of Spark SQL as a checkpoint records them:
// it reads them from schema JSON and from DDL, writes them back, and says which
// Arrow type holds the values of each.
//
// # Arrow types
//
// Where Spark's own conversion to Arrow has an opinion (the names of list and
// map children, the units of time, the shape of a variant) the table follows
// it.
//
//	Spark type                          Arrow type
//	----------------------------------  ------------------------------------------------
//	boolean                             bool
//	byte, short, integer, long          int8, int16, int32, int64
//	float, double                       float32, float64
//	string, char(n), varchar(n),        utf8
//	  string of any collation
//	binary                              binary
//	date                                date32
//	timestamp                           timestamp[us, tz=UTC]
//	timestamp_ntz                       timestamp[us]
//	timestamp_ltz(7), (8), (9)          struct<timestamp: timestamp[us, tz=UTC], nanoseconds: int16>
//	timestamp_ntz(7), (8), (9)          struct<timestamp: timestamp[us], nanoseconds: int16>
//	time(p)                             time64[ns]
//	decimal(p,s)                        decimal128(p, s), also for negative scales
//	interval year, month,               month_interval
//	  year to month
//	interval day … second               duration[us]
//	interval (calendar interval)        struct<months: int32, days: int32, microseconds: int64>
//	void                                null
//	variant                             struct<value: binary, metadata: binary>
//	geometry, geography                 struct<srid: int32, wkb: binary>
//	array<T>                            list<element: T>
//	map<K,V>                            map<key: K, value: V>
//	struct<…>                           struct<…>, fields by position: names may repeat
//	                                    or be empty
//	user-defined type                   that of its SQL type
//	unknown                             null
//
// The calendar interval does not become Arrow's month-day-nano interval, since
// its microseconds can exceed what 64 bits of nanoseconds hold. For the same
// reason the nanosecond timestamps of Spark 4.3 do not become timestamp[ns],
// which ends with the years 1677 and 2262: the nanoseconds, 0 to 999, are those
// that have passed since the microsecond of the timestamp beside them, also
// before 1970. (Spark has such a struct too, with its own names and a plain
// int64 of microseconds; here the first part is a timestamp to all who read
// Arrow.)
//
// An unknown type is one whose name this package has never heard of, or that
// cannot be (decimals outside 1 ≤ p ≤ 38, -38 ≤ s ≤ p). It costs its own column,
// which becomes a column of nulls, and nothing else of the row. A map whose keys
// are of unknown type is unknown as a whole, because Arrow has no map without
// keys.
//
// # Nullability
//
// Every Arrow field is nullable, whatever the schema says, but for map keys and
// the parts of variants, geometries, calendar intervals and nanosecond
// timestamps. State rows do break the promise of NOT NULL:
// flatMapGroupsWithState of format 1 stores a group without state as nulls in
// all state columns. What the schema says is kept in the field's metadata.
//
// # Field metadata
//
// Each Arrow field that [Field.Arrow] makes carries
//
//	spark.type      the type's JSON text, as ParseJSON reads it
//	spark.nullable  "false", where the schema says so
//	spark.unknown   the type as it was written, where it is unknown
//
// and the field's own Spark metadata, each value as its JSON text.
package sqltype

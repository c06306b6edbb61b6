// Package sparkjson writes the values of Arrow arrays as JSON, the way Spark's
// to_json does: nulls kept, fields in schema order even where names repeat,
// binary in base64, decimals as numbers, NaN and the infinities as strings,
// intervals as the literals of Spark SQL.
//
// Timestamps are the exception, because Spark's depend on the session: they
// are 2026-01-08T06:57:29.000000Z, with 9 digits of the second where the type has
// 7 to 9, wall-clock ones the same without the Z, at any depth.
//
// [ParseRow] reads the JSON of a row back.
package sparkjson

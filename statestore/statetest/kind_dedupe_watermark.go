package statetest

import (
	"time"
)

// DedupeWithinWatermark is dropDuplicatesWithinWatermark by some columns, of
// Spark 3.5 and later. Put takes them as the key, and as the value when the row
// expires: the event time and the delay of the watermark, as a time.Time or in
// microseconds.
func DedupeWithinWatermark(key string) Operator {
	op := single("dedupeWithinWatermark", key, "expiresAtMicros BIGINT NOT NULL")
	op.Stores[0].row = lastTime(time.Time.UnixMicro)
	return op
}

package statetest

// Dedupe is dropDuplicates by some columns. Put takes them as the key; the
// value is nil, which is what [RequireRows] wants as well.
func Dedupe(key string) Operator {
	op := single("dedupe", key, "__dummy__ VOID")
	op.Stores[0].misnamed = true
	return op
}

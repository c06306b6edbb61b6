package statetest

// Limit is a limit over the whole stream. Its one row has the key nil and, as
// the value, how many rows it has let through.
func Limit() Operator {
	op := single("globalLimit", "key VOID", "value BIGINT")
	op.OneTask = true
	return op
}

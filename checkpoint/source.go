package checkpoint

// Source says where a fact came from.
type Source uint8

const (
	// Unknown: there is no such fact.
	Unknown Source = iota
	// Recorded: Spark wrote it down in this checkpoint.
	Recorded
	// Inferred: concluded from the files that are there.
	Inferred
	// Default: Spark's default for what is not recorded.
	Default
	// Given: the caller said so.
	Given
)

// String returns the word in lower case.
func (s Source) String() string {
	switch s {
	case Recorded:
		return "recorded"
	case Inferred:
		return "inferred"
	case Default:
		return "default"
	case Given:
		return "given"
	}
	return "unknown"
}

// MarshalText makes JSON use the words.
func (s Source) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

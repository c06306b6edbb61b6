package skew

// Imbalance holds the measures of unevenness that are one number for all
// partitions together. Like [Summary] it is made to be embedded.
type Imbalance struct {
	// Idle is the [IdleFraction].
	Idle Float `json:"idleFraction"`
	// Hoover is the [Hoover] index, the share that would have to move.
	Hoover Float `json:"hoover"`
	// ToMove is that share in the unit of the values; see [ToMove].
	ToMove Float `json:"toMove"`
	// Gini is the [Gini] coefficient.
	Gini Float `json:"gini"`
	// CV is the coefficient of variation; see [Variation].
	CV Float `json:"cv"`
	// Flink is the [FlinkScore], in percent.
	Flink Float `json:"flinkScore"`
	// Empty is the number of partitions that hold nothing.
	Empty int `json:"empty"`
}

// MeasureImbalance computes all of them.
func MeasureImbalance[T Number](values []T) Imbalance {
	x := floats(values)
	return Imbalance{
		Idle:   Float(IdleFraction(x)),
		Hoover: Float(Hoover(x)),
		ToMove: Float(ToMove(x)),
		Gini:   Float(Gini(x)),
		CV:     Float(Variation(x)),
		Flink:  Float(FlinkScore(x)),
		Empty:  Empty(x),
	}
}

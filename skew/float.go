package skew

import (
	"encoding/json"
	"fmt"
	"math"
)

// Float is a float64 that JSON can carry: NaN and the infinities, for which
// JSON has no spelling, are written as null, and null is read as NaN.
//
// A type, and not a MarshalJSON on the structs that hold such numbers, because
// a method of an embedded struct would take over the encoding of the struct
// around it. The results of this package can so be embedded in each other and
// in a caller's own record, and their fields come out side by side.
type Float float64

// Undefined returns the value of a measure that has none, such as the sample
// standard deviation of one partition: NaN. Ask with [Float.Defined], since
// like every NaN it does not equal itself.
func Undefined() Float { return Float(math.NaN()) }

// Defined reports whether f is a number: neither NaN nor an infinity.
func (f Float) Defined() bool { return finite(float64(f)) }

// MarshalJSON writes f as a JSON number, or null where it is not defined.
func (f Float) MarshalJSON() ([]byte, error) {
	if !f.Defined() {
		return []byte("null"), nil
	}
	return json.Marshal(float64(f))
}

// UnmarshalJSON reads what MarshalJSON writes.
func (f *Float) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*f = Undefined()
		return nil
	}
	var v float64
	if err := json.Unmarshal(data, &v); err != nil {
		return fmt.Errorf("skew: not a number or null: %w", err)
	}
	*f = Float(v)
	return nil
}

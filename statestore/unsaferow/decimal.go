package unsaferow

import (
	"encoding/binary"
	"fmt"
	"math/big"

	"github.com/apache/arrow/go/v17/arrow/decimal128"
)

// limits[p] is the smallest number of more than p digits.
var limits = func() (out [39]decimal128.Num) {
	n := big.NewInt(1)
	for p := range out {
		out[p] = decimal128.FromBigInt(n)
		n = n.Mul(n, big.NewInt(10))
	}
	return out
}()

// fits reports whether an unscaled value has no more than p digits.
func fits(v decimal128.Num, p int) bool {
	return v.Less(limits[p]) && v.Greater(limits[p].Negate())
}

// readDecimal reads a big-endian two's complement of 1 to 16 bytes.
func readDecimal(b []byte, precision int) (v decimal128.Num, reason string) {
	if len(b) < 1 || len(b) > 16 {
		return v, fmt.Sprintf("a decimal has %d bytes", len(b))
	}
	var wide [16]byte
	if b[0] >= 0x80 {
		wide = [16]byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255}
	}
	copy(wide[16-len(b):], b)
	v = decimal128.New(int64(binary.BigEndian.Uint64(wide[:8])), binary.BigEndian.Uint64(wide[8:]))
	if !fits(v, precision) {
		return v, reasonDigits(v, precision)
	}
	return v, ""
}

func reasonDigits(v decimal128.Num, precision int) string {
	return fmt.Sprintf("the unscaled value %v has more than %d digits", v.BigInt(), precision)
}

// appendDecimal writes the shortest big-endian two's complement of the value.
func appendDecimal(dst []byte, v decimal128.Num) []byte {
	var wide [16]byte
	binary.BigEndian.PutUint64(wide[:8], uint64(v.HighBits()))
	binary.BigEndian.PutUint64(wide[8:], v.LowBits())
	i := 0
	// A leading byte is needless if it only repeats the sign of the next one.
	for i < 15 && (wide[i] == 0 && wide[i+1] < 0x80 || wide[i] == 0xff && wide[i+1] >= 0x80) {
		i++
	}
	return append(dst, wide[i:]...)
}

// fitsLong is fits for decimals of up to 18 digits.
func fitsLong(v int64, p int) bool {
	limit := int64(limits[p].LowBits())
	return -limit < v && v < limit
}

func reasonDigitsLong(v int64, precision int) string {
	return reasonDigits(decimal128.FromI64(v), precision)
}

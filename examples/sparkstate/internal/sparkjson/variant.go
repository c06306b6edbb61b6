package sparkjson

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"time"
)

// A variant is the binary JSON of Parquet's Variant encoding: a value, and the
// metadata with the names of all object fields in it.
//
//	metadata   header(version 1, offset size) · dictionary size · offsets · text
//	value      header(basic type in the low 2 bits, the rest by type) · data

// maxVariantDepth bounds the nesting that is followed; Spark's own limit is
// 1,000 for parsing JSON.
const maxVariantDepth = 1000

var errVariant = errors.New("damaged variant")

// appendVariant writes a variant as the JSON that it stands for. A damaged one
// becomes a JSON string that says so, with the bytes in base64: its column has
// been read right, and the row has others.
func appendVariant(b, value, metadata []byte) []byte {
	start := len(b)
	names, err := variantNames(metadata)
	if err == nil {
		b, err = appendVariantValue(b, value, names, 0)
	}
	if err != nil {
		return AppendString(b[:start], fmt.Sprintf("%v: %s", err, base64.StdEncoding.EncodeToString(value)))
	}
	return b
}

// littleUint reads an unsigned number of 1 to 4 bytes; false where the bytes
// end.
func littleUint(b []byte, at, size int) (int, bool) {
	if at < 0 || at+size > len(b) {
		return 0, false
	}
	n := 0
	for i := size - 1; i >= 0; i-- {
		n = n<<8 | int(b[at+i])
	}
	return n, true
}

func variantNames(m []byte) ([]string, error) {
	if len(m) == 0 || m[0]&0x0f != 1 {
		return nil, errVariant
	}
	size := int(m[0]>>6) + 1
	count, ok := littleUint(m, 1, size)
	if !ok || count > len(m) {
		return nil, errVariant
	}
	text := 1 + size + (count+1)*size
	names := make([]string, count)
	for i := range names {
		from, ok1 := littleUint(m, 1+size+i*size, size)
		to, ok2 := littleUint(m, 1+size+(i+1)*size, size)
		if !ok1 || !ok2 || from > to || text+to > len(m) {
			return nil, errVariant
		}
		names[i] = string(m[text+from : text+to])
	}
	return names, nil
}

func appendVariantValue(b, v []byte, names []string, depth int) ([]byte, error) {
	if len(v) == 0 || depth > maxVariantDepth {
		return b, errVariant
	}
	header := v[0] >> 2
	switch v[0] & 3 {
	case 1: // short string
		if len(v) < 1+int(header) {
			return b, errVariant
		}
		return AppendString(b, string(v[1:1+header])), nil
	case 2:
		return appendVariantObject(b, v, header, names, depth)
	case 3:
		return appendVariantArray(b, v, header, names, depth)
	}
	return appendVariantPrimitive(b, v[1:], header)
}

// appendVariantObject: header = large(1 bit) · id size(2) · offset size(2).
func appendVariantObject(b, v []byte, header byte, names []string, depth int) ([]byte, error) {
	offsetSize, idSize, countSize := int(header&3)+1, int(header>>2&3)+1, 1
	if header>>4&1 == 1 {
		countSize = 4
	}
	n, ok := littleUint(v, 1, countSize)
	if !ok || n > len(v) {
		return b, errVariant
	}
	ids := 1 + countSize
	offsets := ids + n*idSize
	data := offsets + (n+1)*offsetSize
	b = append(b, '{')
	for i := range n {
		id, ok1 := littleUint(v, ids+i*idSize, idSize)
		off, ok2 := littleUint(v, offsets+i*offsetSize, offsetSize)
		if !ok1 || !ok2 || id >= len(names) || data+off >= len(v) {
			return b, errVariant
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(AppendString(b, names[id]), ':')
		var err error
		if b, err = appendVariantValue(b, v[data+off:], names, depth+1); err != nil {
			return b, err
		}
	}
	return append(b, '}'), nil
}

// appendVariantArray: header = large(1 bit) · offset size(2).
func appendVariantArray(b, v []byte, header byte, names []string, depth int) ([]byte, error) {
	offsetSize, countSize := int(header&3)+1, 1
	if header>>2&1 == 1 {
		countSize = 4
	}
	n, ok := littleUint(v, 1, countSize)
	if !ok || n > len(v) {
		return b, errVariant
	}
	offsets := 1 + countSize
	data := offsets + (n+1)*offsetSize
	b = append(b, '[')
	for i := range n {
		off, ok := littleUint(v, offsets+i*offsetSize, offsetSize)
		if !ok || data+off >= len(v) {
			return b, errVariant
		}
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendVariantValue(b, v[data+off:], names, depth+1); err != nil {
			return b, err
		}
	}
	return append(b, ']'), nil
}

// The primitive types by number, with the bytes that each takes; the rest of
// the number's meaning is in appendVariantPrimitive.
var variantSizes = map[byte]int{
	0: 0, 1: 0, 2: 0, 3: 1, 4: 2, 5: 4, 6: 8, 7: 8, 8: 5, 9: 9, 10: 17, 11: 4, 12: 8, 13: 8, 14: 4, 15: 4, 16: 4, 17: 8, 18: 8, 19: 8, 20: 16,
}

func appendVariantPrimitive(b, v []byte, kind byte) ([]byte, error) {
	size, ok := variantSizes[kind]
	if !ok || len(v) < size {
		return b, errVariant
	}
	i64 := func() int64 { return int64(binary.LittleEndian.Uint64(v)) }
	quoted := func(b []byte, t time.Time, layout string) []byte {
		b = appendDate(append(b, '"'), t)
		return append(t.AppendFormat(b, layout), '"')
	}
	switch kind {
	case 0:
		return append(b, "null"...), nil
	case 1:
		return append(b, "true"...), nil
	case 2:
		return append(b, "false"...), nil
	case 3:
		return fmt.Appendf(b, "%d", int8(v[0])), nil
	case 4:
		return fmt.Appendf(b, "%d", int16(binary.LittleEndian.Uint16(v))), nil
	case 5:
		return fmt.Appendf(b, "%d", int32(binary.LittleEndian.Uint32(v))), nil
	case 6:
		return fmt.Appendf(b, "%d", i64()), nil
	case 7:
		return appendFloat(b, math.Float64frombits(binary.LittleEndian.Uint64(v)), 64), nil
	case 8, 9, 10: // scale, and then the unscaled value
		return appendVariantDecimal(b, v[1:size], int(v[0])), nil
	case 11:
		return quoted(b, time.Unix(int64(int32(binary.LittleEndian.Uint32(v)))*86400, 0).UTC(), ""), nil
	case 12:
		return quoted(b, time.UnixMicro(i64()).UTC(), " 15:04:05.999999+00:00"), nil
	case 13:
		return quoted(b, time.UnixMicro(i64()).UTC(), " 15:04:05.999999"), nil
	case 14:
		return appendFloat(b, float64(math.Float32frombits(binary.LittleEndian.Uint32(v))), 32), nil
	case 15, 16: // binary, long string
		n := int(binary.LittleEndian.Uint32(v))
		if n < 0 || n > len(v)-4 {
			return b, errVariant
		}
		if kind == 16 {
			return AppendString(b, string(v[4:4+n])), nil
		}
		b = base64.StdEncoding.AppendEncode(append(b, '"'), v[4:4+n])
		return append(b, '"'), nil
	case 17:
		return appendTime(b, i64()*1000), nil
	case 18:
		return quoted(b, time.Unix(0, i64()).UTC(), " 15:04:05.999999999+00:00"), nil
	case 19:
		return quoted(b, time.Unix(0, i64()).UTC(), " 15:04:05.999999999"), nil
	}
	return fmt.Appendf(b, `"%x-%x-%x-%x-%x"`, v[:4], v[4:6], v[6:8], v[8:10], v[10:16]), nil
}

// appendVariantDecimal writes a decimal without the zeros that its scale adds,
// as Spark does.
func appendVariantDecimal(b, little []byte, scale int) []byte {
	big2 := make([]byte, len(little))
	for i, c := range little {
		big2[len(little)-1-i] = c
	}
	n := new(big.Int).SetBytes(big2)
	if len(big2) > 0 && big2[0]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(big2))))
	}
	for ten, rest := big.NewInt(10), new(big.Int); scale > 0; scale-- {
		q, r := new(big.Int).QuoRem(n, ten, rest)
		if r.Sign() != 0 {
			break
		}
		n = q
	}
	return appendDecimal(b, n, scale)
}

package unsaferow

import (
	"fmt"

	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

// Validate checks the bytes of a row against its type, a struct, at every
// depth. It accepts exactly what a [Decoder] decodes. The error is a
// [*RowError] whose Row is -1.
func Validate(row []byte, t *sqltype.Type) error {
	if err := checkType(t, 0); err != nil {
		return err
	}
	return validateRow(row, t.Resolved().Fields)
}

// checkType refuses types that cannot be those of a row, so that nothing below
// has to ask again.
func checkType(t *sqltype.Type, depth int) error {
	if t == nil {
		return fmt.Errorf("unsaferow: a type lacks one of its parts")
	}
	if t = t.Resolved(); depth == 0 && t.Kind != sqltype.Struct {
		return fmt.Errorf("unsaferow: a row is a struct, not %v", t.Kind)
	}
	if depth > sqltype.MaxDepth+1 {
		return fmt.Errorf("unsaferow: types nested deeper than %d", sqltype.MaxDepth)
	}
	var parts []*sqltype.Type
	switch t.Kind {
	case sqltype.Struct:
		for _, f := range t.Fields {
			parts = append(parts, f.Type)
		}
	case sqltype.Array:
		parts = append(parts, t.Element)
	case sqltype.Map:
		parts = append(parts, t.Key, t.Value)
	case sqltype.UDT:
		parts = append(parts, t.SQLType)
	case sqltype.Decimal:
		if t.Precision < 1 || t.Precision > 38 {
			return fmt.Errorf("unsaferow: there is no decimal of %d digits", t.Precision)
		}
	}
	for _, p := range parts {
		if err := checkType(p, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// The functions below return errors that are relative to the value they look
// at; their callers say where that is. A valid row costs no allocation.

func bad(at int, reason string) *RowError {
	return &RowError{Row: -1, Offset: at, Reason: reason}
}

func validateRow(b []byte, fields []sqltype.Field) error {
	if reason := checkFixed(len(b), len(fields)); reason != "" {
		return bad(0, reason)
	}
	bits, fixed := bitsSize(len(fields)), FixedSize(len(fields))
	used := fixed
	for i := range fields {
		s := shapeOf(fields[i].Type)
		if s.opaque {
			continue
		}
		at, reason := bits+8*i, ""
		word := le.Uint64(b[at:])
		switch {
		case isNull(b, i):
			_, reason = s.nullSlot(word, len(b))
		case s.void:
			reason = reasonVoid
		case s.inSlot:
			if reason = validateWord(word, fields[i].Type); word&s.spare != 0 {
				reason = reasonSpare(word)
			}
		default:
			start, end, ok := span(word, fixed, len(b))
			if !ok {
				reason = spanReason(word, fixed, len(b))
				break
			}
			if used += end - start; used > len(b) {
				reason = reasonCrowded
				break
			}
			if err := validateRegion(b[start:end], fields[i].Type); err != nil {
				return inside(err, fieldNames(fields)[i], start)
			}
		}
		if reason != "" {
			return inside(bad(at, reason), fieldNames(fields)[i], 0)
		}
	}
	return nil
}

// validateWord checks the value of a type that lies in its slot.
func validateWord(word uint64, t *sqltype.Type) (reason string) {
	switch t = t.Resolved(); t.Kind {
	case sqltype.Boolean:
		if word > 1 {
			return reasonBool(word)
		}
	case sqltype.Decimal:
		if v := int64(word); !fitsLong(v, t.Precision) {
			return reasonDigitsLong(v, t.Precision)
		}
	}
	return ""
}

// validateRegion checks what a value of the type holds in the region.
func validateRegion(b []byte, t *sqltype.Type) error {
	reason := ""
	switch t = t.Resolved(); t.Kind {
	case sqltype.Struct:
		return validateRow(b, t.Fields)
	case sqltype.Array:
		if _, err := validateArray(b, t.Element, false); err != nil {
			return inside(err, "element", 0)
		}
	case sqltype.Map:
		return validateMap(b, t)
	case sqltype.Decimal:
		_, reason = readDecimal(b, t.Precision)
	case sqltype.CalendarInterval:
		reason = checkInterval(b)
	case sqltype.TimestampNanos, sqltype.TimestampNTZNanos:
		_, _, reason = readNanos(b)
	case sqltype.Variant:
		_, _, reason = readVariant(b)
	case sqltype.Geometry, sqltype.Geography:
		reason = checkGeo(b)
	}
	if reason != "" {
		return bad(0, reason)
	}
	return nil
}

func validateMap(b []byte, t *sqltype.Type) error {
	keys, values, reason := readMap(b)
	if reason != "" {
		return bad(0, reason)
	}
	nk, err := validateArray(keys, t.Key, true)
	if err != nil {
		return inside(err, "key", 8)
	}
	nv, err := validateArray(values, t.Value, false)
	if err != nil {
		return inside(err, "value", 8+len(keys))
	}
	if nk != nv {
		return bad(0, reasonCounts(nk, nv))
	}
	return nil
}

func validateArray(b []byte, t *sqltype.Type, keys bool) (n int, err error) {
	s := shapeOf(t)
	head, reason := readArrayHead(b, s.width)
	if reason != "" {
		return 0, bad(0, reason)
	}
	if s.opaque {
		return head.n, nil
	}
	used := head.region
	for i := range head.n {
		at, reason := head.first+i*s.width, ""
		word := element(b, at, s.width)
		switch {
		case isNull(b[8:], i):
			switch {
			case keys:
				reason = reasonNullKey
			case word != 0:
				reason = reasonNullElement(word)
			}
		case s.void:
			reason = reasonVoid
		case s.inSlot:
			reason = validateWord(word, t)
		default:
			start, end, ok := span(word, head.region, len(b))
			if !ok {
				reason = spanReason(word, head.region, len(b))
				break
			}
			if used += end - start; used > len(b) {
				reason = reasonCrowded
				break
			}
			if err := validateRegion(b[start:end], t); err != nil {
				return 0, inside(err, "", start)
			}
		}
		if reason != "" {
			return 0, bad(at, reason)
		}
	}
	return head.n, nil
}

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
	return validateRow(row, t.Resolved().Fields, "")
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

func validateRow(b []byte, fields []sqltype.Field, path string) error {
	fail := func(i, at int, reason string) error {
		return &RowError{Row: -1, Column: fieldPaths(path, fields)[i], Offset: at, Reason: reason}
	}
	if reason := checkFixed(len(b), len(fields)); reason != "" {
		return &RowError{Row: -1, Column: path, Reason: reason}
	}
	bits, fixed := bitsSize(len(fields)), FixedSize(len(fields))
	used := fixed
	for i, f := range fields {
		s := shapeOf(f.Type)
		if s.opaque {
			continue
		}
		at := bits + 8*i
		word := le.Uint64(b[at:])
		if isNull(b, i) {
			if _, reason := s.nullSlot(word, len(b)); reason != "" {
				return fail(i, at, reason)
			}
			continue
		}
		if s.void {
			return fail(i, at, reasonVoid)
		}
		if s.inSlot {
			if word&s.spare != 0 {
				return fail(i, at, reasonSpare(word))
			}
			if reason := validateWord(word, f.Type); reason != "" {
				return fail(i, at, reason)
			}
			continue
		}
		start, end, ok := span(word, fixed, len(b))
		if !ok {
			return fail(i, at, spanReason(word, fixed, len(b)))
		}
		if used += end - start; used > len(b) {
			return fail(i, at, reasonCrowded)
		}
		if err := validateRegion(b[start:end], f.Type, fieldPaths(path, fields)[i]); err != nil {
			return within(err, start)
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
func validateRegion(b []byte, t *sqltype.Type, path string) error {
	var reason string
	switch t = t.Resolved(); t.Kind {
	case sqltype.Struct:
		return validateRow(b, t.Fields, path)
	case sqltype.Array:
		_, err := validateArray(b, t.Element, part(path, "element"), false)
		return err
	case sqltype.Map:
		keys, values, reason := readMap(b)
		if reason != "" {
			return &RowError{Row: -1, Column: path, Reason: reason}
		}
		nk, err := validateArray(keys, t.Key, part(path, "key"), true)
		if err != nil {
			return within(err, 8)
		}
		nv, err := validateArray(values, t.Value, part(path, "value"), false)
		if err != nil {
			return within(err, 8+len(keys))
		}
		if nk != nv {
			return &RowError{Row: -1, Column: path, Reason: reasonCounts(nk, nv)}
		}
	case sqltype.Decimal:
		_, reason = readDecimal(b, t.Precision)
	case sqltype.CalendarInterval:
		reason = checkInterval(b)
	case sqltype.Variant:
		_, _, reason = readVariant(b)
	case sqltype.Geometry, sqltype.Geography:
		reason = checkGeo(b)
	}
	if reason != "" {
		return &RowError{Row: -1, Column: path, Reason: reason}
	}
	return nil
}

func validateArray(b []byte, t *sqltype.Type, path string, keys bool) (n int, err error) {
	fail := func(at int, reason string) (int, error) {
		return 0, &RowError{Row: -1, Column: path, Offset: at, Reason: reason}
	}
	s := shapeOf(t)
	head, reason := readArrayHead(b, s.width)
	if reason != "" {
		return fail(0, reason)
	}
	if s.opaque {
		return head.n, nil
	}
	used := head.region
	for i := range head.n {
		at := head.first + i*s.width
		word := element(b, at, s.width)
		if isNull(b[8:], i) {
			switch {
			case keys:
				return fail(at, reasonNullKey)
			case word != 0:
				return fail(at, reasonNullElement(word))
			}
			continue
		}
		if s.void {
			return fail(at, reasonVoid)
		}
		if s.inSlot {
			if reason := validateWord(word, t); reason != "" {
				return fail(at, reason)
			}
			continue
		}
		start, end, ok := span(word, head.region, len(b))
		if !ok {
			return fail(at, spanReason(word, head.region, len(b)))
		}
		if used += end - start; used > len(b) {
			return fail(at, reasonCrowded)
		}
		if err := validateRegion(b[start:end], t, path); err != nil {
			return 0, within(err, start)
		}
	}
	return head.n, nil
}

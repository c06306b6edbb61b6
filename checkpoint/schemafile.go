package checkpoint

import (
	"encoding/binary"
	"fmt"
	"unicode/utf16"

	"github.com/sparkstate/sparkstate/statestore"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

// SchemaFile is a parsed state schema file of version 1 or 2:
//
//	v1:  UTF "v1"   UTF key schema        UTF value schema
//	v2:  UTF "v2"   CHUNKED key schema    CHUNKED value schema
//
// UTF is Java's writeUTF: a big-endian uint16 byte count and modified UTF-8.
// CHUNKED is a big-endian int32 count of UTF strings to be joined. The schemas
// are the JSON of Spark's StructType.
type SchemaFile struct {
	Version    int
	Key, Value *sqltype.Type
}

// ParseSchemaFile parses state/<op>/0/[<store>/]_metadata/schema. Version 3,
// which only operators on RocksDB write, is ErrUnsupported. Errors are
// *statestore.FileError without a path.
func ParseSchemaFile(b []byte) (*SchemaFile, error) {
	r := &javaReader{b: b}
	version := r.utf()
	if r.err != nil {
		return nil, r.err
	}
	s := &SchemaFile{}
	text := r.utf
	switch version {
	case "v1":
		s.Version = 1
	case "v2":
		s.Version = 2
		text = r.chunked
	case "v3":
		return nil, &statestore.FileError{Offset: 0, Kind: statestore.ErrUnsupported, Detail: "a schema file of version 3 (RocksDB column families)"}
	default:
		return nil, r.fail(statestore.ErrCorrupt, "a schema file starts with its version, not with %.20q", version)
	}
	for _, to := range []struct {
		what string
		t    **sqltype.Type
	}{{"key", &s.Key}, {"value", &s.Value}} {
		at := r.off
		j := text()
		if r.err != nil {
			return nil, r.err
		}
		t, err := sqltype.ParseJSON([]byte(j))
		if err == nil && t.Kind != sqltype.Struct {
			err = fmt.Errorf("a %s, not a struct", t)
		}
		if err != nil {
			return nil, &statestore.FileError{Offset: int64(at), Kind: statestore.ErrCorrupt, Detail: to.what + " schema", Err: err}
		}
		*to.t = t
	}
	if r.off != len(b) {
		return nil, r.fail(statestore.ErrCorrupt, "%d bytes after the value schema", len(b)-r.off)
	}
	return s, nil
}

// javaReader reads what Java's DataOutputStream wrote. The first error sticks;
// after it everything reads as empty.
type javaReader struct {
	b   []byte
	off int
	err error
}

func (r *javaReader) fail(kind error, format string, a ...any) error {
	if r.err == nil {
		r.err = &statestore.FileError{Offset: int64(r.off), Kind: kind, Detail: fmt.Sprintf(format, a...)}
	}
	return r.err
}

func (r *javaReader) take(n int) []byte {
	if r.err != nil {
		return nil
	}
	if n > len(r.b)-r.off {
		r.fail(statestore.ErrTruncated, "%d bytes are left where %d are announced", len(r.b)-r.off, n)
		return nil
	}
	r.off += n
	return r.b[r.off-n : r.off]
}

// units reads one UTF string as UTF-16 units: a character above U+FFFF is two
// of them, three bytes each, and may be split between two strings.
func (r *javaReader) units(to []uint16) []uint16 {
	n := r.take(2)
	if r.err != nil {
		return to
	}
	start := r.off
	b := r.take(int(binary.BigEndian.Uint16(n)))
	for i := 0; i < len(b); {
		c := b[i]
		size, lead := 0, byte(0)
		switch {
		case c < 0x80:
			size, lead = 1, c
		case c>>5 == 0b110:
			size, lead = 2, c&0x1f
		case c>>4 == 0b1110:
			size, lead = 3, c&0x0f
		}
		if size == 0 || i+size > len(b) {
			r.off = start + i
			r.fail(statestore.ErrCorrupt, "not modified UTF-8")
			return to
		}
		u := uint16(lead)
		for _, x := range b[i+1 : i+size] {
			if x>>6 != 0b10 {
				r.off = start + i
				r.fail(statestore.ErrCorrupt, "not modified UTF-8")
				return to
			}
			u = u<<6 | uint16(x&0x3f)
		}
		to = append(to, u)
		i += size
	}
	return to
}

func (r *javaReader) utf() string { return string(utf16.Decode(r.units(nil))) }

func (r *javaReader) chunked() string {
	n := r.take(4)
	if r.err != nil {
		return ""
	}
	count := int32(binary.BigEndian.Uint32(n))
	if count < 0 || int(count) > (len(r.b)-r.off)/2 {
		r.fail(statestore.ErrCorrupt, "a text in %d pieces", count)
		return ""
	}
	var units []uint16
	for range count {
		units = r.units(units)
	}
	return string(utf16.Decode(units))
}

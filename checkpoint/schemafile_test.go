package checkpoint_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore"
)

// javaUTF writes a text as Java's writeUTF does, for texts of ASCII, NUL and
// characters that need a surrogate pair.
func javaUTF(s string) []byte {
	var b []byte
	for _, r := range s {
		switch {
		case r == 0:
			b = append(b, 0xc0, 0x80)
		case r < 0x80:
			b = append(b, byte(r))
		case r < 0x800:
			b = append(b, 0xc0|byte(r>>6), 0x80|byte(r&0x3f))
		case r < 0x10000:
			b = append(b, surrogate(r)...)
		default:
			r -= 0x10000
			b = append(append(b, surrogate(0xd800+r>>10)...), surrogate(0xdc00+r&0x3ff)...)
		}
	}
	return append(binary.BigEndian.AppendUint16(nil, uint16(len(b))), b...)
}

func surrogate(r rune) []byte {
	return []byte{0xe0 | byte(r>>12), 0x80 | byte(r>>6&0x3f), 0x80 | byte(r&0x3f)}
}

func chunked(chunks ...string) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(chunks)))
	for _, c := range chunks {
		b = append(b, javaUTF(c)...)
	}
	return b
}

func schemaJSON(column string) string {
	return `{"type":"struct","fields":[{"name":"` + column + `","type":"string","nullable":true,"metadata":{}}]}`
}

func TestParseSchemaFile(t *testing.T) {
	key, value := schemaJSON("k"), schemaJSON("émoji 😀 日本")
	long := schemaJSON(strings.Repeat("x", 70_000))
	v1 := append(append(javaUTF("v1"), javaUTF(key)...), javaUTF(value)...)
	v2 := append(append(javaUTF("v2"), chunked(key)...), chunked(value)...)
	split := append(append(javaUTF("v2"), chunked(long[:65_000], long[65_000:])...), chunked(value)...)

	for name, b := range map[string][]byte{"v1": v1, "v2": v2, "v2 in pieces": split} {
		f, err := checkpoint.ParseSchemaFile(b)
		require.NoError(t, err, name)
		assert.Equal(t, "émoji 😀 日本", f.Value.Fields[0].Name)
		if name != "v2 in pieces" {
			assert.Equal(t, "k", f.Key.Fields[0].Name)
		} else {
			assert.Len(t, f.Key.Fields[0].Name, 70_000)
		}
		// Cut anywhere, it is an error with a place.
		for n := 0; n < len(b); n += 1 + len(b)/300 {
			_, err := checkpoint.ParseSchemaFile(b[:n])
			var fe *statestore.FileError
			require.ErrorAs(t, err, &fe, "%s cut at %d", name, n)
		}
		_, err = checkpoint.ParseSchemaFile(append(b[:len(b):len(b)], 0))
		require.ErrorIs(t, err, statestore.ErrCorrupt)
	}

	// A surrogate pair split between two pieces is one character.
	pair := javaUTF("😀")[2:]
	b := append(javaUTF("v2"), 0, 0, 0, 2)
	j := schemaJSON("|")
	at := strings.IndexByte(j, '|')
	first := append([]byte(j[:at]), pair[:3]...)
	second := append(append([]byte(nil), pair[3:]...), j[at+1:]...)
	for _, piece := range [][]byte{first, second} {
		b = append(binary.BigEndian.AppendUint16(b, uint16(len(piece))), piece...)
	}
	b = append(b, chunked(value)...)
	f, err := checkpoint.ParseSchemaFile(b)
	require.NoError(t, err)
	assert.Equal(t, "😀", f.Key.Fields[0].Name)
}

func TestNotSchemaFiles(t *testing.T) {
	key := javaUTF(schemaJSON("k"))
	for name, c := range map[string]struct {
		b   []byte
		err error
	}{
		"version 3":       {javaUTF("v3"), statestore.ErrUnsupported},
		"no version":      {javaUTF("w2"), statestore.ErrCorrupt},
		"no JSON":         {append(append(javaUTF("v1"), javaUTF("{")...), key...), statestore.ErrCorrupt},
		"no struct":       {append(append(javaUTF("v1"), javaUTF(`"string"`)...), key...), statestore.ErrCorrupt},
		"broken UTF-8":    {append(javaUTF("v1"), 0, 2, 0xc3, 0x28), statestore.ErrCorrupt},
		"a lone tail":     {append(javaUTF("v1"), 0, 1, 0x80), statestore.ErrCorrupt},
		"too many pieces": {append(javaUTF("v2"), 0x7f, 0xff, 0xff, 0xff), statestore.ErrCorrupt},
		"minus one piece": {append(javaUTF("v2"), 0xff, 0xff, 0xff, 0xff), statestore.ErrCorrupt},
	} {
		_, err := checkpoint.ParseSchemaFile(c.b)
		assert.ErrorIs(t, err, c.err, name)
	}
}

func FuzzSchemaFile(f *testing.F) {
	f.Add(append(append(javaUTF("v2"), chunked(schemaJSON("k"))...), chunked(schemaJSON("v"))...))
	f.Add(append(append(javaUTF("v1"), javaUTF(schemaJSON("k"))...), javaUTF(schemaJSON("v"))...))
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := checkpoint.ParseSchemaFile(b); err != nil {
			var fe *statestore.FileError
			require.ErrorAs(t, err, &fe)
		}
	})
}

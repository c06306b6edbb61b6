package unsaferow

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/statestore/internal/randrow"
)

// dirty hands out memory that is full of something, as memory that is used
// again is.
type dirty struct {
	memory.GoAllocator
	with byte
}

func (d *dirty) Allocate(n int) []byte {
	b := d.GoAllocator.Allocate(n)
	for i := range b {
		b[i] = d.with
	}
	return b
}

func (d *dirty) Reallocate(n int, b []byte) []byte {
	if n <= cap(b) {
		return b[:n]
	}
	out := d.Allocate(n)
	copy(out, b)
	return out
}

// What memory has held before is in no buffer of a batch, up to its last bit: to
// export the same again gives equal files.
func TestDirtyMemory(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 2))
		typ := randrow.Struct(r, 3)
		clean, err := NewDecoder(typ, nil)
		require.NoError(t, err)
		used, err := NewDecoder(typ, &dirty{with: 0xDB})
		require.NoError(t, err)
		n := r.IntN(40)
		clean.Begin(n, 0)
		used.Begin(n, 0)
		for n > 0 {
			rows := make([][]byte, min(n, 1+r.IntN(20)))
			n -= len(rows)
			for i := range rows {
				rows[i], err = Append(nil, typ, randomValue(r, typ, false).([]any))
				require.NoError(t, err)
			}
			require.NoError(t, clean.Add(rows))
			require.NoError(t, used.Add(rows))
		}
		want, _ := clean.Finish()
		got, _ := used.Finish()
		sameBuffers(t, want.Data(), got.Data())
		want.Release()
		got.Release()
	}
}

func sameBuffers(t *testing.T, want, got arrow.ArrayData) {
	t.Helper()
	require.Equal(t, want.Len(), got.Len())
	require.Equal(t, want.NullN(), got.NullN())
	for i, b := range want.Buffers() {
		if b == nil {
			require.Nil(t, got.Buffers()[i])
			continue
		}
		require.Equal(t, b.Bytes(), got.Buffers()[i].Bytes(), "buffer %d of %v", i, want.DataType())
	}
	for i, c := range want.Children() {
		sameBuffers(t, c, got.Children()[i])
	}
}

// A text may lie anywhere behind the slots of its row, of any length.
func TestTextAnywhere(t *testing.T) {
	const fixed = 24
	typ := ddl(t, "a STRING, b BINARY")
	var rows, texts, others [][]byte
	for size := fixed; size <= fixed+56; size += 8 {
		for at := fixed; at <= size; at++ {
			for n := 0; at+n <= size; n++ {
				row := make([]byte, size)
				for i := fixed; i < size; i++ {
					row[i] = byte('0' + (i+len(rows))%64)
				}
				le.PutUint64(row[8:], uint64(at)<<32|uint64(n))
				// The rest of the row: it may lie behind the text or before it.
				from, rest := at+n, size-at-n
				if at-fixed > rest {
					from, rest = fixed, at-fixed
				}
				le.PutUint64(row[16:], uint64(from)<<32|uint64(rest))
				rows = append(rows, row)
				texts, others = append(texts, row[at:at+n]), append(others, row[from:from+rest])
			}
		}
	}
	d, err := NewDecoder(typ, &dirty{with: 0xDB})
	require.NoError(t, err)
	arr, _, err := d.Decode(rows)
	require.NoError(t, err)
	defer arr.Release()
	a, b := arr.Field(0).(*array.String), arr.Field(1).(*array.Binary)
	require.Equal(t, string(bytes.Join(texts, nil)), string(a.ValueBytes()))
	require.Equal(t, bytes.Join(others, nil), b.ValueBytes())
	for i := range rows {
		require.Equal(t, string(texts[i]), a.Value(i))
		require.Equal(t, others[i], b.Value(i))
	}
}

package unsaferow

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

// benchRows returns rows that lie one behind the other, as they do in a file.
func benchRows(b *testing.B, typ *sqltype.Type, n int, values func(r *rand.Rand) []any) [][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	var all []byte
	ends := make([]int, n)
	for i := range ends {
		var err error
		all, err = Append(all, typ, values(r))
		require.NoError(b, err)
		ends[i] = len(all)
	}
	rows, start := make([][]byte, n), 0
	for i, end := range ends {
		rows[i], start = all[start:end:end], end
	}
	return rows
}

var benchSchemas = []struct {
	name, ddl string
	values    func(r *rand.Rand) []any
}{
	{"string", "k STRING", func(r *rand.Rand) []any { return []any{fmt.Sprintf("adviser_%05d", r.IntN(100000))} }},
	{"long", "n BIGINT", func(r *rand.Rand) []any { return []any{r.IntN(1000)} }},
	{"string_long", "k STRING, n BIGINT", func(r *rand.Rand) []any {
		return []any{fmt.Sprintf("adviser_%05d", r.IntN(100000)), r.IntN(1000)}
	}},
	{"window_string", "w STRUCT<start: TIMESTAMP, end: TIMESTAMP>, k STRING", func(r *rand.Rand) []any {
		return []any{[]any{r.IntN(1 << 50), r.IntN(1 << 50)}, fmt.Sprintf("adviser_%05d", r.IntN(100000))}
	}},
	{"nullable", "a STRING, b BIGINT, c DOUBLE, d INT, e BOOLEAN", func(r *rand.Rand) []any {
		out := []any{"text", 1, 1.5, 2, true}
		for i := range out {
			if r.IntN(4) == 0 {
				out[i] = nil
			}
		}
		return out
	}},
	{"decimals", "a DECIMAL(18,2), b DECIMAL(38,10)", func(r *rand.Rand) []any { return []any{r.IntN(1 << 50), r.IntN(1 << 50)} }},
	{"array_of_longs", "a ARRAY<BIGINT>", func(r *rand.Rand) []any {
		out := make([]any, 20)
		for i := range out {
			out[i] = r.IntN(1 << 50)
		}
		return []any{out}
	}},
	{"map", "m MAP<STRING, INT>", func(r *rand.Rand) []any {
		return []any{[][2]any{{"first", 1}, {"second", 2}, {"third", 3}}}
	}},
}

func BenchmarkDecode(b *testing.B) {
	const n = 64 << 10
	for _, bb := range benchSchemas {
		typ, err := sqltype.ParseDDL(bb.ddl)
		require.NoError(b, err)
		rows := benchRows(b, typ, n, bb.values)
		b.Run(bb.name, func(b *testing.B) {
			d, err := NewDecoder(typ, nil)
			require.NoError(b, err)
			b.ReportAllocs()
			for b.Loop() {
				arr, _, err := d.Decode(rows)
				if err != nil {
					b.Fatal(err)
				}
				arr.Release()
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

func BenchmarkValidate(b *testing.B) {
	for _, bb := range benchSchemas[:4] {
		typ, err := sqltype.ParseDDL(bb.ddl)
		require.NoError(b, err)
		rows := benchRows(b, typ, 1024, bb.values)
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for _, r := range rows {
					if err := Validate(r, typ); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(1024*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, bb := range benchSchemas[:4] {
		typ, err := sqltype.ParseDDL(bb.ddl)
		require.NoError(b, err)
		values := bb.values(rand.New(rand.NewPCG(1, 2)))
		b.Run(bb.name, func(b *testing.B) {
			var buf []byte
			b.ReportAllocs()
			for b.Loop() {
				if buf, err = Append(buf[:0], typ, values); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

package codec

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/pierrec/lz4/v4"
)

// benchBody is about 8 MB of records, as much as a partition of a large store.
var benchBody = rows(112_000)

// BenchmarkDecode decodes a file of each codec with a Reader that has seen one
// before. MB/s are of decoded bytes.
func BenchmarkDecode(b *testing.B) {
	for _, c := range allCodecs {
		b.Run(c.String(), func(b *testing.B) {
			file := encode(b, c, 0, benchBody)
			in := bytes.NewReader(file)
			r, err := NewReader(in, int64(len(file)))
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(benchBody)))
			b.ReportAllocs()
			for b.Loop() {
				in.Reset(file)
				if err := r.Reset(in, int64(len(file))); err != nil {
					b.Fatal(err)
				}
				if _, err := consume(r); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(benchBody))/float64(len(file)), "ratio")
			if err := r.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkSmallFile decodes an empty delta: what a file costs beyond its
// bytes.
func BenchmarkSmallFile(b *testing.B) {
	for _, c := range compressed {
		b.Run(c.String(), func(b *testing.B) {
			file := encode(b, c, 0, []byte(endMark))
			in := bytes.NewReader(file)
			r, err := NewReader(in, int64(len(file)))
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				in.Reset(file)
				if err := r.Reset(in, int64(len(file))); err != nil {
					b.Fatal(err)
				}
				if _, err := consume(r); err != nil {
					b.Fatal(err)
				}
			}
			if err := r.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkLimit is what bounds BenchmarkDecode/lz4: the library called
// on payloads that lie ready, without and with the checksum.
func BenchmarkLimit(b *testing.B) {
	file := encode(b, LZ4, 0, benchBody)
	out := make([]byte, defaultBlockSize)
	run := func(b *testing.B, sum bool) {
		b.SetBytes(int64(len(benchBody)))
		for b.Loop() {
			for p := file; len(p) > 0; {
				stored := int(binary.LittleEndian.Uint32(p[9:]))
				plain := int(binary.LittleEndian.Uint32(p[13:]))
				payload := p[lz4Header : lz4Header+stored]
				if p[8]>>4 == lz4MethodLZ4 {
					if n, err := lz4.UncompressBlock(payload, out); err != nil || n != plain {
						b.Fatal(n, err)
					}
					payload = out[:plain]
				}
				if sum && xxh32(payload, lz4Seed)&lz4SumMask != binary.LittleEndian.Uint32(p[17:]) && plain > 0 {
					b.Fatal("checksum")
				}
				p = p[lz4Header+stored:]
			}
		}
	}
	b.Run("decode", func(b *testing.B) { run(b, false) })
	b.Run("decode+sum", func(b *testing.B) { run(b, true) })
}

func BenchmarkEncode(b *testing.B) {
	for _, c := range compressed {
		b.Run(c.String(), func(b *testing.B) {
			var file bytes.Buffer
			w, err := NewWriter(&file, c, 0)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(benchBody)))
			for b.Loop() {
				file.Reset()
				w.Reset(&file)
				if _, err := w.Write(benchBody); err != nil {
					b.Fatal(err)
				}
				if err := w.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

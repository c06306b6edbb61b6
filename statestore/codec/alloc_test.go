package codec

import (
	"bytes"
	"io"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// consume reads r to its end or first error, and keeps nothing.
func consume(r *Reader) (n int64, err error) {
	for {
		p, err := r.Next()
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		n += int64(len(p))
	}
}

// allocated returns how many bytes f allocates, freed or not.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// padded returns p with zeros behind it, 1 KiB in all.
func padded(p []byte) []byte { return append(p, make([]byte, 1<<10-len(p))...) }

// TestHostileAllocation has small files claim as much as they can. However
// much they decode to, what is allocated for them is bounded: 1 MiB for a file
// of 1 KiB, 2 MiB with zstd.
func TestHostileAllocation(t *testing.T) {
	xerialHead := []byte(xerialMagic + "\x00\x00\x00\x01\x00\x00\x00\x01")
	zstdHead := func(desc byte, rest ...byte) []byte {
		return append([]byte(zstdMagic), append([]byte{desc}, rest...)...)
	}

	// 255 bytes of output for each of input: one long match.
	lz4Bomb := append([]byte{0x1f, 'x', 1, 0}, bytes.Repeat([]byte{255}, 970)...)
	lz4Bomb = append(lz4Bomb, 0, 0)
	lz4Plain := bytes.Repeat([]byte{'x'}, 1+4+15+970*255)

	// Runs of 128 KiB in four bytes each.
	var runs []byte
	for range 252 {
		runs = append(runs, zstdBlock(1, 128<<10, false, 'x')...)
	}
	// Frames of their own, one run each, with windows that grow.
	var frames []byte
	for window := byte(0); len(frames) < 1<<10-10; window++ {
		frames = append(frames, zstdHead(0, window)...)
		frames = append(frames, zstdBlock(1, 1<<10, true, 'x')...)
	}
	// Runs, and literals without a match, that grow.
	var growing, literals []byte
	for i := 1; len(growing) < 1<<10-16; i++ {
		growing = append(growing, zstdBlock(1, 500*i, false, 'x')...)
	}
	for i := 1; len(literals) < 1<<10-16; i++ {
		n := 1000 * i
		literals = append(literals, zstdBlock(2, 5, false, byte(n<<4)|0x0d, byte(n>>4), byte(n>>12), 'x', 0)...)
	}

	for name, file := range map[string][]byte{
		"lz4, 32 MiB raw that are not there":        padded(lz4BlockOf(0x1f, 32<<20, 32<<20, 0, nil)),
		"lz4, 32 MiB compressed that are not there": padded(lz4BlockOf(0x2f, 32<<20-1, 32<<20, 0, nil)),
		"lz4, 32 MiB in what there is":              padded(lz4BlockOf(0x2f, 900, 32<<20, 0, nil)),
		"lz4, as much as what there is can hold":    padded(lz4BlockOf(0x2f, 1000, 1000*255, 0, nil)),
		"lz4, the best compression there is":        lz4Block(0x2f, lz4Bomb, lz4Plain),
		"snappy, 2 GiB":                             padded(join(xerialHead, []byte{0x7f, 0xff, 0xff, 0xff})),
		"snappy, 32 MiB that are not there":         padded(join(xerialHead, []byte{2, 0, 0, 0})),
		"snappy, 4 GiB in what there is":            padded(join(xerialHead, []byte{0, 0, 3, 0xe0, 0xff, 0xff, 0xff, 0xff, 0x0f})),
		"lzf":                                       padded([]byte("ZV\x01\x03\xe0\xff\xff")),
		"none":                                      padded([]byte(endMark)),
		"unknown":                                   padded([]byte("PK")),
		"zstd, 8 MiB":                               join(zstdHead(0, window8MiB), runs),
		"zstd, 128 MiB":                             join(zstdHead(0, window128MiB), runs),
		"zstd, 100 MiB in one segment":              join(zstdHead(0xa0, 0, 0, 0x40, 0x06), runs),
		"zstd, many frames":                         frames,
		"zstd, skippable frame of 4 GiB":            padded([]byte{0x50, 0x2a, 0x4d, 0x18, 0xff, 0xff, 0xff, 0xff}),
		"zstd, growing runs":                        join(zstdHead(0, window8MiB), growing),
		"zstd, growing literals":                    join(zstdHead(0, window8MiB), literals),
	} {
		t.Run(name, func(t *testing.T) {
			limit := uint64(1 << 20)
			if Sniff(file, int64(len(file))) == Zstd {
				limit = 2 << 20
				// Nothing from the pool: the first file of a process.
				for zstdDecoders.Get() != nil {
				}
			}
			var out int64
			got := allocated(func() {
				r, err := NewReader(bytes.NewReader(file), int64(len(file)))
				if err == nil {
					out, err = consume(r)
					_ = r.Close()
				}
				_ = err
			})
			t.Logf("%d bytes of file, %d decoded, %d allocated", len(file), out, got)
			require.LessOrEqual(t, len(file), 1<<10+8)
			if !raceEnabled {
				require.Less(t, got, limit)
			}
		})
	}
}

// Blocks cost no allocation, and neither do files once a Reader has seen one.
func TestSteadyStateAllocation(t *testing.T) {
	body := rows(20_000)
	for _, c := range allCodecs {
		file := encode(t, c, 0, body)
		in := bytes.NewReader(file)
		r, err := NewReader(in, int64(len(file)))
		require.NoError(t, err)
		n := testing.AllocsPerRun(20, func() {
			in.Reset(file)
			if err := r.Reset(in, int64(len(file))); err != nil {
				t.Fatal(err)
			}
			if n, err := consume(r); err != nil || n != int64(len(body)) {
				t.Fatal(n, err)
			}
		})
		if !raceEnabled {
			require.Zero(t, n, c)
		}
		require.NoError(t, r.Close())
	}
}

// A decompression bomb is the caller's to stop; the Reader's own memory stays
// where it is.
func TestBombIsFlat(t *testing.T) {
	file := append([]byte(zstdMagic), 0, window8MiB)
	for range 2_000 {
		file = append(file, zstdBlock(1, 128<<10, false, 'x')...)
	}
	file = append(file, zstdBlock(0, 0, true)...)
	r, err := NewReader(bytes.NewReader(file), int64(len(file)))
	require.NoError(t, err)
	var n int64
	got := allocated(func() { n, err = consume(r) })
	require.NoError(t, err)
	require.Equal(t, int64(2_000)*128<<10, n)
	if !raceEnabled {
		require.Less(t, got, uint64(10<<20))
	}
	require.NoError(t, r.Close())
}

// A block is read as far as there is something of it, in a buffer that grows
// with what was read.
func TestGrowthFollowsTheFile(t *testing.T) {
	file := lz4BlockOf(0x1f, 32<<20, 32<<20, 0, make([]byte, 1<<20))
	got := allocated(func() {
		_, err := decode(file)
		require.Error(t, err)
	})
	if !raceEnabled {
		require.Less(t, got, uint64(5<<20))
	}
}

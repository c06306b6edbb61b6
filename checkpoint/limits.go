package checkpoint

import (
	"cmp"

	"github.com/sparkstate/sparkstate/statestore/provider"
)

// Limits are what a checkpoint may ask of whoever reads it. They bound memory
// and time, whatever its files claim; beyond one of them, but for Findings, the
// error is of kind [statestore.ErrTooLarge]. A field that is 0 leaves its default.
//
// No limit is needed on how deep schemas nest: [sqltype.MaxDepth] is fixed.
type Limits struct {
	// DirectoryEntries is how many names a directory may hold. Default: 2²⁰,
	// which is provider.DefaultMaxEntries. For each name in a directory of state
	// files a check takes about 400 bytes of memory.
	DirectoryEntries int
	// FileBytes is the size of a log, schema or metadata file, in bytes.
	// Default: 8 MiB; offset logs of wide Kafka topics reach two. Logs of file
	// sources are read line by line and may be of any size.
	FileBytes int64
	// RowBytes is the length of a key or value, in bytes. Default: 1 MiB plus
	// 255 times the stored size of the file, at most 128 MiB.
	RowBytes int64
	// BlockBytes is the decoded size of one block of LZ4 or Snappy, in bytes.
	// Default: 32 MiB, the most that Spark can write.
	BlockBytes int
	// WindowBytes is how far back a zstd frame may refer, in bytes. Default: 128
	// MiB, of which a file of up to 64 KiB gets a small part only; see
	// codec.WithMaxWindow.
	WindowBytes int64
	// ZipDirectoryBytes is what the list of files in a zip file may take, in
	// bytes: 50 to 150 of them for each file. Default: 32 MiB.
	ZipDirectoryBytes int64
	// ZipRatio is how many times larger than the zip file its files may be
	// together, beyond the first 64 MiB. Default: 100. State files are
	// compressed before they get into one.
	ZipRatio int64
	// Findings is how many findings of one kind and severity a check reports;
	// the others are counted. Default: 10,000.
	Findings int
}

// WithLimits replaces the default limits.
func WithLimits(l Limits) OpenOption { return func(c *Checkpoint) { c.limits = l.orDefaults() } }

func (l Limits) orDefaults() Limits {
	return Limits{
		DirectoryEntries:  cmp.Or(l.DirectoryEntries, provider.DefaultMaxEntries),
		FileBytes:         cmp.Or(l.FileBytes, 8<<20),
		RowBytes:          l.RowBytes,    // the provider's own default goes by the file
		BlockBytes:        l.BlockBytes,  // as above
		WindowBytes:       l.WindowBytes, // as above
		ZipDirectoryBytes: cmp.Or(l.ZipDirectoryBytes, 32<<20),
		ZipRatio:          cmp.Or(l.ZipRatio, 100),
		Findings:          cmp.Or(l.Findings, 10_000),
	}
}

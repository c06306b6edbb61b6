package sidecar

import (
	"encoding/json"
	"fmt"
	"hash"
	"hash/crc32"
	"io"

	"github.com/sparkstate/sparkstate/statestore/provider"
)

// SparkName returns the name of Spark's own JSON sidecar of a state file, in
// the same directory.
func SparkName(name string) string { return name + ".crc" }

// SparkMaxSize bounds what is read of a JSON sidecar; real ones have under 300
// bytes.
const SparkMaxSize = 64 << 10

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Spark is a parsed JSON sidecar (Spark 4.1 and later).
type Spark struct {
	// Algorithm is CRC32C in every Spark so far.
	Algorithm string `json:"algorithm"`
	// Value is the checksum over all stored bytes, as the signed 32-bit number
	// that Java prints.
	Value int32 `json:"value"`
	// MainFileSize is the length of the file in bytes.
	MainFileSize int64 `json:"mainFileSize"`
	// TimestampMs is when the sidecar was made, in milliseconds.
	TimestampMs int64 `json:"timestampMs"`
	// Creator names the task that wrote it; its parts may be empty.
	Creator struct {
		ExecutorID string `json:"executorId"`
		TaskInfo   string `json:"taskInfo"`
	} `json:"creator"`
}

// ParseSpark parses a JSON sidecar. What is not one is provider.ErrCorrupt, an
// unknown algorithm provider.ErrUnsupported.
func ParseSpark(b []byte) (*Spark, error) {
	var s Spark
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, &provider.FileError{Offset: -1, Kind: provider.ErrCorrupt, Detail: "not a checksum file of Spark", Err: err}
	}
	if s.Algorithm != "CRC32C" {
		return nil, &provider.FileError{Offset: -1, Kind: provider.ErrUnsupported, Detail: fmt.Sprintf("checksum algorithm %q", s.Algorithm)}
	}
	return &s, nil
}

// Digest sums a file up to compare it with its sidecar.
type Digest struct {
	h hash.Hash32
	n int64
}

// NewDigest returns an empty digest; write the stored bytes of the file to it.
func NewDigest() *Digest { return &Digest{h: crc32.New(castagnoli)} }

// Write adds bytes; it never fails.
func (d *Digest) Write(p []byte) (int, error) {
	d.n += int64(len(p))
	return d.h.Write(p)
}

// Copy adds what is left in the reader.
func (d *Digest) Copy(r io.Reader) error {
	_, err := io.Copy(d, r)
	return err
}

// Differs is the error of a file of another size than the sidecar says; see
// [Spark.Check].
func (s *Spark) Differs(size int64) error {
	return mismatch(fmt.Sprintf("the .crc file says %d bytes, the file has %d", s.MainFileSize, size))
}

func mismatch(detail string) error {
	return &provider.FileError{Offset: -1, Kind: provider.ErrChecksum, Detail: detail,
		Condition: "CHECKPOINT_FILE_CHECKSUM_VERIFICATION_FAILED"}
}

// Check compares the digest with the sidecar; the error is a
// *provider.FileError of kind ErrChecksum.
func (s *Spark) Check(d *Digest) error {
	switch got := int32(d.h.Sum32()); {
	case d.n != s.MainFileSize:
		return s.Differs(d.n)
	case got != s.Value:
		return mismatch(fmt.Sprintf("the .crc file says CRC32C %d, the file gives %d", s.Value, got))
	}
	return nil
}

package statetest

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"path"

	"github.com/sparkstate/sparkstate/statestore/sidecar"
)

// hadoopPath is the path of the hidden .crc file of a file.
func hadoopPath(name string) string {
	d, base := path.Split(name)
	return d + sidecar.HadoopName(base)
}

// hadoopSums is the content of a hidden .crc file: a CRC-32 of each 512 bytes.
func hadoopSums(data []byte) []byte {
	sums := []byte("crc\x00\x00\x00\x02\x00")
	for rest := data; len(rest) > 0; {
		n := min(512, len(rest))
		sums = binary.BigEndian.AppendUint32(sums, crc32.ChecksumIEEE(rest[:n]))
		rest = rest[n:]
	}
	return sums
}

// sparkSum is the content of a JSON .crc file: a CRC-32C of all of it, as a
// signed number.
func sparkSum(data []byte, timestampMs int64) []byte {
	sum := int32(crc32.Checksum(data, castagnoli))
	return fmt.Appendf(nil, `{"algorithm":"CRC32C","value":%d,"mainFileSize":%d,"timestampMs":%d,"creator":{"executorId":"driver","taskInfo":""}}`,
		sum, len(data), timestampMs)
}

// rowSum is the checksum in front of a row: a CRC-32C of key and value, or of the
// key alone that is removed. Its bytes are little-endian, unlike the lengths
// around it.
func rowSum(parts ...[]byte) []byte {
	sum := uint32(0)
	for _, p := range parts {
		sum = crc32.Update(sum, castagnoli, p)
	}
	return binary.LittleEndian.AppendUint32(nil, sum)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

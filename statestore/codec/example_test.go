package codec_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/sparkstate/sparkstate/statestore/codec"
	"github.com/sparkstate/sparkstate/statestore/provider"
)

// An empty delta as Spark writes it: one block of four bytes and the end mark.
const emptyDelta = "" +
	"4c5a34426c6f636b" + "15" + "04000000" + "04000000" + "db804d08" + "ffffffff" +
	"4c5a34426c6f636b" + "15" + "00000000" + "00000000" + "00000000"

func ExampleReader() {
	file, _ := hex.DecodeString(emptyDelta)
	r, err := codec.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	fmt.Println(r.Codec())
	for {
		block, err := r.Next()
		if err == io.EOF {
			fmt.Println("end")
			return
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("at %d: %x\n", r.Offset(), block)
	}
	// Output:
	// lz4
	// at 0: ffffffff
	// end
}

// The last bytes are missing, as after a copy that was cut short. The blocks
// before are delivered, and then the error, which names the place.
func ExampleReader_damaged() {
	file, _ := hex.DecodeString(emptyDelta)
	file = file[:30]
	r, err := codec.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	for err == nil {
		_, err = r.Next()
	}
	fmt.Println(err)
	fmt.Println(errors.Is(err, provider.ErrTruncated), errors.Is(err, provider.ErrDamaged))
	// Output:
	// at byte 25: lz4: 5 of the 21 bytes of a block header
	// true true
}

func ExampleWriter() {
	var file bytes.Buffer
	w, err := codec.NewWriter(&file, codec.LZF, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := w.Write([]byte{0xff, 0xff, 0xff, 0xff}); err != nil {
		fmt.Println(err)
		return
	}
	if err := w.Close(); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%x\n", file.Bytes())
	// Output:
	// 5a56000004ffffffff
}

func ExampleSniff() {
	for _, head := range []string{"LZ4Block\x25", "ZV\x01", "\x82SNAPPY\x00", "\x28\xb5\x2f\xfd\x00", "\xff\xff\xff\xff", "PK\x03\x04"} {
		fmt.Println(codec.Sniff([]byte(head), -1))
	}
	// Output:
	// lz4
	// lzf
	// snappy
	// zstd
	// none
	// unknown
}

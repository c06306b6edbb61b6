package statetest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"

	"github.com/sparkstate/sparkstate/statestore/codec"
	"github.com/sparkstate/sparkstate/statestore/hdfs"
	"github.com/sparkstate/sparkstate/statestore/provider"
)

// DropEndMark writes a state file anew without the end mark of its records: a
// file that was cut at a boundary of rows and is whole as far as its
// compression can tell.
func DropEndMark(f File) Fault {
	return repack("DropEndMark", f, func(body []byte) ([]byte, error) {
		return bytes.TrimSuffix(body, endMark), nil
	})
}

// AfterEndMark writes a state file anew with bytes behind the end mark, within
// the compression. Spark does not look there.
func AfterEndMark(f File, extra ...byte) Fault {
	return repack("AfterEndMark", f, func(body []byte) ([]byte, error) { return append(body, extra...), nil })
}

// WrongCodec writes a state file anew in another compression than the
// checkpoint's conf names; codec.None unpacks it.
func WrongCodec(f File, c codec.Codec) Fault {
	return edit("WrongCodec", f, func(b []byte) ([]byte, error) {
		u, err := unpack(b)
		if err != nil {
			return nil, err
		}
		return pack(u.body, c, 0)
	})
}

// ChangeRow changes the value of the n-th record of a state file, counted from
// 0, and nothing else: the last column that has 8 bytes of its own is another
// number. The compression is right, so only the .crc files and the checksum in
// front of a row can know.
func ChangeRow(f File, n int) Fault {
	return repackRecord("ChangeRow", f, n, func(r record) ([]byte, error) {
		if len(r.value) < 8 {
			return nil, errors.New("the record has no value to change")
		}
		r.value[len(r.value)-8] ^= 1
		return r.append(nil), nil
	})
}

// MisfitRow cuts 8 bytes off the value of the n-th record of a state file, so
// that it does not fit its schema any more.
func MisfitRow(f File, n int) Fault {
	return repackRecord("MisfitRow", f, n, func(r record) ([]byte, error) {
		if len(r.value) < 8 {
			return nil, errors.New("the record has no value to cut")
		}
		r.value = r.value[:len(r.value)-8]
		return r.append(nil), nil
	})
}

// DropRow leaves the n-th record of a state file out. Of a join's counts or
// rows it makes the two disagree.
func DropRow(f File, n int) Fault {
	return repackRecord("DropRow", f, n, func(record) ([]byte, error) { return nil, nil })
}

// StaleSnapshot has a snapshot hold what the version before it held. Spark
// believes it, and forgets what the version's batch changed.
func StaleSnapshot(operator int, store string, partition int, version int64) Fault {
	f := Snapshot(operator, store, partition, version)
	return fault("StaleSnapshot", func(files Files) error {
		p, err := hdfs.Open(files, path.Dir(f.name), hdfs.Config{IgnoreSidecars: true})
		if err != nil {
			return err
		}
		var body []byte
		for e, err := range provider.Rows(p.Batches(context.Background(), provider.Version{Number: version - 1}, provider.LoadOptions{})) {
			if err != nil {
				return err
			}
			body = appendFramed(appendFramed(body, e.Key), e.Value)
		}
		return repack("StaleSnapshot", f, func([]byte) ([]byte, error) { return append(body, endMark...), nil }).do(files)
	}, f)
}

// unpacked is a state file without its compression.
type unpacked struct {
	codec  codec.Codec
	body   []byte
	blocks []int64 // where each block of the compression starts in the file
	block  int     // the length of the first of several blocks; 0 for one
}

func unpack(b []byte) (*unpacked, error) {
	d, err := codec.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, err
	}
	u := &unpacked{codec: d.Codec()}
	for {
		p, err := d.Next()
		if err == io.EOF {
			return u, nil
		}
		if err != nil {
			return nil, err
		}
		if len(u.blocks) == 1 {
			u.block = len(u.body)
		}
		u.blocks = append(u.blocks, d.Offset())
		u.body = append(u.body, p...)
	}
}

func pack(body []byte, c codec.Codec, block int) ([]byte, error) {
	var out bytes.Buffer
	w, err := codec.NewWriter(&out, c, block)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(body); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// repack makes a fault that changes what is in the compression of a file.
func repack(kind string, f File, change func(body []byte) ([]byte, error)) Fault {
	return edit(kind, f, func(b []byte) ([]byte, error) {
		u, err := unpack(b)
		if err != nil {
			return nil, err
		}
		body, err := change(slices.Clone(u.body))
		if err != nil {
			return nil, err
		}
		if bytes.Equal(body, u.body) {
			return nil, errUnchanged
		}
		return pack(body, u.codec, u.block)
	})
}

// record is a record as it is framed, row checksums included.
type record struct {
	key, value []byte
	remove     bool
}

func (r record) append(b []byte) []byte {
	b = appendFramed(b, r.key)
	if r.remove {
		return append(b, endMark...) // the same four bytes
	}
	return appendFramed(b, r.value)
}

// repackRecord makes a fault that changes one record; change returns what is to
// stand in its place.
func repackRecord(kind string, f File, n int, change func(record) ([]byte, error)) Fault {
	return repack(kind, f, func(body []byte) ([]byte, error) {
		for at, i := 0, 0; ; i++ {
			r, size, err := nextRecord(body[at:])
			if err != nil {
				return nil, err
			}
			if size == 0 {
				return nil, fmt.Errorf("it has %d records", i)
			}
			if i == n {
				with, err := change(r)
				return slices.Replace(body, at, at+size, with...), err
			}
			at += size
		}
	})
}

// nextRecord parses the record at the start of b; its size is 0 at the end
// mark.
func nextRecord(b []byte) (r record, size int, err error) {
	if bytes.HasPrefix(b, endMark) {
		return r, 0, nil
	}
	take := func() []byte {
		if len(b)-size < 4 {
			err = errors.New("it is damaged already")
			return nil
		}
		n := int(int32(binary.BigEndian.Uint32(b[size:])))
		size += 4
		if n == -1 {
			r.remove = true
			return nil
		}
		if n < 0 || n > len(b)-size {
			err = errors.New("it is damaged already")
			return nil
		}
		size += n
		return slices.Clone(b[size-n : size])
	}
	if r.key = take(); err == nil {
		r.value = take()
	}
	return r, size, err
}

package hdfs

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/sparkstate/sparkstate/statestore/codec"
	"github.com/sparkstate/sparkstate/statestore/provider"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksummed says whether the rows of a file carry a CRC-32C in front.
type checksummed uint8

const (
	unknown checksummed = iota // decided by the first record
	no
	yes
)

// scanner reads the records of one file, as entries: one whose value is nil is
// a remove. The slices of an entry are valid until the next call.
type scanner struct {
	*file
	snapshot bool
	rest     []byte // what is left of the current block
	carry    []byte // a record that spans blocks, put together
	limit    int64  // longest believable key or value, in bytes
	sums     checksummed
	misfit   bool // the records break the rules, whatever the codec says
	// odd, where it is not nil, takes the first thing that Spark lets pass and
	// that is damage all the same; reading then goes on as Spark does.
	odd *error
}

// scan opens a file of the partition for reading records.
func (p *Partition) scan(f provider.File) (*scanner, error) {
	fl, err := p.open(f.Name)
	if err != nil {
		return nil, err
	}
	s := &scanner{file: fl, snapshot: f.Kind == provider.SnapshotFile, limit: p.cfg.MaxRowBytes}
	if s.limit <= 0 {
		s.limit = believable(fl.dec.Codec(), fl.size)
	}
	if p.cfg.RowChecksum {
		s.sums = yes
	}
	return s, nil
}

// maxRow is the longest row that is believed unless Config.MaxRowBytes says
// otherwise, in bytes.
const maxRow = 128 << 20

// believable bounds the length of a row by the stored size of its file: LZ4
// cannot expand further than 255 times, LZF and Snappy less. zstd can, but
// rows that do are nobody's. What is not compressed does not expand.
func believable(c codec.Codec, size int64) int64 {
	if c == codec.None {
		return min(size, maxRow)
	}
	return min(1<<20+255*size, maxRow)
}

// batch reads records into dst, at least one of them, and returns how many; 0
// at the end mark. It stops short where a record needs a closer look, and at
// the end of a block.
func (s *scanner) batch(dst []provider.Entry) (int, error) {
	// Nearly every record lies within one block, and then needs no copy. What
	// is out of the ordinary in any way is left to next.
	n := 0
	if s.sums == no {
		b := s.rest
		for n < len(dst) && len(b) >= 8 {
			k := uint64(binary.BigEndian.Uint32(b))
			if k%8 != 0 || k > uint64(len(b))-8 {
				break
			}
			v := uint64(binary.BigEndian.Uint32(b[4+k:]))
			if v%8 != 0 || v > uint64(len(b))-8-k {
				break
			}
			dst[n] = provider.Entry{Key: b[4 : 4+k : 4+k], Value: b[8+k : 8+k+v : 8+k+v]}
			n++
			b = b[8+k+v:]
		}
		s.rest = b
	}
	if n > 0 {
		return n, nil
	}
	ok, err := s.next(&dst[0])
	if err != nil || !ok {
		return 0, err
	}
	return 1, nil
}

// next reads the next record into r; false at the end mark.
func (s *scanner) next(r *provider.Entry) (bool, error) {
	if b := s.rest; len(b) >= 8 {
		if k := int64(int32(binary.BigEndian.Uint32(b))); k >= 0 && k <= int64(len(b))-8 {
			v := int64(int32(binary.BigEndian.Uint32(b[4+k:])))
			switch {
			case v >= 0 && v <= int64(len(b))-8-k:
				r.Key, r.Value = b[4:4+k:4+k], b[8+k:8+k+v:8+k+v]
				s.rest = b[8+k+v:]
				return true, s.trim(r)
			case v == -1 && !s.snapshot:
				r.Key, r.Value = b[4:4+k:4+k], nil
				s.rest = b[8+k:]
				return true, s.trim(r)
			}
		}
	}
	return s.nextAcross(r)
}

// each calls fn with every batch of records, until fn returns false or the
// file ends or breaks. fn may reorder the batch.
func (s *scanner) each(ctx context.Context, fn func([]provider.Entry) bool) error {
	var batch [batchLen]provider.Entry
	for n := 0; ; n++ {
		if n&0x3f == 0x3f {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		got, err := s.batch(batch[:])
		if err != nil || got == 0 {
			return err
		}
		if !fn(batch[:got]) {
			return nil
		}
	}
}

// nextAcross reads a record that may span blocks, a remove or the end mark.
func (s *scanner) nextAcross(r *provider.Entry) (bool, error) {
	s.carry = s.carry[:0]
	if err := s.fill(4); err != nil {
		return false, err
	}
	k := int64(int32(binary.BigEndian.Uint32(s.carry)))
	if k < 0 {
		if k == -1 {
			return false, s.end()
		}
		return false, s.damage(provider.ErrCorrupt, choose(s.snapshot, condSnapshotKey, condDeltaKey), "a key of length %d", k)
	}
	if err := s.bound("key", k); err != nil {
		return false, err
	}
	if err := s.fill(4 + k + 4); err != nil {
		return false, err
	}
	v := int64(int32(binary.BigEndian.Uint32(s.carry[4+k:])))
	switch {
	case v >= 0:
		if err := s.bound("value", v); err != nil {
			return false, err
		}
		if err := s.fill(8 + k + v); err != nil {
			return false, err
		}
		r.Value = s.carry[8+k : 8+k+v : 8+k+v]
	case v == -1 && !s.snapshot:
		r.Value = nil
	case s.snapshot:
		return false, s.damage(provider.ErrCorrupt, condSnapshotValue, "a value of length %d in a snapshot", v)
	default:
		// Spark takes any negative length for a remove; its writers only ever
		// write -1, so this one is damage.
		if err := s.refuse("a value of length %d", v); err != nil {
			return false, err
		}
		r.Value = nil
	}
	r.Key = s.carry[4 : 4+k : 4+k]
	return true, s.trim(r)
}

// fill makes the carry n bytes long, from the current block and those after.
func (s *scanner) fill(n int64) error {
	for {
		take := min(n-int64(len(s.carry)), int64(len(s.rest)))
		s.carry = append(s.carry, s.rest[:take]...)
		s.rest = s.rest[take:]
		if int64(len(s.carry)) == n {
			return nil
		}
		b, err := s.dec.Next()
		if err == io.EOF {
			return s.damage(provider.ErrTruncated, condUncategorized, "the file ends without its end mark")
		}
		if err != nil {
			return provider.WithPath(uncategorized(err), s.path)
		}
		s.rest = b
	}
}

func (s *scanner) bound(what string, n int64) error {
	if n > s.limit {
		// Spark allocates it, and then misses the bytes unless that failed.
		return s.damage(provider.ErrTooLarge, choose(n > 1<<30, condMemory, condUncategorized), "a %s of %d bytes in a file of %d", what, n, s.size)
	}
	return nil
}

// end is met at the end mark. Spark reads no further, so whatever else is in
// the file is worth a warning and changes no row.
func (s *scanner) end() error {
	switch b, err := s.dec.Next(); {
	case len(s.rest) > 0 || err == nil && len(b) > 0:
		s.p.warn(s.damage(provider.ErrCorrupt, "", "bytes after the end mark"))
	case err != nil && err != io.EOF:
		s.p.warn(provider.WithPath(err, s.path))
	}
	s.finish()
	return nil
}

// trim cuts off what is not row bytes, and checks what is left.
func (s *scanner) trim(r *provider.Entry) error {
	if s.sums != no {
		if err := s.cutChecksum(r); err != nil {
			return err
		}
	}
	if len(r.Key)%8 != 0 {
		if err := s.refuse("a key of %d bytes; rows are multiples of 8", len(r.Key)); err != nil {
			return err
		}
	}
	if n := len(r.Value) % 8; n != 0 {
		if n != 4 { // those are of Spark before 2.3
			if err := s.refuse("a value of %d bytes; rows are multiples of 8", len(r.Value)); err != nil {
				return err
			}
		}
		r.Value = r.Value[:len(r.Value)-n]
	}
	return nil
}

// refuse is for what Spark lets pass.
func (s *scanner) refuse(format string, a ...any) error {
	err := s.damage(provider.ErrCorrupt, "", format, a...)
	if s.odd == nil {
		return err
	}
	if *s.odd == nil {
		*s.odd = err
	}
	return nil
}

// cutChecksum verifies the CRC-32C in front of a row and cuts it off. In a
// put it covers key and value and stands before the value; in a remove it
// covers the key and stands before the key.
func (s *scanner) cutChecksum(r *provider.Entry) error {
	remove := r.Value == nil
	row := &r.Value
	if remove {
		row = &r.Key
	}
	ok := false
	if len(*row) >= 4 {
		sum := uint32(0)
		if !remove {
			sum = crc32.Update(0, castagnoli, r.Key)
		}
		sum = crc32.Update(sum, castagnoli, (*row)[4:])
		ok = sum == binary.LittleEndian.Uint32(*row)
	}
	if s.sums == unknown {
		// The conf that says so may be missing. Only a checksum makes the first
		// length 8k+4 and matches: the 4 stray bytes of old Sparks do not.
		s.sums = no
		if !ok || len(*row)%8 != 4 {
			return nil
		}
		s.sums = yes
	}
	if !ok {
		return s.damage(provider.ErrChecksum, condRowChecksum, "the checksum in front of a row does not match it")
	}
	*row = (*row)[4:]
	return nil
}

func (s *scanner) damage(kind error, condition, format string, a ...any) error {
	s.misfit = kind == provider.ErrCorrupt || kind == provider.ErrTooLarge
	return &provider.FileError{Path: s.path, Offset: s.dec.Offset(), Kind: kind, Condition: condition, Detail: fmt.Sprintf(format, a...)}
}

func choose(b bool, yes, no string) string {
	if b {
		return yes
	}
	return no
}

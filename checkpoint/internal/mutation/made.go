package mutation

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/sparkstate/sparkstate/statestore/codec"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
	"github.com/sparkstate/sparkstate/statestore/statetest"
)

// made describes what statetest writes: long chains with removes, blocks so
// small that every file has several, snapshots beside the deltas and one
// without what was before it, in the layouts of 3.5 and 4.1; and rows with
// checksums.
func made() []source {
	out := []source{
		{name: "made/small_blocks", files: func() (map[string][]byte, error) { return write("3.5", 1024, false) }},
		{name: "made/json_sums", files: func() (map[string][]byte, error) { return write("4.1", 0, false) }},
		{name: "made/row_sums", rowSums: true, files: func() (map[string][]byte, error) { return write("4.3", 1024, true) }},
	}
	for i := range out {
		out[i].codec, out[i].hdfs = codec.LZ4, true
	}
	return out
}

// collected is a sink that keeps what is written.
type collected map[string][]byte

func (c collected) WriteFile(name string, data []byte) error {
	c[name] = data
	return nil
}

func write(spark string, block int, rowSums bool) (map[string][]byte, error) {
	key, kerr := sqltype.ParseDDL("word STRING, n INT")
	value, verr := sqltype.ParseDDL("count BIGINT, note STRING, list ARRAY<INT>")
	if err := errors.Join(kerr, verr); err != nil {
		return nil, err
	}
	q := statetest.Query{Spark: spark, Partitions: 3, BlockSize: block, RowChecksums: rowSums, Sidecars: true, Operators: []statetest.Operator{
		{Name: "stateStoreSave", Stores: []statetest.Store{{Key: key, Value: value}}},
		{Name: "stateStoreSave", Stores: []statetest.Store{{Key: key, Value: value}}},
	}}
	files := collected{}
	w := statetest.NewWriter(q, files)
	for b := range 6 {
		for i := range 60 {
			n := (b*37 + i*11) % 90
			k := []any{fmt.Sprintf("word %d", n), n}
			if i%7 == 3 && b > 0 {
				w.Remove(0, "default", k)
				continue
			}
			v := []any{b*1000 + i, strings.Repeat("note ", n%9), []any{i, b, nil}}
			for op := range 2 {
				w.Put(op, "default", k, v)
			}
		}
		if err := w.Commit(); err != nil {
			return nil, err
		}
		if b == 2 || b == 4 {
			if err := w.Snapshot(0, "default"); err != nil {
				return nil, err
			}
		}
	}
	if err := w.Snapshot(1, "default", 1); err != nil {
		return nil, err
	}
	// Of one operator everything before the first snapshot has been cleaned up.
	maps.DeleteFunc(files, func(name string, _ []byte) bool {
		return strings.HasPrefix(name, "state/0/") && (strings.Contains(name, "1.delta") || strings.Contains(name, "2.delta"))
	})
	return files, nil
}

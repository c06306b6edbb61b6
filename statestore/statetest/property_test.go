package statetest_test

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore/codec"
	"github.com/sparkstate/sparkstate/statestore/internal/randrow"
	"github.com/sparkstate/sparkstate/statestore/placement"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
	"github.com/sparkstate/sparkstate/statestore/statetest"
	"github.com/sparkstate/sparkstate/statestore/unsaferow"
)

var special = randrow.Special{
	Interval: func(months, days int32, microseconds int64) any {
		return unsaferow.Interval{Months: months, Days: days, Microseconds: microseconds}
	},
	Nanos: func(microseconds int64, nanoseconds int16) any {
		return unsaferow.TimestampNanos{Microseconds: microseconds, Nanoseconds: nanoseconds}
	},
	Variant: func(value, metadata []byte) any { return unsaferow.Variant{Value: value, Metadata: metadata} },
	Geo:     func(srid int32, wkb []byte) any { return unsaferow.Geo{SRID: srid, WKB: wkb} },
}

// change is what a batch does to a key, by its number; nil removes it.
type change struct {
	key   int
	value []byte
}

// history is a state of random types, and what batches did to it.
type history struct {
	q       statetest.Query
	keys    [][]byte // different ones
	batches [][]change
	want    []map[string]string // after each batch
	placed  bool                // keys can be placed by their hash
}

func randomHistory(t *testing.T, r *rand.Rand) *history {
	t.Helper()
	key, value := randrow.Struct(r, 2), randrow.Struct(r, 3)
	h := &history{q: statetest.Query{
		Spark:      []string{"3.1.0", "3.3.0", "3.5", "4.0", "4.1", "4.3"}[r.IntN(6)],
		Partitions: 1 + r.IntN(4),
		Codec:      codec.Compressions()[r.IntN(len(codec.Compressions()))],
		Sidecars:   r.IntN(4) == 0,
		Operators:  []statetest.Operator{{Name: "stateStoreSave", Stores: []statetest.Store{{Key: key, Value: value}}}},
	}}
	if r.IntN(2) == 0 {
		h.q.BlockSize = 1024 << r.IntN(6) // what every codec has
	}
	h.q.RowChecksums = h.q.Spark == "4.3" && r.IntN(2) == 0
	_, err := placement.NewHasher(key, nil)
	h.placed = err == nil
	row := func(typ *sqltype.Type) []byte {
		b, err := unsaferow.Append(nil, typ, special.Value(r, typ, false).([]any))
		require.NoError(t, err, "%v", typ)
		return b
	}
	for range r.IntN(30) {
		if k := row(key); !slices.ContainsFunc(h.keys, func(x []byte) bool { return bytes.Equal(x, k) }) {
			h.keys = append(h.keys, k)
		}
	}
	state := map[string]string{}
	for range 1 + r.IntN(5) {
		var batch []change
		for range r.IntN(20) {
			if len(h.keys) == 0 {
				break
			}
			c := change{key: r.IntN(len(h.keys))}
			if k := string(h.keys[c.key]); r.IntN(3) == 0 {
				delete(state, k)
			} else {
				c.value = append([]byte{}, row(value)...)
				state[k] = string(c.value)
			}
			batch = append(batch, c)
		}
		h.batches = append(h.batches, batch)
		h.want = append(h.want, maps.Clone(state))
	}
	return h
}

// write writes the history, with whatever snapshots are asked for after each
// batch.
func (h *history) write(t *testing.T, m fstest.MapFS, snapshots func(w *statetest.Writer, version int64)) {
	t.Helper()
	w := statetest.NewWriter(h.q, statetest.Map(m, "."))
	for b, batch := range h.batches {
		for _, c := range batch {
			k, p := h.keys[c.key], h.partition(c.key)
			switch {
			case h.placed && c.value == nil:
				w.RemoveRow(0, "", k)
			case h.placed:
				w.PutRow(0, "", k, c.value)
			case c.value == nil:
				w.RemoveAt(0, "", p, k)
			default:
				w.PutAt(0, "", p, k, c.value)
			}
		}
		require.NoError(t, w.Commit())
		snapshots(w, int64(b)+1)
	}
}

// partition is where a key goes that Spark has no hash for.
func (h *history) partition(key int) int {
	f := fnv.New32()
	f.Write(h.keys[key])
	return int(f.Sum32()) % h.q.Partitions
}

// rowsOf returns the rows after a batch as bytes.
func rowsOf(t *testing.T, cp *checkpoint.Checkpoint, batch int64) map[string]string {
	t.Helper()
	s, err := cp.Store(0, "default")
	require.NoError(t, err)
	rows := map[string]string{}
	n, _ := s.Operator().Partitions()
	for p := range n {
		for e, err := range s.Entries(t.Context(), p, checkpoint.AtBatch(batch)) {
			require.NoError(t, err)
			rows[string(e.Key)] = string(e.Value)
		}
	}
	return rows
}

func open(t *testing.T, m fstest.MapFS) *checkpoint.Checkpoint {
	t.Helper()
	cp, err := checkpoint.OpenFS(m, ".", checkpoint.OnWarning(func(err error) { t.Error(err) }))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cp.Close()) })
	return cp
}

// each calls fn with random numbers that a failure names.
func each(t *testing.T, n int, fn func(t *testing.T, r *rand.Rand)) {
	for seed := range uint64(n) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { fn(t, rand.New(rand.NewPCG(seed, 26))) })
	}
}

// What is written is read: rows of any type, in any codec, after every batch,
// whatever snapshots there are. As Arrow records they make another checkpoint of
// the same state.
func TestWriteAndRead(t *testing.T) {
	each(t, 80, func(t *testing.T, r *rand.Rand) {
		h := randomHistory(t, r)
		m := fstest.MapFS{}
		h.write(t, m, func(w *statetest.Writer, _ int64) {
			for p := range h.q.Partitions {
				if r.IntN(3) == 0 {
					require.NoError(t, w.Snapshot(0, "", p))
				}
			}
		})
		cp := open(t, m)
		for b, want := range h.want {
			require.Equal(t, want, rowsOf(t, cp, int64(b)))
		}
		s, err := cp.Store(0, "default")
		require.NoError(t, err)
		require.NoError(t, s.Err())
		key, from := s.Key()
		require.Equal(t, checkpoint.Recorded, from)
		require.Equal(t, len(h.q.Operators[0].Stores[0].Key.Fields), len(key.Fields))

		if h.placed {
			twin := statetest.Query{Partitions: 3, Operators: h.q.Operators}
			statetest.RequireSame(t, cp, statetest.Open(t, twin, func(w *statetest.Writer) {
				for rec, err := range s.Records(t.Context()) {
					require.NoError(t, err)
					w.PutRecord(0, "", rec)
					rec.Release()
				}
				require.NoError(t, w.Commit())
			}))
		}
	})
}

// The state does not depend on which versions have a snapshot, nor on what was
// cleaned up below one.
func TestAnyOrderOfSnapshots(t *testing.T) {
	each(t, 25, func(t *testing.T, r *rand.Rand) {
		h := randomHistory(t, r)
		last := len(h.batches) - 1
		for range 4 {
			m := fstest.MapFS{}
			clean := map[int]int64{} // below which version, by partition
			h.write(t, m, func(w *statetest.Writer, version int64) {
				for p := range h.q.Partitions {
					if r.IntN(2) == 0 {
						require.NoError(t, w.Snapshot(0, "", p))
						if r.IntN(2) == 0 {
							clean[p] = version
						}
					}
				}
			})
			for p, below := range clean {
				for v := range below - 1 {
					for _, f := range []statetest.File{statetest.Delta(0, "", p, v+1), statetest.Snapshot(0, "", p, v+1)} {
						for _, name := range []string{f.String(), f.HadoopCRC().String(), f.SparkCRC().String(), f.SparkCRC().HadoopCRC().String()} {
							delete(m, name)
						}
					}
				}
			}
			cp := open(t, m)
			require.Equal(t, h.want[last], rowsOf(t, cp, int64(last)))
			statetest.RequireWhole(t, cp)
		}
	})
}

// Blocks end at every byte of a file once: in a length, a key, a value, the end
// mark, and behind it.
func TestBlocksEndAnywhere(t *testing.T) {
	op := statetest.Aggregation("k STRING", "n BIGINT, s STRING")
	for _, c := range codec.Compressions() {
		smallest, _, _ := c.BlockSizes()
		var rows []statetest.Row
		length := 32 // of the file's records: those of a removed row, and the end mark
		for i := 0; length < smallest+80; i++ {
			r := statetest.Row{Key: []any{strings.Repeat("k", i)}, Value: []any{i, strings.Repeat("value", i)}}
			rows = append(rows, r)
			length += 4 + 16 + (i+7)/8*8 + 4 + 24 + (5*i+7)/8*8
		}
		for block := smallest; block <= length+1; block++ {
			cp := statetest.Open(t, statetest.Query{Partitions: 1, Codec: c, BlockSize: block, Operators: []statetest.Operator{op}}, func(w *statetest.Writer) {
				for _, r := range rows {
					w.Put(0, "", r.Key, r.Value)
				}
				w.Remove(0, "", []any{"none"})
				require.NoError(t, w.Commit())
			})
			statetest.RequireRows(t, cp, 0, "", rows)
		}
	}
}

// Nothing is something too: no rows, no columns, no bytes, no batches' work.
func TestEmptyEverything(t *testing.T) {
	for _, c := range codec.Compressions() {
		for _, columns := range []string{"", "s STRING", "v VOID", "a ARRAY<STRING>, m MAP<STRING, STRING>, x BINARY"} {
			op := statetest.Operator{Name: "stateStoreSave", OneTask: true, Stores: []statetest.Store{{Key: ddl(t, columns), Value: ddl(t, columns)}}}
			empty := map[string][]any{"": {}, "s STRING": {""}, "v VOID": {nil}}[columns]
			if empty == nil {
				empty = []any{[]any{}, [][2]any{}, []byte{}}
			}
			cp := statetest.Open(t, statetest.Query{Spark: "4.0", Partitions: 1, Codec: c, Operators: []statetest.Operator{op}}, func(w *statetest.Writer) {
				require.NoError(t, w.Commit())
				require.NoError(t, w.Snapshot(0, ""))
				w.Put(0, "", empty, empty)
				require.NoError(t, w.Commit())
				require.NoError(t, w.Snapshot(0, ""))
				w.Remove(0, "", empty)
				require.NoError(t, w.Commit())
				require.NoError(t, w.Snapshot(0, ""))
			})
			statetest.RequireRows(t, cp, 0, "", nil, checkpoint.AtBatch(0))
			statetest.RequireRows(t, cp, 0, "", []statetest.Row{{Key: empty, Value: empty}}, checkpoint.AtBatch(1))
			statetest.RequireRows(t, cp, 0, "", nil)
			statetest.RequireWhole(t, cp)
		}
	}
}

package statetest_test

import (
	"fmt"
	"math"
	"math/big"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore/codec"
	"github.com/sparkstate/sparkstate/statestore/statetest"
	"github.com/sparkstate/sparkstate/statestore/unsaferow"
)

// failure is a test that is expected to end.
type failure struct {
	testing.TB
	said string
}

func (f *failure) Helper() {}

func (f *failure) Fatal(args ...any) {
	f.said = strings.TrimSuffix(fmt.Sprintln(args...), "\n")
	runtime.Goexit()
}

func (f *failure) Fatalf(format string, args ...any) { f.Fatal(fmt.Sprintf(format, args...)) }

// said returns how a test ends; "" if it goes on.
func said(t *testing.T, check func(t testing.TB)) string {
	t.Helper()
	f := &failure{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		check(f)
	}()
	<-done
	return f.said
}

func wordCount(t testing.TB, rows ...[]any) *checkpoint.Checkpoint {
	return statetest.Open(t, statetest.Query{Partitions: 3, Spark: "4.1", Operators: []statetest.Operator{
		statetest.Aggregation("word STRING", "count BIGINT, last TIMESTAMP")}}, func(w *statetest.Writer) {
		for _, r := range rows {
			w.Put(0, "", r[:1], r[1:])
		}
		w.Commit()
	})
}

// The difference is one that people can read: what is missing, what is extra,
// and which columns differ.
func TestRequireRows(t *testing.T) {
	at := time.Date(2026, 1, 5, 9, 0, 0, 5000, time.UTC)
	cp := wordCount(t, []any{"a", 1, at}, []any{"b", 2, nil}, []any{"c", 3, at}, []any{"d", 4, nil})
	row := func(word string, n any, last any) statetest.Row {
		return statetest.Row{Key: []any{word}, Value: []any{n, last}}
	}
	statetest.RequireRows(t, cp, 0, "default", []statetest.Row{row("d", uint8(4), nil), row("a", int64(1), at.UnixMicro()), row("c", 3, at), row("b", 2, nil)})

	got := said(t, func(t testing.TB) {
		statetest.RequireRows(t, cp, 0, "", []statetest.Row{row("a", 5, at), row("b", 2, at), row("c", 3, at), row("e\n", nil, nil)})
	})
	assert.Equal(t, `operator stateStoreSave_0, store default, batch 0: the rows are not those wanted: 1 missing, 1 extra, 2 different
  missing  {word: "e\n"} → {count: null, last: null}
  extra    {word: "d"} → {count: 4, last: null} in partition 1
  differs  {word: "a"}: count is 1, wanted 5 in partition 2
  differs  {word: "b"}: last is null, wanted 2026-01-05T09:00:00.000005Z in partition 2`, got)

	for want, check := range map[string]func(t testing.TB){
		"row 0 that is wanted: value: unsaferow: 1 values for 2 fields; the columns are count BIGINT, last TIMESTAMP": func(t testing.TB) {
			statetest.RequireRows(t, cp, 0, "", []statetest.Row{{Key: []any{"a"}, Value: []any{1}}})
		},
		"key: unsaferow: column word: cannot write a int as STRING": func(t testing.TB) {
			statetest.RequireRows(t, cp, 0, "", []statetest.Row{{Key: []any{1}, Value: []any{1, nil}}})
		},
		"left":    func(t testing.TB) { statetest.RequireRows(t, cp, 0, "left", nil) },
		"batch 7": func(t testing.TB) { statetest.RequireRows(t, cp, 0, "", nil, checkpoint.AtBatch(7)) },
		"side":    func(t testing.TB) { statetest.RequireJoin(t, cp, 0, checkpoint.Left, nil) },
		"9":       func(t testing.TB) { statetest.RequireJoin(t, cp, 9, checkpoint.Left, nil) },
	} {
		assert.Contains(t, said(t, check), want)
	}
	_, err := statetest.Rows(t.Context(), cp, 9, "")
	require.ErrorIs(t, err, checkpoint.ErrNotFound)
	_, err = statetest.JoinRows(t.Context(), cp, 0, checkpoint.Left)
	require.Error(t, err)
}

// Of many rows and of long ones a part is shown.
func TestRequireRowsIsBounded(t *testing.T) {
	var rows [][]any
	var want []statetest.Row
	for i := range 40 {
		word := fmt.Sprint(strings.Repeat("long", 100), i)
		rows = append(rows, []any{word, 1, nil})
		if i%2 == 0 {
			want = append(want, statetest.Row{Key: []any{word}, Value: []any{2, nil}})
		} else {
			want = append(want, statetest.Row{Key: []any{word + "!"}, Value: []any{2, nil}})
		}
	}
	got := said(t, func(t testing.TB) { statetest.RequireRows(t, wordCount(t, rows...), 0, "", want) })
	assert.Contains(t, got, "the rows are not those wanted: 20 missing, 20 extra, 20 different")
	assert.Contains(t, got, "\n  and 10 more missing\n")
	assert.Contains(t, got, "\n  and 10 more extra\n")
	assert.Contains(t, got, "\n  and 10 more different")
	assert.Less(t, len(got), 12_000)
	assert.Contains(t, got, "… (4")
}

// Every type is shown so that one sees what it is, and compared as Spark would
// store it.
func TestRequireRowsOfAllTypes(t *testing.T) {
	store := statetest.Store{Key: ddl(t, "k INT"), Value: ddl(t, `b BOOLEAN, f FLOAT, d DOUBLE, x BINARY, day DATE, ts TIMESTAMP, ntz TIMESTAMP_NTZ, t TIME(6), dec DECIMAL(30,3),
		ym INTERVAL YEAR TO MONTH, iv INTERVAL, v VARIANT, nanos TIMESTAMP_LTZ(9), a ARRAY<STRUCT<p: INT, q: STRING>>, m MAP<STRING, BINARY>, none VOID`)}
	values := func(dec int64) []any {
		return []any{true, float32(1.5), math.NaN(), []byte{1, 255}, 20000, 1, 1, 3_600_000_000_001, big.NewInt(dec), 14,
			unsaferow.Interval{Months: 1, Days: 2, Microseconds: 3}, unsaferow.Variant{Value: []byte{12, 1}, Metadata: []byte{1, 0, 0}},
			unsaferow.TimestampNanos{Microseconds: 7, Nanoseconds: 9}, []any{[]any{1, "x"}, nil}, [][2]any{{"k", []byte("v")}}, nil}
	}
	cp := statetest.Open(t, statetest.Query{Partitions: 1, Operators: []statetest.Operator{{Stores: []statetest.Store{store}}}}, func(w *statetest.Writer) {
		w.Put(0, "", []any{1}, values(12345))
		w.Commit()
	})
	statetest.RequireRows(t, cp, 0, "", []statetest.Row{{Key: []any{1}, Value: values(12345)}})
	assert.Contains(t, said(t, func(t testing.TB) {
		statetest.RequireRows(t, cp, 0, "", []statetest.Row{{Key: []any{1}, Value: values(12346)}})
	}),
		"differs  {k: 1}: dec is 12.345, wanted 12.346 in partition 0")
	got, err := statetest.Rows(t.Context(), cp, 0, "")
	require.NoError(t, err)
	require.Len(t, got, 1)
	statetest.RequireRows(t, cp, 0, "", got)
	// As two columns of which each is short enough to be shown whole.
	assert.Contains(t, said(t, func(t testing.TB) { statetest.RequireRows(t, cp, 0, "", nil) }),
		`{b: true, f: 1.5, d: NaN, x: 0x01ff, day: 2024-10-04, ts: 1970-01-01T00:00:00.000001Z, ntz: 1970-01-01T00:00:00.000001, t: 01:00:00.000000001, dec: 12.345, ym: 14, iv: {Months:1 Days:2 Microseconds:3}`)
}

// Two checkpoints of the same state are the same, whatever their files.
func TestRequireSame(t *testing.T) {
	state := func(t testing.TB, q statetest.Query, counts ...int) *checkpoint.Checkpoint {
		q.Operators = []statetest.Operator{statetest.Aggregation("word STRING", "count BIGINT"), statetest.Dedupe("word STRING")}
		return statetest.Open(t, q, func(w *statetest.Writer) {
			for i, n := range counts {
				w.Put(0, "", []any{fmt.Sprint("word ", i)}, []any{n})
			}
			w.Put(1, "", []any{"x"}, nil)
			require.NoError(t, w.Commit())
			require.NoError(t, w.Snapshot(0, ""))
		})
	}
	a := state(t, statetest.Query{Partitions: 3, Spark: "4.0"}, 1, 2, 3)
	statetest.RequireSame(t, a, a)
	statetest.RequireSame(t, a, state(t, statetest.Query{Partitions: 5, Codec: codec.Zstd, Spark: "4.3", RowChecksums: true}, 1, 2, 3))
	b := state(t, statetest.Query{Partitions: 4, Spark: "4.0"}, 1, 5, 3, 4)
	assert.Equal(t, `operator stateStoreSave_0, store default, batch 0: the rows are not those wanted: 0 missing, 1 extra, 1 different
  extra    {word: "word 3"} → {count: 4} in partition 2
  differs  {word: "word 1"}: count is 5, wanted 2 in partition 1`, said(t, func(t testing.TB) { statetest.RequireSame(t, a, b) }))
	assert.Contains(t, said(t, func(t testing.TB) { statetest.RequireSame(t, b, a) }), "the rows are not those wanted: 1 missing, 0 extra, 1 different\n  missing  {word: \"word 3\"}")
	assert.Contains(t, said(t, func(t testing.TB) { statetest.RequireSame(t, a, wordCount(t)) }),
		"the checkpoints have other stores: wanted [operator 0, store default; operator 1, store default], got [operator 0, store default]")
	other := statetest.Open(t, statetest.Query{Operators: []statetest.Operator{statetest.Aggregation("word STRING", "count INT"), statetest.Dedupe("word STRING")}, Partitions: 1},
		func(w *statetest.Writer) { w.Commit() })
	assert.Contains(t, said(t, func(t testing.TB) { statetest.RequireSame(t, a, other) }), "value column 0 (count) is BIGINT in the first, INT in the second")
}

// Without schemas rows are shown as bytes.
func TestRequireSameWithoutSchemas(t *testing.T) {
	state := func(t testing.TB, n int) *checkpoint.Checkpoint {
		return statetest.Open(t, statetest.Query{Spark: "3.0", Partitions: 1, Operators: []statetest.Operator{statetest.Aggregation("k BIGINT", "n BIGINT")}},
			func(w *statetest.Writer) {
				w.Put(0, "", []any{1}, []any{n})
				w.Commit()
			})
	}
	assert.Contains(t, said(t, func(t testing.TB) { statetest.RequireSame(t, state(t, 1), state(t, 2)) }),
		"differs  0x00000000000000000100000000000000: 0x00000000000000000200000000000000, wanted 0x00000000000000000100000000000000 in partition 0")
	assert.Contains(t, said(t, func(t testing.TB) { statetest.RequireRows(t, state(t, 1), 0, "", nil) }), "schema")
}

// A checkpoint that cannot be written ends the test, and so does one that is
// damaged.
func TestRequireWhole(t *testing.T) {
	assert.Contains(t, said(t, func(t testing.TB) {
		statetest.Open(t, statetest.Query{Spark: "?"}, func(*statetest.Writer) {})
	}), "no version")
	assert.Contains(t, said(t, func(t testing.TB) { statetest.Open(t, statetest.Query{}, func(*statetest.Writer) {}) }), "does not exist")

	m := fstest.MapFS{}
	files := statetest.Map(m, ".")
	w := statetest.NewWriter(statetest.Query{Partitions: 1, Operators: []statetest.Operator{statetest.Dedupe("w STRING")}}, files)
	w.Put(0, "", []any{"a"}, nil)
	require.NoError(t, w.Commit())
	require.NoError(t, statetest.Damage(files, statetest.Truncate(statetest.Delta(0, "", 0, 1), -30)))
	cp, err := checkpoint.OpenFS(m, ".")
	require.NoError(t, err)
	defer cp.Close()
	assert.Contains(t, said(t, func(t testing.TB) { statetest.RequireWhole(t, cp) }), "the checkpoint is not whole:\n  critical: file-truncated: operator 0 (dedupe), partition 0")
	assert.Contains(t, said(t, func(t testing.TB) { statetest.RequireRows(t, cp, 0, "", nil) }), "state/0/0/1.delta")
	assert.Contains(t, said(t, func(t testing.TB) { statetest.RequireSame(t, cp, cp) }), "state/0/0/1.delta")
}

// When rows expire or time out is shown as a time, whatever unit it is kept in.
func TestRequireRowsShowsTimes(t *testing.T) {
	at := time.Date(2026, 1, 5, 9, 0, 0, 5e6, time.UTC)
	for name, op := range map[string]statetest.Operator{
		"expiresAtMicros":  statetest.DedupeWithinWatermark("w STRING"),
		"timeoutTimestamp": statetest.FlatMapGroupsWithState("w STRING", "n INT", true),
	} {
		value := func(end any) []any {
			if name == "expiresAtMicros" {
				return []any{end}
			}
			return []any{nil, end}
		}
		cp := statetest.Open(t, statetest.Query{Partitions: 1, Operators: []statetest.Operator{op}}, func(w *statetest.Writer) {
			w.Put(0, "", []any{"a"}, value(at))
			w.Put(0, "", []any{"b"}, value(-1))
			w.Commit()
		})
		got := said(t, func(t testing.TB) {
			statetest.RequireRows(t, cp, 0, "", []statetest.Row{
				{Key: []any{"a"}, Value: value(at.Add(time.Second))},
				{Key: []any{"b"}, Value: value(at)},
			})
		})
		assert.Contains(t, got, `{w: "a"}: `+name+` is 2026-01-05T09:00:00.005Z, wanted 2026-01-05T09:00:01.005Z in partition 0`)
		assert.Contains(t, got, `{w: "b"}: `+name+` is -1, wanted 2026-01-05T09:00:00.005Z in partition 0`)
	}
}

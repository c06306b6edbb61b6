package statetest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
)

// Open writes a checkpoint into memory and opens it; it is closed with the test.
//
//	cp := statetest.Open(t, q, func(w *statetest.Writer) {
//		w.Put(0, "", []any{"a"}, []any{1})
//		w.Commit()
//	})
//
// Errors of the Writer end the test, also those that write has not looked at.
func Open(t testing.TB, q Query, write func(w *Writer)) *checkpoint.Checkpoint {
	t.Helper()
	m := fstest.MapFS{}
	w := NewWriter(q, Map(m, "checkpoint"))
	write(w)
	if w.err != nil {
		t.Fatal(w.err)
	}
	cp, err := checkpoint.OpenFS(m, "checkpoint")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cp.Close(); err != nil {
			t.Error(err)
		}
	})
	return cp
}

// RequireRows ends the test unless a store has exactly these rows, in any order.
// The message lists rows that are missing, that are extra, and that differ,
// column by column; a few of each.
//
//	statetest.RequireRows(t, cp, 0, "", []statetest.Row{
//		{Key: []any{"a"}, Value: []any{3}},
//	}, checkpoint.AtBatch(1))
//
// Values are equal if Spark would store them as the same bytes: 1 of any Go
// integer type is the 1 of a long, every NaN is equal to itself, and -0.0 is not
// 0.0. When a row expires or times out may be a time.Time, as for Put.
//
// The rows are those that Spark keeps, with all columns of the store. For most
// kinds of operator they are what Put takes; where they are not, the operator's
// function says so.
func RequireRows(t testing.TB, cp *checkpoint.Checkpoint, operator int, store string, want []Row, opts ...checkpoint.Option) {
	t.Helper()
	v, err := storeView(t.Context(), cp, operator, store, opts)
	if err != nil {
		t.Fatal(err)
	}
	v.require(t, want)
}

// RequireJoin ends the test unless a side of a join holds exactly these input
// rows, in any order: the key are the columns that are joined by, the value the
// columns of the input.
func RequireJoin(t testing.TB, cp *checkpoint.Checkpoint, operator int, side checkpoint.Side, want []Row, opts ...checkpoint.Option) {
	t.Helper()
	v, err := joinView(t.Context(), cp, operator, side, opts)
	if err != nil {
		t.Fatal(err)
	}
	v.require(t, want)
}

// RequireSame ends the test unless two checkpoints have the same state: the same
// operators with the same stores, and in each the same rows, byte for byte. In
// which partitions, files and codecs the rows are makes no difference. The
// options, if any, are those of both; the message is as that of [RequireRows],
// of which want is the first checkpoint.
func RequireSame(t testing.TB, want, got *checkpoint.Checkpoint, opts ...checkpoint.Option) {
	t.Helper()
	var out strings.Builder
	stores := func(cp *checkpoint.Checkpoint) (list []string) {
		for _, op := range cp.Operators() {
			for _, s := range op.Stores() {
				list = append(list, fmt.Sprintf("operator %d, store %s", op.ID(), s.Name()))
			}
		}
		return list
	}
	if a, b := stores(want), stores(got); !slices.Equal(a, b) {
		t.Fatalf("the checkpoints have other stores: wanted [%s], got [%s]", strings.Join(a, "; "), strings.Join(b, "; "))
	}
	for _, op := range want.Operators() {
		for _, s := range op.Stores() {
			other, err := got.Store(op.ID(), s.Name())
			if err == nil {
				err = same(t.Context(), &out, s, other, opts)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if out.Len() > 0 {
		t.Fatal(out.String())
	}
}

func same(ctx context.Context, out *strings.Builder, want, got *checkpoint.Store, opts []checkpoint.Option) error {
	d, err := checkpoint.Compare(ctx, checkpoint.State{Store: want, Options: opts}, checkpoint.State{Store: got, Options: opts})
	if err != nil {
		return fmt.Errorf("operator %s, store %s: %w", want.Operator().Label(), want.Name(), err)
	}
	r := report{key: d.Key(), value: d.Value(), times: numberedTimes(want)}
	for x, err := range d.Differences(ctx) {
		if err != nil {
			return err
		}
		switch x.Kind {
		case checkpoint.Removed:
			r.missing = append(r.missing, encoded{key: x.Key, value: x.Before})
		case checkpoint.Added:
			r.extra = append(r.extra, encoded{key: x.Key, value: x.After, partition: x.Partition})
		default:
			r.other = append(r.other, [2]encoded{{key: x.Key, value: x.Before}, {key: x.Key, value: x.After, partition: x.Partition}})
		}
	}
	at := d.After()
	r.write(out, fmt.Sprintf("operator %s, store %s, batch %d", want.Operator().Label(), want.Name(), at.Batch))
	return nil
}

// RequireWhole ends the test if checking a checkpoint, the rows included, finds
// anything that is more than a remark.
func RequireWhole(t testing.TB, cp *checkpoint.Checkpoint) {
	t.Helper()
	r, err := cp.Check(t.Context(), checkpoint.DeepCheck)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, f := range r.Findings {
		if f.Severity > checkpoint.Info {
			fmt.Fprintf(&out, "\n  %v: %s: %s", f.Severity, f.ID, strings.TrimPrefix(f.Place(cp)+": "+f.What, ": "))
		}
	}
	if out.Len() > 0 {
		t.Fatal("the checkpoint is not whole:" + out.String())
	}
}

// encoded is a row as Spark would write it.
type encoded struct {
	key, value []byte
	partition  int
}

func encodeRow(key, value *sqltype.Type, r Row) (e encoded, err error) {
	e.partition = r.Partition
	if e.key, err = appendValues(nil, key, r.Key); err != nil {
		return e, fmt.Errorf("key: %w", err)
	}
	if e.value, err = appendValues(nil, value, r.Value); err != nil {
		return e, fmt.Errorf("value: %w", err)
	}
	return e, nil
}

// numbers puts numbers in the place of times where the column has one.
func (v *view) numbers(value []any) []any {
	for i, unit := range v.times {
		if i >= len(value) {
			continue
		}
		if t, ok := value[i].(time.Time); ok {
			value = slices.Clone(value)
			if value[i] = t.UnixMilli(); unit == checkpoint.Microseconds {
				value[i] = t.UnixMicro()
			}
		}
	}
	return value
}

// require compares the rows of a view. What was stored is encoded anew, since
// rows of equal values need not have equal bytes.
func (v *view) require(t testing.TB, want []Row) {
	t.Helper()
	rows, err := v.read()
	if err != nil {
		t.Fatal(err)
	}
	r := report{key: v.key, value: v.value, times: v.times}
	left := make(map[string][]encoded) // by key
	for _, row := range rows {
		e, err := encodeRow(v.key, v.value, row)
		if err != nil {
			t.Fatalf("%s: %v", v.name, err)
		}
		left[string(e.key)] = append(left[string(e.key)], e)
	}
	var unmet []encoded
	for i, row := range want {
		row.Value = v.numbers(row.Value)
		w, err := encodeRow(v.key, v.value, row)
		if err != nil {
			t.Fatalf("%s: row %d that is wanted: %v", v.name, i, err)
		}
		same := left[string(w.key)]
		if at := slices.IndexFunc(same, func(e encoded) bool { return bytes.Equal(e.value, w.value) }); at >= 0 {
			left[string(w.key)] = slices.Delete(same, at, at+1)
		} else {
			unmet = append(unmet, w)
		}
	}
	for _, w := range unmet {
		if same := left[string(w.key)]; len(same) > 0 {
			r.other = append(r.other, [2]encoded{w, same[0]})
			left[string(w.key)] = same[1:]
		} else {
			r.missing = append(r.missing, w)
		}
	}
	for _, rows := range left {
		r.extra = append(r.extra, rows...)
	}
	slices.SortFunc(r.extra, func(a, b encoded) int { return bytes.Compare(a.key, b.key) })
	var out strings.Builder
	r.write(&out, v.name)
	if out.Len() > 0 {
		t.Fatal(out.String())
	}
}

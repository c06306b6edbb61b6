package mutation

import (
	"context"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore/codec"
	"github.com/sparkstate/sparkstate/statestore/statetest"
)

func subjects(t testing.TB) []*Subject {
	t.Helper()
	all, err := Subjects(os.DirFS("../../../testdata"))
	require.NoError(t, err)
	return all
}

func subject(t testing.TB, name string) *Subject {
	t.Helper()
	all := subjects(t)
	i := slices.IndexFunc(all, func(s *Subject) bool { return s.String() == name })
	require.GreaterOrEqual(t, i, 0, name)
	return all[i]
}

// A few hundred mutations of some of the subjects, each codec among them, with
// and without .crc files. The command has the rest.
func TestMutations(t *testing.T) {
	var some []*Subject
	for i, s := range subjects(t) {
		if i%37 == 0 {
			some = append(some, s)
		}
	}
	table, err := Run(t.Context(), some, Config{Seed: 1, N: 20 * len(some)})
	require.NoError(t, err)
	for _, r := range table.Faulty {
		t.Errorf("%s %s: %s", r.Subject, r.Mutation, strings.Join(r.Faults, "; "))
	}
	assert.Equal(t, 20*len(some), table.N())
	var out strings.Builder
	_, err = table.WriteTo(&out)
	require.NoError(t, err)
	t.Log("\n" + out.String())
	for _, c := range codecs {
		assert.Contains(t, out.String(), "state, "+c.String()+", bytes changed")
	}
}

// What nothing can know passes, and is counted as such; what a sum or the
// codec knows is noticed.
func TestOutcomes(t *testing.T) {
	delta := func(p int, v int64) statetest.File { return statetest.Delta(0, "", p, v) }
	swap := []statetest.Fault{statetest.Swap(delta(1, 6), delta(2, 6))}
	flip := []statetest.Fault{statetest.FlipByte(delta(1, 6), -40, 0x10)}
	for _, c := range []struct {
		subject string
		kind    Kind
		faults  []statetest.Fault
		want    Outcome
		found   bool
	}{
		{"made/small_blocks:snappy:bare", Partitions, swap, Passed, true},
		{"made/small_blocks:snappy:sums", Partitions, swap, Noticed, true},
		{"made/small_blocks:lz4:sums", Partitions, swap, Noticed, true},
		{"made/small_blocks:lz4:bare", Flip, flip, Noticed, true},
		{"made/json_sums:none:sums", Flip, flip, Noticed, true},
		{"made/json_sums:none:bare", Duplicate, []statetest.Fault{statetest.Copy(delta(1, 6), statetest.Path("state/0/1/6.delta.bak"))}, Harmless, false},
		{"made/json_sums:none:bare", Remove, []statetest.Fault{statetest.Drop(delta(1, 6))}, Noticed, true},
	} {
		s := subject(t, c.subject)
		m, o, err := prepare(t.Context(), s)
		require.NoError(t, err)
		d := damage(m.tree)
		require.NoError(t, statetest.Damage(d, c.faults...))
		r := Result{Mutation: Mutation{Class: State, Kind: c.kind}, Subject: s}
		examine(t.Context(), o, d, rand.New(rand.NewPCG(1, 1)), &r)
		assert.Empty(t, r.Faults, "%s %v", s, c.faults)
		assert.Equal(t, c.want, r.Outcome, "%s %v: %v", s, c.faults, r.Outcome)
		assert.Equal(t, c.found, r.Found, "%s %v", s, c.faults)
	}
}

// The examination sees wrong rows, failing reads without a finding, and panics.
func TestFaultsAreSeen(t *testing.T) {
	s := subject(t, "made/small_blocks:lz4:sums")
	m, o, err := prepare(t.Context(), s)
	require.NoError(t, err)
	examined := func(o *oracle, rnd *rand.Rand) []string {
		d := damage(m.tree)
		// Nothing that matters, so that everything is read.
		require.NoError(t, statetest.Damage(d, statetest.Copy(statetest.QueryID(), statetest.Path("metadata.bak"))))
		r := Result{Mutation: Mutation{Class: Metadata, Kind: Flip}, Subject: s}
		examine(t.Context(), o, d, rnd, &r)
		return r.Faults
	}
	seeded := func() *rand.Rand { return rand.New(rand.NewPCG(1, 1)) }
	assert.Empty(t, examined(o, seeded()))

	// An oracle that says otherwise stands for a library that is wrong.
	wrong := *o
	so := *o.stores[0]
	so.rows, so.changes, so.skewed = maps.Clone(so.rows), maps.Clone(so.changes), slices.Clone(so.skewed)
	last := at{o.last, 1}
	so.rows[last] = rows{hashes: append(slices.Clone(so.rows[last].hashes), 1)}
	so.changes[last]++
	wrong.stores = []*storeOracle{&so}
	got := strings.Join(examined(&wrong, seeded()), "\n")
	assert.Contains(t, got, "wrong rows, and nothing said: entries")
	assert.Contains(t, got, "wrong rows, and nothing said: changes")
	assert.Contains(t, got, "salvage")

	so.rows = o.stores[0].rows
	so.skewed[0]++
	so.records = map[int][]arrow.Record{}
	got = strings.Join(examined(&wrong, seeded()), "\n")
	assert.Contains(t, got, "skew")
	assert.Contains(t, got, "records")

	so.batches, so.skewed, so.records, so.changes = []int64{99}, nil, nil, o.stores[0].changes
	wrong.last = 99
	got = strings.Join(examined(&wrong, nil), "\n")
	assert.Contains(t, got, "panic")
	assert.Contains(t, got, "exam_store.go")
}

// Seed and number decide everything.
func TestReproducible(t *testing.T) {
	all := subjects(t)
	const number = 4711
	a, err := One(t.Context(), all, 7, number)
	require.NoError(t, err)
	b, err := One(t.Context(), all, 7, number)
	require.NoError(t, err)
	assert.Equal(t, a.What, b.What)
	assert.Equal(t, a.Outcome, b.Outcome)
	assert.Equal(t, all[number%len(all)], a.Subject)
	other, err := One(t.Context(), all, 8, number)
	require.NoError(t, err)
	assert.NotEqual(t, a.What, other.What)
}

// Every class and kind is drawn, and what is drawn can be done.
func TestDraws(t *testing.T) {
	m, _, err := prepare(t.Context(), subject(t, "4.1.4/ad_billing:snappy:sums"))
	require.NoError(t, err)
	seen := map[string]int{}
	for n := range 2000 {
		d, mutation, _, err := m.mutate(1, n)
		require.NoError(t, err)
		require.NotEmpty(t, d.changed)
		seen[string(mutation.Class)]++
		seen[string(mutation.Kind)]++
	}
	for _, c := range Classes {
		assert.NotZero(t, seen[string(c)], c)
	}
	for _, k := range Kinds {
		assert.NotZero(t, seen[string(k)], k)
	}
}

// The damaged tree is a file system like any other.
func TestTree(t *testing.T) {
	files := map[string][]byte{"a": []byte("1"), "d/b": []byte("22"), "d/e/c": nil, "d/e/f": []byte("4")}
	d := damage(newTree(files))
	require.NoError(t, fstest.TestFS(d, "a", "d/b", "d/e/c", "d/e/f"))
	require.NoError(t, statetest.Damage(d, statetest.Copy(statetest.Path("a"), statetest.Path("d/g")), statetest.Empty(statetest.Path("d/b")),
		statetest.Drop(statetest.Path("d/e/c"), statetest.Path("d/e/f"))))
	require.NoError(t, fstest.TestFS(d, "a", "d/b", "d/g", "d/e"))
	assert.Equal(t, "22", string(files["d/b"]))
	assert.ErrorIs(t, d.Remove("d/e/c"), fs.ErrNotExist)
	assert.ErrorIs(t, d.WriteFile("x/y", nil), fs.ErrNotExist)
	_, err := d.ReadDir("a")
	assert.ErrorIs(t, err, fs.ErrInvalid)
}

// The rows of a subject are the same in every codec.
func TestSubjects(t *testing.T) {
	names := map[string]int{}
	for _, s := range subjects(t) {
		names[s.Name]++
	}
	assert.Equal(t, 2*len(codecs), names["4.3.0/join_inner"], "every codec, with and without .crc files")
	assert.Equal(t, 2, names["4.1.4/rocksdb_agg"])
	var first *oracle
	for _, c := range codecs {
		s := subject(t, "4.3.0/row_checksum:"+c.String()+":sums")
		m, o, err := prepare(t.Context(), s)
		require.NoError(t, err)
		for _, name := range m.names[State] {
			assert.Equal(t, c, codecOf(m.tree.files[name]))
		}
		if first == nil {
			first = o
		}
		assert.Equal(t, first.stores[0].rows, o.stores[0].rows)
		if c != codec.None {
			assert.Empty(t, o.warnings)
		}
	}
	_, err := Subjects(fstest.MapFS{})
	assert.ErrorIs(t, err, fs.ErrNotExist)
}

// A mutation that does not end ends the run.
func TestWatch(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	w := &watch{limit: 1, cancel: cancel}
	w.start(subject(t, "made/json_sums:lz4:bare"), 4711)
	<-ctx.Done()
	assert.ErrorIs(t, context.Cause(ctx), ErrHang)
	assert.ErrorContains(t, context.Cause(ctx), "made/json_sums:lz4:bare, mutation 4711")
	_, err := Run(ctx, subjects(t), Config{N: 10})
	assert.ErrorIs(t, err, ErrHang)
}

// An undamaged checkpoint that a check finds fault with is no subject.
func TestOracleMustBeWhole(t *testing.T) {
	files, err := subject(t, "made/json_sums:lz4:bare").load()
	require.NoError(t, err)
	delete(files, "state/1/0/4.delta")
	_, err = consult(t.Context(), newTree(files))
	assert.ErrorContains(t, err, "delta-missing")
	_, err = consult(t.Context(), newTree(map[string][]byte{"a": nil}))
	assert.ErrorIs(t, err, checkpoint.ErrNotCheckpoint)
}

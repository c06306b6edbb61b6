package skew_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/skew"
)

// travelled is a part after it was sent.
func travelled(t testing.TB, p *skew.Part) *skew.Part {
	b, err := p.MarshalBinary()
	require.NoError(t, err)
	out := new(skew.Part)
	require.NoError(t, out.UnmarshalBinary(b))
	again, err := out.MarshalBinary()
	require.NoError(t, err)
	require.Len(t, again, len(b))
	return out
}

// apart analyses a store as many machines would: every partition by itself,
// merged two by two in a random order, each part sent before and after.
func apart(t testing.TB, s *checkpoint.Store, o skew.Options, opts ...checkpoint.Option) *skew.Report {
	n, _ := s.Operator().Partitions()
	parts := []*skew.Part{new(skew.Part)}
	for p := range n {
		part, err := skew.Gather(t.Context(), s, o, []int{p}, opts...)
		require.NoError(t, err)
		parts = append(parts, travelled(t, part))
	}
	random := rand.New(rand.NewPCG(1, uint64(n)))
	for len(parts) > 1 {
		random.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		require.NoError(t, parts[0].Merge(parts[1]))
		parts[0] = travelled(t, parts[0])
		parts = slices.Delete(parts, 1, 2)
	}
	r, err := skew.Conclude(t.Context(), s, o, parts[0], opts...)
	require.NoError(t, err)
	return r
}

func asText(t testing.TB, r *skew.Report) string {
	b, err := json.Marshal(r.Chance)
	require.NoError(t, err)
	c := *r
	c.Chance = nil // printed as an address
	return fmt.Sprintf("%s %+v", b, c)
}

// TestParts: what many machines find apart is what one finds.
func TestParts(t *testing.T) {
	names, err := filepath.Glob("../testdata/*/*.zip")
	require.NoError(t, err)
	for _, name := range append(names, "../testdata/4.1.4/ad_billing", "../testdata/3.5.9/ad_billing") {
		cp, err := checkpoint.Open(name)
		require.NoError(t, err)
		defer cp.Close()
		if cp.Provider().Format != checkpoint.HDFS {
			continue
		}
		for _, op := range cp.Operators() {
			for _, s := range op.Stores() {
				measures := []string{skew.ByRows, skew.ByBytes, skew.ByChanges}
				if value, _ := s.Value(); value != nil && len(value.Fields) > 0 && value.Fields[0].Name == "count" {
					measures = append(measures, "value.count")
				}
				for _, m := range measures {
					o := skew.Options{Measure: m, WhatIf: []int{1, 7, 300}}
					want, err := skew.Analyze(t.Context(), s, o)
					require.NoError(t, err)
					require.Equal(t, asText(t, want), asText(t, apart(t, s, o)), "%s %s %s %s", name, op.Label(), s.Name(), m)
				}
			}
		}
	}
}

// TestPartsOfMany: where keys are more than are counted exactly, all that is
// exact is the same, and what is estimated within its error.
func TestPartsOfMany(t *testing.T) {
	s := joinWith(t, 6, map[string]int{"hot": 3000, "warm": 500, "": 40})
	cold := map[string]int{"hot": 2000}
	for i := range 900 {
		cold[fmt.Sprint("cold ", i)] = 1 + i%3
	}
	for _, s := range []*checkpoint.Store{s, joinWith(t, 6, cold)} {
		for _, exact := range []int{0, 1, 16, 100, 250} {
			o := skew.Options{ExactKeys: exact}
			want, err := skew.Analyze(t.Context(), s, o)
			require.NoError(t, err)
			got := apart(t, s, o)
			require.Equal(t, want.Values, got.Values)
			require.Equal(t, want.Keys, got.Keys)
			require.Equal(t, want.Summary, got.Summary)
			require.Equal(t, want.Placement, got.Placement)
			for i, w := range want.WhatIf { // the floor is the largest key's
				require.Equal(t, fmt.Sprint(w.Summary, w.Hoover, w.Empty), fmt.Sprint(got.WhatIf[i].Summary, got.WhatIf[i].Hoover, got.WhatIf[i].Empty))
			}
			require.Equal(t, want.Verdict, got.Verdict)
			require.Equal(t, want.Severity, got.Severity)
			require.InDelta(t, want.TopKeys[0].Value, got.TopKeys[0].Value, want.TopError+got.TopError)
			require.Equal(t, want.TopKeys[0].Row, got.TopKeys[0].Row)
		}
	}
}

// TestPartErrors: parts that do not belong together are not put together.
func TestPartErrors(t *testing.T) {
	s := joinWith(t, 4, map[string]int{"a": 3, "b": 2, "c": 1, "d": 1, "e": 1, "f": 9})
	other := joinWith(t, 5, map[string]int{"a": 3, "b": 2, "c": 1})
	gather := func(s *checkpoint.Store, o skew.Options, partitions ...int) *skew.Part {
		p, err := skew.Gather(t.Context(), s, o, partitions)
		require.NoError(t, err)
		return p
	}
	for name, p := range map[string]*skew.Part{
		"another store":   gather(other, skew.Options{}, 0),
		"another measure": gather(s, skew.Options{Measure: skew.ByBytes}, 0),
		"another what-if": gather(s, skew.Options{WhatIf: []int{9}}, 0),
		"another bound":   gather(s, skew.Options{ExactKeys: 7}, 0),
		"twice":           gather(s, skew.Options{}, 1, 2),
	} {
		mine := gather(s, skew.Options{}, 1, 1, 3)
		before, err := mine.MarshalBinary()
		require.NoError(t, err)
		require.ErrorIs(t, mine.Merge(p), skew.ErrPart, name)
		after, err := mine.MarshalBinary()
		require.NoError(t, err)
		require.Equal(t, before, after, name)
		_, err = skew.Conclude(t.Context(), s, skew.Options{}, p)
		require.ErrorIs(t, err, skew.ErrPart, name)
	}
	_, err := skew.Gather(t.Context(), s, skew.Options{}, []int{4})
	require.ErrorIs(t, err, skew.ErrPart)
	_, err = skew.Gather(t.Context(), s, skew.Options{Measure: "value.none"}, []int{0})
	require.ErrorIs(t, err, skew.ErrMeasure)
	_, err = skew.Conclude(t.Context(), s, skew.Options{}, new(skew.Part))
	require.ErrorIs(t, err, skew.ErrPart)
	p := gather(s, skew.Options{}, 0, 2)
	require.Equal(t, []int{1, 3, 77}, p.Missing([]int{0, 1, 2, 3, 77}))
	b, err := p.MarshalBinary()
	require.NoError(t, err)
	for n := range b {
		require.ErrorIs(t, new(skew.Part).UnmarshalBinary(b[:n]), skew.ErrPart)
	}
	require.ErrorIs(t, new(skew.Part).UnmarshalBinary(append(b, 0)), skew.ErrPart)
	_, err = gather(s, skew.Options{WhatIf: []int{3_000_000, 1_500_000}}, 0).MarshalBinary()
	require.ErrorIs(t, err, skew.ErrPart)
}

func FuzzPart(f *testing.F) {
	s := joinWith(f, 3, map[string]int{"a": 3, "b": 2, "": 1})
	for _, o := range []skew.Options{{}, {ExactKeys: 1}, {Measure: skew.ByBytes, WhatIf: []int{2}}} {
		p, err := skew.Gather(f.Context(), s, o, []int{0, 1, 2})
		require.NoError(f, err)
		b, err := p.MarshalBinary()
		require.NoError(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var p skew.Part
		if err := p.UnmarshalBinary(b); err != nil {
			require.ErrorIs(t, err, skew.ErrPart)
			return
		}
		again, err := p.MarshalBinary()
		require.NoError(t, err)
		require.NoError(t, new(skew.Part).UnmarshalBinary(again))
		require.NoError(t, new(skew.Part).Merge(&p))
	})
}

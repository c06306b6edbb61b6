package skew

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"runtime"
	"slices"
	"sync"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore"
	"github.com/sparkstate/sparkstate/statestore/placement"
	"github.com/sparkstate/sparkstate/statestore/provider"
	"github.com/sparkstate/sparkstate/statestore/sqltype"
	"github.com/sparkstate/sparkstate/statestore/unsaferow"
)

// ErrMeasure is returned for a measure that a store does not have.
var ErrMeasure = errors.New("skew: no such measure")

// Options change what [Analyze] looks at; the zero value is a good start.
type Options struct {
	// Measure is rows, bytes, or a numeric column such as value.count; "" is
	// rows.
	Measure string
	// WhatIf are the numbers of partitions to try; nil tries a quarter, half,
	// twice and four times the present number.
	WhatIf []int
	// Top is how many keys and values are reported; 0 stands for 5.
	Top int
	// Floor is what the fullest partition must exceed before a verdict is more
	// than info; 0 stands for the custom of the measure ([FloorRows],
	// [FloorBytes], none for a column), a negative one for none.
	Floor float64
	// ExactKeys bounds how many keys are counted exactly; 0 stands for
	// [ExactKeys].
	ExactKeys int
	// Workers is how many partitions are walked at once; 0 means one for each
	// processor.
	Workers int
}

// Analyze walks the rows of a store once, as of a batch, and says how unevenly
// they are spread, whether that is chance, what causes it, and what would help.
//
// Memory holds up to ExactKeys keys, and values of each key column, of the
// whole store, and those of as many partitions as there are workers; where
// there are more, the heaviest are estimated, with the error reported.
func Analyze(ctx context.Context, s *checkpoint.Store, o Options, opts ...checkpoint.Option) (*Report, error) {
	a, err := newAnalysis(ctx, s, o, opts)
	if err != nil {
		return nil, err
	}
	if err := a.walk(ctx, s.Present()); err != nil {
		return nil, err
	}
	return a.report(), nil
}

// analysis is one run of Analyze.
type analysis struct {
	store  *checkpoint.Store
	o      Options
	opts   []checkpoint.Option
	at     checkpoint.At
	n      int // partitions
	weigh  weigher
	alike  bool // every key has one row and rows are measured
	key    *sqltype.Type
	place  checkpoint.Placement
	hasher *placement.Hasher // nil where keys cannot be hashed
	subset []subset          // other columns that rows may be partitioned by
	counts []int             // of partitions, for the what-if
	notes  []string
	// batches are those whose changes are counted, if those are measured.
	batches []int64

	gathered
}

// subset is some of the key columns, in order.
type subset struct {
	columns []int
	hasher  *placement.Hasher
}

// fitShare is the part of the rows that other columns must explain.
const fitShare = 0.99

// sampleRows is how many rows of a partition are tried with other columns.
const sampleRows = 2000

func newAnalysis(ctx context.Context, s *checkpoint.Store, o Options, opts []checkpoint.Option) (*analysis, error) {
	o.Measure = cmp.Or(o.Measure, ByRows)
	o.Top = cmp.Or(o.Top, 5)
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	a := &analysis{store: s, o: o, opts: opts, place: s.Placement(), key: s.GroupingKey()}
	var err error
	if a.at, err = s.At(ctx, opts...); err != nil {
		return nil, err
	}
	if a.weigh, err = weigh(s, o.Measure); err != nil {
		return nil, err
	}
	if o.Measure == ByChanges {
		if err := a.findChanges(ctx); err != nil {
			return nil, err
		}
	}
	a.n, _ = s.Operator().Partitions()
	whole, _ := s.Key()
	a.alike = o.Measure == ByRows && a.key != nil && whole != nil && len(a.key.Fields) == len(whole.Fields)
	if a.key == nil {
		a.notes = append(a.notes, "the schema of the keys is not known, so they cannot be looked into or hashed")
		return a, nil
	}
	if a.place.Single {
		return a, nil
	}
	if a.hasher, err = placement.NewHasher(a.key, nil); err != nil {
		a.hasher = nil
		a.notes = append(a.notes, fmt.Sprintf("keys cannot be hashed, so there is no what-if: %v", err))
		return a, nil
	}
	a.subset = subsets(a.key)
	a.counts = o.WhatIf
	if a.counts == nil {
		a.counts = []int{a.n / 4, a.n / 2, a.n, a.n * 2, a.n * 4}
	}
	a.counts = append(a.counts, a.n)
	a.counts = slices.DeleteFunc(a.counts, func(n int) bool { return n < 1 })
	slices.Sort(a.counts)
	a.counts = slices.Compact(a.counts)
	return a, nil
}

// findChanges finds the batches whose deltas are there in every partition.
func (a *analysis) findChanges(ctx context.Context) error {
	readable, err := a.store.Readable(ctx)
	if err != nil {
		return err
	}
	// A batch that follows a readable one is read from its delta; the first of
	// a run may be there as a snapshot only.
	for i, b := range readable {
		if b <= a.at.Batch && (b == 0 || i > 0 && readable[i-1] == b-1) {
			a.batches = append(a.batches, b)
		}
	}
	a.notes = append(a.notes, fmt.Sprintf("changes of batches %s", checkpoint.Ranges(a.batches)))
	return nil
}

// subsets returns the proper subsets of the key columns, and the fields of
// structs among them count as one; of more than five columns, single ones and
// all but one.
func subsets(key *sqltype.Type) []subset {
	n := len(key.Fields)
	var out []subset
	for mask := 1; mask < 1<<min(n, 16)-1; mask++ {
		var columns []int
		for i := range n {
			if mask>>i&1 == 1 {
				columns = append(columns, i)
			}
		}
		if n > 5 && len(columns) != 1 && len(columns) != n-1 {
			continue
		}
		if h, err := placement.NewHasher(key, columns); err == nil {
			out = append(out, subset{columns, h})
		}
	}
	// Fewer columns first: they explain more.
	slices.SortStableFunc(out, func(a, b subset) int { return cmp.Compare(len(a.columns), len(b.columns)) })
	return out
}

// walker is what the walk of one partition gathers.
type walker struct {
	partition int
	part      partial
	keys      *HeavyHitters
	cols      []*HeavyHitters
	readers   []*columnReader
	sized     KeySizes
	values    [][]float64 // the measure by partition at each of the counts
}

func (a *analysis) newWalker(partition int, values [][]float64) *walker {
	w := &walker{partition: partition, keys: NewHeavyHitters(a.o.ExactKeys, 0), values: values}
	if a.key != nil {
		for i := range a.key.Fields {
			w.cols = append(w.cols, NewHeavyHitters(a.o.ExactKeys, 0))
			w.readers = append(w.readers, newColumnReader(a.key, i))
		}
	}
	w.part.nulls = make([]float64, len(w.cols))
	w.part.fits = make([]int64, len(a.subset))
	return w
}

// newValues returns the measure by partition, 0 for all, at each of the counts.
func (a *analysis) newValues() [][]float64 {
	values := make([][]float64, len(a.counts))
	for i, n := range a.counts {
		values[i] = make([]float64, n)
	}
	return values
}

// walk walks partitions that are there, some at a time, and takes what they
// found together in order, so that the answer does not depend on timing.
func (a *analysis) walk(ctx context.Context, partitions []int) error {
	a.gathered = a.newGathered()
	if len(partitions) == 0 {
		return nil
	}
	spare := sync.Pool{New: func() any { v := a.newValues(); return &v }}
	visit := func(p int, rows iter.Seq2[checkpoint.Grouped, error], emit func(*walker) bool) error {
		w := a.newWalker(p, *spare.Get().(*[][]float64))
		if err := w.walk(a, rows); err != nil {
			return err
		}
		emit(w)
		return nil
	}
	opts := append(slices.Clip(a.opts), checkpoint.Workers(a.o.Workers), checkpoint.Partitions(partitions...))
	walks := checkpoint.Scan(ctx, a.store, func(_ context.Context, p int, rows iter.Seq2[[]statestore.Entry, error], emit func(*walker) bool) error {
		return visit(p, a.grouped(rows), emit)
	}, opts...)
	if a.o.Measure == ByChanges {
		walks = checkpoint.Walk(ctx, a.store, func(ctx context.Context, p int, emit func(*walker) bool) error {
			var missing []int64
			return visit(p, a.changes(ctx, p, &missing), func(w *walker) bool {
				w.part.missing = missing
				return emit(w)
			})
		}, opts...)
	}
	for w, err := range walks {
		if err != nil {
			return err
		}
		a.merge(w)
		for _, v := range w.values {
			clear(v)
		}
		spare.Put(&w.values)
	}
	return a.count(ctx, partitions)
}

// walk walks one partition.
func (w *walker) walk(a *analysis, rows iter.Seq2[checkpoint.Grouped, error]) error {
	part := &w.part
	for g, err := range rows {
		if err != nil {
			return err
		}
		weight, err := a.weigh(g)
		if err != nil {
			return err
		}
		part.rows++
		size := float64(len(g.Stored.Key) + len(g.Stored.Value))
		part.bytes += size
		part.value += weight
		w.sized.Add(size)
		if a.key == nil {
			continue
		}
		if err := w.look(a, g.Key, weight); err != nil {
			return err
		}
		if a.hasher == nil {
			continue
		}
		if err := w.place(a, g.Key, weight); err != nil {
			return err
		}
	}
	return nil
}

// look takes a key in, as a whole and column by column.
func (w *walker) look(a *analysis, key []byte, weight float64) error {
	part := &w.part
	if !a.alike {
		w.keys.add(key, weight, w.partition)
	}
	nulls := 0
	for i, r := range w.readers {
		v, null, err := r.value(key)
		if err != nil {
			return err
		}
		if null {
			nulls++
			part.nulls[i] += weight
		}
		w.cols[i].add(v, weight, 0)
	}
	if nulls > 0 && nulls == len(w.readers) {
		part.nullKey += weight
	}
	return nil
}

// grouped yields rows under their grouping keys; without a schema as they are
// stored.
func (a *analysis) grouped(rows iter.Seq2[[]statestore.Entry, error]) iter.Seq2[checkpoint.Grouped, error] {
	if a.key != nil {
		return a.store.Group(rows)
	}
	return func(yield func(checkpoint.Grouped, error) bool) {
		for e, err := range provider.Rows(rows) {
			if !yield(checkpoint.Grouped{Key: e.Key, Stored: e}, err) || err != nil {
				return
			}
		}
	}
}

// changesOf yields what one batch changed in a partition; without a schema
// under the keys as they are stored.
func (a *analysis) changesOf(ctx context.Context, p int, batch int64) iter.Seq2[checkpoint.Grouped, error] {
	if a.key != nil {
		return a.store.GroupedChanges(ctx, p, batch)
	}
	return func(yield func(checkpoint.Grouped, error) bool) {
		for c, err := range a.store.ChangeEntries(ctx, p, batch) {
			e := statestore.Entry{Key: c.Key, Value: c.Value}
			if !yield(checkpoint.Grouped{Key: e.Key, Stored: e}, err) || err != nil {
				return
			}
		}
	}
}

// changes yields what the batches changed in a partition, and notes those of
// which that is not known.
func (a *analysis) changes(ctx context.Context, p int, missing *[]int64) iter.Seq2[checkpoint.Grouped, error] {
	return func(yield func(checkpoint.Grouped, error) bool) {
		for _, b := range a.batches {
			for g, err := range a.changesOf(ctx, p, b) {
				if errors.Is(err, statestore.ErrMissing) {
					// A snapshot stands in for the delta: what changed is not known.
					*missing = append(*missing, b)
					break
				}
				if !yield(g, err) || err != nil {
					return
				}
			}
		}
	}
}

// place hashes a key: for where it is, and for where it would be.
func (w *walker) place(a *analysis, key []byte, weight float64) error {
	part := &w.part
	h, err := a.hasher.Hash(key)
	if err != nil {
		return err
	}
	for i, n := range a.counts {
		w.values[i][placement.Partition(h, n)] += weight
	}
	part.checked++
	if belongs := placement.Partition(h, a.n); belongs != w.partition {
		part.misplaced++
		if len(part.examples) < a.o.Top {
			part.examples = append(part.examples, MisplacedKey{Row: slices.Clone(key), Type: a.key, Partition: w.partition, Belongs: belongs})
		}
	}
	if part.sampled >= sampleRows {
		return nil
	}
	part.sampled++
	for i, s := range a.subset {
		h, err := s.hasher.Hash(key)
		if err != nil {
			return err
		}
		if placement.Partition(h, a.n) == w.partition {
			part.fits[i]++
		}
	}
	return nil
}

func (a *analysis) report() *Report {
	r := &Report{At: a.at, Measure: a.o.Measure, Notes: a.notes, Floor: max(a.o.Floor, 0)}
	gone := make(map[int64]bool)
	for _, p := range a.parts {
		r.Values = append(r.Values, p.value)
		r.Rows = append(r.Rows, p.rows)
		r.Bytes = append(r.Bytes, p.bytes)
		for _, b := range p.missing {
			gone[b] = true
		}
	}
	if len(gone) > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("what batches %s changed is gone in some partitions; snapshots stand in for it", checkpoint.Ranges(slices.Sorted(maps.Keys(gone)))))
	}
	if a.o.Floor == 0 {
		r.Floor = map[string]float64{ByRows: FloorRows, ByChanges: FloorRows, ByBytes: FloorBytes}[r.Measure]
	}
	r.Keys = a.keysOf()
	r.Summary = Measure(r.Values)
	r.Imbalance = MeasureImbalance(r.Values)
	r.SkewRate, r.UnexplainedRate, r.RowsPerKey = Undefined(), Undefined(), Undefined()
	if r.Keys != nil {
		c := Chance(r.Keys)
		r.Chance = &c
		keys := int64(c.Keys)
		hoover := float64(r.Imbalance.Hoover)
		r.SkewRate = Float(SkewRate(hoover, ChanceHoover(keys, a.n)))
		switch {
		case a.alike:
			r.UnexplainedRate = r.SkewRate
		case !a.spill:
			r.UnexplainedRate = Float(SkewRate(hoover, a.sizes.ChanceHoover(a.n)))
		}
		if keys > 0 && r.Measure != ByChanges {
			r.RowsPerKey = Float(float64(Measure(r.Rows).Total) / float64(keys))
		}
	}
	if absent := len(a.store.Absent()); absent > 0 && !a.place.Single {
		r.Notes = append(r.Notes, fmt.Sprintf("%d of %d partitions have no directory and count as 0; if this is a copy, it may be incomplete, and uneven for that reason", absent, a.n))
	}
	a.topKeys(r)
	a.columns(r)
	a.placed(r)
	a.whatIf(r)
	a.verdict(r)
	a.salt(r)
	r.Advice = advise(a, r)
	return r
}

// topKeys lists the largest keys.
func (a *analysis) topKeys(r *Report) {
	r.TopError = a.keys.Error()
	for _, h := range a.keys.Top(a.o.Top) {
		k := a.top(r, h, a.key)
		k.Partition = h.tag
		k.OfPartition = shareOf(h.Weight, r.Values[h.tag])
		r.TopKeys = append(r.TopKeys, k)
	}
	for _, p := range a.parts {
		r.NullKeys += p.nullKey
	}
}

func (a *analysis) top(r *Report, h Heavy, t *sqltype.Type) TopKey {
	return TopKey{Row: h.Key, Type: t, Value: h.Weight, Error: h.Error, Partition: -1,
		OfPartition: Undefined(), OfAll: shareOf(h.Weight, float64(r.Summary.Total))}
}

func shareOf(part, whole float64) Float {
	if !(whole > 0) {
		return Undefined()
	}
	return Float(part / whole)
}

// columns looks at each key column alone.
func (a *analysis) columns(r *Report) {
	for i, h := range a.cols {
		c := ColumnReport{Name: a.key.Fields[i].Name}
		c.Distinct, c.Exact = h.Distinct()
		null := 0.0
		for _, p := range a.parts {
			if p.nulls != nil { // nil where the partition is absent
				null += p.nulls[i]
			}
		}
		c.Null = shareOf(null, float64(r.Summary.Total))
		for _, top := range h.Top(a.o.Top) {
			c.Top = append(c.Top, a.top(r, top, columnType(a.key, i)))
		}
		r.Columns = append(r.Columns, c)
	}
}

// placed compares where keys are with where they belong.
func (a *analysis) placed(r *Report) {
	r.Placement.Strict = a.place.Strict
	sampled := int64(0)
	fits := make([]int64, len(a.subset))
	for _, p := range a.parts {
		r.Placement.Checked += p.checked
		r.Placement.Misplaced += p.misplaced
		r.Placement.Examples = append(r.Placement.Examples, p.examples...)
		sampled += p.sampled
		for i, n := range p.fits {
			fits[i] += n
		}
	}
	r.Placement.Examples = r.Placement.Examples[:min(len(r.Placement.Examples), a.o.Top)]
	if r.Placement.Misplaced == 0 {
		return
	}
	for i, s := range a.subset {
		if float64(fits[i]) >= fitShare*float64(sampled) {
			for _, c := range s.columns {
				r.Placement.PartitionedBy = append(r.Placement.PartitionedBy, a.key.Fields[c].Name)
			}
			return
		}
	}
}

// verdict judges the measure, and where rows are even, the bytes as well.
func (a *analysis) verdict(r *Report) {
	e := Evidence{Values: r.Values, Keys: r.Keys, Single: a.place.Single, TopPartition: -1}
	if r.Placement.Checked > 0 {
		e.Misplaced = float64(r.Placement.Misplaced) / float64(r.Placement.Checked)
	}
	if e.Keys == nil {
		e.Keys = r.Rows // there are no more keys than rows
	}
	if len(r.TopKeys) > 0 {
		top := r.TopKeys[0]
		e.Top, e.TopPartition = top.Value, top.Partition
		e.TopNull = allNull(top)
	}
	switch {
	case a.alike:
	case a.key == nil && r.Measure == ByBytes:
		e.Sizes = &a.sized
	case a.key == nil:
	case a.spill:
		e.Sizes = a.guessSizes(r, e.Top)
	default:
		e.Sizes = &a.sizes
	}
	r.Verdict = Judge(e)
	if r.Verdict == FewKeys && r.Keys == nil {
		r.Verdict = ByChance // how many keys there are is not known
	}
	r.Severity = Grade(r.Verdict, r.Summary, r.Floor)
	switch r.Measure {
	case ByBytes:
		if !quiet(r.Verdict) && r.Verdict != WrongPartitioning && a.fat(r) {
			r.Verdict = FatValues
		}
	case ByRows:
		if quiet(r.Verdict) && !a.place.Single && a.fat(r) {
			r.Verdict = FatValues
			if a.o.Floor == 0 {
				r.Floor = FloorBytes
			}
			r.Severity = Grade(FatValues, Measure(r.Bytes), r.Floor)
		}
	}
	if r.Placement.Strict && r.Placement.Misplaced > 0 {
		// Spark promises that there is none: this is damage, however even.
		r.Verdict, r.Severity = WrongPartitioning, Critical
	}
}

// fat says whether the bytes are uneven where the rows are not, and beyond what
// chance makes of rows of such sizes.
func (a *analysis) fat(r *Report) bool {
	bytes := Measure(r.Bytes)
	if bytes.Fullest < 0 || !(bytes.Total > 0) {
		return false
	}
	// Bytes that follow the rows are as uneven as those; more than that is the
	// values' doing.
	perRow := float64(bytes.Total) / float64(Measure(r.Rows).Total)
	if beyond := float64(bytes.Max) - perRow*r.Rows[bytes.Fullest]; beyond <= EvenExcess*float64(bytes.Mean) {
		return false
	}
	return !Evidence{Values: r.Bytes, Sizes: &a.sized}.valuesByChance()
}

// guessSizes stands in for the sizes of keys where there were too many to know
// each: the largest as it is, and all others alike.
func (a *analysis) guessSizes(r *Report, top float64) *KeySizes {
	if r.Keys == nil || top <= 0 {
		return nil
	}
	sizes := &KeySizes{}
	sizes.Add(top)
	rest := int64(Measure(r.Keys).Total) - 1
	for range rest {
		sizes.Add((float64(r.Summary.Total) - top) / float64(rest))
	}
	return sizes
}

// quiet says whether a verdict needs nobody's attention.
func quiet(v Verdict) bool {
	return v == Even || v == ByChance || v == FewKeys || v == SinglePartition
}

// allNull says whether every column of a key is null.
func allNull(k TopKey) bool {
	n := len(k.Type.Fields)
	row, err := unsaferow.View(k.Row, n)
	if err != nil || n == 0 {
		return false
	}
	for i := range n {
		if !row.IsNull(i) {
			return false
		}
	}
	return true
}

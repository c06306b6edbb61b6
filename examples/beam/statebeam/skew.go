package statebeam

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/skew"
)

// Report is what a skew analysis says of a store. What has no value, such as the
// deviation of one partition, is null.
type Report struct {
	StoreID
	Measure string    `json:"measure"`
	Values  []float64 `json:"values"` // by partition
	skew.Summary
	skew.Imbalance
	SkewRate        skew.Float    `json:"skewRate"`
	UnexplainedRate skew.Float    `json:"unexplainedRate"`
	Verdict         skew.Verdict  `json:"verdict"`
	Severity        skew.Severity `json:"severity"`
	// TopError is by how much the weight of the largest key may be too high: 0
	// where keys were counted exactly.
	TopError float64       `json:"topError"`
	WhatIf   []skew.WhatIf `json:"whatIf"`
	Advice   []string      `json:"advice"`
	Notes    []string      `json:"notes"`
}

// NewReport returns what a report says of a store.
func NewReport(id StoreID, r *skew.Report) Report {
	return Report{StoreID: id, Measure: r.Measure, Values: r.Values, Summary: r.Summary, Imbalance: r.Imbalance,
		SkewRate: r.SkewRate, UnexplainedRate: r.UnexplainedRate, Verdict: r.Verdict, Severity: r.Severity,
		TopError: r.TopError, WhatIf: r.WhatIf, Advice: r.Advice, Notes: r.Notes}
}

func init() {
	// As JSON: Beam's own form of a struct has no embedded ones of other packages,
	// and there is one report a store.
	beam.RegisterCoder(reflect.TypeFor[Report](), encodeReport, decodeReport)
	beam.RegisterCoder(reflect.TypeFor[*skew.Part](), encodePart, decodePart)
	register.DoFn3x1[context.Context, Task, func(StoreID, *skew.Part), error](&gatherFn{})
	register.DoFn4x1[context.Context, StoreID, *skew.Part, func(Report), error](&concludeFn{})
	register.Emitter2[StoreID, *skew.Part]()
	register.Emitter1[Report]()
	register.Combiner1[*skew.Part](&mergeFn{})
}

func encodeReport(r Report) ([]byte, error) { return json.Marshal(r) }

func decodeReport(b []byte) (r Report, err error) { return r, json.Unmarshal(b, &r) }

func encodePart(p *skew.Part) ([]byte, error) { return p.MarshalBinary() }

func decodePart(b []byte) (*skew.Part, error) {
	p := new(skew.Part)
	return p, p.UnmarshalBinary(b)
}

// Skew analyses each store: PCollection<Task> → PCollection<Report>. Stores that
// do not have the column that o.Measure names have no report, and are logged. Of a store
// with more keys than o.ExactKeys the heaviest are estimated. That number bounds
// what travels and what a worker holds; unless it is given it is
// [skew.HeavyCounters], less than on one machine, where nothing travels.
func Skew(s beam.Scope, o skew.Options, tasks beam.PCollection) beam.PCollection {
	s = s.Scope("statebeam.Skew")
	if o.ExactKeys <= 0 {
		o.ExactKeys = skew.HeavyCounters
	}
	o.Workers = 1 // the runner's are the workers
	parts := beam.ParDo(s, &gatherFn{Options: o}, tasks)
	return beam.ParDo(s, &concludeFn{Options: o}, beam.CombinePerKey(s, &mergeFn{}, parts))
}

// gatherFn walks one partition.
type gatherFn struct {
	Options skew.Options
	from    checkpoints
}

func (f *gatherFn) ProcessElement(ctx context.Context, t Task, emit func(StoreID, *skew.Part)) error {
	s, err := f.from.store(t.StoreID)
	if err != nil {
		return err
	}
	p, err := skew.Gather(ctx, s, f.Options, []int{t.Partition}, checkpoint.AtBatch(t.Batch))
	if errors.Is(err, skew.ErrMeasure) {
		if t.Partition == 0 { // once for the store
			log.Warnf(ctx, "%s, operator %d, store %s is left out: %v", t.Checkpoint, t.Operator, t.Store, err)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", t.Checkpoint, err)
	}
	emit(t.StoreID, p)
	return nil
}

func (f *gatherFn) Teardown() error { return f.from.teardown() }

// mergeFn puts the parts of a store together.
type mergeFn struct{}

func (*mergeFn) CreateAccumulator() *skew.Part { return new(skew.Part) }

func (*mergeFn) MergeAccumulators(a, b *skew.Part) (*skew.Part, error) { return a, a.Merge(b) }

// concludeFn makes the report of a store.
type concludeFn struct {
	Options skew.Options
	from    checkpoints
}

func (f *concludeFn) ProcessElement(ctx context.Context, id StoreID, p *skew.Part, emit func(Report)) error {
	s, err := f.from.store(id)
	if err != nil {
		return err
	}
	r, err := skew.Conclude(ctx, s, f.Options, p, checkpoint.AtBatch(id.Batch))
	if err != nil {
		return fmt.Errorf("%s: %w", id.Checkpoint, err)
	}
	emit(NewReport(id, r))
	return nil
}

func (f *concludeFn) Teardown() error { return f.from.teardown() }

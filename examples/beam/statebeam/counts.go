package statebeam

import (
	"context"
	"fmt"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/sparkstate/sparkstate/checkpoint"
)

// Count is what one partition holds; the fields are those of statestore.Count,
// and their names in JSON those that sparkstate metadata has.
type Count struct {
	Task
	Present    bool  `json:"present"`
	Keys       int64 `json:"numKeys"` // -1 where it cannot be known
	Rows       int64 `json:"numRows"`
	KeyBytes   int64 `json:"keyBytes"`
	ValueBytes int64 `json:"valueBytes"`
	Files      int   `json:"files"`
	LoadBytes  int64 `json:"loadBytes"`
}

func init() {
	beam.RegisterType(reflect.TypeFor[Count]())
	register.DoFn3x1[context.Context, Task, func(Count), error](&countFn{})
	register.Emitter1[Count]()
}

// Counts counts each partition: PCollection<Task> → PCollection<Count>.
func Counts(s beam.Scope, tasks beam.PCollection) beam.PCollection {
	return beam.ParDo(s.Scope("statebeam.Counts"), &countFn{}, tasks)
}

// countFn counts one partition.
type countFn struct {
	from checkpoints
}

func (f *countFn) ProcessElement(ctx context.Context, t Task, emit func(Count)) error {
	s, err := f.from.store(t.StoreID)
	if err != nil {
		return err
	}
	c, err := s.Counts(ctx, checkpoint.AtBatch(t.Batch), checkpoint.Partitions(t.Partition))
	if err != nil {
		return fmt.Errorf("%s: %w", t.Checkpoint, err)
	}
	for _, n := range c.Partitions {
		emit(Count{Task: t, Present: n.Present, Keys: n.Keys, Rows: n.Rows, KeyBytes: n.KeyBytes, ValueBytes: n.ValueBytes, Files: n.Files, LoadBytes: n.LoadBytes})
	}
	return nil
}

func (f *countFn) Teardown() error { return f.from.teardown() }

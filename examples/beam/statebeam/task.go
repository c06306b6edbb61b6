// Package statebeam is the analysis of state as a pipeline of Apache Beam: of one
// checkpoint or many, on as many machines as the runner has.
//
// The unit is a partition of a store, a [Task]: the state of a query is as many of
// them as it has shuffle partitions, and none needs another. What is merged is
// small. Counts are a line for each partition; of a skew analysis it is the
// numbers of each partition and sketches of keys (see skew.Part), merged two by
// two wherever the runner likes, into the report that one machine would make.
// Rows stay where they are read, unless they are exported, and then each
// partition is a file.
//
//	p, s := beam.NewPipelineWithRoot()
//	tasks := statebeam.Tasks(s, statebeam.Latest, "gs://lake/a/checkpoint", "gs://lake/b/checkpoint")
//	counts := statebeam.Counts(s, tasks)                    // PCollection<Count>
//	reports := statebeam.Skew(s, skew.Options{}, tasks)     // PCollection<Report>
//	files := statebeam.Export(s, "gs://lake/export", tasks) // PCollection<File>
//
// A checkpoint is named by a path that every worker sees, or by the URL of a
// bucket; see package bucketfs. Anything damaged or missing fails the pipeline, with the
// file: there is no result of a part of the state.
package statebeam

import (
	"context"
	"fmt"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/sparkstate/sparkstate/checkpoint"
)

// StoreID names a store of a checkpoint, after one batch.
type StoreID struct {
	Checkpoint string `json:"checkpoint"`
	Operator   int    `json:"operatorId"`
	Store      string `json:"stateStoreName"`
	Batch      int64  `json:"batch"`
}

// Task is one partition of a store.
type Task struct {
	StoreID
	Partition int `json:"partitionId"`
}

// Latest stands for the last committed batch of each checkpoint.
const Latest = -1

func init() {
	beam.RegisterType(reflect.TypeFor[StoreID]())
	beam.RegisterType(reflect.TypeFor[Task]())
	register.DoFn3x1[context.Context, string, func(Task), error](&planFn{})
	register.Emitter1[Task]()
}

// Tasks lists the partitions of all stores of the checkpoints, and fixes the
// batch: what a running query commits later is not mixed in.
func Tasks(s beam.Scope, batch int64, checkpoints ...string) beam.PCollection {
	s = s.Scope("statebeam.Tasks")
	names := beam.Reshuffle(s, beam.CreateList(s, checkpoints))
	return beam.Reshuffle(s, beam.ParDo(s, &planFn{Batch: batch}, names))
}

// planFn lists the tasks of one checkpoint.
type planFn struct {
	Batch int64
}

func (f *planFn) ProcessElement(ctx context.Context, name string, emit func(Task)) error {
	cp, err := open(ctx, name)
	if err != nil {
		return err
	}
	defer cp.close()
	for _, op := range cp.Operators() {
		if err := op.Err(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for _, st := range op.Stores() {
			var opts []checkpoint.Option
			if f.Batch != Latest {
				opts = append(opts, checkpoint.AtBatch(f.Batch))
			}
			at, err := st.At(ctx, opts...)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			id := StoreID{Checkpoint: name, Operator: op.ID(), Store: st.Name(), Batch: at.Batch}
			n, _ := op.Partitions()
			for p := range n {
				emit(Task{StoreID: id, Partition: p})
			}
		}
	}
	return nil
}

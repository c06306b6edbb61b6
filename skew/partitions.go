package skew

import (
	"slices"
	"sync"
)

// eachPartition calls work for all ids, a block of as many as there are workers
// at a time, and after each block take for every id in order, so that what is
// taken together does not depend on timing. Both are told which of the workers
// it is, from 0. The error is that of the lowest id that failed in its block.
func eachPartition(ids []int, workers int, work func(worker, id int) error, take func(worker, id int)) error {
	for block := range slices.Chunk(ids, max(workers, 1)) {
		errs := make([]error, len(block))
		var running sync.WaitGroup
		for worker, id := range block {
			running.Go(func() { errs[worker] = work(worker, id) })
		}
		running.Wait()
		for worker, id := range block {
			if errs[worker] != nil {
				return errs[worker]
			}
			take(worker, id)
		}
	}
	return nil
}

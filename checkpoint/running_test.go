package checkpoint_test

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore"
	"github.com/sparkstate/sparkstate/statestore/statetest"
)

// query is one that runs while its checkpoint is read: with every file of its
// state that is opened it goes a step on.
type query struct {
	t     *testing.T
	w     *statetest.Writer
	mu    sync.Mutex
	m     fstest.MapFS
	batch int
	step  func(q *query, opened string)
}

func newQuery(t *testing.T, step func(q *query, opened string)) *query {
	q := &query{t: t, m: fstest.MapFS{}, step: step}
	q.w = statetest.NewWriter(statetest.Query{Partitions: 2, Operators: []statetest.Operator{counting(t)}}, statetest.Map(q.m, "."))
	return q
}

// run writes batches: each puts its number under every key up to it.
func (q *query) run(batches int) {
	for range batches {
		for k := range q.batch + 1 {
			q.w.Put(0, "default", []any{int64(k)}, []any{int64(q.batch)})
		}
		require.NoError(q.t, q.w.Commit())
		q.batch++
	}
}

// maintain writes a snapshot and removes what is older than it.
func (q *query) maintain() {
	require.NoError(q.t, q.w.Snapshot(0, "default"))
	for p := range 2 {
		for v := range q.batch {
			delete(q.m, fmt.Sprintf("state/0/%d/%d.delta", p, v))
			delete(q.m, fmt.Sprintf("state/0/%d/%d.snapshot", p, v))
		}
	}
}

// now is a file system as it is at the moment.
func (q *query) now() fs.FS { return maps.Clone(q.m) }

func (q *query) Open(name string) (fs.File, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.step != nil {
		q.step(q, name)
	}
	return q.now().Open(name)
}

// once goes a step on when the first state file is opened.
func once(step func(q *query)) func(*query, string) {
	done := false
	return func(q *query, opened string) {
		if opened == "state/0/0/1.delta" || opened == "state/0/0/12.delta" {
			if !done {
				done = true
				step(q)
			}
		}
	}
}

// What is read of a running query is the batch that was the last one when the
// checkpoint was opened, whatever its maintenance does meanwhile.
func TestReadsOfRunningQuery(t *testing.T) {
	ctx := context.Background()
	for what, step := range map[string]func(q *query){
		"files are replaced by a snapshot": func(q *query) { q.maintain() },
		"versions are added":               func(q *query) { q.run(3) },
	} {
		t.Run(what, func(t *testing.T) {
			for verb, read := range map[string]func(*testing.T, *checkpoint.Store){
				"entries": func(t *testing.T, s *checkpoint.Store) {
					n := 0
					for p := range 2 {
						for e, err := range s.Entries(ctx, p) {
							require.NoError(t, err)
							assert.Equal(t, byte(11), e.Value[8], "the value of batch 11")
							n++
						}
					}
					assert.Equal(t, 12, n)
				},
				"records": func(t *testing.T, s *checkpoint.Store) {
					n := int64(0)
					for rec, err := range s.Records(ctx) {
						require.NoError(t, err)
						n += rec.NumRows()
						rec.Release()
					}
					assert.Equal(t, int64(12), n)
				},
				"counts": func(t *testing.T, s *checkpoint.Store) {
					c, err := s.Counts(ctx)
					require.NoError(t, err)
					assert.Equal(t, checkpoint.At{Batch: 11, Version: 12}, c.At)
					assert.Equal(t, int64(12), c.Rows()[0]+c.Rows()[1])
				},
				"salvage": func(t *testing.T, s *checkpoint.Store) {
					rows, loss := salvaged(t, s)
					assert.Len(t, rows, 12)
					assert.Empty(t, loss.Files)
				},
			} {
				t.Run(verb, func(t *testing.T) {
					q := newQuery(t, once(step))
					q.run(12)
					cp, err := checkpoint.OpenFS(q, ".")
					require.NoError(t, err)
					s, err := cp.Store(0, "default")
					require.NoError(t, err)
					at, err := s.At(ctx)
					require.NoError(t, err)
					assert.Equal(t, checkpoint.At{Batch: 11, Version: 12}, at)
					read(t, s)
				})
			}
		})
	}
}

// The changes of a batch are in its delta and nowhere else, so once that has
// gone there is an error that says what can be read instead.
func TestChangesOfRunningQuery(t *testing.T) {
	q := newQuery(t, once(func(q *query) { q.maintain() }))
	q.run(12)
	cp, err := checkpoint.OpenFS(q, ".")
	require.NoError(t, err)
	s, err := cp.Store(0, "default")
	require.NoError(t, err)
	n, last := int64(0), error(nil)
	for rec, err := range s.Changes(context.Background(), 0, 11) {
		if last = err; err == nil {
			n += rec.NumRows()
			rec.Release()
		}
	}
	var be *checkpoint.BatchError
	require.ErrorAs(t, last, &be)
	assert.ErrorIs(t, last, statestore.ErrMissing)

	// And those of the batch that is still there can be had.
	for rec, err := range s.Changes(context.Background(), 11, 11) {
		require.NoError(t, err)
		rec.Release()
	}
}

// A query that goes on for ever does not keep a reader for ever.
func TestReadsThatNeverCatchUp(t *testing.T) {
	opened := 0
	q := newQuery(t, func(q *query, name string) {
		if _, ok := q.m[name]; ok && slices.Contains([]string{".delta", ".snapshot"}, path.Ext(name)) {
			opened++
			q.run(1)
			q.maintain()
		}
	})
	q.run(3)
	cp, err := checkpoint.OpenFS(q, ".")
	require.NoError(t, err)
	s, err := cp.Store(0, "default")
	require.NoError(t, err)
	for _, err := range s.Entries(context.Background(), 0) {
		assert.ErrorIs(t, err, checkpoint.ErrNotFound)
		assert.ErrorIs(t, err, statestore.ErrCleanedUp)
	}
	assert.LessOrEqual(t, opened, 4)
}

// Old logs are removed while a check reads them, and that is no damage.
func TestCheckWhileLogsAreCleanedUp(t *testing.T) {
	done := false
	q := newQuery(t, func(q *query, name string) {
		if name == "offsets/0" && !done {
			done = true
			for b := range 4 {
				delete(q.m, fmt.Sprintf("offsets/%d", b))
				delete(q.m, fmt.Sprintf("commits/%d", b))
			}
		}
	})
	q.run(12)
	done = true
	cp, err := checkpoint.OpenFS(q, ".")
	require.NoError(t, err)
	done = false
	report, err := cp.Check(context.Background(), checkpoint.DefaultCheck)
	require.NoError(t, err)
	assert.Empty(t, report.Findings)
	assert.True(t, done)
	assert.True(t, report.Answers[checkpoint.Spark41].Restarts)
}

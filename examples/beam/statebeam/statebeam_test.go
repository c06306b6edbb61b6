package statebeam

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/skew"
)

// TestMain has pipelines run by prism, Beam's own runner, within the test.
func TestMain(m *testing.M) { ptest.Main(m) }

// collected is what pipelines have given, as JSON, by the name of a test: the
// runner works within this process.
var collected struct {
	sync.Mutex
	lines map[string][]string
}

func collect(into string, v any) error {
	b, err := json.Marshal(v)
	collected.Lock()
	defer collected.Unlock()
	if collected.lines == nil {
		collected.lines = make(map[string][]string)
	}
	collected.lines[into] = append(collected.lines[into], string(b))
	return err
}

// lines returns what was collected, sorted.
func lines(into string) []string {
	collected.Lock()
	defer collected.Unlock()
	return slices.Sorted(slices.Values(collected.lines[into]))
}

type collectCounts struct{ Into string }

func (f *collectCounts) ProcessElement(c Count) error { return collect(f.Into, c) }

type collectReports struct{ Into string }

func (f *collectReports) ProcessElement(r Report) error { return collect(f.Into, r) }

func init() {
	register.DoFn1x1[Count, error](&collectCounts{})
	register.DoFn1x1[Report, error](&collectReports{})
}

// fixtures are checkpoints by path, and one as the URL of a bucket.
func fixtures(t *testing.T) []string {
	top, err := filepath.Abs("../../../testdata")
	require.NoError(t, err)
	return []string{
		filepath.Join(top, "4.1.4/ad_billing/checkpoint"),
		"file://" + filepath.Join(top, "3.5.9/ad_billing/checkpoint"),
		filepath.Join(top, "4.3.0/join_skewed.zip"),
		filepath.Join(top, "4.1.4/session_window.zip"),
		filepath.Join(top, "4.1.4/fmgws_v2.zip"),
	}
}

// alone is what one machine says of the stores.
func alone(t *testing.T, o skew.Options, names ...string) (counts, reports []string) {
	for _, name := range names {
		cp, err := open(t.Context(), name)
		require.NoError(t, err)
		defer cp.close()
		for _, op := range cp.Operators() {
			for _, s := range op.Stores() {
				c, err := s.Counts(t.Context())
				require.NoError(t, err)
				id := StoreID{name, op.ID(), s.Name(), c.Batch}
				for _, n := range c.Partitions {
					counts = append(counts, asJSON(t, Count{Task{id, n.Partition}, n.Present, n.Keys, n.Rows, n.KeyBytes, n.ValueBytes, n.Files, n.LoadBytes}))
				}
				r, err := skew.Analyze(t.Context(), s, o)
				if o.Measure == "value.count" && err != nil {
					require.ErrorIs(t, err, skew.ErrMeasure)
					continue
				}
				require.NoError(t, err)
				reports = append(reports, asJSON(t, NewReport(id, r)))
			}
		}
	}
	slices.Sort(counts)
	slices.Sort(reports)
	return counts, reports
}

func asJSON(t *testing.T, v any) string {
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return string(b)
}

// TestSameNumbers: of many checkpoints at once the numbers that one machine has
// for each.
func TestSameNumbers(t *testing.T) {
	for _, measure := range []string{skew.ByRows, skew.ByBytes, "value.count"} {
		t.Run(measure, func(t *testing.T) {
			o := skew.Options{Measure: measure}
			names := fixtures(t)
			counts, reports := alone(t, o, names...)
			require.NotEmpty(t, reports)
			ptest.BuildAndRun(t, func(s beam.Scope) {
				tasks := Tasks(s, Latest, names...)
				beam.ParDo0(s, &collectCounts{t.Name() + " counts"}, Counts(s, tasks))
				beam.ParDo0(s, &collectReports{t.Name()}, Skew(s, o, tasks))
			})
			require.Equal(t, counts, lines(t.Name()+" counts"))
			require.Equal(t, reports, lines(t.Name()))
		})
	}
}

// TestBatch: the state after a batch that is given.
func TestBatch(t *testing.T) {
	name := fixtures(t)[0]
	ptest.BuildAndRun(t, func(s beam.Scope) {
		beam.ParDo0(s, &collectCounts{t.Name()}, Counts(s, Tasks(s, 3, name)))
	})
	cp, err := checkpoint.Open(name)
	require.NoError(t, err)
	defer cp.Close()
	rows := int64(0)
	for _, op := range cp.Operators() {
		s, err := op.Store("default")
		require.NoError(t, err)
		c, err := s.Counts(t.Context(), checkpoint.AtBatch(3))
		require.NoError(t, err)
		for _, n := range c.Rows() {
			rows += n
		}
	}
	for _, l := range lines(t.Name()) {
		var c Count
		require.NoError(t, json.Unmarshal([]byte(l), &c))
		require.EqualValues(t, 3, c.Batch)
		rows -= c.Rows
	}
	require.Zero(t, rows)
}

// TestFailures: damage, and what is not there, fail the pipeline and name the
// file; there is no answer of a part.
func TestFailures(t *testing.T) {
	damaged := filepath.Join(t.TempDir(), "damaged")
	require.NoError(t, os.CopyFS(damaged, os.DirFS(fixtures(t)[0])))
	file := filepath.Join(damaged, "state/1/2/6.snapshot")
	require.NoError(t, os.Truncate(file, 60))
	for _, c := range []struct {
		name, says string
		batch      int64
	}{
		{damaged, "state/1/2/6.snapshot", Latest},
		{filepath.Join(damaged, "none"), "none", Latest},
		{damaged, "99", 99},
		{"s4://lake/none", "s4", Latest},
	} {
		p, s := beam.NewPipelineWithRoot()
		beam.ParDo0(s, &collectReports{t.Name()}, Skew(s, skew.Options{}, Tasks(s, c.batch, c.name)))
		_, err := ptest.RunWithMetrics(p)
		require.ErrorContains(t, err, c.says)
	}
	for _, l := range lines(t.Name()) {
		require.NotContains(t, l, `"operatorId":1`)
	}
}

// TestManyCheckpoints: no more than some are held open at a time.
func TestManyCheckpoints(t *testing.T) {
	var c checkpoints
	for i := range 3 * maxOpen {
		name := filepath.Join(t.TempDir(), "ck")
		require.NoError(t, os.CopyFS(name, os.DirFS(fixtures(t)[0])))
		s, err := c.store(StoreID{Checkpoint: name, Operator: i % 2, Store: "default"})
		require.NoError(t, err)
		_, err = s.Counts(context.Background())
		require.NoError(t, err)
		require.LessOrEqual(t, len(c.open), maxOpen)
	}
	require.NoError(t, c.teardown())
	require.Empty(t, c.open)
	require.ErrorIs(t, c.ctx.Err(), context.Canceled)
}

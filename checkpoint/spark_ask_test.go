package checkpoint_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
	"github.com/sparkstate/sparkstate/statestore/statetest"
)

// damagedDir has TestSparkAgrees lay the damaged checkpoints down for
// testdata/generate/judge.py, instead of comparing with what Spark has answered.
var damagedDir = flag.String("damaged", "", "write the damaged checkpoints, and what to ask about them, into this `directory`")

// cell is a partition of a store, of which every version is asked for.
type cell struct {
	Operator  int             `json:"operator"`
	Store     string          `json:"store"`
	Partition int             `json:"partition"`
	Versions  []int64         `json:"versions"`
	Key       json.RawMessage `json:"key"`
	Value     json.RawMessage `json:"value"`
}

func (c cell) place() string { return fmt.Sprintf("%d/%s/%d", c.Operator, c.Store, c.Partition) }

func (c cell) dir() string {
	d := fmt.Sprintf("state/%d/%d", c.Operator, c.Partition)
	if c.Store == "default" {
		return d
	}
	return path.Join(d, c.Store)
}

// cellsOf returns what can be asked about a fixture.
func cellsOf(fixture string, whole tree) []cell {
	t := whole.t
	versions := madeFixtures[fixture].versions
	if versions == nil {
		newest := int64(0)
		for n := range whole.m {
			var v int64
			if _, err := fmt.Sscanf(path.Base(n), "%d.delta", &v); err == nil {
				newest = max(newest, v)
			}
		}
		for v := range newest {
			versions = append(versions, v+1)
		}
	}
	var out []cell
	for _, op := range whole.open().Operators() {
		partitions, _ := op.Partitions()
		for _, s := range op.Stores() {
			key, _ := s.Key()
			value, _ := s.Value()
			require.NotNil(t, key, fixture)
			require.NotNil(t, value, fixture)
			for p := range partitions {
				at := cell{Operator: op.ID(), Store: s.Name(), Partition: p, Versions: versions, Key: json.RawMessage(key.JSON()), Value: json.RawMessage(value.JSON())}
				if len(whole.below(at.dir())) > 0 {
					out = append(out, at)
				}
			}
		}
	}
	return out
}

// touched returns the cells that the damage has changed anything of; of a
// checkpoint that is whole, all. Spark looks at nothing but the directory of a
// partition to load it.
func (c judgedCase) touched() []cell {
	if c.name == wholeName {
		return c.cells
	}
	return slices.DeleteFunc(slices.Clone(c.cells), func(at cell) bool {
		before, after := c.whole.below(at.dir()), c.damaged.below(at.dir())
		return slices.Equal(before, after) && !slices.ContainsFunc(before, func(n string) bool { return c.whole.m[n] != c.damaged.m[n] })
	})
}

// asked returns the Sparks that are asked about the state. Row checksums came
// with 4.2; Sparks before refuse such rows or, worse, misread them, and that is
// no matter of damage.
func (c judgedCase) asked() []string {
	if c.fixture == rowChecksums {
		return slices.DeleteFunc(slices.Clone(sparks), func(s string) bool { return judgeOf[s] < checkpoint.Spark42 })
	}
	return sparks
}

// below returns the names of the files in a directory, "" for all.
func (r tree) below(dir string) []string {
	var out []string
	for n := range r.m {
		if dir == "" || strings.HasPrefix(n, dir+"/") {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}

// question is what Spark is asked about a checkpoint: what its stores load, or
// whether a query starts.
type question struct {
	Case   [3]string         `json:"case"`
	Dir    string            `json:"dir"`
	Conf   map[string]string `json:"conf,omitempty"`
	Cells  []cell            `json:"cells,omitempty"`
	Query  string            `json:"query,omitempty"`
	Sparks []string          `json:"sparks"`
}

// layDown writes all cases into a directory.
func layDown(t *testing.T, dir string) {
	t.Helper()
	n := 0
	lay := func(r tree, names []string) string {
		n++
		sub := fmt.Sprintf("damaged/%04d", n)
		sink := statetest.Dir(filepath.Join(dir, sub))
		for _, name := range names {
			require.NoError(t, sink.WriteFile(name, r.m[name].Data))
		}
		return sub
	}
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "damaged")))
	writer := func(name string) *json.Encoder {
		f, err := os.Create(filepath.Join(dir, name))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, f.Close()) })
		return json.NewEncoder(f)
	}
	questions, restarts := writer("questions.jsonl"), writer("restarts.jsonl")
	judged(t, func(c judgedCase) {
		q := question{Case: c.id(), Sparks: c.asked()}
		q.Conf, _ = c.whole.open().Conf()
		var names []string
		q.Cells = c.touched()
		for _, at := range q.Cells {
			names = append(names, c.damaged.below(at.dir())...)
		}
		if len(q.Cells) > 0 {
			q.Dir = lay(c.damaged, names)
			require.NoError(t, questions.Encode(q))
		}
	})
	restarted(t, func(c judgedCase, by []string) {
		require.NoError(t, restarts.Encode(question{Case: c.id(), Dir: lay(c.damaged, c.damaged.below("")), Query: "ad_billing", Sparks: by}))
	})
	t.Logf("%d checkpoints", n)
}

// startedNames are the cases of which the query is started: those whose damage
// lies outside of the state, which no state store is asked about, and some of
// each other kind.
var startedNames = []string{
	wholeName, "operator missing", "partition missing", "a partition too many", "uncommitted state", "state that no batch can have written",
	"a hole in offsets", "a hole in offsets that a start needs", "a hole in commits", "commits ahead", "commits behind", "a log cut short",
	"the newest log edited by hand", "query id missing", "query id damaged", "operator metadata damaged", "schema damaged",
	"the number of partitions changed", "two writers",

	"delta missing in a chain", "delta in only some partitions", "copied while running", "two files for a version",
	"a file that breaks Spark's listing", "truncated", "another compression", "bytes after the end", "rows that do not fit", "partitions swapped",
	"damaged snapshot with the deltas beside it", "snapshot damaged and a delta before it too", "snapshot named 07", "snapshot with a name that is no number",
	"hidden sidecar of another file", "JSON sidecar of another file",
}

// startedBy says which Sparks start the query on what is left of a fixture:
// those of one line on what it has written itself, the newest on what an older
// one has; and 4.1 where it is alone in what it does.
func (c judgedCase) startedBy() []string {
	switch alone := strings.Contains(c.name, "sidecar") || strings.Contains(c.name, "snapshot") || strings.Contains(c.name, "query id"); {
	case c.sidecars != allSidecars || !slices.Contains(startedNames, c.name):
	case c.fixture == "3.5.9/ad_billing":
		return []string{"3.5.9"}
	case c.fixture == "4.1.4/ad_billing" && alone:
		return []string{"4.1.4", "4.3.0"}
	case c.fixture == "4.1.4/ad_billing":
		return []string{"4.3.0"}
	}
	return nil
}

// restarted calls fn with the cases of which the query itself is started, and
// by whom: ad_billing as the damage leaves it, and where that must fail, again
// after what the check advises for it.
func restarted(t testing.TB, fn func(c judgedCase, by []string)) {
	t.Helper()
	judged(t, func(c judgedCase) {
		by := c.startedBy()
		if len(by) == 0 {
			return
		}
		fn(c, by)
		answers := c.damaged.check(checkpoint.DefaultCheck).Answers
		advised := map[int64][]string{} // by the batch to go back to
		for _, spark := range by {
			if a := answers[judgeOf[spark]]; a.Back != nil {
				advised[a.Newest] = append(advised[a.Newest], spark)
			}
		}
		for _, batch := range slices.Sorted(maps.Keys(advised)) {
			back, by := c, advised[batch]
			back.name = fmt.Sprintf("%s; gone back to %d", c.name, batch)
			back.damaged = c.damaged.goneBack(answers[judgeOf[by[0]]].Back)
			fn(back, by)
		}
	})
}

// goneBack does to a copy what a check advises.
func (r tree) goneBack(to *checkpoint.Rollback) tree {
	out := r.without("")
	for _, b := range to.Offsets {
		out.remove(fmt.Sprintf("offsets/%d", b))
	}
	for _, b := range to.Commits {
		out.remove(fmt.Sprintf("commits/%d", b))
	}
	for _, name := range to.Sources {
		out.remove(name)
	}
	for _, name := range out.below("state") {
		number, ext, _ := strings.Cut(path.Base(name), ".")
		var v int64
		if _, err := fmt.Sscanf(number, "%d", &v); err == nil && v > to.Above && (ext == "delta" || ext == "snapshot") {
			out.remove(name)
		}
	}
	return out
}

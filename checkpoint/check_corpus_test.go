package checkpoint_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sparkstate/sparkstate/checkpoint"
)

var checkLevels = []checkpoint.CheckLevel{checkpoint.QuickCheck, checkpoint.DefaultCheck, checkpoint.DeepCheck}

// wholeCheckpoints are those that Spark wrote and nobody has touched.
func wholeCheckpoints(t *testing.T) map[string]string {
	t.Helper()
	out := make(map[string]string)
	for _, pattern := range []string{"../testdata/[0-9]*/*/checkpoint", "../testdata/[0-9]*/*.zip", "../../shared/corpus/*/*/ckpt"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		if len(found) == 0 {
			t.Logf("%s is not there", pattern)
		}
		for _, f := range found {
			out[f] = f
		}
	}
	require.NotEmpty(t, out)
	return out
}

// Of a checkpoint that is whole there is nothing to say beyond what is normal,
// and all of it can be restored.
func TestCheckOfWholeCheckpoints(t *testing.T) {
	judged := 0
	for name, dir := range wholeCheckpoints(t) {
		cp, err := checkpoint.Open(dir)
		require.NoError(t, err, name)
		hdfs := cp.Provider().Format == checkpoint.HDFS
		for _, level := range checkLevels {
			r, err := cp.Check(context.Background(), level)
			require.NoError(t, err, name)
			for _, f := range r.Findings {
				if f.ID == "provider-not-read" && !hdfs {
					continue
				}
				assert.Equal(t, checkpoint.Info, f.Severity, "%s, %v: %+v", name, level, f)
			}
			for j, a := range r.Answers {
				assert.True(t, a.Restarts, "%s, %v, %v: %v", name, level, checkpoint.Judge(j), a.Why)
				assert.NoError(t, a.Why)
				assert.Nil(t, a.Back)
				if hdfs && len(cp.Operators()) > 0 {
					assert.Equal(t, r.LastCommitted, a.Newest, "%s, %v, %v", name, level, checkpoint.Judge(j))
				}
			}
			if hdfs && level == checkpoint.DeepCheck {
				judged++
			}
		}
		require.NoError(t, cp.Close())
	}
	t.Logf("%d checkpoints", judged)
}

// A copy of a part is checked by what it has.
func TestCheckOfParts(t *testing.T) {
	for _, part := range []string{"state", "state/1", "state/1/2"} {
		dir := t.TempDir()
		require.NoError(t, os.CopyFS(filepath.Join(dir, part), os.DirFS(filepath.Join("../testdata/4.1.4/ad_billing/checkpoint", part))))
		cp, err := checkpoint.Open(filepath.Join(dir, part))
		require.NoError(t, err)
		r, err := cp.Check(context.Background(), checkpoint.DeepCheck)
		require.NoError(t, err)
		for _, f := range r.Findings {
			assert.Equal(t, checkpoint.Info, f.Severity, "%s: %+v", part, f)
		}
		assert.Equal(t, int64(6), r.LastCommitted, part)
		assert.Equal(t, checkpoint.Inferred, r.From, part)
		assert.True(t, r.Answers[checkpoint.Library].Restarts, part)
		require.NoError(t, cp.Close())
	}
}

package readme

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSteps(t *testing.T) {
	require.Equal(t, []step{
		{"A=1", nil},
		{"echo $A", []string{"1", "", "  2"}},
		{"false", []string{"exit code 1"}},
		{"seq 3 | tail -1", []string{"3"}},
	}, steps("# Title\n\n    not a command\n\n    $ A=1\n    $ echo $A\n    1\n\n      2\n\ntext\n    indented text\n\n    $ false\n    exit code 1\n    $ seq 3 |\n      tail -1\n    3\n"))
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		shown, lines string
		want         bool
	}{
		{"", "", true}, {"a", "a", true}, {"a", "b", false}, {"a", "a b", false}, {"a b", "a", false},
		{"…", "", true}, {"… b", "a b", true}, {"… b", "b", true}, {"… b", "a c", false},
		{"a … c …", "a b b c", true}, {"a …", "b a", false},
		{"a…c", "abc", true}, {"a…c", "ac", true}, {"a…c", "abcd", false}, {"a…c", "bac", false}, {"…c…e", "abcde", true}, {"…c…e", "abde", false},
	} {
		require.Equal(t, c.want, matches(strings.Fields(c.shown), strings.Fields(c.lines)), "%v", c)
	}
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o700))
	file := filepath.Join(dir, "README.md")
	require.NoError(t, os.WriteFile(file, []byte("    $ X=one; ls; touch here\n    sub\n    $ echo $X; echo $Y >&2; (exit 3)\n    one\n    t…o\n    exit code 3\n    $ echo nothing\n    $ printf 'no end of line'\n    no end of line\n"), 0o600))
	Run(t, File{Name: file, Top: dir, Before: "Y=two", Without: []string{"nothing"}})
	require.NoFileExists(t, filepath.Join(dir, "here"))
}

// Package readme keeps READMEs true: it runs the commands that one shows, and
// compares what they print with what it says.
//
// Commands are indented lines that begin with "$"; what follows, indented and up
// to the next command or text, is what they print, on both streams:
//
//	$ sparkstate skew $CKPT --fail
//	…
//	verdict: hot-key (warning); skew rate 0.0919
//	…
//	exit code 1
//
// "…" alone on a line stands for any number of lines. An exit code other than 0
// is written as the last line.
package readme

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// step is a command with the lines that it is to print.
type step struct {
	command string
	output  []string
}

// steps returns the commands of a text.
func steps(text string) []step {
	var out []step
	inside := false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		code, indented := strings.CutPrefix(line, "    ")
		command, begins := strings.CutPrefix(code, "$ ")
		switch {
		case indented && begins:
			out, inside = append(out, step{command: command}), true
		case inside && (indented || line == ""):
			s := &out[len(out)-1]
			s.output = append(s.output, code)
		default:
			inside = false
		}
	}
	for i := range out { // the empty lines before the text
		s := &out[i]
		for n := len(s.output); n > 0 && s.output[n-1] == ""; n-- {
			s.output = s.output[:n-1]
		}
	}
	return out
}

// matches says whether lines are those shown.
func matches(shown, lines []string) bool {
	if len(shown) == 0 {
		return len(lines) == 0
	}
	if shown[0] == "…" {
		for i := range len(lines) + 1 {
			if matches(shown[1:], lines[i:]) {
				return true
			}
		}
		return false
	}
	return len(lines) > 0 && shown[0] == lines[0] && matches(shown[1:], lines[1:])
}

// Run runs the commands of a file, all in one shell, so that what one sets the
// next one has. They are run in a new directory that looks like the top one of
// the repository, and where they may write. The test is skipped where one of
// the tools is not installed.
func Run(t *testing.T, file, top string, tools ...string) {
	t.Helper()
	for _, tool := range append(tools, "bash", "go") {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed, so the commands of %s are not run", tool, file)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all := steps(string(text))
	if len(all) == 0 {
		t.Fatalf("%s has no commands", file)
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-c", script(all))
	cmd.Dir = mirror(t, top)
	printed, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	rest := string(printed)
	for i, s := range all {
		out, after, ok := strings.Cut(rest, mark(i))
		if !ok {
			t.Fatalf("$ %s\ndid not end:\n%s", s.command, rest)
		}
		rest = after
		var lines []string
		if out = strings.TrimSuffix(out, "exit code 0\n"); out != "" {
			lines = strings.Split(strings.TrimSuffix(out, "\n"), "\n")
		}
		if !matches(s.output, lines) {
			t.Errorf("%s: $ %s\nprints\n%s\nand not\n%s", file, s.command, out, strings.Join(s.output, "\n"))
		}
	}
}

// script returns the commands as one script, with a mark after each.
func script(all []step) string {
	var b strings.Builder
	for i, s := range all {
		fmt.Fprintf(&b, "{ %s\n} 2>&1; echo \"exit code $?\"; printf '%%s' '%s'\n", s.command, mark(i))
	}
	return b.String()
}

func mark(i int) string { return fmt.Sprintf("-- step %d has ended --\n", i) }

// mirror returns a directory of links to what is in another one.
func mirror(t *testing.T, top string) string {
	dir := t.TempDir()
	abs, err := filepath.Abs(top)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(abs)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !e.IsDir() && !strings.HasPrefix(e.Name(), "go.") || e.Name() == ".git" {
			continue // what is left over from somebody's own walk, for one
		}
		if err := os.Symlink(filepath.Join(abs, e.Name()), filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

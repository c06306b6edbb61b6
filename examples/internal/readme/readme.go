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
// A command that ends with "|" goes on in the next line. "…" alone on a line
// stands for any number of lines, and within a line for any text. An exit code
// other than 0 is written as the last line.
package readme

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
		case inside && indented && len(out[len(out)-1].output) == 0 && strings.HasSuffix(out[len(out)-1].command, "|"):
			out[len(out)-1].command += " " + strings.TrimSpace(code)
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
	return len(lines) > 0 && same(shown[0], lines[0]) && matches(shown[1:], lines[1:])
}

// same says whether a line is the one shown.
func same(shown, line string) bool {
	parts := strings.Split(shown, "…")
	for i, p := range parts {
		switch at := strings.Index(line, p); {
		case i == len(parts)-1:
			return i == 0 && line == p || i > 0 && strings.HasSuffix(line, p)
		case at < 0 || i == 0 && at > 0:
			return false
		default:
			line = line[at+len(p):]
		}
	}
	return true
}

// File is a README.
type File struct {
	Name string
	Top  string // the repository's top directory
	// Tools are those that it needs beside bash and go.
	Tools []string
	// Before is a command that a reader has run already.
	Before string
	// Without are texts of commands that are not for every machine.
	Without []string
}

// Run runs the commands of a file, all in one shell, so that what one sets the
// next one has. They are run in a new directory that looks like the top one of
// the repository, and where they may write. The test is skipped where one of
// the tools is not installed.
func Run(t *testing.T, f File) {
	t.Helper()
	file := f.Name
	for _, tool := range append(f.Tools, "bash", "go") {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed, so the commands of %s are not run", tool, file)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all := slices.DeleteFunc(steps(string(text)), func(s step) bool {
		return slices.ContainsFunc(f.Without, func(w string) bool { return strings.Contains(s.command, w) })
	})
	if len(all) == 0 {
		t.Fatalf("%s has no commands", file)
	}
	if f.Before != "" {
		all = slices.Insert(all, 0, step{command: f.Before})
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-c", script(all))
	cmd.Dir = mirror(t, f.Top)
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

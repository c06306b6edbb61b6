package checkpoint_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The library is read-only by construction: of package os it uses OpenRoot,
// and of the Root only what reads. (The methods are listed too, since a Root
// could also write.)
func TestLibraryOnlyReads(t *testing.T) {
	allowed := []string{"os.OpenRoot", "os.Root"}
	methods := []string{"Open", "Stat", "Lstat", "FS", "Close"}
	files := 0
	for _, dir := range []string{"../statestore", "../checkpoint", "../skew"} {
		require.NoError(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return err
			}
			if besideLibrary(name) {
				return nil
			}
			files++
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, name, nil, 0)
			if err != nil {
				return err
			}
			// Everything that OpenRoot's results are assigned to.
			roots := map[string]bool{}
			ast.Inspect(f, func(n ast.Node) bool {
				if a, ok := n.(*ast.AssignStmt); ok && len(a.Rhs) == 1 {
					if c, ok := a.Rhs[0].(*ast.CallExpr); ok && selector(c.Fun) == "os.OpenRoot" {
						roots[a.Lhs[0].(*ast.Ident).Name] = true
					}
				}
				return true
			})
			ast.Inspect(f, func(n ast.Node) bool {
				s, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				x, ok := s.X.(*ast.Ident)
				switch {
				case !ok:
				case x.Name == "os":
					assert.Contains(t, allowed, selector(s), fset.Position(s.Pos()))
				case roots[x.Name]:
					assert.Contains(t, methods, s.Sel.Name, fset.Position(s.Pos()))
				}
				return true
			})
			for _, imp := range f.Imports {
				assert.NotContains(t, []string{`"os/exec"`, `"syscall"`, `"unsafe"`, `"io/ioutil"`, `"net"`, `"net/http"`}, imp.Path.Value, name)
			}
			return nil
		}))
	}
	assert.Greater(t, files, 50)
}

// besideLibrary says whether a file only serves to test the library: it writes
// fixtures, or damages them.
func besideLibrary(name string) bool {
	name = filepath.ToSlash(name)
	return strings.Contains(name, "/statetest/") || strings.Contains(name, "/internal/mutation/")
}

func selector(e ast.Expr) string {
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	x, ok := s.X.(*ast.Ident)
	if !ok {
		return ""
	}
	return x.Name + "." + s.Sel.Name
}

// The arrows go one way: examples → skew → checkpoint → statestore → its
// subpackages, and skew's measures and the provider seam import nothing of
// ours.
func TestImportsGoOneWay(t *testing.T) {
	const module = "github.com/sparkstate/sparkstate/"
	layers := []string{"statestore", "checkpoint", "skew"}
	for i, layer := range layers {
		require.NoError(t, filepath.WalkDir("../"+layer, func(name string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || besideLibrary(name) {
				return err
			}
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
			if err != nil {
				return err
			}
			for _, imp := range f.Imports {
				p, ours := strings.CutPrefix(strings.Trim(imp.Path.Value, `"`), module)
				if !ours {
					continue
				}
				top, sub, _ := strings.Cut(p, "/")
				at := slices.Index(layers, top)
				assert.True(t, at >= 0 && at <= i, "%s imports %s", name, p)
				if layer == "statestore" && filepath.Dir(name) != "../statestore" {
					assert.NotEmpty(t, sub, "%s imports the package above it", name)
				}
				assert.NotEqual(t, "provider", filepath.Base(filepath.Dir(name)), "%s imports %s", name, p)
			}
			return nil
		}))
	}
}

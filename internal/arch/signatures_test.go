package arch_test

import (
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/arch"
)

// Public packages can be used from another module: no exported declaration
// names an internal type.
func TestPublicSignaturesNameNoInternalType(t *testing.T) {
	cmd := exec.Command("go", "list", "-export", "-deps", "-f",
		"{{if .GoFiles}}{{.ImportPath}}\t{{.Export}}\t{{.Name}}{{end}}", "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	export := map[string]string{}
	var public []string
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		if len(f) != 3 {
			continue // unsafe
		}
		export[f[0]] = f[1]
		if (f[0] == arch.Module || strings.HasPrefix(f[0], arch.Module+"/")) && arch.Public(f[0]) && f[2] != "main" {
			public = append(public, f[0])
		}
	}
	if len(public) < 15 {
		t.Fatalf("only %d public packages were found: the check would prove nothing", len(public))
	}
	imp := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(export[path])
	})
	for _, path := range public {
		pkg, err := imp.Import(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range arch.Exposed(pkg) {
			t.Error(s)
		}
	}
}

// The check must be able to fail: each of these names an internal type in one place.
func TestExposedTypesAreFound(t *testing.T) {
	const path = arch.Module + "/public"
	check := func(t *testing.T, src string) []string {
		t.Helper()
		known := sources{}
		inner := known.check(t, arch.Module+"/internal/inner", `package inner
			type T struct{}
			func (T) Own() {}
			type G[X any] struct{ V X }
			type I interface{ Own() }
			var Err error
			const Name = "name"`)
		known[inner.Path()] = inner
		other := known.check(t, arch.Module+"/other", `package other; type T struct{}`)
		known[other.Path()] = other
		return arch.Exposed(known.check(t, path, `package public
			import "`+inner.Path()+`"
			import "`+other.Path()+`"
			var _ inner.T
			var _ other.T
			`+src))
	}
	for place, src := range map[string]string{
		"A":   "type A = inner.T",
		"B":   "type B = []inner.T",
		"C":   "type C struct{ inner.T }",
		"D":   "type D inner.G[int]; func (D) M(map[string]*inner.T) {}",
		"E.F": "type E struct{ F func(chan inner.T) }",
		"F":   "func F() (inner.T, error) { panic(0) }",
		"G":   "func G(...inner.T) {}",
		"H.M": "type H interface{ M(inner.I) }",
		"I":   "type I interface{ inner.I }",
		"J":   "func J[X inner.I](X) {}",
		"K":   "type K[X interface{ ~int | inner.T }] struct{}",
		"L":   "var L = inner.T{}",
		"M":   "var M other.T; func F() (struct{ X inner.T }, int) { panic(0) }",
		"N.m": "type N interface{ m(inner.T) }",
		"o.M": "type o struct{}; func (o) M(inner.T) {}; func New() o { return o{} }",
		"P.M": "type o struct{}; func (o) M(inner.T) {}; type P struct{ o }",
		"Q":   "type Q = R[inner.T]; type R[X any] struct{}",
		"S":   "type S = alias; type alias = inner.T",
	} {
		if got := check(t, src); len(got) == 0 {
			t.Errorf("%s: %s passes", place, src)
		} else if !strings.Contains(got[0], "internal/inner.") || !strings.HasPrefix(got[0], "public: ") {
			t.Errorf("%s: %q", place, got)
		}
	}
	for _, src := range []string{
		"type A struct{ f inner.T; other.T }",
		"func f(inner.T) {}",
		"type A struct{}; func (A) m(inner.T) {}",
		"type a = inner.T",
		"var Err = inner.Err; const Name = inner.Name",
		"type A struct{ Next *A; F map[string]other.T }",
	} {
		if got := check(t, src); len(got) != 0 {
			t.Errorf("%s: %q", src, got)
		}
	}
}

// sources imports the packages that were checked before.
type sources map[string]*types.Package

func (s sources) Import(path string) (*types.Package, error) {
	if p := s[path]; p != nil {
		return p, nil
	}
	return nil, errors.New("unknown: " + path)
}

func (s sources) check(t *testing.T, path, src string) *types.Package {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, src, 0)
	if err != nil {
		t.Fatal(err)
	}
	pkg, err := (&types.Config{Importer: s}).Check(path, fset, []*ast.File{file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return pkg
}

package hookbuild

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/rules"
	"github.com/belay-hooks/belay/internal/rules/code"
	"github.com/belay-hooks/belay/phases"
)

// TinyGo is not among the tools of this project's tests. What can be known without it is held here: the Go SDK, the
// template and every example in Go type-check as TinyGo sees them, import only packages that it compiles for a target
// without an operating system, and use nothing of the language that it lacks there or that makes runs differ.

const hookPath = "github.com/belay-hooks/belay/hooks-sdk/go"

// tinyTargets are what TinyGo's targets/*.json and compileopts/config.go set.
func tinyTargets() map[string]build.Context {
	common := []string{"tinygo", "tinygo.wasm", "purego", "osusergo", "math_big_pure_go", "gc.leaking", "scheduler.none",
		"serial.none"}
	target := func(goos, goarch string, tags ...string) build.Context {
		c := build.Default
		c.GOOS, c.GOARCH, c.CgoEnabled = goos, goarch, false
		c.BuildTags = append(slices.Clone(common), tags...)
		return c
	}
	return map[string]build.Context{
		"wasm-unknown": target("linux", "arm", "wasm_unknown"), // it has no GOOS of its own
		"wasip1":       target("wasip1", "wasm"),
	}
}

// tinyPackages are the packages of the standard library that hooks may use.
func tinyPackages() []string {
	return []string{"bytes", "cmp", "errors", "math", "math/bits", "slices", "sort", "strconv", "strings", "unicode",
		"unicode/utf8", "unsafe"}
}

// tinyChecker type-checks packages for one target.
type tinyChecker struct {
	context build.Context
	files   *token.FileSet
	std     types.Importer
	hook    *types.Package
	faults  []string
}

func newTinyChecker(c build.Context) *tinyChecker {
	files := token.NewFileSet()
	return &tinyChecker{context: c, files: files, std: importer.ForCompiler(files, "source", nil)}
}

// Import implements types.Importer.
func (c *tinyChecker) Import(path string) (*types.Package, error) {
	if path == hookPath && c.hook != nil {
		return c.hook, nil
	}
	if !slices.Contains(tinyPackages(), path) {
		return nil, fmt.Errorf("%s is not among the packages that hooks may import under TinyGo", path)
	}
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	return c.std.Import(path)
}

// dir checks the package in a directory, as far as the target builds its files.
func (c *tinyChecker) dir(t *testing.T, path, dir string) *types.Package {
	t.Helper()
	p, err := c.context.ImportDir(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	sources := map[string]string{}
	for _, name := range p.GoFiles {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		sources[filepath.Join(dir, name)] = string(b)
	}
	return c.check(path, sources)
}

func (c *tinyChecker) check(path string, sources map[string]string) *types.Package {
	var parsed []*ast.File
	for name, text := range sources {
		f, err := parser.ParseFile(c.files, name, text, parser.ParseComments)
		if err != nil {
			c.faults = append(c.faults, err.Error())
			return nil
		}
		parsed = append(parsed, f)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: c, GoVersion: "go1.23", IgnoreFuncBodies: false,
		Sizes: types.SizesFor("gc", "arm"), Error: func(err error) { c.faults = append(c.faults, err.Error()) }}
	pkg, _ := config.Check(path, c.files, parsed, info) // the errors are among the faults
	for _, f := range parsed {
		ast.Inspect(f, func(n ast.Node) bool { c.look(n, info); return true })
		for _, group := range f.Comments {
			for _, comment := range group.List {
				if name, ok := strings.CutPrefix(comment.Text, "//go:wasmexport "); ok && !phases.Phase(name).Valid() {
					c.fault(comment, "exports "+name+", which is no phase")
				}
			}
		}
	}
	return pkg
}

func (c *tinyChecker) fault(n ast.Node, what string) {
	c.faults = append(c.faults, c.files.Position(n.Pos()).String()+": "+what)
}

// look refuses what has no meaning with one thread, and what makes two runs differ.
func (c *tinyChecker) look(n ast.Node, info *types.Info) {
	switch n := n.(type) {
	case *ast.GoStmt:
		c.fault(n, "starts a goroutine, and there is no scheduler")
	case *ast.SelectStmt, *ast.ChanType:
		c.fault(n, "uses channels, and there is no scheduler")
	case *ast.RangeStmt:
		if _, is := info.TypeOf(n.X).Underlying().(*types.Map); is {
			c.fault(n, "goes through a map, in an order that differs from run to run")
		}
	case *ast.Ident:
		if b, is := info.Uses[n].(*types.Builtin); is && b.Name() == "recover" {
			c.fault(n, "recovers, and a panic ends a hook there")
		}
	}
}

func TestGoSourcesUnderTinyGo(t *testing.T) {
	root := filepath.Join("..", "..")
	hooks := []string{filepath.Join(root, "harness", "conformance", "sdk", "go"),
		filepath.Join(root, "hooks-sdk", "abi", "testdata", "probes", "go")}
	examples, err := filepath.Glob(filepath.Join(root, "examples-wasm", "*", "go.mod"))
	if err != nil || len(examples) == 0 {
		t.Fatal(examples, err)
	}
	for _, mod := range examples {
		hooks = append(hooks, filepath.Dir(mod))
	}
	template := filepath.Join(t.TempDir(), "guard")
	if err := New(template, "guard", "go"); err != nil {
		t.Fatal(err)
	}
	hooks = append(hooks, template, fromRules(t))
	for name, context := range tinyTargets() {
		t.Run(name, func(t *testing.T) {
			c := newTinyChecker(context)
			sdk := filepath.Join(root, "hooks-sdk", "go")
			p, err := c.context.ImportDir(sdk, 0)
			if err != nil || !slices.Contains(p.GoFiles, "raw_guest.go") || slices.Contains(p.GoFiles, "raw_native.go") {
				t.Fatalf("the target builds %q of the SDK: %v", p.GoFiles, err)
			}
			c.hook = c.dir(t, hookPath, sdk)
			for _, dir := range hooks {
				c.dir(t, "main", dir)
			}
			for _, f := range c.faults {
				t.Error(f)
			}
		})
	}
}

// fromRules makes the hook in Go that rules of every form become.
func fromRules(t *testing.T) string {
	t.Helper()
	const file = "../rules/code/testdata/rules.yaml"
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	f, err := rules.Parse(file, src)
	if err != nil {
		t.Fatal(err)
	}
	o, err := f.Outline(file, rules.Judges)
	if err != nil {
		t.Fatal(err)
	}
	s, err := code.Write(o, "from-rules", "rules.yaml", "go")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "from-rules")
	if err := NewFrom(dir, "from-rules", "go", &Start{Files: s.Files, Sources: s.Describes}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Each of these is refused, and the reason names it.
func TestTinyGoCheckRefuses(t *testing.T) {
	for body, want := range map[string]string{
		`import "fmt"; func f() { fmt.Println() }`:                 "fmt is not among",
		`import "time"; var _ = time.Now`:                          "time is not among",
		`import "` + hookPath + `/hooktest"; var _ = hooktest.New`: "hooktest is not among",
		`func f() { go f() }`:                                      "goroutine",
		`func f(c chan int) {}`:                                    "channels",
		`func f(m map[string]int) { for range m {} }`:              "map",
		`func f() { defer func() { recover() }() }`:                "recovers",
		`func f() int { return "" }`:                               "cannot use",
		"//go:wasmexport on_tool\nfunc f() int32 { return 0 }":     "no phase",
	} {
		c := newTinyChecker(tinyTargets()["wasm-unknown"])
		c.check("main", map[string]string{"x.go": "package main\n" + body})
		if len(c.faults) == 0 || !strings.Contains(strings.Join(c.faults, "\n"), want) {
			t.Errorf("%s: %s", strconv.Quote(body), strings.Join(c.faults, "\n"))
		}
	}
}

package calls_test

import (
	"go/ast"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/belay-hooks/belay/internal/arch/calls"
)

// Each use is told with the function in which it stands; files that are no part
// of the product are left out, and so are the calls that a test passes over.
func TestEach(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"a/a.go":          "package a\nvar x = os.Args\nfunc (t T) f() { os.Open(strconv.Quote(q)); y.z().w() }\n",
		"a/a_test.go":     "package a\nfunc f() { os.Open(q) }\n",
		"atest/a.go":      "package atest\nfunc f() { os.Open(q) }\n",
		"a/testdata/a.go": "no Go",
		".git/a.go":       "no Go",
		"skipped/a.go":    "no Go",
		"b.go":            "package b\nfunc g() { log.Fatal(os.Getpid()) }\n",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	source := calls.Source{Root: root, Skip: []string{"skipped"}, Past: func(c *ast.CallExpr) bool {
		sel, ok := c.Fun.(*ast.SelectorExpr)
		return ok && sel.Sel.Name == "Fatal"
	}}
	var got []string
	if err := source.Each(func(u calls.Use) { got = append(got, u.At()+" "+u.Pkg+"."+u.Name) }); err != nil {
		t.Fatal(err)
	}
	want := []string{"a/a.go (package) os.Args", "a/a.go f os.Open", "a/a.go f strconv.Quote", "a/a.go f y.z"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Source that cannot be read ends the walk: a list of callers is whole or an error.
func TestEachFails(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "a.go"), []byte("no Go"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{root, filepath.Join(root, "missing")} {
		if err := (calls.Source{Root: dir}).Each(func(calls.Use) {}); err == nil {
			t.Errorf("%s: no error", dir)
		}
	}
}

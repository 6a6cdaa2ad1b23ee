// Package calls tells which functions of belay's own source call functions of
// named packages, for tests that list every caller of a kind: all that open
// files, all that write them. It reads source without types: a call is the name
// of a package, a dot and a name. It never builds or runs anything, and decides
// nothing about the calls.
package calls

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// Use is one mention of PACKAGE.NAME.
type Use struct {
	File string // its path from the root, with slashes
	Func string // the name of the function or method, or "(package)" outside of one
	Pkg  string // as the file calls it
	Name string
}

// At returns the place as the tests' tables write it: "internal/x/y.go name".
func (u Use) At() string { return u.File + " " + u.Func }

// Source is the part of the source that a test looks at: all Go files below Root but tests,
// packages that only tests use (their names end in "test"), testdata, templates and Skip.
type Source struct {
	Root string
	Skip []string                 // folders, from the root, with slashes
	Past func(*ast.CallExpr) bool // calls that are passed over with their arguments; nil: none
}

// Each calls visit for each use, file by file.
func (s Source) Each(visit func(Use)) error {
	return filepath.WalkDir(s.Root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(s.Root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		switch {
		case d.IsDir() && s.skips(rel, d.Name()):
			return fs.SkipDir
		case d.IsDir(), !strings.HasSuffix(rel, ".go"), strings.HasSuffix(rel, "_test.go"):
			return nil
		}
		return s.file(path, rel, visit)
	})
}

func (s Source) skips(rel, name string) bool {
	switch {
	case rel == ".":
		return false
	case name == "testdata", name == "templates", strings.HasPrefix(name, "."):
		return true
	case strings.HasSuffix(rel, "test") && rel != "test":
		return true
	}
	return slices.Contains(s.Skip, rel)
}

func (s Source) file(path, rel string, visit func(Use)) error {
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, decl := range f.Decls {
		use := Use{File: rel, Func: "(package)"}
		if fn, ok := decl.(*ast.FuncDecl); ok {
			use.Func = fn.Name.Name
		}
		ast.Inspect(decl, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && s.Past != nil && s.Past(call) {
				return false
			}
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if pkg, ok := sel.X.(*ast.Ident); ok {
				use.Pkg, use.Name = pkg.Name, sel.Sel.Name
				visit(use)
			}
			return true
		})
	}
	return nil
}

package mutants

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

// ErrNotFound is the class of errors about a place that the code no longer has.
var ErrNotFound = errors.New("the code has no such place")

// In finds the function or method symbol ("Name" or "Type.Name") in the files and returns the change that
// replaces the text from by the text with inside of it. from has to stand there exactly once; "" stands
// for the whole body. The error is ErrNotFound for errors.Is, or a syntax error of a file.
func In(files map[string][]byte, symbol, from, with string) (Change, error) {
	for name, src := range files {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
		if err != nil {
			return Change{}, err
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil || symbolOf(fn) != symbol {
				continue
			}
			begin, end := fset.Position(fn.Body.Lbrace).Offset+1, fset.Position(fn.Body.Rbrace).Offset
			if from != "" {
				body := string(src[begin:end])
				switch n := strings.Count(body, from); n {
				case 1:
				default:
					return Change{}, fmt.Errorf("%w: %q stands %d times in %s, not once", ErrNotFound, from, n, symbol)
				}
				begin += strings.Index(body, from)
				end = begin + len(from)
			}
			line := 1 + bytes.Count(src[:begin], []byte("\n"))
			return Change{File: name, From: begin, To: end, With: with, Line: line,
				What: fmt.Sprintf("%q becomes %q", from, with)}, nil
		}
	}
	return Change{}, fmt.Errorf("%w: no function %s", ErrNotFound, symbol)
}

// symbolOf names a function as Name, a method as Type.Name.
func symbolOf(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return fn.Name.Name
	}
	t := fn.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
			continue
		case *ast.IndexExpr:
			t = x.X
			continue
		case *ast.Ident:
			return x.Name + "." + fn.Name.Name
		}
		return fn.Name.Name
	}
}

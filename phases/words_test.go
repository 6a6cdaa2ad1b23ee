package phases

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The functions that list all words of a type list every constant of it, once.
func TestListsAreComplete(t *testing.T) {
	declared := constants(t)
	for typ, listed := range map[string][]string{"Phase": words(Phases()), "EventType": words(EventTypes()),
		"Kind": words(Kinds())} {
		slices.Sort(listed)
		if want := declared[typ]; len(want) == 0 || !slices.Equal(listed, want) {
			t.Errorf("%s: listed %q, declared %q", typ, listed, want)
		}
	}
}

func words[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, w := range list {
		out[i] = string(w)
	}
	return out
}

// constants returns the values of the package's string constants by their type.
func constants(t *testing.T) map[string][]string {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), e.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range f.Decls {
			g, ok := decl.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				continue
			}
			for _, spec := range g.Specs {
				v := spec.(*ast.ValueSpec)
				typ, ok := v.Type.(*ast.Ident)
				if !ok || len(v.Values) != 1 {
					continue
				}
				if lit, ok := v.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
					word, err := strconv.Unquote(lit.Value)
					if err != nil {
						t.Fatal(err)
					}
					out[typ.Name] = append(out[typ.Name], word)
				}
			}
		}
	}
	for _, list := range out {
		slices.Sort(list)
	}
	return out
}

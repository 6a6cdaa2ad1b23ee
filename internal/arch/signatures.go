package arch

import (
	"fmt"
	"go/types"
	"slices"
	"strings"
)

// Exposed returns one sentence for every exported declaration of a package that names a type
// of an internal package, sorted: an importer of another module could not write that type
// down. It follows what an importer can reach: results, parameters, constraints, exported
// fields and methods, promoted ones included, and the package's own unexported types.
func Exposed(pkg *types.Package) []string {
	w := walk{pkg: pkg, seen: map[types.Type]bool{}}
	for _, name := range pkg.Scope().Names() {
		if obj := pkg.Scope().Lookup(name); obj.Exported() {
			w.typ(name, obj.Type())
			if alias, ok := obj.Type().(*types.Alias); ok { // what go doc shows is the right side
				w.typ(name, alias.Rhs())
			}
		}
	}
	slices.Sort(w.found)
	return slices.Compact(w.found)
}

type walk struct {
	pkg   *types.Package
	seen  map[types.Type]bool
	found []string
}

// typ follows a type by which the declaration at is described.
func (w *walk) typ(at string, t types.Type) {
	switch t := t.(type) {
	case *types.Alias:
		if w.own(at, t.Obj()) {
			w.typ(at, t.Rhs())
		}
		w.list(at, t.TypeArgs())
	case *types.Named:
		w.list(at, t.TypeArgs())
		if w.own(at, t.Obj()) && !w.seen[t] {
			w.seen[t] = true
			w.named(t)
		}
	case *types.Struct:
		for field := range t.Fields() {
			if field.Exported() {
				w.typ(at+"."+field.Name(), field.Type())
			}
		}
	case *types.Interface:
		for method := range t.Methods() { // unexported ones, too: they keep others from implementing it
			w.typ(at+"."+method.Name(), method.Type())
		}
		for embedded := range t.EmbeddedTypes() {
			w.typ(at, embedded)
		}
	case *types.Union:
		for term := range t.Terms() {
			w.typ(at, term.Type())
		}
	case *types.Signature:
		w.params(at, t.TypeParams())
		w.typ(at, t.Params())
		w.typ(at, t.Results())
	case *types.Tuple:
		for v := range t.Variables() {
			w.typ(at, v.Type())
		}
	case *types.Map:
		w.typ(at, t.Key())
		w.typ(at, t.Elem())
	case interface{ Elem() types.Type }: // pointer, slice, array, channel
		w.typ(at, t.Elem())
	}
}

func (w *walk) named(t *types.Named) {
	name := t.Obj().Name()
	w.params(name, t.TypeParams())
	w.typ(name, t.Underlying())
	for method := range types.NewMethodSet(types.NewPointer(t)).Methods() {
		if obj := method.Obj(); obj.Exported() && !types.IsInterface(t) {
			w.typ(name+"."+obj.Name(), obj.Type())
		}
	}
}

func (w *walk) params(at string, list *types.TypeParamList) {
	for param := range list.TypeParams() {
		w.typ(at, param.Constraint())
	}
}

func (w *walk) list(at string, list *types.TypeList) {
	for t := range list.Types() {
		w.typ(at, t)
	}
}

// own reports whether the name is one of the package itself, and notes a name of an internal one.
func (w *walk) own(at string, name *types.TypeName) bool {
	switch {
	case name.Pkg() == nil: // error, any
		return false
	case name.Pkg() == w.pkg:
		return true
	case strings.HasPrefix(name.Pkg().Path(), Module+"/") && !Public(name.Pkg().Path()):
		w.found = append(w.found, fmt.Sprintf("%s: %s names %s.%s, which no other module can import",
			short(w.pkg.Path()), at, short(name.Pkg().Path()), name.Name()))
	}
	return false
}

// Public reports whether other modules can import the package of that path.
func Public(path string) bool { return !slices.Contains(strings.Split(path, "/"), "internal") }

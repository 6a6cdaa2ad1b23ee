package loader

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

const givenScheme = "adhoc:" // followed by the index; belay.yaml cannot say it

// Given is a hook that is given by hand, without an installation: a module file, or the
// module itself.
type Given struct {
	Name     string         // "" means the file's name; made unique
	Path     string         // of the module file, unless Module is set
	Module   []byte         // must not be changed afterwards
	Priority int            // below 100
	Config   jsontext.Value // nil means none
	Redacts  *bool          // see kernel.BindingSpec
}

// Ready is a Given with the bytes that it names.
type Ready struct {
	Spec kernel.BindingSpec
	file []byte
}

// ReadGiven reads the modules now: later examinations see these bytes. No hook gets a name
// that is taken.
func ReadGiven(hooks []Given, taken []string) ([]Ready, error) {
	names := map[string]bool{}
	for _, n := range taken {
		names[n] = true
	}
	var out []Ready
	for i, h := range hooks {
		module := h.Module
		if module == nil {
			var err error
			if module, err = statedir.ReadModule(h.Path); err != nil {
				return nil, fmt.Errorf("hook %s: %w", h.Path, err)
			}
		}
		base := phases.SafeLine(cmp.Or(h.Name, strings.TrimSuffix(filepath.Base(h.Path), ".wasm"), "hook"), 64)
		name := base
		for n := 2; names[name] || name == ""; n++ {
			name = fmt.Sprintf("%s-%d", base, n)
		}
		names[name] = true
		out = append(out, Ready{file: module, Spec: kernel.BindingSpec{
			Name: name, Module: fmt.Sprintf("%s%d", givenScheme, i), Priority: h.Priority, Config: h.Config, Redacts: h.Redacts,
			State: "adhoc:" + name, // never the state of an installed hook: no binding's name has a colon
		}})
	}
	return out, nil
}

// isGiven reports whether a binding is of a hook that is given by hand.
func isGiven(spec kernel.BindingSpec) bool { return strings.HasPrefix(spec.Module, givenScheme) }

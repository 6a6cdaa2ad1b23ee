package hookbuild

import (
	"context"
	"maps"
	"slices"
)

// language is how hooks in one language are recognised and compiled.
type language struct {
	marks   []string // patterns of files, one of which is there
	missing func() string
	compile func(ctx context.Context, j *job) ([]byte, error)
}

func languages() map[string]language {
	return map[string]language{
		"c":              {marks: []string{"*.c"}, missing: missingC, compile: compileC},
		"go":             {marks: []string{"go.mod"}, missing: missingGo, compile: compileGo},
		"rust":           {marks: []string{"Cargo.toml"}, missing: missingRust, compile: compileRust},
		"wat":            {marks: []string{"*.wat"}, missing: missingWAT, compile: compileWAT},
		"assemblyscript": {marks: []string{"asconfig.json"}, missing: missingAS, compile: compileAS},
	}
}

// Known returns the languages that Build understands, sorted.
func Known() []string { return slices.Sorted(maps.Keys(languages())) }

// Languages returns the languages that New has templates for.
func Languages() []string { return []string{"go", "rust", "c", "assemblyscript", "wat"} }

// Missing returns what has to be installed before hooks of a language can be
// built here, as a sentence, or "" when everything is there.
func Missing(lang string) string {
	l, ok := languages()[lang]
	if !ok {
		return "this is not a language that hooks can be built from"
	}
	return l.missing()
}

package harness_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/belay-hooks/belay/harness"
	"github.com/belay-hooks/belay/internal/hookbuild"
)

// Every example hook does what its cases say: the prebuilt ones as they are
// committed, the others built from their source first.
func TestExampleHooks(t *testing.T) {
	dirs, err := filepath.Glob("../examples-wasm/*/belay.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(dirs) < 12 {
		t.Fatalf("only %d example hooks were found", len(dirs))
	}
	e, err := harness.OpenEngine(harness.EngineOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for _, d := range dirs {
		dir := filepath.Dir(d)
		name := filepath.Base(dir)
		t.Run(name, func(t *testing.T) {
			cases, err := harness.ReadSuites(filepath.Join(dir, "cases"))
			if err != nil {
				t.Fatal(err)
			}
			module, err := os.ReadFile(filepath.Join(dir, name+".wasm"))
			if errors.Is(err, fs.ErrNotExist) {
				res, err := hookbuild.Build(t.Context(), dir, hookbuild.Options{Output: filepath.Join(t.TempDir(), name+".wasm")})
				if err != nil {
					t.Fatal(err)
				}
				if module, err = os.ReadFile(res.Path); err != nil {
					t.Fatal(err)
				}
			} else if err != nil {
				t.Fatal(err)
			}
			h := e.Hook(name, module)
			for i := range cases {
				t.Run(cases[i].Name, func(t *testing.T) {
					res, err := h.Run(t.Context(), &cases[i])
					if err != nil {
						t.Fatal(err)
					}
					for _, d := range res.Differences {
						t.Error(d)
					}
				})
			}
		})
	}
}

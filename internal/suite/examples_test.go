package suite_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/belay-hooks/belay/internal/hookbuild"
	"github.com/belay-hooks/belay/internal/suite"
)

// Every example hook does what its cases say, and its goldens where it has some: the prebuilt ones as they are
// committed, the others built from their source first.
func TestExampleHooks(t *testing.T) {
	dirs, err := filepath.Glob("../../examples-wasm/*/belay.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(dirs) < 12 {
		t.Fatalf("only %d example hooks were found", len(dirs))
	}
	e, err := suite.OpenEngine(suite.EngineOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for _, d := range dirs {
		dir := filepath.Dir(d)
		name := filepath.Base(dir)
		t.Run(name, func(t *testing.T) {
			files, err := filepath.Glob(filepath.Join(dir, "cases", "*.yaml"))
			if err != nil || len(files) == 0 {
				t.Fatalf("%d suites: %v", len(files), err)
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
			for _, f := range files {
				s, err := suite.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				res, err := h.RunSuite(t.Context(), s, suite.Options{})
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range res.Cases {
					if c.Status() != "pass" {
						t.Errorf("%s: %s: %v %v %v", filepath.Base(f), c.Case, c.Err, c.Differences, c.Golden)
					}
				}
				if len(res.Left) > 0 {
					t.Errorf("%s: the golden has cases that are gone: %q", filepath.Base(f), res.Left)
				}
			}
		})
	}
}

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
	state := t.TempDir() // one for all: compiled code is kept between cases
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
			r := harness.Runner{Module: module, Name: name, Dir: state}
			for _, c := range cases {
				t.Run(c.Name, func(t *testing.T) {
					res, err := r.Run(t.Context(), c)
					if err != nil {
						t.Fatal(err)
					}
					for _, f := range res.Faults {
						t.Error(f)
					}
				})
			}
		})
	}
}

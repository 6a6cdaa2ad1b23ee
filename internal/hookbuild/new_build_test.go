package hookbuild_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/belay-hooks/belay/harness"
	"github.com/belay-hooks/belay/internal/hookbuild"
)

// A new hook builds as it is, answers its own cases in the real sandbox, and
// comes out the same wherever it lies.
func TestNewHooksBuildAndRun(t *testing.T) {
	for _, lang := range hookbuild.Languages() {
		t.Run(lang, func(t *testing.T) {
			if m := hookbuild.Missing(lang); m != "" {
				t.Fatalf("%s; scripts/setup installs it", m)
			}
			dir, r := build(t, "one", lang)
			module, err := os.ReadFile(filepath.Join(dir, "guard.wasm"))
			if err != nil || len(module) != r.Size || r.Language != lang || r.Toolchain == "" {
				t.Fatalf("%+v %v", r, err)
			}
			cases, err := harness.ReadSuites(filepath.Join(dir, "cases"))
			if err != nil {
				t.Fatal(err)
			}
			runner := harness.Runner{Module: module, Name: "guard", Dir: t.TempDir()}
			for _, c := range cases {
				res, err := runner.Run(t.Context(), c)
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range res.Faults {
					t.Errorf("%s: %s", c.Name, f)
				}
			}
			if lang == "go" || testing.Short() {
				return // Go's linker is known to be reproducible, and slow
			}
			if _, again := build(t, "two", lang); again.Digest != r.Digest {
				t.Errorf("the place decides the module: %s, %s", r.Digest, again.Digest)
			}
		})
	}
}

func build(t *testing.T, place, lang string) (dir string, r hookbuild.Result) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), place, "guard")
	if err := hookbuild.New(dir, "guard", lang); err != nil {
		t.Fatal(err)
	}
	r, err := hookbuild.Build(context.Background(), dir, hookbuild.Options{StandardGo: true})
	if err != nil {
		t.Fatal(err)
	}
	return dir, r
}

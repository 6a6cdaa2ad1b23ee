package hookbuild_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/belay-hooks/belay/internal/hookbuild"
	"github.com/belay-hooks/belay/internal/suite"
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
			cases, err := suite.ReadCases(filepath.Join(dir, "cases"))
			if err != nil {
				t.Fatal(err)
			}
			e, err := suite.OpenEngine(suite.EngineOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			h := e.Hook("guard", module)
			for i := range cases {
				res, err := h.Run(t.Context(), &cases[i])
				if err != nil {
					t.Fatal(err)
				}
				for _, d := range res.Differences {
					t.Errorf("%s: %s", res.Case, d)
				}
			}
			if lang == "assemblyscript" {
				test := exec.CommandContext(t.Context(), "node", "--test", "--test-reporter=tap") // as `npm test` does
				test.Dir = dir
				if said, err := test.CombinedOutput(); err != nil || !bytes.Contains(said, []byte("# pass 2")) {
					t.Errorf("its own tests: %v\n%s", err, said)
				}
			}
			if lang == "go" || lang == "assemblyscript" || testing.Short() {
				return // slow; Go's linker is known to be reproducible, and locks of committed modules hold AssemblyScript to it
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

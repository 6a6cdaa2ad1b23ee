package conformance_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/belay-hooks/belay/harness/conformance"
	"github.com/belay-hooks/belay/internal/hookbuild"
)

// The committed modules belong to their sources and to the SDKs as they are now. Build
// them with: go run ./internal/hookbuild/buildexamples -C harness/conformance/sdk
func TestSDKHooksAreCurrent(t *testing.T) {
	src, err := os.ReadFile(filepath.Join("sdk", hookbuild.LockFile))
	if err != nil {
		t.Fatal(err)
	}
	l, err := hookbuild.ReadLock(src)
	if err != nil {
		t.Fatal(err)
	}
	drift, err := hookbuild.CheckLocked("sdk", l)
	if err != nil || len(l.Modules) != 2 {
		t.Fatalf("%d modules, %v", len(l.Modules), err)
	}
	for _, d := range drift {
		t.Errorf("%s: %s", d.Name, d.Text)
	}
}

// Hooks written with each SDK come to the same.
func TestSDKs(t *testing.T) {
	for _, lang := range []string{"c", "rust", "go"} {
		t.Run(lang, func(t *testing.T) {
			path := filepath.Join("sdk", lang, lang+".wasm")
			if lang == "go" { // megabytes, so that it is built when it is needed
				path = filepath.Join(t.TempDir(), "go.wasm")
				if _, err := hookbuild.Build(t.Context(), filepath.Join("sdk", lang), hookbuild.Options{Output: path, WorkDir: t.TempDir(), StandardGo: true}); err != nil {
					t.Fatal(err)
				}
			}
			module, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			conformance.RunSDK(t, conformance.Own{Bench: bench(t)}, module)
		})
	}
}

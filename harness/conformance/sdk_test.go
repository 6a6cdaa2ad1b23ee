package conformance_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/belay-hooks/belay/harness/conformance"
	"github.com/belay-hooks/belay/internal/hookbuild"
)

func sdkLock(t *testing.T) hookbuild.Lock {
	t.Helper()
	src, err := os.ReadFile(filepath.Join("sdk", hookbuild.LockFile))
	if err != nil {
		t.Fatal(err)
	}
	l, err := hookbuild.ReadLock(src)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// The committed modules belong to their sources and to the SDKs as they are now. Build
// them with: go run ./internal/hookbuild/buildexamples -C harness/conformance/sdk
func TestSDKHooksAreCurrent(t *testing.T) {
	l := sdkLock(t)
	drift, err := hookbuild.CheckLocked("sdk", l)
	if err != nil || len(l.Modules) != 3 {
		t.Fatalf("%d modules, %v", len(l.Modules), err)
	}
	for _, d := range drift {
		t.Errorf("%s: %s", d.Name, d.Text)
	}
}

// Hooks written with each SDK, built here and now, come to the same; under the tools of
// the lock the modules are those that are committed, to the byte.
func TestSDKs(t *testing.T) {
	modules := sdkLock(t).Modules
	modules = append(modules, hookbuild.LockedModule{Name: "go", Language: "go"}) // megabytes, so that it is not committed
	for _, m := range modules {
		t.Run(m.Name, func(t *testing.T) {
			if missing := hookbuild.Missing(m.Language); missing != "" {
				t.Fatalf("%s; scripts/setup installs it", missing)
			}
			module, same, err := hookbuild.Rebuild(t.Context(), "sdk", m, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if m.Digest != "" {
				t.Logf("the tools of the lock: %t", same)
			}
			conformance.RunSDK(t, belayHost(t), module)
		})
	}
}

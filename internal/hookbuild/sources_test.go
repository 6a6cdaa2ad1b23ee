package hookbuild

import (
	"os"
	"path/filepath"
	"testing"
)

// A module is also built from the crates beside its own: a change in one of them is a change of its source.
func TestSourceDigestCoversTheCratesBeside(t *testing.T) {
	root := t.TempDir()
	crate := func(name, manifest, source string) string {
		t.Helper()
		dir := filepath.Join(root, name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, dir, map[string]string{"Cargo.toml": "[dependencies]\n" + manifest, "lib.rs": source})
		return dir
	}
	hook := crate("hook", `one = { path = "../one" }`, "hook")
	crate("one", `two = { path = "../two" }`+"\n"+`hook = { path = "../hook" }`, "one")
	crate("two", `# three = { path = "../three" }`, "two")
	crate("three", "", "three")
	digest := func() string {
		t.Helper()
		d, err := SourceDigest(hook, "rust")
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	last := digest()
	for _, c := range []struct {
		name    string
		changes bool
	}{{"hook", true}, {"one", true}, {"two", true}, {"three", false}} {
		write(t, filepath.Join(root, c.name), map[string]string{"lib.rs": "changed"})
		now := digest()
		if (now != last) != c.changes {
			t.Errorf("a change in %s: the digest changed: %v", c.name, now != last)
		}
		last = now
	}
}

// A crate without a manifest of a hook is none, and nothing builds, locks or lists it as one.
func TestSharedCratesAreNoHooks(t *testing.T) {
	crates, err := filepath.Glob(filepath.Join(examples, "*", "Cargo.toml"))
	if err != nil || len(crates) == 0 {
		t.Fatal(crates, err)
	}
	shared := 0
	for _, file := range crates {
		dir := filepath.Dir(file)
		if _, err := os.Stat(filepath.Join(dir, ManifestFile)); err == nil {
			continue
		}
		shared++
		if modules, _ := filepath.Glob(filepath.Join(dir, "*.wasm")); len(modules) > 0 {
			t.Errorf("%s has no manifest, but a module: %v", dir, modules)
		}
	}
	if shared == 0 {
		t.Error("no crate is shared")
	}
}

package hookbuild

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/phases"
)

const examples = "../../examples-wasm"

// The committed modules are what their sources say. Whether the compilers really
// make them is checked by scripts/build-examples -check, which needs compilers.
func TestPrebuiltModulesFitTheirSources(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(examples, LockFile))
	if err != nil {
		t.Fatal(err)
	}
	l, err := ReadLock(text)
	if err != nil {
		t.Fatal(err)
	}
	drift, err := CheckLocked(examples, l)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range drift {
		t.Errorf("%s: %s; run scripts/build-examples %s", d.Name, d.Text, d.Name)
	}
	if again, err := l.Encode(); err != nil || !bytes.Equal(again, text) {
		t.Errorf("the lock was edited by hand: %v", err)
	}
	locked := map[string]bool{}
	for _, m := range l.Modules {
		locked[m.Name] = true
	}
	manifests, _ := filepath.Glob(filepath.Join(examples, "*", ManifestFile))
	if len(manifests) < 14 {
		t.Fatalf("only %d examples", len(manifests))
	}
	for _, f := range manifests {
		dir := filepath.Dir(f)
		lang, err := Detect(dir)
		if err != nil {
			t.Error(err)
		}
		if name := filepath.Base(dir); lang != "go" && !locked[name] {
			t.Errorf("%s is not in the lock; run scripts/build-examples %s", name, name)
		}
	}
}

func TestCheckLockedSeesChanges(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "x")
	if err := os.MkdirAll(filepath.Join(dir, "cases"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, dir, map[string]string{"hook.wat": "(module)", "belay.yaml": testSource, "x.wasm": "module"})
	source, err := SourceDigest(dir, "wat")
	if err != nil {
		t.Fatal(err)
	}
	l := Lock{Format: 1, Modules: []LockedModule{{
		Name: "x", Language: "wat", File: "x/x.wasm", Source: source,
		Digest: "sha256:0000000000000000000000000000000000000000000000000000000000000000",
	}}}
	drifts := func() string {
		t.Helper()
		d, err := CheckLocked(root, l)
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, x := range d {
			texts = append(texts, x.Text)
		}
		return strings.Join(texts, "; ")
	}
	if got := drifts(); got != "x/x.wasm is not the module that was locked" {
		t.Errorf("a wrong digest: %q", got)
	}
	l.Modules[0].Digest = phases.ByteDigest([]byte("module"))
	if got := drifts(); got != "" {
		t.Errorf("nothing changed: %q", got)
	}
	write(t, dir, map[string]string{"README.md": "text", "cases/a.yaml": "cases: []"})
	if got := drifts(); got != "" {
		t.Errorf("a README is no source: %q", got)
	}
	write(t, dir, map[string]string{"hook.wat": "(module )"})
	if got := drifts(); got != "the source has changed since x/x.wasm was built" {
		t.Errorf("a changed source: %q", got)
	}
	if err := os.Remove(filepath.Join(dir, "x.wasm")); err != nil {
		t.Fatal(err)
	}
	if got := drifts(); got != "x/x.wasm is missing" {
		t.Errorf("no module: %q", got)
	}
}

func TestReadLockIsStrict(t *testing.T) {
	for _, bad := range []string{"", "[]", `{"format":2}`, `{"format":1,"extra":1}`, `{"format":1,"format":1}`} {
		if l, err := ReadLock([]byte(bad)); err == nil {
			t.Errorf("%q was read as %+v", bad, l)
		}
	}
}

// A module that its source does not make is found by building it.
func TestRebuild(t *testing.T) {
	if m := Missing("wat"); m != "" {
		t.Fatalf("%s; scripts/setup installs it", m)
	}
	root := t.TempDir()
	dir := filepath.Join(root, "x")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, dir,
		map[string]string{"belay.yaml": testSource,
			"hook.wat": `(module (memory (export "memory") 1) (func (export "pre_tool") (result i32) (i32.const 0)))`})
	r, err := Build(t.Context(), dir, Options{Output: filepath.Join(root, "x.wasm"), WorkDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	locked := LockedModule{Name: "x", Language: "wat", File: "x/x.wasm", Digest: r.Digest, Toolchain: r.Toolchain}
	if module, same, err := Rebuild(t.Context(), root, locked, t.TempDir()); err != nil || !same ||
		phases.ByteDigest(module) != r.Digest {
		t.Errorf("%t %v", same, err)
	}
	other := locked
	other.Toolchain = "wat2wasm 0.1"
	if module, same, err := Rebuild(t.Context(), root, other, t.TempDir()); err != nil || same ||
		phases.ByteDigest(module) != r.Digest {
		t.Errorf("other tools: %t %v", same, err)
	}
	write(t, dir,
		map[string]string{"hook.wat": `(module (memory (export "memory") 1) (func (export "pre_tool") (result i32) (i32.const 1)))`})
	if _, _, err := Rebuild(t.Context(), root, locked, t.TempDir()); !errors.Is(err, ErrModule) {
		t.Errorf("a changed source: %v", err)
	}
}

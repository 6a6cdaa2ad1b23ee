package hookbuild

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The compiler is the hook's own, or the asc on PATH if it is of the version that the hook pins.
func TestASCompiler(t *testing.T) {
	bin, dir := t.TempDir(), t.TempDir()
	t.Setenv("PATH", bin)
	const lock = `{"packages": {"node_modules/assemblyscript": {"version": "0.28.20"}}}`
	program := func(name, said string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\necho '"+said+"'\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(class error, text string) {
		t.Helper()
		if got, err := ascOf(t.Context(), dir); !errors.Is(err, class) || !strings.Contains(err.Error(), text) {
			t.Errorf("%q, %v", got, err)
		}
	}
	is := func(want ...string) {
		t.Helper()
		if got, err := ascOf(t.Context(), dir); err != nil || strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%q, %v", got, err)
		}
	}
	refused(ErrTool, "neither in "+dir+" nor on PATH; run `npm ci` in that directory")
	program("asc", "Version 0.28.20")
	is(filepath.Join(bin, "asc")) // nothing is pinned
	write(t, dir, map[string]string{ascLock: lock})
	is(filepath.Join(bin, "asc"))
	program("asc", "Version 0.28.2")
	refused(ErrTool, "pins AssemblyScript 0.28.20, and the asc on PATH is of another version (0.28.2); run `npm ci` in "+dir)
	program("asc", "")
	refused(ErrTool, "is of another version ()")
	write(t, dir, map[string]string{ascLock: "{"})
	refused(ErrSource, ascLock+" cannot be read")

	program("node", "")
	own := filepath.Join(dir, "node_modules", "assemblyscript", "bin")
	if err := os.MkdirAll(own, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, own, map[string]string{ascScript: ""})
	is(filepath.Join(bin, "node"), filepath.Join(own, ascScript))
}

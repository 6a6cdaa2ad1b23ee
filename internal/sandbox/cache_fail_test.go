package sandbox

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/sandbox/meter"
)

// quietCache is a cache on a new directory.
func quietCache(t *testing.T) *codeCache {
	t.Helper()
	dir := cacheDir(t)
	c, err := openCache(dir, cacheKey, "v0", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// uncompiled is a module that waits for its code.
func uncompiled(t *testing.T, compiler ...string) (*code, []byte) {
	t.Helper()
	e := open(t, Options{Compiler: compiler})
	p, err := e.parse(guest(t, "guard"))
	if err != nil {
		t.Fatal(err)
	}
	out, err := meter.Instrument(p.module, meter.Options{MemoryPages: 256})
	if err != nil {
		t.Fatal(err)
	}
	m := &code{prepared: newPrepared(p, out), engine: e}
	m.compiler = e.compiler
	t.Cleanup(m.closeRuntime)
	return m, out.Wasm
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A directory that is not one, or not this process's alone, holds no cache.
func TestCacheDirectoryIsPrivate(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	for name, c := range map[string]struct {
		prepare func(t *testing.T, path string)
		want    string
	}{
		"a file": {func(t *testing.T, path string) { write(t, path, nil) }, "not a directory"},
		"below a file": {func(t *testing.T, path string) {
			must(t, os.Remove(filepath.Dir(path)))
			write(t, filepath.Dir(path), nil)
		}, "not a directory"},
		"a link": {func(t *testing.T, path string) { must(t, os.Symlink(t.TempDir(), path)) }, "is not a directory"},
		"a group": {func(t *testing.T, path string) {
			must(t, os.Mkdir(path, 0o700))
			must(t, os.Chmod(path, 0o710))
		}, "its mode must be 0700"},
		"all": {func(t *testing.T, path string) {
			must(t, os.Mkdir(path, 0o700))
			must(t, os.Chmod(path, 0o701))
		}, "its mode must be 0700"},
	} {
		dir := filepath.Join(t.TempDir(), "above", "cache")
		must(t, os.Mkdir(filepath.Dir(dir), 0o700))
		c.prepare(t, dir)
		got, err := openCache(dir, cacheKey, "v0", log)
		if got != nil || !errors.Is(err, errCache) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if err := private(filepath.Join(t.TempDir(), "none")); !errors.Is(err, errCache) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
	if c, err := openCache(cacheDir(t), make([]byte, minCacheKey), "v0", log); err != nil || c == nil {
		t.Errorf("the shortest key: %v", err)
	}
	others := t.TempDir()
	if os.Geteuid() != 0 {
		st, err := os.Lstat("/") // root's
		must(t, err)
		if ownedByUs(st) {
			t.Error("/ is this user's")
		}
		return
	}
	must(t, os.Chmod(others, 0o700))
	must(t, os.Chown(others, 65534, -1))
	if err := private(others); !errors.Is(err, errCache) || !strings.Contains(err.Error(), "belongs to someone else") {
		t.Errorf("another user's: %v", err)
	}
}

// The cache reports each failure below it, and leaves nothing that a later process reads.
func TestCacheFailsAtEachStep(t *testing.T) {
	elsewhere := t.TempDir()
	refuses := errors.New("operation not permitted")
	for name, c := range map[string]struct {
		prepare func(t *testing.T, c *codeCache, dir string)
		want    string
		stays   bool // the obstacle stays
	}{
		"the lock is a directory": {func(t *testing.T, _ *codeCache, dir string) {
			must(t, os.Mkdir(dir+".lock", 0o700))
		}, "is a directory", true},
		"the lock is a link": {func(t *testing.T, _ *codeCache, dir string) {
			must(t, os.Symlink(filepath.Join(elsewhere, "lock"), dir+".lock"))
		}, "symbolic links", true},
		"a file in its place": {func(t *testing.T, _ *codeCache, dir string) { write(t, dir, nil) }, "not a directory", true},
		"a link in its place": {func(t *testing.T, _ *codeCache, dir string) {
			must(t, os.Symlink(elsewhere, dir))
		}, "is not a directory", false},
		"open to others": {func(t *testing.T, _ *codeCache, dir string) {
			must(t, os.Mkdir(dir, 0o700))
			must(t, os.Chmod(dir, 0o755))
		}, "its mode must be 0700", false},
		"an entry that stays": {func(t *testing.T, c *codeCache, dir string) {
			must(t, os.MkdirAll(filepath.Join(dir, "wazero-x"), 0o700))
			write(t, filepath.Join(dir, "wazero-x", "entry"), nil)
			c.remove = func(path string) error {
				if filepath.Base(path) == "entry" {
					return refuses
				}
				return os.RemoveAll(path)
			}
		}, refuses.Error(), false},
		"a file in place of the engine's directory": {func(t *testing.T, c *codeCache, dir string) {
			must(t, os.Mkdir(dir, 0o700))
			write(t, engineDir(dir), nil)
			c.remove = func(string) error { return nil }
		}, "is not dir", true},
		"no seal can be written": {func(t *testing.T, c *codeCache, dir string) {
			m, code := uncompiled(t)
			must(t, c.compile(t.Context(), m, code))
			path := entry(t, c.dir)
			remove(t, path)
			remove(t, sealOf(dir, path))
			must(t, os.Mkdir(sealOf(dir, path), 0o700))
		}, "is a directory", false},
	} {
		t.Run(name, func(t *testing.T) {
			cache := quietCache(t)
			m, code := uncompiled(t)
			dir := filepath.Join(cache.dir, cache.name(code))
			c.prepare(t, cache, dir)
			err := cache.compile(t.Context(), m, code)
			if err == nil || errors.Is(err, ErrCompiler) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if _, err := os.Lstat(dir); !c.stays && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the directory is still there: %v", err)
			}
		})
	}
	if left, err := os.ReadDir(elsewhere); err != nil || len(left) > 0 {
		t.Errorf("written to behind a link: %v %v", left, err)
	}
	// Code that the engine refuses.
	cache := quietCache(t)
	m, _ := uncompiled(t)
	if err := cache.compile(t.Context(), m, []byte("no module")); err == nil {
		t.Error("no module was compiled")
	}
	if n := len(stamps(t, cache.dir)); n > 0 {
		t.Errorf("%d entries of it", n)
	}
}

// What the cache reads of itself fails where there is nothing, or something else.
func TestCacheReadsStrictly(t *testing.T) {
	c := quietCache(t)
	none := filepath.Join(c.dir, "none")
	for name, f := range map[string]func() error{
		"entries":   func() error { _, err := entries(none); return err },
		"check":     func() error { _, err := c.check(none); return err },
		"seal":      func() error { return c.seal(none, nil) },
		"unchanged": func() error { return unchanged(none, nil) },
		"verify":    func() error { _, err := c.verify(none, filepath.Join(none, "wazero-x", "entry")); return err },
		"mac":       func() error { _, err := c.mac(none, filepath.Join(none, "wazero-x", "entry"), nil); return err },
	} {
		if err := f(); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	m, code := uncompiled(t)
	must(t, c.compile(t.Context(), m, code))
	path := entry(t, c.dir)
	good, err := c.check(moduleDir(path))
	if err != nil || len(good) != 1 || unchanged(moduleDir(path), good) != nil {
		t.Fatal(good, err)
	}
	// A file that the check has not seen counts as changed.
	if err := unchanged(moduleDir(path), nil); !errors.Is(err, errCache) {
		t.Errorf("a file that came later: %v", err)
	}
	other := filepath.Join(t.TempDir(), "other")
	write(t, other, read(t, path))
	st, err := os.Lstat(other)
	must(t, err)
	if sum, err := c.mac(moduleDir(path), path, st); sum != nil || !errors.Is(err, errCache) {
		t.Errorf("another file of the same content: %v", err)
	}
	if _, err := c.macOf("relative", path, 0, strings.NewReader("")); err == nil {
		t.Error("a place that is below no directory of the cache has a seal")
	}
	if _, err := c.macOf(moduleDir(path), path, 1, failingReader{}); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("content that cannot be read: %v", err)
	}
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, fs.ErrPermission }

// engineDir is where the engine of this process looks in a directory.
func engineDir(dir string) string {
	return filepath.Join(dir, "wazero-"+engineVersion()+"-"+runtime.GOARCH+"-"+runtime.GOOS)
}

// spoilers put something in the way of what a compiler hands back.
var spoilers = map[string]func(dir, entry string){
	"directory": func(dir, _ string) { _ = os.RemoveAll(engineDir(dir)); _ = os.WriteFile(engineDir(dir), nil, 0o600) },
	"entry":     func(dir, entry string) { _ = os.MkdirAll(filepath.Join(engineDir(dir), entry), 0o700) },
	"seal":      func(dir, entry string) { _ = os.MkdirAll(filepath.Join(dir, entry+".seal"), 0o700) },
	"other": func(dir, entry string) {
		_ = os.WriteFile(filepath.Join(engineDir(dir), strings.Repeat("0", 64)), nil, 0o600)
	},
	"nothing": func(string, string) {},
}

// Code that a process hands back and that cannot be put down is not used.
func TestCompiledCodeThatCannotBeStored(t *testing.T) {
	for what, text := range map[string]string{
		"directory": "not a directory", "entry": "is a directory", "seal": "is a directory",
		"other": fs.ErrPermission.Error(),
	} {
		c := quietCache(t)
		if what == "other" { // an entry that is none of ours, and stays
			c.remove = func(string) error { return fs.ErrPermission }
		}
		_, code := uncompiled(t)
		dir := filepath.Join(c.dir, c.name(code))
		m, code := uncompiled(t, append(ownCompiler(t, "spoils"), what, dir)...)
		err := c.compile(t.Context(), m, code)
		if err == nil || errors.Is(err, ErrCompiler) || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v, want %q", what, err, text)
		}
		if n := len(stamps(t, c.dir)); n > 0 && what != "other" {
			t.Errorf("%s: %d entries", what, n)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, nil)
	var at *fs.PathError
	if _, err := (&compiledEntry{name: "x"}).write(file, "v0"); !errors.As(err, &at) || at.Op != "mkdir" {
		t.Errorf("below a file: %v", err)
	}
	for what, text := range map[string]string{"directory": "not a directory", "entry": "is a directory", "nothing": ""} {
		dir := t.TempDir()
		m, code := uncompiled(t, append(ownCompiler(t, "spoils"), what, dir)...)
		err := m.compileIn(t.Context(), dir, code)
		switch {
		case text == "":
			must(t, err)
		case !errors.Is(err, ErrCompiler) || !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), "load"):
			t.Errorf("%s, without a cache: %v, want %q", what, err, text)
		}
	}
}

// Without a directory for the code no process is asked for it.
func TestCompilerWithoutADirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, nil)
	m, code := uncompiled(t, ownCompiler(t, "bad-exit")...)
	if err := m.compileIn(t.Context(), file, code); !errors.Is(err, ErrCompiler) ||
		strings.Contains(err.Error(), "exit status") {
		t.Errorf("a file: %v", err)
	}
	t.Setenv("TMPDIR", file)
	if err := m.compileApart(context.Background(), code); !errors.Is(err, ErrCompiler) ||
		!strings.Contains(err.Error(), "belay-code-") {
		t.Errorf("no directory for the code: %v", err)
	}
	if _, err := m.compiler.run(t.Context(), code, 1, AdHoc.compilerLimits()); !errors.Is(err, ErrCompiler) ||
		!strings.Contains(err.Error(), "belay-compile-") {
		t.Errorf("no directory for the process: %v", err)
	}
}

// Code for one version of the engine has another place than code for another
// version.
func TestCacheNames(t *testing.T) {
	c := quietCache(t)
	other := quietCache(t)
	other.version = "v1"
	seen := map[string]string{}
	for what, name := range map[string]string{
		"a module":                     c.name([]byte("code")),
		"another module":               c.name([]byte("code2")),
		"nothing":                      c.name(nil),
		"a module, for another engine": other.name([]byte("code")),
		"the names of engine and code, run together": other.name([]byte("v0\x00code")),
	} {
		if before, ok := seen[name]; ok || len(name) != 32 {
			t.Errorf("%s has the place %q of %s", what, name, before)
		}
		seen[name] = what
	}
	if again := quietCache(t); again.name([]byte("code")) != c.name([]byte("code")) {
		t.Error("the same module has two places")
	}
}

// Bad files of a module's directory are deleted, and good ones beside them
// stay, up to so many files.
func TestCacheKeepsWhatIsGood(t *testing.T) {
	c := quietCache(t)
	m, code := uncompiled(t)
	must(t, c.compile(t.Context(), m, code))
	path := entry(t, c.dir)
	dir := moduleDir(path)
	add := func(name string, seal bool) string {
		at := filepath.Join(filepath.Dir(path), name)
		write(t, at, []byte(name))
		if seal {
			sum, err := c.macOf(dir, at, int64(len(name)), strings.NewReader(name))
			must(t, err)
			write(t, sealOf(dir, at), sum)
		}
		return at
	}
	first := add("!", false) // before it and behind it, in the order of names
	last := add("~", false)
	good, err := c.check(dir)
	if err != nil || len(good) != 1 || good[path] == nil {
		t.Errorf("%v, %v", good, err)
	}
	for _, bad := range []string{first, last} {
		if _, err := os.Lstat(bad); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	for n := range maxCacheFiles {
		add("~"+string(rune('a'+n)), true)
	}
	good, err = c.check(dir)
	if err != nil || len(good) != maxCacheFiles || good[path] == nil || len(stamps(t, c.dir)) != maxCacheFiles {
		t.Errorf("%d files, %v, want %d", len(good), err, maxCacheFiles)
	}
	// Each new file gets its seal.
	for n := range 2 {
		path := filepath.Join(filepath.Dir(path), "~new"+string(rune('a'+n)))
		write(t, path, nil)
	}
	must(t, c.seal(dir, good))
	for n := range 2 {
		if _, err := c.verify(dir, filepath.Join(filepath.Dir(path), "~new"+string(rune('a'+n)))); err != nil {
			t.Errorf("the new file %d: %v", n, err)
		}
	}
	// In a directory that cannot be read there is nothing to seal, and that is no success.
	if err := c.seal(filepath.Join(dir, "none"), good); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
	// What cannot be read gets no seal.
	odd := filepath.Join(filepath.Dir(path), "~odd")
	must(t, os.Mkdir(odd, 0o700))
	if err := c.seal(dir, good); err == nil {
		t.Error("a directory is sealed")
	}
	if _, err := os.Lstat(sealOf(dir, odd)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it has a seal: %v", err)
	}
}

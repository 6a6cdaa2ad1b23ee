package cli_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/statedir"
)

// warm runs a command of a test, and lets the state directories of all tests share what was compiled for one: a second
// of processor time for the hooks of init. A new directory begins with the key and the sealed code of the others, and
// what the command has compiled beyond that is left for the next one. belay checks each seal as ever. A script that has
// to begin without any code sets COLD.
func warm(run func() int) int {
	shared, dir := sharedCode(), stateOf(os.Args)
	if shared == "" || dir == "" || os.Getenv("COLD") != "" {
		return run()
	}
	if isNew(dir, os.Args[1:]) {
		takeCode(shared, dir)
	}
	code := run()
	leaveCode(shared, dir)
	return code
}

// sharedCode is the directory that the commands of one run of the tests share, beside that of their programs; "" where
// this is no such program.
func sharedCode() string {
	self, err := os.Executable()
	if err != nil || filepath.Base(filepath.Dir(self)) != "bin" {
		return ""
	}
	return filepath.Join(filepath.Dir(filepath.Dir(self)), "code")
}

// stateOf returns the state directory that a command names.
func stateOf(args []string) string {
	for i, a := range args {
		if dir, ok := strings.CutPrefix(a, "--state="); ok {
			return dir
		}
		if a == "--state" && i+1 < len(args) {
			return args[i+1]
		}
	}
	return os.Getenv("BELAY_HOME")
}

// isNew reports whether the command makes the directory, or is the first one in it.
func isNew(dir string, args []string) bool {
	if _, err := os.Lstat(statedir.Keys(dir)); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if _, err := os.Lstat(statedir.Cache(dir)); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	_, err := os.Stat(filepath.Join(dir, "belay.yaml"))
	return err == nil || slices.Contains(args, "init")
}

// takeCode gives a new state directory the shared key and code. What cannot be copied is compiled.
func takeCode(shared, dir string) {
	key, err := statedir.MakeKey(shared, "cache")
	if err != nil || os.MkdirAll(statedir.Keys(dir), 0o700) != nil ||
		statedir.Create(statedir.Key(statedir.Keys(dir), "cache"), key, 0o600) != nil {
		return
	}
	copyNew(filepath.Join(shared, "cache"), statedir.Cache(dir))
}

// leaveCode puts code that is new into the shared directory, if the state directory has its key.
func leaveCode(shared, dir string) {
	ours, err := statedir.ReadKey(statedir.Key(statedir.Keys(dir), "cache"))
	theirs, err2 := statedir.ReadKey(statedir.Key(shared, "cache"))
	if err == nil && err2 == nil && slices.Equal(ours, theirs) {
		copyNew(statedir.Cache(dir), filepath.Join(shared, "cache"))
	}
}

// copyNew copies the modules of a cache that another has not: a directory each, complete or not at all, and the single
// files of the directory of metered modules.
func copyNew(from, to string) {
	const metered = "metered"
	list, err := os.ReadDir(from)
	if err != nil || os.MkdirAll(filepath.Join(to, metered), 0o700) != nil {
		return
	}
	for _, d := range list {
		if d.IsDir() && d.Name() != metered && !strings.HasPrefix(d.Name(), ".") && isSealed(filepath.Join(from, d.Name())) {
			copyOnce(filepath.Join(from, d.Name()), filepath.Join(to, d.Name()))
		}
	}
	files, _ := os.ReadDir(filepath.Join(from, metered))
	for _, f := range files {
		if f.Type().IsRegular() && !strings.HasPrefix(f.Name(), ".") {
			copyOnce(filepath.Join(from, metered, f.Name()), filepath.Join(to, metered, f.Name()))
		}
	}
}

// isSealed reports whether a module's directory is finished: as many seals as files of the engine.
func isSealed(dir string) bool {
	code, _ := filepath.Glob(filepath.Join(dir, "wazero-*", "*"))
	seals, _ := filepath.Glob(filepath.Join(dir, "*.seal"))
	return len(code) > 0 && len(code) == len(seals)
}

// copyOnce copies a file or a directory unless it is there, by a rename, so that another process never sees a part.
func copyOnce(from, to string) {
	if _, err := os.Lstat(to); err == nil {
		return
	}
	part, err := os.MkdirTemp("", "code")
	if err != nil {
		return
	}
	defer os.RemoveAll(part)
	err = filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(from, path)
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return os.MkdirAll(filepath.Join(part, "it", rel), 0o700)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(part, "it", rel), content, 0o600)
	})
	if err == nil {
		_ = os.Rename(filepath.Join(part, "it"), to) // another process may have been first
	}
}

// Code that one state directory has is in the next, whose hooks are not compiled then; and none where a script is COLD.
func TestCodeIsSharedBetweenTests(t *testing.T) {
	shared, first, second := t.TempDir(), t.TempDir(), t.TempDir()
	takeCode(shared, first) // nothing yet, but the key
	module := filepath.Join(statedir.Cache(first), "aa")
	for _, file := range []string{filepath.Join(module, "wazero-1", "x"), filepath.Join(module, "x.seal"),
		filepath.Join(statedir.Cache(first), "bb", "wazero-1", "unsealed")} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("code"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	leaveCode(shared, first)
	takeCode(shared, second)
	if got, err := os.ReadFile(filepath.Join(statedir.Cache(second), "aa", "wazero-1", "x")); string(got) != "code" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := os.Stat(filepath.Join(statedir.Cache(second), "bb")); err == nil {
		t.Error("a module without its seal was copied")
	}
	if isNew(second, []string{"init"}) || !isNew(filepath.Join(second, "other"), []string{"init"}) {
		t.Error("a directory is new, or is not")
	}
}

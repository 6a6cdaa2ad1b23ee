package files_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/belay-hooks/belay/internal/files"
)

// tree makes a state directory with keys, and links beside it.
func tree(t *testing.T) (state, beside string) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	state, beside = filepath.Join(root, "state"), filepath.Join(root, "beside")
	for _, dir := range []string{filepath.Join(state, "keys"), beside} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		"to-state": state, "to-keys": "../state/keys", "to-nothing": "../state/none", "to-link": "to-nothing",
		"to-itself": "to-itself", "out": root,
	} {
		if err := os.Symlink(to, filepath.Join(beside, link)); err != nil {
			t.Fatal(err)
		}
	}
	return state, beside
}

func TestRealPath(t *testing.T) {
	state, beside := tree(t)
	for path, want := range map[string]string{
		beside:                        beside,
		"x/y":                         filepath.Join(beside, "x", "y"),
		"to-keys/x":                   filepath.Join(state, "keys", "x"),
		"to-keys/../x":                filepath.Join(state, "x"), // not beside/x
		"to-nothing":                  filepath.Join(state, "none"),
		"to-nothing/x/y":              filepath.Join(state, "none", "x", "y"),
		"to-link/":                    filepath.Join(state, "none"),
		"out/beside/to-link/x":        filepath.Join(state, "none", "x"),
		"none/../x":                   "",
		"to-itself/x":                 "",
		filepath.Join(state, "a//b/"): filepath.Join(state, "a", "b"),
	} {
		got, err := files.RealPath(beside, path)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v, want %q", path, got, err, want)
		}
	}
	if got, err := files.RealPath("", "x"); err == nil {
		t.Errorf("a relative path without a beginning leads to %q", got)
	}
}

func TestOutside(t *testing.T) {
	state, beside := tree(t)
	for path, want := range map[string]error{
		"x": nil, state + "2": nil, "out": nil, "to-state/../x": nil,
		state: files.ErrInside, state + "/x/y": files.ErrInside, "to-state": files.ErrInside,
		"to-keys/x": files.ErrInside,
		"to-link":   files.ErrInside, "out/state": files.ErrInside,
	} {
		if to, err := files.Outside(beside, filepath.Join(beside, "to-state"), path); !errors.Is(err, want) ||
			(err == nil) != (to != "") {
			t.Errorf("%s: %q, %v, want %v", path, to, err, want)
		}
	}
	if _, err := files.Outside(beside, state, "none/../x"); err == nil || errors.Is(err, files.ErrInside) {
		t.Errorf("what cannot be looked at: %v", err)
	}
}

func TestRejectStatePath(t *testing.T) {
	state, beside := tree(t)
	own := func(name string) bool { return name == "keys" || name == "none" }
	for path, want := range map[string]error{
		"x": nil, "to-state/log": nil, state + "/log": nil, "to-state/log/keys": nil,
		"to-state": files.ErrOwn, "to-keys": files.ErrOwn, "to-keys/x": files.ErrOwn,
		"to-state/keys/x": files.ErrOwn,
		"to-nothing":      files.ErrOwn, "to-link/x": files.ErrOwn,
	} {
		if !filepath.IsAbs(path) {
			path = beside + "/" + path
		}
		if err := files.RejectStatePath(filepath.Join(beside, "to-state"), path, own); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
	for _, path := range []string{beside + "/to-itself", "relative"} {
		if err := files.RejectStatePath(state, path, own); err == nil || errors.Is(err, files.ErrOwn) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := files.RejectStatePath(filepath.Join(beside, "none"), filepath.Join(beside, "x"), own); err != nil {
		t.Errorf("a state directory that is not there yet: %v", err)
	}
}

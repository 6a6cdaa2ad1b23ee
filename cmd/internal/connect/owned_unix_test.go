//go:build unix

package connect_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/belay-hooks/belay/cmd/internal/connect"
)

// image is the root of a file system that the tests' user owns, with a belay-hook.
func image(t *testing.T) (w connect.Writer, root string) {
	t.Helper()
	root = t.TempDir()
	must(t, os.Chmod(root, 0o755))
	for _, d := range []string{"etc/claude-code", "usr/local/bin"} {
		must(t, os.MkdirAll(filepath.Join(root, d), 0o755))
	}
	must(t, os.WriteFile(filepath.Join(root, "usr/local/bin/belay-hook"), []byte("#!"), 0o755))
	return connect.Writer{Managed: true, Owner: os.Geteuid(), Root: root, Now: time.Now()}, root
}

const managed = "etc/claude-code/managed-settings.json"

// What root writes is whole, keeps the mode, and is backed up beside with the same.
func TestManagedSettingsAreReplacedWhole(t *testing.T) {
	w, root := image(t)
	path := filepath.Join(root, managed)
	must(t, os.WriteFile(path, []byte("old"), 0o640))
	backup, err := w.Write(connect.Change{Path: path, Old: []byte("old"), New: []byte("new")})
	must(t, err)
	for p, want := range map[string]string{path: "new", backup: "old"} {
		b, err := os.ReadFile(p)
		must(t, err)
		fi, err := os.Stat(p)
		must(t, err)
		if string(b) != want || fi.Mode().Perm() != 0o640 {
			t.Errorf("%s: %q, mode %v", p, b, fi.Mode())
		}
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	must(t, err)
	if len(entries) != 2 {
		t.Errorf("%v: something else is left", entries)
	}
	if _, err := w.Write(connect.Change{Path: path, Old: []byte("old"), New: []byte("x")}); !errors.Is(err,
		connect.ErrChanged) {
		t.Errorf("over a file that has changed: %v", err)
	}
	must(t, os.RemoveAll(filepath.Join(root, "etc")))
	_, err = w.Write(connect.Change{Path: path, New: []byte("first")}) // with its directories
	must(t, err)
	if _, err := w.Write(connect.Change{Path: path, Old: []byte("first")}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Read(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("taken away: %v", err)
	}
}

// Root follows no link, and writes and starts nothing that another user could change.
func TestManagedSettingsFollowNoLink(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, root string){
		"the file is a link": func(t *testing.T, root string) {
			must(t, os.Rename(filepath.Join(root, managed), filepath.Join(root, "victim")))
			must(t, os.Symlink("../../victim", filepath.Join(root, managed)))
		},
		"its directory is a link": func(t *testing.T, root string) {
			must(t, os.Rename(filepath.Join(root, "etc/claude-code"), filepath.Join(root, "elsewhere")))
			must(t, os.Symlink("../elsewhere", filepath.Join(root, "etc/claude-code")))
		},
		"a directory further up is a link": func(t *testing.T, root string) {
			must(t, os.Rename(filepath.Join(root, "etc"), filepath.Join(root, "elsewhere")))
			must(t, os.Symlink("elsewhere", filepath.Join(root, "etc")))
		},
		"others can write the directory": func(t *testing.T, root string) {
			must(t, os.Chmod(filepath.Join(root, "etc/claude-code"), 0o777))
		},
		"a group can write further up": func(t *testing.T, root string) {
			must(t, os.Chmod(filepath.Join(root, "etc"), 0o775))
		},
		"others can write the file": func(t *testing.T, root string) {
			must(t, os.Chmod(filepath.Join(root, managed), 0o666))
		},
		"the file is a directory": func(t *testing.T, root string) {
			must(t, os.Remove(filepath.Join(root, managed)))
			must(t, os.Mkdir(filepath.Join(root, managed), 0o755))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, root := image(t)
			path := filepath.Join(root, managed)
			must(t, os.WriteFile(path, []byte("old"), 0o644))
			spoil(t, root)
			if b, err := w.Read(path); !errors.Is(err, connect.ErrUnsafe) {
				t.Errorf("read %q, %v", b, err)
			}
			if _, err := w.Write(connect.Change{Path: path, Old: []byte("old"), New: []byte("new")}); !errors.Is(err,
				connect.ErrUnsafe) {
				t.Errorf("written: %v", err)
			}
			if b, err := os.ReadFile(path); err == nil && string(b) != "old" {
				t.Errorf("it became %q", b)
			}
		})
	}
	w, root := image(t)
	w.Owner++
	if _, err := w.Read(filepath.Join(root, managed)); !errors.Is(err, connect.ErrUnsafe) {
		t.Errorf("of another owner: %v", err)
	}
}

// The program that every user's runtime starts lies where its owner alone can write.
func TestTheProgramOfManagedSettings(t *testing.T) {
	program := "/usr/local/bin/belay-hook"
	w, root := image(t)
	must(t, w.CheckProgram(program))
	at := filepath.Join(root, program)
	for name, spoil := range map[string]func(){
		"others can write it":         func() { must(t, os.Chmod(at, 0o757)) },
		"others can write beside it":  func() { must(t, os.Chmod(filepath.Dir(at), 0o777)) },
		"others can write further up": func() { must(t, os.Chmod(filepath.Join(root, "usr"), 0o777)) },
		"it cannot be executed":       func() { must(t, os.Chmod(at, 0o644)) },
		"it is a link":                func() { must(t, os.Rename(at, at+"-1")); must(t, os.Symlink("belay-hook-1", at)) },
		"it is not there":             func() { must(t, os.Remove(at)) },
		"a directory of it is a link": func() {
			must(t, os.Rename(filepath.Join(root, "usr"), filepath.Join(root, "u")))
			must(t, os.Symlink("u", filepath.Join(root, "usr")))
		},
		"it belongs to another account": func() { w.Owner++ },
	} {
		t.Run(name, func(t *testing.T) {
			w, root = image(t)
			at = filepath.Join(root, program)
			spoil()
			if err := w.CheckProgram(program); err == nil {
				t.Error("it may be started for every user")
			}
		})
	}
}

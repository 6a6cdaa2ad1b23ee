package files_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/belay-hooks/belay/internal/files"
)

// only fails unless the directory holds this one file with this content.
func only(t *testing.T, dir, name, content string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != name {
		t.Fatalf("%s holds %v, %v, want %s alone", dir, entries, err, name)
	}
	if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != content {
		t.Errorf("%s holds %q, %v, want %q", name, b, err, content)
	}
}

func TestFilesAreCompleteOrNotThere(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if err := files.Write(path, []byte("old"), files.Options{Perm: 0o600}); err != nil {
		t.Fatal(err)
	}
	only(t, dir, "f", "old")
	f, err := files.Create(path, files.Options{Perm: 0o600})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("new")); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "old" {
		t.Errorf("before the commit: %q, %v", b, err)
	}
	if err := f.Discard(); err != nil {
		t.Error(err)
	}
	only(t, dir, "f", "old")
	if f, err = files.Create(path, files.Options{Perm: 0o600}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("new")); err != nil {
		t.Fatal(err)
	}
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := f.Discard(); err != nil {
		t.Errorf("after the commit: %v", err)
	}
	only(t, dir, "f", "new")
}

// What cannot be put in its place leaves nothing behind.
func TestNothingIsLeftBehind(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "f", "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := files.Write(filepath.Join(dir, "f"), []byte("new"), files.Options{Perm: 0o600}); err == nil {
		t.Error("a file took the place of a directory")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	if err := files.Write(filepath.Join(dir, "none", "f"), nil, files.Options{Perm: 0o600}); err == nil {
		t.Error("a directory that is not there was made")
	}
}

// A link is replaced, and its target stays.
func TestLinksAreReplaced(t *testing.T) {
	dir, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(elsewhere, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, filepath.Join(dir, "f")); err != nil {
		t.Fatal(err)
	}
	if err := files.Write(filepath.Join(dir, "f"), []byte("new"), files.Options{Perm: 0o600}); err != nil {
		t.Fatal(err)
	}
	only(t, dir, "f", "new")
	if b, err := os.ReadFile(elsewhere); err != nil || string(b) != "old" {
		t.Errorf("what the link led to holds %q, %v", b, err)
	}
}

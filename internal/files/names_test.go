package files_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/belay-hooks/belay/internal/files"
)

func TestNames(t *testing.T) {
	dir := t.TempDir()
	a, b, link := filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "link")
	for _, path := range []string{a, b} {
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a", link); err != nil {
		t.Fatal(err)
	}
	fi, err := os.Stat(a)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{a: true, b: false, link: true} {
		if got, err := files.Names(path, fi); got != want || err != nil {
			t.Errorf("%s: %v, %v", path, got, err)
		}
	}
	if err := os.Rename(b, a); err != nil {
		t.Fatal(err)
	}
	if got, err := files.Names(a, fi); got || err != nil {
		t.Errorf("replaced: %v, %v", got, err)
	}
	if got, err := files.Names(b, fi); got || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("gone: %v, %v", got, err)
	}
}

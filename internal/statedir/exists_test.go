package statedir_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/belay-hooks/belay/internal/statedir"
)

// A directory is a state directory when belay keeps something in it; asking makes nothing.
func TestExists(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "missing")
	if err := statedir.Exists(missing); !errors.Is(err, statedir.ErrMissing) {
		t.Errorf("no directory: %v", err)
	}
	if _, err := os.Stat(missing); err == nil {
		t.Error("asking made it")
	}
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := statedir.Exists(dir); !errors.Is(err, statedir.ErrMissing) {
		t.Errorf("a directory of another program: %v", err)
	}
	for _, own := range []string{"belay.yaml", "belay.db", "spool.jsonl", "keys"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, own), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := statedir.Exists(dir); err != nil {
			t.Errorf("%s: %v", own, err)
		}
	}
}

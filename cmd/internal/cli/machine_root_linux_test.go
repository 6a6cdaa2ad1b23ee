package cli

import (
	"os"
	"path/filepath"
	"testing"
)

// What leads into the state directory by a link is inside, and so is what is below it by name, wherever it leads.
func TestIsInside(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(path string) string { return filepath.Join(top, path) }
	for _, dir := range []string{"state/users/1", "else"} {
		if err := os.MkdirAll(at(dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"in": at("state/users/1"), "state/users/2": at("else"),
		"none": at("state/new")} {
		if err := os.Symlink(to, at(link)); err != nil {
			t.Fatal(err)
		}
	}
	for dir, want := range map[string]bool{"state": true, "state/users/1": true, "state/users/9": true, "in": true,
		"in/keys": true, "none": true, "state/users/2": true, "else": false, "state2": false, "nowhere": false} {
		if got, err := isInside(at("state"), at(dir)); err != nil || got != want {
			t.Errorf("%s: %v, %v", dir, got, err)
		}
	}
}

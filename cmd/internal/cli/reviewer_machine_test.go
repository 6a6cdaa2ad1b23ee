package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/system"
)

// On a machine in system mode an ordinary user makes the key of a reviewer, which lies in their home. What is printed
// is what root writes, and then the key signs.
func TestReviewersInSystemMode(t *testing.T) {
	app, out := systemApp(t, 1000, t.TempDir(), system.Config{Reviewers: map[string][]string{"*": {"carol"}}})
	app.Places.Config = t.TempDir()
	file := filepath.Join(app.Places.Config, config.FileName)
	if err := os.WriteFile(file, []byte(config.Empty), 0o644); err != nil {
		t.Fatal(err)
	}
	code := app.Main(t.Context(), []string{"reviewer", "init", "carol"})
	if code == ExitOK || strings.Contains(out.String(), "system mode") { // there is no terminal here
		t.Fatalf("%d\n%s", code, out)
	}
	key := app.reviewerKeyFile(app.Places.Config, "carol")
	if want := filepath.Join(app.Getenv("HOME"), ".config", "belay", "carol.reviewer.key"); key != want {
		t.Errorf("%s, want %s", key, want)
	}
	out.Reset()
	if err := app.makeReviewer(t.Context(), "carol", key, []byte("a long passphrase"), true, false); err != nil {
		t.Fatal(err)
	}
	fi, err := os.Stat(key)
	if err != nil || fi.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", fi, err)
	}
	text := out.String()
	_, entry, found := strings.Cut(text, "  - name: carol\n    key: ")
	entry, _, _ = strings.Cut(entry, "\n")
	if !found || !strings.Contains(text, "reviewers: {\"*\": [carol]}") || !strings.Contains(text, app.Places.Config) {
		t.Fatalf("%s", text)
	}
	if src, err := os.ReadFile(file); err != nil || string(src) != config.Empty {
		t.Errorf("the organisation's file is now %s, %v", src, err)
	}
	root := "version: belay/v1\nhooks: []\nreviewers:\n  - {name: carol, key: \"" + entry + "\"}\n"
	if err := os.WriteFile(file, []byte(root), 0o644); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if code := app.Main(t.Context(), []string{"reviewer", "list"}); code != ExitOK || !strings.Contains(out.String(), "carol") ||
		!strings.Contains(out.String(), key) {
		t.Errorf("%d\n%s", code, out)
	}
	dir, f, err := app.deciders()
	if err != nil || dir != app.Places.Config || len(f.Reviewers) != 1 {
		t.Errorf("%s, %+v, %v", dir, f, err)
	}
	out.Reset()
	if code := app.Main(t.Context(), []string{"reviewer", "init", "carol"}); code != ExitError ||
		!strings.Contains(out.String(), "there is a reviewer carol already") {
		t.Errorf("%d\n%s", code, out)
	}
}

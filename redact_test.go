package belay_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/internal/store/sqlite/sqlitetest"
)

// What belay.yaml says about redaction is what the files of the state directory show.
func TestRedactionOfAStateDirectory(t *testing.T) {
	const known, private = "correct horse battery", "a private matter"
	t.Setenv("BELAY_TEST_SECRET", known)
	for _, strict := range []bool{false, true} {
		config := "version: belay/v1\nredact:\n  secrets: [\"env:BELAY_TEST_SECRET\"]\n"
		if strict {
			config += "  profile: strict\n"
		}
		dir := state(t, config)
		b := open(t, dir, belay.Options{})
		invoke(t, b, exec("echo "+known+"; echo "+private))
		b.Close()
		unpacked(t, dir)
		all := ""
		for _, f := range []string{"belay.db", "belay.db-wal"} {
			raw, _ := os.ReadFile(filepath.Join(dir, f))
			all += string(raw)
		}
		if strings.Contains(all, known) || !strings.Contains(all, "[redacted:") {
			t.Errorf("strict %v: a configured secret is on disk", strict)
		}
		if strings.Contains(all, private) == strict {
			t.Errorf("strict %v: private text on disk: %v", strict, !strict)
		}
	}
	os.Unsetenv("BELAY_TEST_SECRET")
	if _, err := belay.Open(t.Context(), state(t, "version: belay/v1\nredact:\n  secrets: [\"env:BELAY_TEST_SECRET\"]\n"),
		belay.Options{}); !errors.Is(err, belay.ErrConfig) {
		t.Errorf("a secret that cannot be read: %v", err)
	}
}

// A mask that hashes leaves a placeholder on disk, one that removes leaves only
// the pointer on the event.
func TestMasksOfAStateDirectory(t *testing.T) {
	for _, how := range []string{"hash", "remove"} {
		dir := state(t, "version: belay/v1\nredact:\n  masks: [{path: /args/command, how: "+how+"}]\n")
		b := open(t, dir, belay.Options{})
		v := invoke(t, b, exec("echo a private matter"))
		b.Close()
		unpacked(t, dir)
		all := ""
		for _, f := range []string{"belay.db", "belay.db-wal"} {
			raw, _ := os.ReadFile(filepath.Join(dir, f))
			all += string(raw)
		}
		if strings.Contains(all, "private matter") || !slices.Contains(v.Masked, "/input/action/args/command") {
			t.Errorf("%s: on disk, or not listed: %q", how, v.Masked)
		}
		if strings.Contains(all, `"command":"[redacted:mask:`) != (how == "hash") {
			t.Errorf("%s: a placeholder is where none belongs, or missing", how)
		}
	}
}

// unpacked stores the events of a state directory as text, so that a search finds what is in them.
func unpacked(t *testing.T, dir string) {
	t.Helper()
	if err := sqlitetest.Unpack(t.Context(), filepath.Join(dir, "belay.db")); err != nil {
		t.Fatal(err)
	}
}

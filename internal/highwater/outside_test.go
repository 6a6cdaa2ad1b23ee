package highwater_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/highwater"
)

// A mark that lies in the state directory goes back with it: no link brings it there.
func TestMarksAreOutsideByWhicheverName(t *testing.T) {
	state, beside := t.TempDir(), t.TempDir()
	for link, to := range map[string]string{"marks": filepath.Join(state, "marks"), "state": state} {
		if err := os.Symlink(to, filepath.Join(beside, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{state, filepath.Join(state, "m"), filepath.Join(beside, "marks"),
		filepath.Join(beside, "state", "m")} {
		if _, err := highwater.ForState(state, dir, os.Getenv); err == nil ||
			!strings.Contains(err.Error(), "must not be in the state directory") {
			t.Errorf("%s: %v", dir, err)
		}
	}
	g, err := highwater.ForState(filepath.Join(beside, "state"), filepath.Join(beside, "m"), os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
}

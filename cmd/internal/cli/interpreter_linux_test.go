package cli_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/sandbox/sandboxtest"
)

// Where memory may not be made executable hooks run on the interpreter: status and
// doctor say so, and what forbids it.
func TestInterpreterIsShown(t *testing.T) {
	if !sandboxtest.InProcessOfItsOwn(t) {
		return
	}
	dir := t.TempDir()
	if err := errors.Join(os.Chmod(dir, 0o700),
		os.WriteFile(filepath.Join(dir, "belay.yaml"), []byte("version: belay/v1\nhooks: []\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string][]string{
		"status": {"interpreter", "READY, degraded", "memory may not be made executable here"},
		"doctor": {"interpreter: about 40 times slower", "MemoryDenyWriteExecute="},
	} {
		_, out, log := belayOn(t.Context(), dir, nil, "", command)
		for _, w := range want {
			if !strings.Contains(out, w) {
				t.Errorf("%s says nothing of %q:\n%s%s", command, w, out, log)
			}
		}
	}
}

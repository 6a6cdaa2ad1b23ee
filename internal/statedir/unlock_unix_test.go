//go:build unix

package statedir_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/statedir"
)

// Who unlocks leaves the lock of another alone: a lock file that was removed while it was
// held has been made anew by the process that edits now.
func TestUnlockingLeavesTheLockOfAnother(t *testing.T) {
	path := filepath.Join(t.TempDir(), "belay.yaml")
	first, err := statedir.Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(filepath.Dir(path), ".belay.yaml.lock")); err != nil {
		t.Fatal(err)
	}
	second, err := statedir.LockFor(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer second()
	first()
	if third, err := statedir.LockFor(path, 30*time.Millisecond); !errors.Is(err, statedir.ErrBusy) {
		if third != nil {
			third()
		}
		t.Errorf("two processes hold the lock: %v", err)
	}
}

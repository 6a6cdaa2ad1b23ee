package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belay-hooks/belay/internal/system"
)

// A user whose state directory has grown to its bound is not served, with the way out; when it is smaller again, they
// are.
func TestAFullStateIsHeld(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := &spaces{dir: func(int) string { return filepath.Join(dir, "1001") }, seen: map[int]space{}}
		config := &system.Config{Limits: system.Limits{StateMiB: 16}}
		if err := s.held(1001, config); err != nil {
			t.Errorf("a user without a directory: %v", err)
		}
		if err := os.MkdirAll(filepath.Join(dir, "1001", "blobs"), 0o700); err != nil {
			t.Fatal(err)
		}
		big := filepath.Join(dir, "1001", "blobs", "x")
		if err := os.WriteFile(big, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(big, 16<<20); err != nil {
			t.Fatal(err)
		}
		time.Sleep(spaceEvery)
		if err := s.held(1001, config); err == nil || !strings.Contains(err.Error(), "limits.state_mib") ||
			!strings.Contains(err.Error(), "events compact") {
			t.Errorf("a full directory: %v", err)
		}
		if err := os.Remove(big); err != nil {
			t.Fatal(err)
		}
		time.Sleep(spaceEvery)
		if err := s.held(1001, config); err != nil {
			t.Errorf("with room again: %v", err)
		}
	})
}

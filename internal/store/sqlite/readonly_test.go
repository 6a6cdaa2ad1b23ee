//go:build linux

package sqlite_test

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/belay-hooks/belay/internal/store/sqlite"
	"github.com/belay-hooks/belay/kernel/storetest"
)

// A copy in a directory that cannot be written, with and without a write-ahead log,
// is read whole, and nothing is made there.
func TestReadOnlyDirectory(t *testing.T) {
	for name, live := range map[string]bool{"closed": false, "with its log": true} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "belay.db")
			s := open(t, path, sqlite.Options{})
			if _, err := s.Commit(t.Context(), batch("a", "b", "c")); err != nil {
				t.Fatal(err)
			}
			if !live {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
			// Not below t.TempDir, which another user may not enter.
			dir, err := os.MkdirTemp("", "belay-ro-")
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range []string{"belay.db", "belay.db-wal"} {
				b, err := os.ReadFile(filepath.Join(filepath.Dir(path), f))
				if err != nil {
					continue
				}
				if err := os.WriteFile(filepath.Join(dir, f), b, 0o444); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Chmod(dir, 0o555); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.Chmod(dir, 0o700); os.RemoveAll(dir) })
			before, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			if os.Getuid() == 0 { // whom permissions do not stop
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				if err := syscall.Setfsuid(65534); err != nil {
					t.Fatal(err)
				}
				defer syscall.Setfsuid(0)
			}
			ro, err := sqlite.Open(t.Context(), filepath.Join(dir, "belay.db"), sqlite.Options{ReadOnly: true})
			if err != nil {
				t.Fatal(err)
			}
			if n := storetest.CheckLog(t, ro); n != 3 {
				t.Errorf("%d events, want 3", n)
			}
			if err := ro.Close(); err != nil {
				t.Fatal(err)
			}
			after, err := os.ReadDir(dir)
			if err != nil || len(after) != len(before) {
				t.Errorf("%d files before, %d after, %v", len(before), len(after), err)
			}
		})
	}
}
